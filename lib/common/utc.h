/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * utc.h - a time as persons and programs read it: "2026-11-20T13:00:00Z" (RFC 3339).
 *
 * Flow: seconds of Unix time -> utc_format() -> a line of the log, or of output.
 *
 * It reads no clock.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Into UTC_TEXT_SIZE bytes; "-" for a time that has no such text. Returns ret_text. */
#define UTC_TEXT_SIZE 32
const char *utc_format(uint64_t when_s, char *ret_text);

#ifdef __cplusplus
}
#endif
