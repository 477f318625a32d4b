/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/lines/sigbody_variants.h"

#include <stdlib.h>
#include <string.h>

#define FIXED_MIN 2 /* bytes that ClamAV wants in a row */

/* With the choices of combination, and this tail. */
static bool add_variant(struct sigbody_part *to, const struct part *part, const size_t *chosen,
			const struct tail *tail)
{
	struct sigtext text = { .bytes = NULL };
	uint32_t length = 0;
	sigtext_add(&text, part->before.bytes, part->before.size);
	for (size_t i = 0; i < part->piece_count; i++) {
		const struct piece *piece = &part->pieces[i];
		if (!part->has_no_length) {
			const struct choice *choice = &piece->choices[chosen[i]];
			sigtext_add(&text, choice->text.bytes, choice->text.size);
			length += choice->length;
			continue;
		}
		sigtext_add(&text, "(?:", 3);
		for (size_t k = 0; k < piece->count; k++) {
			sigtext_add(&text, "|", k > 0);
			sigtext_add(&text, piece->choices[k].text.bytes,
				    piece->choices[k].text.size);
		}
		sigtext_add(&text, ")", 1);
	}
	if (tail != NULL)
		sigtext_add(&text, tail->text, strlen(tail->text));
	if (text.is_failed) {
		sigtext_free(&text);
		return false;
	}
	to->variants[to->variant_count].expression = text.bytes;
	to->variants[to->variant_count].length = part->has_no_length ? SIGBODY_NO_LENGTH : length;
	to->variants[to->variant_count].tail = tail != NULL ? tail->size : 0;
	to->variant_count++;
	return true;
}

/* The next combination of choices, like a counter with digits of several bases. */
static void next_combination(const struct part *part, size_t *chosen)
{
	for (size_t i = 0; i < part->piece_count; i++) {
		if (++chosen[i] < part->pieces[i].count)
			return;
		chosen[i] = 0;
	}
}

static const char *add_variants(struct sigbody_part *to, const struct part *part, size_t count)
{
	size_t chosen[SIGBODY_PIECES_MAX] = { 0 };
	const size_t tails = part->tail_count > 0 ? part->tail_count : 1;
	to->variants = calloc(count * tails, sizeof(*to->variants));
	if (to->variants == NULL)
		return SIGBODY_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < tails; k++) {
			const struct tail *tail = part->tail_count > 0 ? &part->tails[k] : NULL;
			if (!add_variant(to, part, chosen, tail))
				return SIGBODY_NO_MEMORY;
		}
		next_combination(part, chosen);
	}
	return NULL;
}

const char *sigbody_variants_make(struct parser *parser)
{
	struct part *part = &parser->part;
	struct sigbody *body = parser->body;
	size_t count = 1;
	if (parser->reason != COMPILE_STREAMS)
		return NULL;
	if (part->longest_run < FIXED_MIN) {
		parser->reason = COMPILE_TOO_SHORT;
		return NULL;
	}
	if (body->part_count == SIGBODY_PARTS_MAX) {
		parser->reason = COMPILE_COMPLEX;
		return NULL;
	}
	for (size_t i = 0; i < part->piece_count && count <= SIGBODY_VARIANTS_MAX; i++)
		count *= part->pieces[i].count;
	if (count > SIGBODY_VARIANTS_MAX || part->has_no_length) {
		if (parser->wants_start || body->part_count > 0) {
			parser->reason = COMPILE_COMPLEX;
			return NULL;
		}
		part->has_no_length = true;
		count = 1;
	}
	struct sigbody_part *parts =
		reallocarray(body->parts, body->part_count + 1, sizeof(*parts));
	if (parts == NULL)
		return SIGBODY_NO_MEMORY;
	body->parts = parts;
	struct sigbody_part *to = &body->parts[body->part_count++];
	memset(to, 0, sizeof(*to));
	to->gap_min = parser->gap_min;
	to->gap_max = parser->gap_max;
	return add_variants(to, part, count);
}
