/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/decoder.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/process/capabilities.h"
#include "lib/process/sanitized.h"

/* All that it does. swapcontext(3) keeps the mask of signals. */
static const char *const allowed[] = { "read",	       "write",	    "exit",	      "exit_group",
				       "rt_sigreturn", "sigreturn", "rt_sigprocmask", "brk" };

/*
 * The stack of a decoder of libarchive's, and no code. What is done once wakes those that wait for it,
 * though nothing waits: waiting itself would be a process that hangs and takes no time.
 */
static const struct callfilter_call allowed_so[] = {
	{ "mmap",
	  2,
	  { CALLFILTER_MASKED(2, PROT_EXEC, 0), CALLFILTER_MASKED(4, UINT32_MAX, UINT32_MAX) } },
	{ "futex", 1, { CALLFILTER_EQUAL(1, FUTEX_WAKE | FUTEX_PRIVATE_FLAG) } },
	{ "mprotect", 1, { CALLFILTER_MASKED(2, PROT_EXEC, 0) } },
};
static const char *const memory[] = { "munmap", "madvise", "mremap" };

/*
 * What libraries try and can do without: they are told that there is no such call. A name of a
 * member in a character set that is not known is shown as it is.
 */
static const char *const refused[] = { "open",	       "openat",    "stat",	  "newfstatat",
				       "fstat",	       "lstat",	    "access",	  "readlink",
				       "lseek",	       "fcntl",	    "ioctl",	  "clock_gettime",
				       "gettimeofday", "time",	    "getrandom",  "getpid",
				       "statx",	       "faccessat", "faccessat2", "readlinkat" };

int decoder_make_filter(struct callfilter *ret_filter)
{
	const struct callfilter_list lists[] = {
		{ true, CALLFILTER_ALLOW, CALLFILTER_NAMES(allowed) },
		{ true, CALLFILTER_ALLOW, CALLFILTER_NAMES(memory) },
		{ true, CALLFILTER_ALLOW, CALLFILTER_CALLS(allowed_so) },
		{ true, CALLFILTER_REFUSE, CALLFILTER_NAMES(refused) },
	};
	return callfilter_make(CALLFILTER_KILL, lists, sizeof(lists) / sizeof(lists[0]),
			       ret_filter);
}

static int limit(__rlimit_resource_t resource, uint64_t soft, uint64_t hard)
{
	const struct rlimit limits = { .rlim_cur = (rlim_t)soft, .rlim_max = (rlim_t)hard };
	return setrlimit(resource, &limits) == 0 ? 0 : -errno;
}

/* The timer is exact, and ends it by SIGPROF; the limit holds also when that is not delivered. */
static int limit_time(unsigned cpu_ms)
{
	const uint64_t seconds = ((uint64_t)cpu_ms + 999) / 1000 + 1;
	const struct itimerval timer = { .it_value = { .tv_sec = cpu_ms / 1000,
						       .tv_usec = (cpu_ms % 1000) * 1000L } };
	int ret = limit(RLIMIT_CPU, seconds, seconds + 1);
	if (ret == 0 && setitimer(ITIMER_PROF, &timer, NULL) != 0)
		ret = -errno;
	return ret;
}

static int limit_all(unsigned cpu_ms, uint64_t data_max)
{
	int ret = limit_time(cpu_ms);
	if (ret == 0)
		ret = limit(RLIMIT_FSIZE, 0, 0);
	if (ret == 0)
		ret = limit(RLIMIT_CORE, 0, 0);
	if (ret == 0)
		ret = limit(RLIMIT_NOFILE, 0, 0);
	/* The shadow of AddressSanitizer is data as well. */
	if (ret == 0 && !IS_SANITIZED)
		ret = limit(RLIMIT_DATA, data_max, data_max);
	return ret;
}

/* A confined program's processes may not even ask; they have none. */
static int drop_capabilities(void)
{
	struct capabilities capabilities;
	if (capabilities_get(&capabilities) != 0 || capabilities.permitted == 0)
		return 0;
	return capabilities_keep(0);
}

int decoder_confine(int fd, unsigned cpu_ms, uint64_t data_max, const struct callfilter *filter)
{
	if (close_range((unsigned)fd + 1, ~0U, 0) != 0 ||
	    (fd > 0 && close_range(0, (unsigned)fd - 1, 0) != 0))
		return -errno;
	int ret = limit_all(cpu_ms, data_max);
	if (ret == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		ret = -errno;
	if (ret == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		ret = -errno;
	if (ret == 0)
		ret = drop_capabilities();
	if (ret == 0 && filter->step_count > 0)
		ret = callfilter_load(filter);
	return ret;
}
