/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tally.h - what a run has been: transactions of each type, sessions, errors.
 *
 * Flow: imaprun.c and smtprun.c tell what happens and when -> report.c writes it.
 *
 * What counts is when a transaction, or a session, was due: those of the window are counted, however late they end.
 * A transaction without an error is in its histogram, and so is one that has no answer at the end of the run, with as
 * much time as it has had; that is never within the limit.
 *
 * Latencies are struct figures_histogram of smtp-load. Times are nanoseconds since the start. Nothing here logs or
 * reads a clock.
 */

#include "bench/smtp-load/figures.h"
#include "bench/users-load/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tally_error {
	TALLY_CONNECT,
	TALLY_TIMEOUT,
	TALLY_BYE,
	TALLY_NO,
	TALLY_BAD,
	TALLY_PROTOCOL,
	TALLY_CLOSED,
	TALLY_SMTP, /* a refusal, of a mail or a recipient */
	TALLY_ERRORS,
};

struct tally_transaction {
	uint64_t count; /* with errors and those that have no answer */
	uint64_t errors;
	uint64_t within;
	struct figures_histogram took;
};

struct tally {
	uint64_t window_from_ns;
	uint64_t window_to_ns;
	uint64_t limit_ns;
	struct tally_transaction transactions[TRANSACTIONS];
	uint64_t errors[TALLY_ERRORS];
	uint64_t sessions_begun;
	uint64_t sessions_ended; /* with and without an error; the others were open at the end */
	uint64_t sessions_failed;
	uint64_t open; /* now, of the whole run, as is the next */
	uint64_t open_max;
	uint64_t late_max_ns;
};

const char *tally_error_name(enum tally_error error); /* "connect" */

void tally_init(struct tally *ret_tally, uint64_t window_from_ns, uint64_t window_to_ns,
		uint64_t limit_ns);
bool tally_counts(const struct tally *tally, uint64_t due_ns);

void tally_done(struct tally *tally, enum transaction transaction, uint64_t due_ns,
		uint64_t now_ns);
void tally_failed(struct tally *tally, enum transaction transaction, uint64_t due_ns,
		  enum tally_error error);
/* The run ends, and there is no answer. */
void tally_unanswered(struct tally *tally, enum transaction transaction, uint64_t due_ns,
		      uint64_t now_ns);
/* An error of something that is no transaction. */
void tally_error(struct tally *tally, uint64_t due_ns, enum tally_error error);

void tally_session_begun(struct tally *tally, uint64_t due_ns);
void tally_session_ended(struct tally *tally, uint64_t due_ns, bool has_failed);
/* It is over because the run is. */
void tally_session_left(struct tally *tally);

/* Something was done at now_ns that was due before. */
void tally_late(struct tally *tally, uint64_t due_ns, uint64_t now_ns);

#ifdef __cplusplus
}
#endif
