/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/clock.h"

#include <time.h>

static uint64_t read_us(clockid_t clock)
{
	struct timespec now = { 0 };
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_now_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

uint64_t clock_now_ms(void)
{
	return clock_now_us() / 1000;
}

uint64_t clock_wall_us(void)
{
	return read_us(CLOCK_REALTIME);
}

uint64_t clock_spent_us(void)
{
	return read_us(CLOCK_PROCESS_CPUTIME_ID);
}
