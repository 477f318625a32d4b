/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/answer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* RFC 8914 */
#define EDE_BLOCKED    15 /* by the operator of the resolver; up to EDE_FILTERED, on demand */
#define EDE_FILTERED   17
#define EDE_PROHIBITED 18

const char *answer_failure_text(enum answer_failure failure)
{
	static const char *const texts[] = {
		[ANSWER_GOOD] = "answered",
		[ANSWER_SILENT] = "no reply",
		[ANSWER_NETWORK] = "no resolver reached",
		[ANSWER_SERVFAIL] = "the resolver failed",
		[ANSWER_BLOCKED] = "refused",
		[ANSWER_LYING] = "an answer that the zone cannot have given",
		[ANSWER_FILTERED] = "the address was dropped from the answer",
		[ANSWER_FOREIGN] = "a negative answer of another zone",
		[ANSWER_LATE] = "read when its TTL was over",
		[ANSWER_MISASKED] = "nothing that the list may be asked about",
		[ANSWER_UNPROVEN] = "a listing without proof",
		[ANSWER_INSECURE] = "an answer that was not validated",
	};

	if ((size_t)failure >= sizeof(texts) / sizeof(texts[0]))
		return "unknown";
	return texts[failure];
}

bool answer_is_below(const struct dnsblv6_labels *name, const struct dnsblv6_labels *ancestor)
{
	/* Label by label: the bytes of a suffix may begin in the middle of a label. */
	for (unsigned i = 0; i < name->size; i += 1u + name->wire[i]) {
		unsigned left = name->size - i;
		if (left > ancestor->size)
			continue;
		return left == ancestor->size &&
		       strncasecmp((const char *)name->wire + i, (const char *)ancestor->wire,
				   left) == 0;
	}
	return ancestor->size == 0;
}

/* What a TTL becomes by the options. */
static uint32_t clamp_ttl(const struct config *config, uint32_t ttl_s, bool is_negative)
{
	uint32_t most = is_negative ? config->max_negative_ttl_s : config->max_ttl_s;

	if (ttl_s > most)
		ttl_s = most;
	return ttl_s < config->min_ttl_s ? config->min_ttl_s : ttl_s;
}

/*
 * 127.255.255.0/24, where lists say that they do not want to be asked; of sites 127.0.0.1 too, by
 * which SURBL and URIBL do.
 */
static bool is_refusal(enum config_kind kind, const uint8_t *a)
{
	return (a[0] == 127 && a[1] == 255 && a[2] == 255) ||
	       (kind == CONFIG_SITES && memcmp(a, config_errors[kind], 4) == 0);
}

/* ---- what is wrong with a reply whatever was asked ---- */

static enum answer_failure find_failure(int status, const struct message_reply *reply)
{
	if (reply == NULL)
		return status == -ETIMEDOUT ? ANSWER_SILENT : ANSWER_NETWORK;
	if (reply->kind == MESSAGE_REFUSED || reply->ede == EDE_PROHIBITED)
		return ANSWER_BLOCKED;
	if (reply->kind == MESSAGE_FAILURE || reply->kind == MESSAGE_TRUNCATED)
		return ANSWER_SERVFAIL;
	/* The resolver has made it. */
	if (reply->kind != MESSAGE_ANSWER && reply->ede >= EDE_BLOCKED &&
	    reply->ede <= EDE_FILTERED)
		return ANSWER_FILTERED;
	return ANSWER_GOOD;
}

/* The SOA is above the name, and not above the zone. A zone that has gone is denied by the one
 * above it. */
static enum answer_failure check_soa(const struct answer_question *question,
				     const struct message_reply *reply)
{
	if (!answer_is_below(question->name, &reply->soa_owner) ||
	    dnsblv6_name_label_count(&reply->soa_owner) < question->soa_labels)
		return ANSWER_FOREIGN;
	return ANSWER_GOOD;
}

/* NXDOMAIN counts when the zone says it. Zones of our format always have a SOA there; old lists may
 * have none, and some resolvers leave it out of what they have cached. */
static enum answer_failure check_denial(const struct answer_question *question,
					const struct message_reply *reply)
{
	if (question->doubts_no)
		return ANSWER_FILTERED;
	if (reply->has_soa)
		return check_soa(question, reply);
	return question->is_block ? ANSWER_FOREIGN : ANSWER_GOOD;
}

/*
 * Nothing of the type is at the name, but something else, or something below it. A filter that
 * takes 127/8 out of answers leaves the same behind, without a SOA.
 */
static enum answer_failure check_nodata(const struct answer_question *question,
					const struct message_reply *reply)
{
	return reply->has_soa ? check_soa(question, reply) : ANSWER_FILTERED;
}

/* ---- blocks ---- */

static enum answer_failure read_block(const struct answer_question *question,
				      const struct message_reply *reply, struct cache_entry *entry)
{
	entry->kind = CACHE_BITMAP;
	if (reply->kind == MESSAGE_NXDOMAIN)
		return check_denial(question, reply);
	if (reply->kind == MESSAGE_NODATA)
		return ANSWER_FILTERED;
	if (reply->aaaa_count != 1 || reply->has_cname)
		return ANSWER_LYING;
	memcpy(entry->payload.bytes, reply->aaaa, sizeof(entry->payload.bytes));
	/* A block without a listing has no name: "::" is a sinkhole's. */
	return dnsblv6_bitmap_is_empty(&entry->payload) ? ANSWER_LYING : ANSWER_GOOD;
}

/* ---- classic answers ---- */

/* 127.0.0.n with n below 128: what nearly all lists answer with. */
static bool is_low(const uint8_t *a)
{
	return a[1] == 0 && a[2] == 0 && a[3] < 128;
}

/*
 * They are sorted: of more than there is room for, those that are left out are always the same, in
 * whichever order a resolver gives them.
 */
static void keep_values(const struct message_reply *reply, struct cache_entry *entry)
{
	bool has_only_low = true, has_only_pairs = true;

	for (unsigned i = 0; i < reply->a_count; i++) {
		has_only_low = has_only_low && is_low(reply->a[i]);
		has_only_pairs = has_only_pairs && reply->a[i][1] == 0;
	}
	entry->kind = CACHE_LOW;
	for (unsigned i = 0; i < reply->a_count && has_only_low; i++)
		dnsblv6_bitmap_add(&entry->payload, reply->a[i][3]);
	if (has_only_low)
		return;
	entry->kind = has_only_pairs ? CACHE_PAIRS : CACHE_VALUES;
	const size_t size = has_only_pairs ? 2 : 4;
	for (size_t i = 0; i < reply->a_count && (i + 1) * size <= sizeof(entry->payload); i++)
		memcpy(entry->payload.bytes + i * size, reply->a[i] + 4 - size, size);
}

/*
 * Spamhaus' DBL says so of an address that is asked as a name. It is about this question alone: it
 * must not make the zone sick, since what is asked here stands in mail.
 */
static bool is_misasked(enum config_kind kind, const uint8_t *a)
{
	return kind == CONFIG_NAMES && memcmp(a, config_errors[kind], 4) == 0;
}

static enum answer_failure read_values(const struct answer_question *question,
				       const struct message_reply *reply, struct cache_entry *entry)
{
	entry->kind = CACHE_LOW;
	if (reply->kind == MESSAGE_NXDOMAIN)
		return check_denial(question, reply);
	if (reply->kind == MESSAGE_NODATA)
		return check_nodata(question, reply);
	for (unsigned i = 0; i < reply->a_count; i++) {
		if (is_refusal(question->kind, reply->a[i]))
			return ANSWER_BLOCKED;
		if (is_misasked(question->kind, reply->a[i]))
			return ANSWER_MISASKED;
	}
	for (unsigned i = 0; i < reply->a_count; i++) {
		if (reply->a[i][0] != 127)
			return ANSWER_LYING;
	}
	keep_values(reply, entry);
	return ANSWER_GOOD;
}

enum answer_failure answer_read(const struct answer_question *question, int status,
				const struct message_reply *reply, bool is_trusted,
				struct cache_entry *ret_entry)
{
	struct cache_entry entry = { .kind = CACHE_BITMAP };
	enum answer_failure failure = find_failure(status, reply);
	if (failure != ANSWER_GOOD)
		return failure;

	failure = question->is_block ? read_block(question, reply, &entry)
				     : read_values(question, reply, &entry);
	entry.is_secure = is_trusted && reply->is_secure;
	if (failure == ANSWER_GOOD && question->wants_secure && !entry.is_secure)
		failure = ANSWER_INSECURE;
	if (failure != ANSWER_GOOD)
		return failure;
	entry.ttl_s = clamp_ttl(question->config, reply->ttl_s, reply->kind != MESSAGE_ANSWER);
	if (question->age_s > entry.ttl_s)
		return ANSWER_LATE;
	entry.ttl_s -= question->age_s;
	entry.expires_s = question->now_s + entry.ttl_s;
	*ret_entry = entry;
	return ANSWER_GOOD;
}
