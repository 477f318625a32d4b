/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clock.h - the time that deadlines go by: a clock that is never set, and one for all processes.
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

#ifdef __cplusplus
}
#endif
