/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/counts/mails.h"

#include <string.h>

#define NS_PER_HOUR 3.6e12
#define ABROAD	    1000000 /* so many addresses there send mails */

static void draw_due(struct mails *mails)
{
	if (!(mails->per_ns > 0)) {
		mails->due_ns = UINT64_MAX;
		return;
	}
	mails->due_ns += (uint64_t)dice_exponential(&mails->gaps, 1 / mails->per_ns);
}

void mails_begin(struct mails *ret_mails, const struct workload *workload, uint64_t seed,
		 uint32_t user_count, double rate)
{
	memset(ret_mails, 0, sizeof(*ret_mails));
	ret_mails->workload = workload;
	ret_mails->seed = seed;
	ret_mails->user_count = user_count;
	for (uint32_t user = 0; user < user_count; user++)
		ret_mails->active_count += workload_is_active(workload, user);
	for (unsigned flow = 0; flow < WORKLOAD_FLOWS && ret_mails->active_count > 0; flow++) {
		ret_mails->flows[flow] = rate * workload_mails_h(workload, flow, user_count);
		ret_mails->per_ns += ret_mails->flows[flow] / NS_PER_HOUR;
	}
	/* Mails have streams from 1 on. */
	dice_begin(&ret_mails->gaps, seed, DICE_MESSAGES, 0);
	draw_due(ret_mails);
}

static bool has_recipient(const struct mail *mail, uint32_t user)
{
	for (unsigned i = 0; i < mail->recipient_count; i++) {
		if (mail->recipients[i] == user)
			return true;
	}
	return false;
}

/* The next one that is active, and not a recipient yet; there is one. */
static uint32_t pick_user(const struct mails *mails, const struct mail *mail, struct dice *dice)
{
	uint32_t user = (uint32_t)dice_below(dice, mails->user_count);
	while (!workload_is_active(mails->workload, user) || has_recipient(mail, user))
		user = (user + 1) % mails->user_count;
	return user;
}

void mails_next(struct mails *mails, struct mail *ret_mail)
{
	struct dice dice;
	memset(ret_mail, 0, sizeof(*ret_mail));
	ret_mail->number = mails->number++;
	ret_mail->due_ns = mails->due_ns;
	dice_begin(&dice, mails->seed, DICE_MESSAGES, ret_mail->number + 1);
	ret_mail->flow = dice_pick(&dice, mails->flows, WORKLOAD_FLOWS);
	const bool is_abroad = ret_mail->flow == WORKLOAD_LOCAL_REMOTE;
	ret_mail->sender = mails_is_submitted(ret_mail) ? pick_user(mails, ret_mail, &dice)
							: (uint32_t)dice_below(&dice, ABROAD);
	unsigned count = workload_recipients(mails->workload, &dice);
	if (count > MAILS_RECIPIENTS_MAX)
		count = MAILS_RECIPIENTS_MAX;
	if (!is_abroad && count > mails->active_count)
		count = mails->active_count;
	while (ret_mail->recipient_count < count) {
		const uint32_t recipient =
			is_abroad ? ret_mail->recipient_count : pick_user(mails, ret_mail, &dice);
		ret_mail->recipients[ret_mail->recipient_count++] = recipient;
	}
	draw_due(mails);
}

void mails_count(const struct mails *mails, uint64_t until_ns, uint64_t *ret_mails,
		 uint64_t *ret_recipients)
{
	struct mails copy = *mails;
	*ret_mails = 0;
	*ret_recipients = 0;
	while (copy.due_ns < until_ns) {
		struct mail mail;
		mails_next(&copy, &mail);
		(*ret_mails)++;
		*ret_recipients += mail.recipient_count;
	}
}

bool mails_is_submitted(const struct mail *mail)
{
	return mail->flow != WORKLOAD_REMOTE_LOCAL;
}
