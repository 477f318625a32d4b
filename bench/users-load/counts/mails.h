/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mails.h - which mails are sent in a run: when, from and to whom.
 *
 * Flow: workload.h says how many an hour go which way -> mails_next() -> run.c sends it when it is due.
 *
 * One Poisson process for all three flows. What a mail is follows from the seed and its number alone; when it is due from
 * all before it. Local senders and recipients are active users; a mail has no recipient twice. What is sent abroad has
 * recipients 0, 1, 2 ... there.
 *
 * Plain values. Nothing here allocates, logs or reads a clock.
 */

#include "bench/users-load/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAILS_RECIPIENTS_MAX 64

struct mails {
	const struct workload *workload; /* borrowed */
	uint64_t seed;
	uint32_t user_count;
	uint32_t active_count;
	double per_ns; /* of all flows */
	double flows[WORKLOAD_FLOWS];
	struct dice gaps;
	uint64_t number; /* of the next one */
	uint64_t due_ns; /* of the next one; UINT64_MAX: there is none */
};

struct mail {
	uint64_t number;
	uint64_t due_ns;
	enum workload_flow flow;
	uint32_t sender; /* a user, but of REMOTE_LOCAL a number abroad */
	unsigned recipient_count;
	uint32_t recipients[MAILS_RECIPIENTS_MAX]; /* users, but of LOCAL_REMOTE numbers abroad */
};

/* rate: so many times as many as the workload says. */
void mails_begin(struct mails *ret_mails, const struct workload *workload, uint64_t seed,
		 uint32_t user_count, double rate);
/* Only when mails->due_ns is not UINT64_MAX. */
void mails_next(struct mails *mails, struct mail *ret_mail);
/* How many are due before until_ns, and their recipients; mails is copied. */
void mails_count(const struct mails *mails, uint64_t until_ns, uint64_t *ret_mails,
		 uint64_t *ret_recipients);

bool mails_is_submitted(const struct mail *mail); /* by a user, and not from abroad */

#ifdef __cplusplus
}
#endif
