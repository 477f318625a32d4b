/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/cores.h"

#include <errno.h>

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
