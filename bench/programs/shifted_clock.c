/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * shifted_clock - every clock of a program, as far ahead as a file says.
 *
 * For LD_PRELOAD before a resolver: bench/upstream-queries moves the clocks of all processes that
 * have mapped the file that DNSBLV6_CLOCK_FILE names at once, by writing nanoseconds into its
 * first eight bytes. What waits for a time to pass waits as long as ever: programs give epoll_wait()
 * and its like how long, and find their timers due when they have woken. Clocks of processor time
 * are left alone. Packets come without the kernel's time: PowerDNS Recursor drops questions that
 * have waited, and all would have, by its own clock.
 *
 * The linker gives the functions the names of libc's: no object of ours may define what others of
 * ours use.
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHOWN	  __attribute__((visibility("default")))
#define SECOND_NS INT64_C(1000000000)

int shifted_clock_gettime(clockid_t clock, struct timespec *ret_now);
int shifted_gettimeofday(struct timeval *ret_now, void *zone);
time_t shifted_time(time_t *ret_now);
int shifted_setsockopt(int fd, int level, int name, const void *value, socklen_t size);

static volatile const int64_t *shift_ns;

__attribute__((constructor)) static void map_shift(void)
{
	const char *path = getenv("DNSBLV6_CLOCK_FILE");
	int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *memory = mmap(NULL, sizeof(*shift_ns), PROT_READ, MAP_SHARED, fd, 0);
	if (memory != MAP_FAILED)
		shift_ns = memory;
	close(fd);
}

static bool is_shifted(clockid_t clock)
{
	return clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID && clock >= 0;
}

SHOWN int shifted_clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	long ret = syscall(SYS_clock_gettime, clock, ret_now);
	if (ret != 0 || shift_ns == NULL || !is_shifted(clock))
		return (int)ret;
	int64_t ns = ret_now->tv_nsec + *shift_ns % SECOND_NS;
	ret_now->tv_sec += (time_t)(*shift_ns / SECOND_NS + ns / SECOND_NS);
	ret_now->tv_nsec = (long)(ns % SECOND_NS);
	return 0;
}

SHOWN int shifted_gettimeofday(struct timeval *ret_now, void *zone)
{
	struct timespec now = { 0, 0 };
	(void)zone;
	shifted_clock_gettime(CLOCK_REALTIME, &now);
	ret_now->tv_sec = now.tv_sec;
	ret_now->tv_usec = now.tv_nsec / 1000;
	return 0;
}

SHOWN time_t shifted_time(time_t *ret_now)
{
	struct timespec now = { 0, 0 };
	shifted_clock_gettime(CLOCK_REALTIME, &now);
	if (ret_now != NULL)
		*ret_now = now.tv_sec;
	return now.tv_sec;
}

SHOWN int shifted_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	if (level == SOL_SOCKET && (name == SO_TIMESTAMP || name == SO_TIMESTAMPNS))
		return 0;
	return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}
