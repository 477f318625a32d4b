/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reason.c - text for the reply to a refused client.
 *
 * Flow: client.c -> engine_reason_start() -> metadata, or a TXT record -> text.
 * A text that comes from DNS is a stranger's: nothing but printable ASCII is kept of it.
 */
#include "client-lib/engine/engine_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The name of a zone may be a secret between its operator and us; a zone may say it itself. */
static void hide_name(char *text, const char *name, const char *label)
{
	char rest[ENGINE_REASON_MAX];
	char *at = text;

	while ((at = strcasestr(at, name)) != NULL) {
		size_t room = ENGINE_REASON_MAX - (size_t)(at - text);

		snprintf(rest, sizeof(rest), "%s", at + strlen(name));
		snprintf(at, room, "%s%s", label, rest);
		at += strlen(label) < room ? strlen(label) : room - 1;
	}
}

/* "ADDRESS is listed by ZONE", or by the entry's label, and what the zone adds to it. */
static void write_text(struct engine_reason *reason, const char *joint, const char *added)
{
	char subject[CONFIG_TEXT_MAX];
	const struct config *config = reason->engine->all.config;
	const char *name = config->zones[reason->zone].text;
	const char *label = config->entries[reason->entry].label;

	topic_format(&reason->topic, subject);
	snprintf(reason->text, sizeof(reason->text), "%s is listed by %.*s%s%s", subject, 255,
		 label[0] != '\0' ? label : name, joint, added);
	if (label[0] != '\0')
		hide_name(reason->text, name, label);
	for (char *at = reason->text; *at != '\0'; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	reason->has_text = added[0] != '\0';
	reason->is_done = true;
}

/* The URL of the metadata, $ being the address. */
static void write_url(struct engine_reason *reason, const char *pattern)
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

static void on_text(void *context, int status, const struct message_reply *reply, bool is_trusted)
{
	struct engine_reason *reason = context;
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

static void on_metadata(void *context, int status, const struct message_reply *reply,
			bool is_trusted)
{
	struct engine_reason *reason = context;
	struct dnsblv6_metadata metadata;

	(void)status;
	(void)is_trusted;
	reason->question = 0;
	if (reply == NULL || reply->kind != MESSAGE_ANSWER ||
	    reply->text_total > sizeof(reply->text_rdata) ||
	    dnsblv6_metadata_decode(reply->text_rdata, reply->text_total, &metadata) != DNSBLV6_OK)
		write_url(reason, "");
	else
		write_url(reason, metadata.reason);
}

static void ask(struct engine_reason *reason, const struct dnsblv6_labels *relative,
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
		write_text(reason, "", "");
		return;
	}
	all->zones[reason->zone].asked++;
}

/* How the zone is asked, by its own word or the daemon's. */
static bool is_classic(const struct zone *zone)
{
	uint32_t now_s;
	struct health_word parts = health_unpack(engine_zone_word(zone, &now_s));

	return parts.mode == HEALTH_CLASSIC;
}

void engine_reason_start(struct engine *engine, struct engine_reason *reason, int64_t now_ms,
			 int64_t deadline_ms)
{
	const struct zone *zone = engine->all.zones + reason->zone;
	struct dnsblv6_labels relative;

	reason->engine = engine;
	reason->question = 0;
	reason->is_done = false;
	reason->has_text = false;
	if (is_classic(zone)) {
		relative = reason->topic.name;
		if (relative.size == 0)
			dnsblv6_name_make_classic(reason->topic.addr, &relative);
		ask(reason, &relative, &zone->config->name, on_text, now_ms, deadline_ms);
		return;
	}
	if (zone->has_metadata) {
		write_url(reason, zone->reason);
		return;
	}
	(void)dnsblv6_name_from_text(DNSBLV6_METADATA_LABEL, &relative);
	ask(reason, &relative, &zone->config->name, on_metadata, now_ms, deadline_ms);
}

void engine_reason_end(struct engine_reason *reason)
{
	if (reason->question != 0)
		stub_cancel(reason->engine->all.stub, reason->question);
	reason->question = 0;
	if (!reason->is_done)
		write_text(reason, "", "");
}
