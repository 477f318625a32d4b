/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/style.h"

#include <stdlib.h>

#include "client-lib/engine/answer.h"
#include "client-lib/engine/probe.h"

/* What became of 127.0.0.2 in one style. */
struct style_name {
	struct style_look *look;
	struct dnsblv6_labels name;
	bool is_listed;
	bool is_denied;
	uint32_t ttl_s;
	uint32_t serial; /* of a denial */
};

struct style_look {
	struct zone *zone;
	enum health_mode mode; /* that was believed */
	uint32_t serial;       /* that had it looked at */
	unsigned pending;
	struct style_name believed;
	struct style_name other;
	struct style_name other6; /* the IPv6 test point by its flat name, of a dotted zone */
};

static enum health_mode other_mode(enum health_mode mode)
{
	return mode == HEALTH_DOTTED ? HEALTH_FLAT : HEALTH_DOTTED;
}

static bool is_both(enum health_mode mode)
{
	return mode == HEALTH_BOTH || mode == HEALTH_BOTH6;
}

/* Where dotted names were believed: a zone may have flat ones of IPv4 alone, beside those. */
static enum health_mode new_mode(const struct style_look *look)
{
	if (is_both(look->mode))
		return look->believed.is_listed ? HEALTH_FLAT : HEALTH_DOTTED;
	if (look->mode == HEALTH_FLAT)
		return HEALTH_DOTTED;
	if (!look->other6.is_listed)
		return HEALTH_BOTH;
	return look->believed.is_listed ? HEALTH_BOTH6 : HEALTH_FLAT;
}

/* The other style's is there, and not merely what a resolver still has; or one of both is not. */
static bool has_changed(const struct style_look *look)
{
	const struct style_name *believed = &look->believed;
	const struct style_name *other = &look->other;

	if (is_both(look->mode))
		return (other->is_listed && believed->is_denied) ||
		       (other->is_denied && believed->is_listed);
	return other->is_listed && (!believed->is_listed || other->ttl_s >= believed->ttl_s);
}

static void judge(struct style_look *look)
{
	struct zone *zone = look->zone;

	if (zone->probe != NULL)
		return; /* the next denial has it looked at again */
	if (has_changed(look)) {
		probe_turn(zone, new_mode(look));
	} else if (look->believed.is_denied) {
		zone->has_found = false;
		probe_start(zone, false, NULL);
	} else if ((look->other.is_denied && look->other.serial == look->serial) ||
		   (is_both(look->mode) && look->believed.is_listed && look->other.is_listed)) {
		zone->serial = look->serial;
		zone->has_serial = true;
	}
}

static void on_reply(void *context, int status, const struct message_reply *reply, bool is_trusted)
{
	struct style_name *name = context;
	struct style_look *look = name->look;
	struct answer_question what = { .config = look->zone->all->config,
					.name = &name->name,
					.is_block = true };
	struct cache_entry entry;

	zone_trace_reply(look->zone, &name->name, status, reply, is_trusted);
	if (answer_read(&what, status, reply, false, &entry) == ANSWER_GOOD) {
		name->is_denied = reply->kind == MESSAGE_NXDOMAIN;
		/* 127.0.0.2 and not 127.0.0.1: an answer to every name is none. */
		name->is_listed = dnsblv6_bitmap_get(&entry.payload, 2) &&
				  !dnsblv6_bitmap_get(&entry.payload, 1);
		name->ttl_s = reply->ttl_s;
		name->serial = reply->soa_serial;
	}
	if (--look->pending > 0)
		return;
	look->zone->style = NULL;
	judge(look);
	free(look);
}

static void ask(struct style_look *look, struct style_name *name, enum health_mode mode,
		struct dnsblv6_addr addr)
{
	struct dnsblv6_labels labels;
	struct zone_what asked = { &labels, &look->zone->config->name, MESSAGE_AAAA, PROBE_LIFE_MS,
				   PROBE_LIFE_MS };
	uint64_t id;

	name->look = look;
	if (dnsblv6_name_make(health_style(mode), dnsblv6_block_of(addr), &labels) == DNSBLV6_OK &&
	    zone_ask(look->zone, &asked, on_reply, name, &name->name, &id) == DNSBLV6_OK)
		look->pending++;
}

static void start(struct zone *zone, enum health_mode mode, uint32_t serial)
{
	struct style_look *look = calloc(1, sizeof(*look));
	if (look == NULL)
		return;
	*look = (struct style_look){ .zone = zone, .mode = mode, .serial = serial };
	ask(look, &look->believed, mode, dnsblv6_testpoint_get(0)->addr);
	ask(look, &look->other, other_mode(mode), dnsblv6_testpoint_get(0)->addr);
	if (mode == HEALTH_DOTTED)
		ask(look, &look->other6, HEALTH_FLAT, dnsblv6_testpoint_get(2)->addr);
	if (look->pending > 0)
		zone->style = look;
	else
		free(look);
}

/* Has this process looked lately? In its first seconds the clock may be near 0. */
static bool has_looked_lately(const struct zone *zone, uint32_t now_s)
{
	return zone->has_looked && now_s - zone->looked_s < STYLE_PAUSE_S;
}

void style_note_denial(struct zone *zone, const struct message_reply *reply)
{
	struct health_word parts = health_unpack(zone_word(zone));
	uint32_t now_s = cache_now_s(zone->all->cache);
	bool is_known = zone->has_serial && zone->serial == reply->soa_serial;

	if (!reply->has_soa || is_known || zone->style != NULL || zone->probe != NULL ||
	    !health_is_bitmap(parts.mode) || has_looked_lately(zone, now_s))
		return;
	zone->has_looked = true;
	zone->looked_s = now_s;
	start(zone, parts.mode, reply->soa_serial);
}

void style_drop(struct zone *zone)
{
	free(zone->style);
	zone->style = NULL;
}
