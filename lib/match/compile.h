/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * compile.h - one database for match.h out of signatures in ClamAV's formats.
 *
 * Flow: mail-scan compile -> compile_new() -> compile_add_file() for each file -> compile_write(),
 *       which makes Vectorscan's database and writes all into one file.
 *
 * Formats by the end of the name: hdb, hsb, ndb, ldb, mdb, msb, fp, sfp, ign2, and their -u forms.
 * A line that is wrong is named, FILE:LINE: what, and left out, or ends it (is_strict). A signature
 * that is right and cannot be decided while bytes flow by is counted with its reason; it is for
 * clamd.
 *
 * Allocates as it likes: it is the tool's, never a mail server's. For one thread.
 */

#include <stdbool.h>

#include "lib/match/lines/reason.h"
#include "lib/match/match.h"

#ifdef __cplusplus
extern "C" {
#endif

struct compile;

/* For messages about lines, one at a time, without an end of line. */
typedef void compile_say_fn(void *context, const char *message);

int compile_new(bool is_strict, compile_say_fn *say, void *context, struct compile **ret_compile);
void compile_free(struct compile *compile);

/* The format is the name's. 0, or -errno: -EBADMSG with is_strict when a line is wrong. */
int compile_add_file(struct compile *compile, const char *path);

/*
 * To path, by another name beside it and rename(2), synced. 0 or -errno, said. What was at path
 * before stays there when this fails.
 */
int compile_write(struct compile *compile, const char *path);

/*
 * Signatures of a format that are left out for reason; COMPILE_STREAMS: that are in, behind
 * compile_write() without those that are ignored.
 */
unsigned compile_count(const struct compile *compile, enum compile_format format,
		       enum compile_reason reason);
unsigned compile_bad_lines(const struct compile *compile);
const char *compile_format_name(enum compile_format format);
const char *compile_reason_text(enum compile_reason reason);

#ifdef __cplusplus
}
#endif
