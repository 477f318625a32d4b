/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * moved_clock - a time() as far from the machine's as DNSBLV6_CLOCK_OFFSET says, in seconds.
 *
 * For LD_PRELOAD: programs of zone-tools ask time() for the time and nothing else. The linker
 * gives the function that name: no object of ours may define what others of ours use.
 */

#include <stdlib.h>
#include <time.h>

time_t moved_time(time_t *ret_now);

__attribute__((visibility("default"))) time_t moved_time(time_t *ret_now)
{
	const char *offset = getenv("DNSBLV6_CLOCK_OFFSET");
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec += offset != NULL ? strtol(offset, NULL, 10) : 0;
	if (ret_now != NULL)
		*ret_now = now.tv_sec;
	return now.tv_sec;
}
