/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tracking.h - which mails of a run have been seen where they should be, when, and how often.
 *
 * Flow: smtprun.c says who is to get a mail, and when the server has taken it -> sessions that fetch headers, the sink and
 *       the sweep say what they have seen -> tracking_sum() for the report, tracking_waits() for the sweep.
 *
 * A delivery is a mail and one of its recipients: a user, or a recipient in the remote domain. It may be seen before the
 * server's answer is: then it took no time. What is seen under another UID of the same mailbox was delivered twice.
 *
 * A table with open addressing, an entry of 16 bytes for each delivery that a run has planned, twice as many places.
 * Entries never leave. Times are nanoseconds since the start, kept as milliseconds. Nothing here reads a clock, logs,
 * or allocates after tracking_new().
 */

#include "bench/smtp-load/figures.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRACKING_USERS_MAX (1u << 23)
#define TRACKING_MAILS_MAX (1ull << 39)

struct tracking; /* opaque */

/* A recipient in the remote domain, by its place in the list. */
#define TRACKING_REMOTE(index) (TRACKING_USERS_MAX | (uint32_t)(index))

/* At most so many mails, with numbers below, and so many deliveries. 0 or -ENOMEM. */
int tracking_new(uint64_t mail_count, uint64_t delivery_count, struct tracking **ret_tracking);
/* Takes NULL. */
void tracking_free(struct tracking *tracking);

/* That mail will be sent to recipient. Above the number of tracking_new() it is not tracked. */
void tracking_expect(struct tracking *tracking, uint64_t number, uint32_t recipient);
/* recipient will not get it: its RCPT was refused, or the mail was. */
void tracking_drop(struct tracking *tracking, uint64_t number, uint32_t recipient);
/* The server has taken the mail. is_counted: tracking_sum() has it. */
void tracking_taken(struct tracking *tracking, uint64_t number, uint64_t now_ns, bool is_counted);
/* It is there; uid is not 0. The same UID may be told again. */
void tracking_seen(struct tracking *tracking, uint64_t number, uint32_t recipient, uint32_t uid,
		   uint64_t now_ns);

struct tracking_deliveries {
	uint64_t sent;
	uint64_t seen;
	uint64_t within;
	uint64_t lost;
	uint64_t twice;
	struct figures_histogram took;
};
/* Of those that are counted, and whose mails were taken: local ones, or remote ones. */
void tracking_sum(const struct tracking *tracking, bool is_remote, uint64_t limit_ns,
		  struct tracking_deliveries *ret_deliveries);

/* How many mails a user still waits for, and has been sent; both arrays have user_count. */
void tracking_waits(const struct tracking *tracking, uint32_t user_count, uint32_t *ret_waiting,
		    uint32_t *ret_sent);
/* How many are waited for of all, remote ones too. */
uint64_t tracking_waiting_count(const struct tracking *tracking);

#ifdef __cplusplus
}
#endif
