/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * date.h - the date of a header field (RFC 5322, 3.3).
 *
 *     Sun, 22 Nov 2026 04:42:54 +0000
 *
 * Flow: trace.c of smtp-front, lmtp_trace.c of mail-stored -> date_format() -> Received;
 *       popnotice.c of mail-proxy -> Date.
 *
 * In English whatever the locale, and in UTC wherever the machine stands. No function here
 * allocates, logs, or reads a clock.
 */

#include <stdint.h>

#define DATE_TEXT_SIZE 48

/* now_s is since 1970; ret_text has DATE_TEXT_SIZE bytes and is returned. */
const char *date_format(int64_t now_s, char *ret_text);
