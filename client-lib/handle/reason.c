/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reason.c - text for the reply to a refused client.
 *
 * Flow: dnsblv6_reason() -> metadata, or a TXT record, of one zone after the other -> text.
 * A text that comes from DNS is a stranger's: nothing but printable ASCII is kept of it.
 */
#include "client-lib/handle/client_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define REASON_MAX 600

/* Text of one zone about what is listed. It is there when is_done. */
struct reason {
	struct engine *engine;
	unsigned zone;	/* index in config->zones */
	unsigned entry; /* of that zone, whose label stands for its name */
	struct topic topic;
	bool is_done;
	bool has_text;	   /* of the zone, and not ours alone */
	uint64_t question; /* of the stub; 0: none */
	char text[REASON_MAX];
};

/* "ADDRESS is listed by ZONE", or by the entry's label, and what the zone adds to it. */
static void write_text(struct reason *reason, const char *joint, const char *added)
{
	char subject[CONFIG_TEXT_MAX];
	const struct config *config = reason->engine->all.config;
	const char *name = config->zones[reason->zone].text;
	const char *label = config->entries[reason->entry].label;

	topic_format(&reason->topic, subject);
	snprintf(reason->text, sizeof(reason->text), "%s is listed by %.*s%s%s", subject, 255,
		 label[0] != '\0' ? label : name, joint, added);
	if (label[0] != '\0')
		zone_hide_name(name, label, reason->text, sizeof(reason->text));
	for (char *at = reason->text; *at != '\0'; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	reason->has_text = added[0] != '\0';
	reason->is_done = true;
}

/* The URL of the metadata, $ being the address. */
static void write_url(struct reason *reason, const char *pattern)
{
	char url[DNSBLV6_METADATA_VALUE_MAX + CONFIG_TEXT_MAX];
	char address[CONFIG_TEXT_MAX];
	const char *place = strchr(pattern, '$');

	if (pattern[0] == '\0') {
		write_text(reason, "", "");
		return;
	}
	topic_format(&reason->topic, address);
	if (place == NULL)
		snprintf(url, sizeof(url), "%s", pattern);
	else
		snprintf(url, sizeof(url), "%.*s%s%s", (int)(place - pattern), pattern, address,
			 place + 1);
	write_text(reason, ", see ", url);
}

/* How the zone is asked, by its own word or the daemon's. */
static bool is_classic(const struct zone *zone)
{
	uint32_t now_s;
	struct health_word parts = health_unpack(engine_zone_word(zone, &now_s));

	return parts.mode == HEALTH_CLASSIC;
}

/* Nothing was asked, or nothing came: what is known of the metadata is left. */
static void write_known(struct reason *reason)
{
	const struct zone *zone = reason->engine->all.zones + reason->zone;

	write_url(reason, is_classic(zone) ? "" : zone->reason);
}

static void on_text(void *context, int status, const struct message_reply *reply, bool is_trusted)
{
	struct reason *reason = context;
	char text[MESSAGE_TEXT_MAX + 1];

	(void)status;
	(void)is_trusted;
	reason->question = 0;
	if (reply == NULL || reply->kind != MESSAGE_ANSWER || reply->text_size == 0) {
		write_text(reason, "", "");
		return;
	}
	size_t size = reply->text_size < MESSAGE_TEXT_MAX ? reply->text_size : MESSAGE_TEXT_MAX;
	memcpy(text, reply->text, size);
	text[size] = '\0';
	write_text(reason, ": ", text);
}

/* What was asked for is not asked for again before its TTL is over, or failure-ttl when nothing came. */
static void hold_text(struct zone *zone, uint32_t ttl_s)
{
	const uint32_t least_s = zone->all->config->failure_ttl_s;

	zone->reason_s = cache_now_s(zone->all->cache);
	zone->reason_hold_s = ttl_s > least_s ? ttl_s : least_s;
}

static bool is_text_held(const struct zone *zone)
{
	return cache_now_s(zone->all->cache) - zone->reason_s < zone->reason_hold_s;
}

static uint32_t min(uint32_t left, uint32_t right)
{
	return left < right ? left : right;
}

/* By the zone's own word, with a SOA: not what a filter leaves. */
static bool denies(const struct message_reply *reply)
{
	return (reply->kind == MESSAGE_NXDOMAIN || reply->kind == MESSAGE_NODATA) && reply->has_soa;
}

static void on_metadata(void *context, int status, const struct message_reply *reply,
			bool is_trusted)
{
	struct reason *reason = context;
	struct zone *zone = reason->engine->all.zones + reason->zone;
	const struct config *config = reason->engine->all.config;
	struct dnsblv6_metadata metadata;
	uint32_t ttl_s = 0;

	(void)status;
	(void)is_trusted;
	reason->question = 0;
	/* Of the metadata it is the text alone that is kept: how to ask is a probe's to find out. */
	if (reply != NULL && reply->kind == MESSAGE_ANSWER &&
	    reply->text_total <= sizeof(reply->text_rdata) &&
	    dnsblv6_metadata_decode(reply->text_rdata, reply->text_total, &metadata) ==
		    DNSBLV6_OK) {
		memcpy(zone->reason, metadata.reason, sizeof(zone->reason));
		ttl_s = min(reply->ttl_s, config->max_ttl_s);
	} else if (reply != NULL && denies(reply)) {
		zone->reason[0] = '\0';
		ttl_s = min(reply->ttl_s, config->max_negative_ttl_s);
	}
	hold_text(zone, ttl_s);
	write_url(reason, zone->reason);
}

static void ask(struct reason *reason, const struct dnsblv6_labels *relative,
		const struct dnsblv6_labels *apex, stub_fn callback, int64_t now_ms,
		int64_t deadline_ms)
{
	struct zones *all = &reason->engine->all;
	struct dnsblv6_labels name;
	struct stub_what what = { reason->zone, &name, MESSAGE_TXT, deadline_ms, 0 };

	if (deadline_ms <= now_ms ||
	    dnsblv6_name_join(relative->wire, relative->size, apex->wire, apex->size, &name) !=
		    DNSBLV6_OK ||
	    stub_ask(all->stub, &what, now_ms, callback, reason, &reason->question) != DNSBLV6_OK) {
		reason->question = 0;
		write_known(reason);
		return;
	}
	all->zones[reason->zone].asked++;
}

static void start(struct reason *reason, int64_t now_ms, int64_t deadline_ms)
{
	const struct zone *zone = reason->engine->all.zones + reason->zone;
	struct dnsblv6_labels relative;

	if (is_classic(zone)) {
		relative = reason->topic.name;
		if (relative.size == 0)
			dnsblv6_name_make_classic(reason->topic.addr, &relative);
		ask(reason, &relative, &zone->config->name, on_text, now_ms, deadline_ms);
		return;
	}
	if (zone->has_metadata || deadline_ms <= now_ms || is_text_held(zone)) {
		write_url(reason, zone->reason);
		return;
	}
	(void)dnsblv6_name_from_text(DNSBLV6_METADATA_LABEL, &relative);
	ask(reason, &relative, &zone->config->name, on_metadata, now_ms, deadline_ms);
}

/* ---- reasons ---- */

static bool has_reason(const void *what)
{
	return ((const struct reason *)what)->is_done;
}

static void find_reason(struct dnsblv6 *client, struct reason *reason, int64_t deadline_ms)
{
	start(reason, client_now_ms(), deadline_ms);
	client_wait(client, has_reason, reason, deadline_ms);
	if (reason->question != 0) {
		stub_cancel(client->engine->all.stub, reason->question);
		hold_text(client->engine->all.zones + reason->zone, 0);
	}
	if (!reason->is_done)
		write_known(reason);
}

/* The first text that a zone has; without one, what can be said of the first zone. */
static void find_text(struct dnsblv6 *client, const struct topic *topic, uint64_t listed,
		      int64_t deadline_ms, struct reason *ret_reason)
{
	bool is_first = true;

	for (unsigned i = 0; i < client->config.entry_count; i++) {
		struct reason reason = { .engine = client->engine,
					 .zone = client->config.entries[i].zone,
					 .entry = i,
					 .topic = *topic };
		if ((listed & 1ull << i) == 0)
			continue;
		find_reason(client, &reason, client->is_broken ? 0 : deadline_ms);
		if (is_first || reason.has_text)
			*ret_reason = reason;
		if (reason.has_text)
			return;
		is_first = false;
	}
}

static int write_reason(struct dnsblv6 *client, const struct topic *topic,
			const struct dnsblv6_result *result, int timeout_ms, char *ret_text,
			size_t size)
{
	struct reason reason;

	if (result == NULL || ret_text == NULL || size == 0 ||
	    (timeout_ms != 0 && !client_is_timeout(timeout_ms)))
		return -EINVAL;
	if (result->zones_listed == 0)
		return -ENOENT;
	uint64_t listed = config_entries(&client->config, topic->kind, result->zones_listed);
	if (listed == 0)
		return -ENOENT;
	int64_t deadline_ms = client_now_ms() + timeout_ms;
	client_enter(client);
	find_text(client, topic, listed, deadline_ms, &reason);
	client_wake_loop(client);
	client_leave(client);

	size_t length = strlen(reason.text);
	if (length >= size)
		length = size - 1;
	memcpy(ret_text, reason.text, length);
	ret_text[length] = '\0';
	return (int)length;
}

int dnsblv6_reason(struct dnsblv6 *client, const struct dnsblv6_ip *ip,
		   const struct dnsblv6_result *result, int timeout_ms, char *ret_text, size_t size)
{
	struct topic topic;

	if (client == NULL || client->engine == NULL || ip == NULL)
		return -EINVAL;
	topic_of_ip(ip, &topic);
	return write_reason(client, &topic, result, timeout_ms, ret_text, size);
}

int dnsblv6_reason_name(struct dnsblv6 *client, const char *name,
			const struct dnsblv6_result *result, int timeout_ms, char *ret_text,
			size_t size)
{
	struct topic topic;

	if (client_parse_name(client, name, UINT64_MAX, &topic) != DNSBLV6_OK)
		return -EINVAL;
	return write_reason(client, &topic, result, timeout_ms, ret_text, size);
}
