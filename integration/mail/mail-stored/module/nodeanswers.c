/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodeanswers.h"

#include "lib/common/version.h"

#include <errno.h>
#include <inttypes.h>

static void tell_nodes(const struct nodework_parts *parts, struct questions_rows *rows)
{
	const struct nodesetup *setup = parts->setup;
	for (unsigned i = 0; i < setup->peer_count; i++) {
		const struct nodesetup_peer *peer = &setup->peers[i];
		const bool is_self = i == setup->self;
		struct noderouter_facts facts;
		noderouter_describe(parts->router, i, &facts);
		questions_add(rows,
			      "node=%s slot=%u state=%s beat-age=%.1f clock=- version=%s self=%s "
			      "place=%s lmtp=%s links=%u waiting=%u asked=%" PRIu64
			      " failed=%" PRIu64 " downs=%" PRIu64,
			      peer->name, peer->number, facts.is_down ? "away" : "up",
			      is_self ? 0.0 : (double)facts.silent_ms / 1000,
			      is_self ? DNSBLV6_VERSION : "-", is_self ? "yes" : "no",
			      peer->address.text, peer->lmtp[0] != '\0' ? peer->lmtp : "-",
			      facts.links, facts.waiting, facts.asked, facts.failed, facts.downs);
	}
}

static void tell_health(const struct nodework_parts *parts, struct questions_rows *rows)
{
	const struct nodesetup *setup = parts->setup;
	const uint64_t *counters = parts->counters;
	unsigned up = 0;
	unsigned differing = 0;
	for (unsigned i = 0; i < setup->peer_count; i++) {
		struct noderouter_facts facts;
		noderouter_describe(parts->router, i, &facts);
		up += !facts.is_down;
		differing += facts.differs;
	}
	questions_add(rows, "state=%s",
		      up == setup->peer_count && differing == 0 ? "well" : "degraded");
	questions_add(rows, "thing=machines up=%u of=%u differing=%u", up, setup->peer_count,
		      differing);
	questions_add(rows, "thing=copies wanted=%u copied=%" PRIu64 " uncopied=%" PRIu64,
		      setup->copies, counters[NODEWORK_COPIED], counters[NODEWORK_UNCOPIED]);
	questions_add(rows, "thing=engine text=nodes with a store each, as node %s sees them",
		      setup->node);
}

int nodeanswers_ask(const struct nodework_parts *parts, uint64_t question,
		    struct questions_rows *rows)
{
	if (question != STOREWIRE_NODES && question != STOREWIRE_HEALTH)
		return -EOPNOTSUPP;
	if (question == STOREWIRE_NODES)
		tell_nodes(parts, rows);
	else
		tell_health(parts, rows);
	return 0;
}
