/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * reply.h - one response being written: its RRsets, and the memory for them.
 *
 * Flow: answer.c begins it, records.c or classic.c put RRsets, proof.c what makes
 *       them provable, answer.c ends it.
 *
 * All memory of a query, libknot's included, comes from one arena that begins anew with the
 * next query: nothing is allocated or freed in between, and a worker does not grow. RRsets are
 * written here and not by libknot, whose names are longer than they need be (compress.h): what
 * fits is answered. When a query would need more it gets FORMERR, a response that would need
 * more SERVFAIL.
 *
 *     reply_rrset_begin(reply, KNOT_RRTYPE_A, ttl);
 *     reply_rrset_add(reply, bytes, 4);
 *     reply_rrset_put(reply);
 *     reply_rrset_begin_rrsig(reply);
 *     reply_rrset_add(reply, rrsig, rrsig_size);
 *     reply_rrset_put(reply);
 */

#include "server/zone/catalog.h"
#include "server/zone/clients.h"
#include "server/zone/neighbours.h"
#include "server/message/compress.h"

#include <libknot/libknot.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest is a TXT RRset of two value sets of 255 texts, in libknot's form. */
#define ARENA_SIZE ((size_t)256 * 1024)

struct arena {
	uint8_t *memory; /* ARENA_SIZE bytes; pages that no query needs are never touched */
	size_t used;
};

enum reply_result {
	REPLY_NOERROR,
	REPLY_NODATA,
	REPLY_NXDOMAIN,
	REPLY_SERVFAIL,
	REPLY_REFUSED,
};

struct reply {
	struct arena arena;
	knot_mm_t mm; /* the arena, for libknot */

	knot_pkt_t *query;
	knot_pkt_t *response;
	const struct catalog_face *face;
	struct zone *zone;
	const uint8_t *labels; /* of the question, lower case, relative to the face's apex */
	size_t labels_size;
	uint16_t qtype;
	struct clients_answer client;
	bool has_dnssec; /* the client wants signatures and proofs, and there are some */
	struct neighbours_grant grant;
	struct neighbours_given given;
	bool is_full;	/* an RRset did not fit */
	bool is_broken; /* memory ran out, or libknot refused */
	uint16_t ede;	/* RFC 8914 code when has_ede */
	bool has_ede;

	/* The RRset between reply_rrset_begin() and reply_rrset_put(). */
	knot_rrset_t rrset;
	bool is_optional; /* left out, without TC, when it does not fit */

	struct compress names; /* that are in the response; last, as reply_clear() leaves it */
};

/* Memory is mapped, to end with reply_deinit(). 0 or -errno. */
int reply_init(struct reply *reply);
void reply_deinit(struct reply *reply);

/* Forgets the query before. */
void reply_clear(struct reply *reply);

/* What is put from now on lies in section: ANSWER first, later ones never before. */
void reply_begin_section(struct reply *reply, knot_section_t section);

/* An RRset at the name of the question. */
void reply_rrset_begin(struct reply *reply, uint16_t type, uint32_t ttl);
/* An RRset at owner, wire form, borrowed until reply_clear(). */
void reply_rrset_begin_at(struct reply *reply, const uint8_t *owner, uint16_t type, uint32_t ttl);
/* The RRSIGs of the RRset just put: its owner, TTL and is_optional. */
void reply_rrset_begin_rrsig(struct reply *reply);
/*
 * Does nothing when the RRset has these bytes already: RFC 2181 section 5. The reply is
 * broken when they are not what RDATA of the type is made of.
 */
void reply_rrset_add(struct reply *reply, const uint8_t *rdata, size_t size);
/* An empty RRset is not put. True when it now is in the response. */
bool reply_rrset_put(struct reply *reply);

/*
 * labels, size bytes, below the face's apex as a whole name in the arena. NULL,
 * and the reply is broken, when memory ran out or the name would be too long.
 */
const uint8_t *reply_make_name(struct reply *reply, const uint8_t *labels, size_t size);

/* The SOA of the face's apex: as an answer, or in AUTHORITY with the negative TTL. */
void reply_put_soa(struct reply *reply);
void reply_put_negative_soa(struct reply *reply);

/* Is qtype an answer to which data of type belongs? */
static inline bool reply_wants(const struct reply *reply, uint16_t type)
{
	return reply->qtype == type || reply->qtype == KNOT_RRTYPE_ANY;
}
