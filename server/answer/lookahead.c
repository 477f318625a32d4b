/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/lookahead.h"

/* Has no face when the question is not common or none about a bitmap zone. */
static void read_query(const struct catalog *catalog, const uint8_t *wire, size_t size,
		       struct foreseen *ret_seen)
{
	struct question_common *question = &ret_seen->question;
	ret_seen->wire = wire;
	ret_seen->size = size;
	ret_seen->face = NULL;
	if (size > RESPONDER_QUERY_MAX || !question_parse(wire, size, question))
		return;
	const struct catalog_face *face =
		catalog_find(catalog, question->name, question->name_size, question->qtype);
	if (face == NULL || !face->is_own)
		return;
	size_t labels_size = question->name_size - face->name->size;
	if (dnsblv6_key_from_labels(question->name, labels_size, &ret_seen->key) == DNSBLV6_OK)
		ret_seen->face = face;
}

void lookahead_end(struct lookahead *lookahead)
{
	lookahead->count = 0;
	lookahead->next = 0;
}

void lookahead_batch(struct lookahead *lookahead, const struct catalog *catalog,
		     const struct responder_query *queries, size_t count)
{
	lookahead->next = 0;
	lookahead->count = count < LOOKAHEAD_MAX ? count : LOOKAHEAD_MAX;
	for (size_t i = 0; i < lookahead->count; i++) {
		struct foreseen *seen = &lookahead->batch[i];
		read_query(catalog, queries[i].wire, queries[i].size, seen);
		if (seen->face != NULL)
			index_fetch(&seen->face->zone->index, &seen->key);
	}
	for (size_t i = 0; i < lookahead->count; i++) {
		const struct foreseen *seen = &lookahead->batch[i];
		if (seen->face != NULL)
			index_fetch_record(&seen->face->zone->index, &seen->key);
	}
}

const struct foreseen *lookahead_take(struct lookahead *lookahead, const struct catalog *catalog,
				      const uint8_t *wire, size_t size)
{
	struct foreseen *seen = &lookahead->batch[lookahead->next % LOOKAHEAD_MAX];
	if (lookahead->next < lookahead->count && seen->wire == wire && seen->size == size) {
		lookahead->next++;
	} else {
		/* Not of a batch: over TCP. */
		lookahead_end(lookahead);
		seen = &lookahead->batch[0];
		read_query(catalog, wire, size, seen);
	}
	return seen->face != NULL ? seen : NULL;
}
