/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clock.h - clocks: the one that deadlines go by, which is never set and the same for all processes, and two more.
 *
 * Flow: programs without an event loop, and those beside one, read it -> the pure parts (crew.h,
 *       ration.h) are given it as a parameter.
 *
 * CLOCK_MONOTONIC of Linux. A program with a libuv loop takes uv_now(), which is the same clock as
 * it was when the loop woke.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint64_t clock_now_ms(void);
uint64_t clock_now_us(void);
/* Since 1970: what mails and logs are dated by, and no deadline, as it may be set. */
uint64_t clock_wall_us(void);
/* Of processors, that this process has had. */
uint64_t clock_spent_us(void);

#ifdef __cplusplus
}
#endif
