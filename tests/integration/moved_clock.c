/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * moved_clock - time() as far from the machine's as DNSBLV6_CLOCK_OFFSET says, in seconds.
 *
 * For LD_PRELOAD: programs of zone-tools ask time() for the time and nothing else.
 */

#include <stdlib.h>
#include <time.h>

__attribute__((visibility("default"))) time_t time(time_t *ret_now)
{
	const char *offset = getenv("DNSBLV6_CLOCK_OFFSET");
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec += offset != NULL ? strtol(offset, NULL, 10) : 0;
	if (ret_now != NULL)
		*ret_now = now.tv_sec;
	return now.tv_sec;
}
