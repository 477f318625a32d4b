/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodeanswers.h"

#include "lib/common/version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_MAX_SIZE 768

struct rows {
	char *text;
	size_t size;
	size_t room;
	uint32_t count;
};

static int make_rows(struct rows *rows, unsigned lines)
{
	rows->room = (size_t)lines * LINE_MAX_SIZE;
	rows->text = malloc(rows->room);
	return rows->text != NULL ? 0 : -ENOMEM;
}

__attribute__((format(printf, 2, 3))) static void add(struct rows *rows, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(rows->text + rows->size, rows->room - rows->size, format, arguments);
	va_end(arguments);
	if (size < 0 || (size_t)size >= rows->room - rows->size)
		return;
	rows->size += (size_t)size;
	rows->count++;
}

static int tell_nodes(const struct nodework_parts *parts, struct rows *rows)
{
	const struct nodesetup *setup = parts->setup;
	int ret = make_rows(rows, setup->peer_count);
	for (unsigned i = 0; ret == 0 && i < setup->peer_count; i++) {
		const struct nodesetup_peer *peer = &setup->peers[i];
		const bool is_self = i == setup->self;
		struct noderouter_facts facts;
		noderouter_describe(parts->router, i, &facts);
		add(rows,
		    "node=%s slot=%u state=%s beat-age=%.1f clock=- version=%s self=%s "
		    "place=%s lmtp=%s links=%u waiting=%u asked=%" PRIu64 " failed=%" PRIu64
		    " downs=%" PRIu64 "\n",
		    peer->name, peer->number, facts.is_down ? "away" : "up",
		    is_self ? 0.0 : (double)facts.silent_ms / 1000, is_self ? DNSBLV6_VERSION : "-",
		    is_self ? "yes" : "no", peer->address.text,
		    peer->lmtp[0] != '\0' ? peer->lmtp : "-", facts.links, facts.waiting,
		    facts.asked, facts.failed, facts.downs);
	}
	return ret;
}

static int tell_health(const struct nodework_parts *parts, struct rows *rows)
{
	const struct nodesetup *setup = parts->setup;
	const struct nodework_counters *counters = parts->counters;
	unsigned up = 0;
	unsigned differing = 0;
	for (unsigned i = 0; i < setup->peer_count; i++) {
		struct noderouter_facts facts;
		noderouter_describe(parts->router, i, &facts);
		up += !facts.is_down;
		differing += facts.differs;
	}
	int ret = make_rows(rows, 4);
	if (ret != 0)
		return ret;
	add(rows, "state=%s\n", up == setup->peer_count && differing == 0 ? "well" : "degraded");
	add(rows, "thing=machines up=%u of=%u differing=%u\n", up, setup->peer_count, differing);
	add(rows, "thing=copies wanted=%u copied=%" PRIu64 " uncopied=%" PRIu64 "\n", setup->copies,
	    counters->copied, counters->uncopied);
	add(rows, "thing=engine text=nodes with a store each, as node %s sees them\n", setup->node);
	return 0;
}

int nodeanswers_ask(void *owner, const struct storewire_request *request, uint8_t **ret_rows,
		    size_t *ret_size, uint32_t *ret_count)
{
	const struct nodework_parts *parts = owner;
	struct rows rows = { 0 };
	int ret = -EOPNOTSUPP;
	if (request->type == STOREWIRE_CLUSTER && request->number == STOREWIRE_NODES)
		ret = tell_nodes(parts, &rows);
	else if (request->type == STOREWIRE_CLUSTER && request->number == STOREWIRE_HEALTH)
		ret = tell_health(parts, &rows);
	if (ret != 0)
		return ret;
	*ret_rows = (uint8_t *)rows.text;
	*ret_size = rows.size;
	*ret_count = rows.count;
	return 0;
}
