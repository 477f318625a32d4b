/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailplan.h - a mail of the load: what it is made of, and its bytes, any part of them.
 *
 * Flow: a seed and a number -> mailplan_make() -> mailplan_copy() into a socket, piece by piece.
 *
 * A mail is header, text and attachments in one of the MIME structures of the workload, with sizes
 * of the workload's distributions. Nothing of it is kept: it is a row of pieces, each either a few
 * lines of markup that follow from the plan or lines of one length that follow from their number,
 * so that any offset costs the same. All is 7-bit with CRLF, no line is longer than 78 characters,
 * none begins with a dot or is a line of dots and hyphens that could be taken for something else.
 *
 *     Message-ID: <users-load.RUN.NUMBER@load.invalid>
 *
 * RUN and NUMBER are 16 hexadecimal digits each: by them deliveries are tracked
 * (mailplan_find_id()).
 *
 * A plan is plain: it points to nothing, copy it. Nothing here allocates, logs or reads a clock.
 */

#include "bench/users-load/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAILPLAN_ADDRESS_MAX 64
#define MAILPLAN_PIECES	     16
#define MAILPLAN_FILLED	     0 /* the run of mails that are there before any load: boxplan.h */

/* What mails of the caller differ in. */
struct mailplan_wish {
	uint64_t seed;
	uint64_t run;	 /* the same in all mails of one run */
	uint64_t number; /* no other mail of the run has it */
	int64_t time_s;	 /* of its Date, since 1970 */
	/* For the header, without "<>"; one of MAILPLAN_ADDRESS_MAX or more is not in it. */
	const char *from;
	const char *to; /* the first recipient */
};

/* mailplan.c's: a part of the mail of one kind. */
struct mailplan_piece {
	uint8_t kind;
	uint8_t part;  /* which of the texts or attachments */
	uint8_t level; /* of its boundary */
	uint32_t size_bytes;
	uint32_t raw_size; /* before it is coded */
};

struct mailplan {
	uint64_t run;
	uint64_t number;
	int64_t time_s;
	uint64_t bytes_seed;
	size_t size_bytes; /* with CRLF, without a final dot */
	uint8_t structure; /* enum workload_structure */
	uint8_t attachment_count;
	uint8_t piece_count;
	struct mailplan_piece pieces[MAILPLAN_PIECES];
	char from[MAILPLAN_ADDRESS_MAX];
	char to[MAILPLAN_ADDRESS_MAX];
};

void mailplan_make(struct mailplan *ret_plan, const struct workload *workload,
		   const struct mailplan_wish *wish);

/* The first room bytes from offset on, or less when it ends before. Returns how many. */
size_t mailplan_copy(const struct mailplan *plan, size_t offset, char *ret_bytes, size_t room);

/*
 * Finds the Message-ID of a mail of the load in header text, any bytes. false: there is none, or
 * that of another mail. Fields like In-Reply-To do not count.
 */
bool mailplan_find_id(const char *header, size_t size, uint64_t *ret_run, uint64_t *ret_number);

#ifdef __cplusplus
}
#endif
