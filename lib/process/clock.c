/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/clock.h"

#include <time.h>

uint64_t clock_now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_now_ms(void)
{
	return clock_now_us() / 1000;
}
