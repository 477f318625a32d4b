/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lookahead.h - a batch of queries, taken apart before the first of them is answered.
 *
 * Flow: udp.c has received a batch -> serving.c -> lookahead_batch() -> answer.c answers
 *       one after the other and takes what is known of each: lookahead_take().
 *
 * Where a name is in a store is in no cache of the processor: an answer would wait for the
 * index (index.h) and then for the page. With a batch in hand, all of them are asked for at
 * once, and each has come when its answer is made.
 *
 * It is the common question alone that is taken apart (lib/dns/question.h), once, whether it was
 * foreseen or not. What is fetched is a guess about the version that the zone had last;
 * nothing of it is believed.
 *
 * Lies in the memory of its owner.
 */

#include "lib/dns/question.h"
#include "lib/dns/responder.h"
#include "lib/format/key.h"
#include "server/zone/catalog.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOOKAHEAD_MAX 64 /* of a batch; those behind are taken apart when they are answered */

struct foreseen {
	const uint8_t *wire; /* whose question it is */
	size_t size;
	const struct catalog_face *face; /* NULL: not common, or about no bitmap zone of ours */
	struct question_common question;
	struct dnsblv6_key key; /* of the name below the apex */
};

struct lookahead {
	size_t count;
	size_t next; /* they are answered in the order in which they came */
	struct foreseen batch[LOOKAHEAD_MAX];
};

/*
 * Ends what was foreseen before. queries, and the bytes of each, are borrowed until
 * lookahead_end(): what is known of a query is found again by where its bytes are.
 */
void lookahead_batch(struct lookahead *lookahead, const struct catalog *catalog,
		     const struct responder_query *queries, size_t count);

/*
 * The query that is answered next, foreseen or not. Borrowed until the next call of any
 * function here; NULL when it is none for server/answer/quick.h.
 */
const struct foreseen *lookahead_take(struct lookahead *lookahead, const struct catalog *catalog,
				      const uint8_t *wire, size_t size);

/* Behind a batch, answered to its last query or not: other bytes may be where its were. */
void lookahead_end(struct lookahead *lookahead);

#ifdef __cplusplus
}
#endif
