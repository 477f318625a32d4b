/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * screen.h - between the bytes of a mail and the sink: the scanner, when there is one.
 *
 * Flow: parcel.c -> screen_begin(), screen_append(), screen_commit() -> scanner.h has the bytes
 *       first, the sink at once behind it -> the verdict -> sink_commit(), or sink_abort() and a
 *       reply with what was found.
 *
 * Without a scanner these are the sink's functions. With one the sink has all of the mail before
 * the verdict is there, but for its end: nothing is kept here, and what is refused was never
 * committed. Where the settings ask for a header field or a quarantine the mail is kept until its
 * verdict, since its first bytes, or its recipients, depend on it; then the sink hears of it only
 * behind that. It lies in a memfd: memory of the system, not a file, gone with the process.
 *
 * The scanner has the client's own bytes, without our Received field, so that the offsets and sums
 * of what it finds are those of the mail as it was sent.
 *
 * One mail at a time; for one thread. What was found is in .log for the caller to log.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/smtp-front/sinks/sink.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All borrowed; scanner NULL: there is none. */
struct screen_parts {
	struct sink *sink;
	struct scanner *scanner;
	const struct scan_settings *settings; /* NULL without a scanner */
};

/* The transaction of the mail, which a quarantine begins anew. Borrowed until the mail's end. */
struct screen_mail {
	const struct envelope *envelope;
	const struct scan_envelope *facts; /* for the peers of the scanner; NULL without one */
	const char *header;		   /* what stands before the mail, complete with CRLF */
};

struct screen {
	struct screen_parts parts;
	struct screen_mail mail;
	struct scan *scan;	 /* NULL: none */
	int held_fd;		 /* the mail that is kept; -1: none */
	bool is_in_sink;	 /* sink_begin() was called */
	enum scan_action action; /* of the last mail; SCAN_ACCEPT before its verdict */
	bool has_verdict;	 /* of the last mail */
	char log[SCAN_TEXT_MAX]; /* with has_verdict: what the scanner says for the log */
};

/* parts are copied. All zero but for that; there is nothing to free behind screen_abort(). */
void screen_init(struct screen *ret_screen, const struct screen_parts *parts);

/* As those of sink.h: true, or false with *ret_reply, and the mail is gone behind screen_abort(). */
bool screen_begin(struct screen *screen, const struct screen_mail *mail,
		  struct sink_reply *ret_reply);
bool screen_append(struct screen *screen, const uint8_t *bytes, size_t size,
		   struct sink_reply *ret_reply);
bool screen_commit(struct screen *screen, struct sink_reply *ret_reply);
/* Takes one that has ended, or has not begun. */
void screen_abort(struct screen *screen);

#ifdef __cplusplus
}
#endif
