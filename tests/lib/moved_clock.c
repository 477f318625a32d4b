/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * moved_clock - a clock as far from the machine's as DNSBLV6_CLOCK_OFFSET says, in seconds.
 *
 * For LD_PRELOAD: programs of zone-tools ask time() for the time and nothing else, servers ask
 * clock_gettime(). That of other libraries stays, as they wait by it for what the kernel knows
 * better. The linker gives the functions those names: no object of ours may define what others of
 * ours use.
 */

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED time_t moved_time(time_t *ret_now);
EXPORTED int moved_clock_gettime(clockid_t id, struct timespec *ret_now);

static long offset_s(void)
{
	const char *offset = getenv("DNSBLV6_CLOCK_OFFSET");
	return offset != NULL ? strtol(offset, NULL, 10) : 0;
}

time_t moved_time(time_t *ret_now)
{
	struct timespec now;
	(void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	now.tv_sec += offset_s();
	if (ret_now != NULL)
		*ret_now = now.tv_sec;
	return now.tv_sec;
}

/* Whether code at that place is the program's own. */
static int is_of_program(const void *place)
{
	Dl_info info;
	if (dladdr(place, &info) == 0)
		return 0;
	const ElfW(Ehdr) *head = info.dli_fbase;
	return (unsigned long)head + head->e_phoff == getauxval(AT_PHDR);
}

int moved_clock_gettime(clockid_t id, struct timespec *ret_now)
{
	const int ret = (int)syscall(SYS_clock_gettime, id, ret_now);
	if (ret == 0 && id == CLOCK_REALTIME && is_of_program(__builtin_return_address(0)))
		ret_now->tv_sec += offset_s();
	return ret;
}
