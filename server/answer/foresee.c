/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/foresee.h"

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
	if (face == NULL || face->is_classic)
		return;
	size_t labels_size = question->name_size - face->name->size;
	if (dnsblv6_key_from_labels(question->name, labels_size, &ret_seen->key) == DNSBLV6_OK)
		ret_seen->face = face;
}

void foresee_end(struct foresee *foresee)
{
	foresee->count = 0;
	foresee->next = 0;
}

void foresee_batch(struct foresee *foresee, const struct catalog *catalog,
		   const struct responder_query *queries, size_t count)
{
	foresee->next = 0;
	foresee->count = count < FORESEE_MAX ? count : FORESEE_MAX;
	for (size_t i = 0; i < foresee->count; i++) {
		struct foreseen *seen = &foresee->batch[i];
		read_query(catalog, queries[i].wire, queries[i].size, seen);
		if (seen->face != NULL)
			index_fetch(&seen->face->zone->index, &seen->key);
	}
	for (size_t i = 0; i < foresee->count; i++) {
		const struct foreseen *seen = &foresee->batch[i];
		if (seen->face != NULL)
			index_fetch_record(&seen->face->zone->index, &seen->key);
	}
}

const struct foreseen *foresee_take(struct foresee *foresee, const struct catalog *catalog,
				    const uint8_t *wire, size_t size)
{
	struct foreseen *seen = &foresee->batch[foresee->next % FORESEE_MAX];
	if (foresee->next < foresee->count && seen->wire == wire && seen->size == size) {
		foresee->next++;
	} else {
		/* Not of a batch: over TCP. */
		foresee_end(foresee);
		seen = &foresee->batch[0];
		read_query(catalog, wire, size, seen);
	}
	return seen->face != NULL ? seen : NULL;
}
