/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/counts/tracking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECIPIENT_BITS 24
#define NS_PER_MS      1000000u
#define DROPPED	       UINT32_MAX /* in place of a UID */
#define TWICE	       (1u << 31) /* in seen_ms */

struct delivery {
	uint64_t key;	  /* 0: a free place */
	uint32_t uid;	  /* 0: not seen */
	uint32_t seen_ms; /* and TWICE */
};

struct taken {
	uint32_t at_ms; /* + 1; 0: not taken */
	bool is_counted;
};

struct tracking {
	struct delivery *deliveries;
	size_t mask;
	uint64_t free_count; /* deliveries that may still come */
	struct taken *mails;
	uint64_t mail_count;
};

int tracking_new(uint64_t mail_count, uint64_t delivery_count, struct tracking **ret_tracking)
{
	size_t places = 16;
	struct tracking *tracking = calloc(1, sizeof(*tracking));
	if (tracking == NULL || mail_count > TRACKING_MAILS_MAX ||
	    delivery_count > TRACKING_MAILS_MAX) {
		free(tracking);
		return -ENOMEM;
	}
	while (places < 2 * delivery_count)
		places *= 2;
	tracking->mask = places - 1;
	tracking->free_count = delivery_count;
	tracking->mail_count = mail_count;
	tracking->deliveries = calloc(places, sizeof(*tracking->deliveries));
	tracking->mails = calloc(mail_count + 1, sizeof(*tracking->mails));
	if (tracking->deliveries == NULL || tracking->mails == NULL) {
		tracking_free(tracking);
		return -ENOMEM;
	}
	*ret_tracking = tracking;
	return 0;
}

void tracking_free(struct tracking *tracking)
{
	if (tracking == NULL)
		return;
	free(tracking->deliveries);
	free(tracking->mails);
	free(tracking);
}

static uint64_t key_of(uint64_t number, uint32_t recipient)
{
	return ((number + 1) << RECIPIENT_BITS) | recipient;
}

static uint64_t number_of(const struct delivery *delivery)
{
	return (delivery->key >> RECIPIENT_BITS) - 1;
}

static uint32_t recipient_of(const struct delivery *delivery)
{
	return (uint32_t)(delivery->key & ((1u << RECIPIENT_BITS) - 1));
}

static bool is_remote_one(const struct delivery *delivery)
{
	return (recipient_of(delivery) & TRACKING_USERS_MAX) != 0;
}

/* The place that has it, or that is free for it. */
static struct delivery *place_of(const struct tracking *tracking, uint64_t number,
				 uint32_t recipient)
{
	const uint64_t key = key_of(number, recipient);
	uint64_t hash = key * 0x9e3779b97f4a7c15u;
	hash ^= hash >> 32;
	size_t at = hash & tracking->mask;
	while (tracking->deliveries[at].key != 0 && tracking->deliveries[at].key != key)
		at = (at + 1) & tracking->mask;
	return &tracking->deliveries[at];
}

static struct delivery *find(const struct tracking *tracking, uint64_t number, uint32_t recipient)
{
	if (number >= tracking->mail_count)
		return NULL;
	struct delivery *found = place_of(tracking, number, recipient);
	return found->key != 0 ? found : NULL;
}

void tracking_expect(struct tracking *tracking, uint64_t number, uint32_t recipient)
{
	if (number >= tracking->mail_count || tracking->free_count == 0)
		return;
	struct delivery *place = place_of(tracking, number, recipient);
	if (place->key != 0)
		return;
	tracking->free_count--;
	place->key = key_of(number, recipient);
}

void tracking_drop(struct tracking *tracking, uint64_t number, uint32_t recipient)
{
	struct delivery *delivery = find(tracking, number, recipient);
	if (delivery != NULL)
		delivery->uid = DROPPED;
}

static uint32_t ms_of(uint64_t now_ns)
{
	const uint64_t ms = now_ns / NS_PER_MS;
	return ms < TWICE - 1 ? (uint32_t)ms : TWICE - 2;
}

void tracking_taken(struct tracking *tracking, uint64_t number, uint64_t now_ns, bool is_counted)
{
	if (number >= tracking->mail_count)
		return;
	tracking->mails[number].at_ms = ms_of(now_ns) + 1;
	tracking->mails[number].is_counted = is_counted;
}

void tracking_seen(struct tracking *tracking, uint64_t number, uint32_t recipient, uint32_t uid,
		   uint64_t now_ns)
{
	struct delivery *delivery = find(tracking, number, recipient);
	if (delivery == NULL || delivery->uid == DROPPED || delivery->uid == uid)
		return;
	if (delivery->uid != 0) {
		delivery->seen_ms |= TWICE;
		return;
	}
	delivery->uid = uid;
	delivery->seen_ms = ms_of(now_ns);
}

/* ---- what came of it ---- */

/* The mail of a delivery that was sent; NULL when the place is free, or the server has not taken it. */
static const struct taken *sent_mail(const struct tracking *tracking,
				     const struct delivery *delivery)
{
	if (delivery->key == 0 || delivery->uid == DROPPED)
		return NULL;
	const struct taken *mail = &tracking->mails[number_of(delivery)];
	return mail->at_ms != 0 ? mail : NULL;
}

static void add(struct tracking_deliveries *deliveries, const struct delivery *delivery,
		const struct taken *mail, uint64_t limit_ns)
{
	deliveries->sent++;
	if (delivery->uid == 0) {
		deliveries->lost++;
		return;
	}
	const uint32_t seen_ms = delivery->seen_ms & ~TWICE;
	const uint32_t taken_ms = mail->at_ms - 1;
	const uint64_t took_ns =
		seen_ms > taken_ms ? (uint64_t)(seen_ms - taken_ms) * NS_PER_MS : 0;
	deliveries->seen++;
	deliveries->within += took_ns <= limit_ns;
	deliveries->twice += (delivery->seen_ms & TWICE) != 0;
	figures_add(&deliveries->took, took_ns);
}

void tracking_sum(const struct tracking *tracking, bool is_remote, uint64_t limit_ns,
		  struct tracking_deliveries *ret_deliveries)
{
	memset(ret_deliveries, 0, sizeof(*ret_deliveries));
	for (size_t at = 0; at <= tracking->mask; at++) {
		const struct delivery *delivery = &tracking->deliveries[at];
		const struct taken *mail = sent_mail(tracking, delivery);
		if (mail != NULL && mail->is_counted && is_remote_one(delivery) == is_remote)
			add(ret_deliveries, delivery, mail, limit_ns);
	}
}

void tracking_waits(const struct tracking *tracking, uint32_t user_count, uint32_t *ret_waiting,
		    uint32_t *ret_sent)
{
	memset(ret_waiting, 0, user_count * sizeof(*ret_waiting));
	memset(ret_sent, 0, user_count * sizeof(*ret_sent));
	for (size_t at = 0; at <= tracking->mask; at++) {
		const struct delivery *delivery = &tracking->deliveries[at];
		const uint32_t user = recipient_of(delivery);
		if (sent_mail(tracking, delivery) == NULL || user >= user_count)
			continue;
		ret_sent[user]++;
		ret_waiting[user] += delivery->uid == 0;
	}
}

uint64_t tracking_waiting_count(const struct tracking *tracking)
{
	uint64_t count = 0;
	for (size_t at = 0; at <= tracking->mask; at++) {
		const struct delivery *delivery = &tracking->deliveries[at];
		count += sent_mail(tracking, delivery) != NULL && delivery->uid == 0;
	}
	return count;
}
