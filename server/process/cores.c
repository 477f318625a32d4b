/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/cores.h"

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_NS	      100000 /* the shortest that Linux permits: some fifty answers */
#define RESET_ON_FORK 0x01   /* SCHED_FLAG_RESET_ON_FORK of linux/sched.h */

/* The n-th of them, beginning again behind the last; there is one. */
static size_t find_core(const cpu_set_t *allowed, size_t n)
{
	size_t rest = n % (size_t)CPU_COUNT(allowed);
	size_t core = 0;
	while (!CPU_ISSET(core, allowed) || rest-- > 0)
		core++;
	return core;
}

void cores_divide(struct cores *cores, size_t worker_count)
{
	if (sched_getaffinity(0, sizeof(cores->allowed), &cores->allowed) != 0)
		CPU_ZERO(&cores->allowed);
	cores->shared = cores->allowed;
	if (worker_count >= (size_t)CPU_COUNT(&cores->allowed))
		return;
	for (size_t i = 0; i < worker_count; i++)
		CPU_CLR(find_core(&cores->allowed, i), &cores->shared);
}

int cores_take(const struct cores *cores, size_t worker)
{
	cpu_set_t one;
	if (CPU_COUNT(&cores->allowed) == 0)
		return -ENOSYS;
	CPU_ZERO(&one);
	CPU_SET(find_core(&cores->allowed, worker), &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0 ? 0 : -errno;
}

/* An error is one of a set that the administrator has taken away since: then all stays. */
static void go_to(const cpu_set_t *set)
{
	if (CPU_COUNT(set) > 0)
		sched_setaffinity(0, sizeof(*set), set);
}

void cores_share(const struct cores *cores)
{
	go_to(&cores->shared);
}

void cores_use_all(const struct cores *cores)
{
	go_to(&cores->allowed);
}

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

void cores_take_short_turns(void)
{
	struct schedule schedule = { .size = sizeof(schedule),
				     .policy = SCHED_OTHER,
				     .flags = RESET_ON_FORK,
				     .nice = getpriority(PRIO_PROCESS, 0),
				     .slice_ns = TURN_NS };
	if (sched_getscheduler(0) == SCHED_OTHER)
		syscall(SYS_sched_setattr, 0, &schedule, 0u);
}
