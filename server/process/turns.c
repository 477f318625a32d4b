/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/turns.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_NS	      100000 /* the shortest that Linux permits: some fifty answers */
#define RESET_ON_FORK 0x01   /* SCHED_FLAG_RESET_ON_FORK of linux/sched.h */
#define REALTIME_MIN  1	     /* the lowest priority of SCHED_RR */

/* What sched_setattr(2) takes, in its first version; glibc 2.36 does not know it. */
struct schedule {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns;
	uint64_t deadline_ns;
	uint64_t period_ns;
};

static int set_schedule(pid_t pid, struct schedule *schedule)
{
	schedule->size = sizeof(*schedule);
	schedule->flags = RESET_ON_FORK;
	return syscall(SYS_sched_setattr, pid, schedule, 0u) == 0 ? 0 : -errno;
}

/* Nothing is lost where short ones cannot be had. 0: turns of the usual length. */
static void share_time(uint64_t turn_ns)
{
	struct schedule schedule = { .policy = SCHED_OTHER,
				     .nice = getpriority(PRIO_PROCESS, 0),
				     .slice_ns = turn_ns };
	set_schedule(0, &schedule);
}

void turns_hurry(void)
{
	if (sched_getscheduler(0) == SCHED_OTHER)
		share_time(TURN_NS);
}

int turns_put_first(pid_t pid)
{
	int policy = sched_getscheduler(pid);
	if (policy < 0)
		return -errno;
	if ((policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER)
		return 0;
	struct schedule schedule = { .policy = SCHED_RR, .priority = REALTIME_MIN };
	return set_schedule(pid, &schedule);
}

/* What an administrator chose came to us over a fork, and without that flag. */
void turns_rest(void)
{
	int policy = sched_getscheduler(0);
	if (policy >= 0 && (policy & SCHED_RESET_ON_FORK) != 0)
		share_time(0);
}
