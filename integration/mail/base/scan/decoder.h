/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * decoder.h - a process that opens the archives of one mail, and may do nothing else.
 *
 * Flow: the template (template.h, decoders.c) forks it when a scanner has the first archive of a
 *       mail -> decoder_confine() -> decoder_run(): frames (scan_frame.h) into lib/inspect, findings
 *       back -> it ends with the mail.
 *
 * libarchive and what it stands on have more code than can be trusted with a mail of anybody, so
 * that this process has nothing but its memory: it can read and write the one socket it has, ask
 * for more memory up to a limit, and exit. Any other system call ends it, and what it has not said
 * then is a finding about that mail.
 */

#include <stdint.h>

#include "lib/inspect/inspect.h"
#include "lib/process/callfilter.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Memory besides what the template has, the one bound of a mail: the largest window and a spool, twice as it grows.
 * lib/unpack tells what finds none as a limit.
 */
#define DECODER_HEAP_MAX (UINT64_C(192) << 20)

/* The program of its system calls, by the template, once. 0 or -errno. */
int decoder_make_filter(struct callfilter *ret_filter);
/*
 * All descriptors but fd are closed. cpu_ms: what it may take of a processor; data_max:
 * RLIMIT_DATA. 0, or -errno when a wall could not be put up.
 */
int decoder_confine(int fd, unsigned cpu_ms, uint64_t data_max, const struct callfilter *filter);
/* Serves one mail at fd. Its exit status. */
int decoder_run(int fd, struct inspect_pool *pool);

#ifdef __cplusplus
}
#endif
