/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/read/levels.h"

#include <stdio.h>
#include <string.h>

static bool is_blank_only(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != ' ' && bytes[i] != '\t')
			return false;
	}
	return true;
}

/* What stands behind a boundary in its line. */
static struct level_match match_rest(int level, const uint8_t *rest, size_t size)
{
	const bool has_dashes = size >= 2 && rest[0] == '-' && rest[1] == '-';
	return (struct level_match){
		.level = level,
		.is_close = has_dashes,
		.is_exact =
			has_dashes ? is_blank_only(rest + 2, size - 2) : is_blank_only(rest, size),
	};
}

struct level_match levels_match(const struct entity *entity, const uint8_t *line, size_t size)
{
	struct level_match best = { .level = -1 };
	size_t best_size = 0;
	if (size < 2 || line[0] != '-' || line[1] != '-')
		return best;
	for (int i = entity->depth - 1; i >= 0; i--) {
		const struct level *level = &entity->levels[i];
		if (!level->has_boundary || level->size > size - 2 ||
		    memcmp(entity->boundary_bytes + level->at, line + 2, level->size) != 0)
			continue;
		const struct level_match one =
			match_rest(i, line + 2 + level->size, size - 2 - level->size);
		/* Each line of dashes begins with no bytes. */
		if (level->size == 0 && !one.is_exact)
			continue;
		if (one.is_exact != best.is_exact ? one.is_exact : level->size > best_size) {
			best = one;
			best_size = level->size;
		}
	}
	return best;
}

static size_t boundary_end(const struct entity *entity)
{
	if (entity->depth == 0)
		return 0;
	const struct level *last = &entity->levels[entity->depth - 1];
	return (size_t)last->at + last->size;
}

static void watch(struct entity *entity)
{
	entity->is_watched = false;
	for (unsigned i = 0; i < entity->depth; i++) {
		const struct level *level = &entity->levels[i];
		entity->is_watched = entity->is_watched || level->has_boundary || level->is_guessed;
	}
}

/* A ruler of dashes, the "-- " of a signature and "-----Original Message-----" are none. */
static bool may_be_boundary(const uint8_t *text, size_t size)
{
	bool has_more = false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] <= ' ' || text[i] >= 0x7f)
			return false;
		has_more = has_more || text[i] != '-';
	}
	return has_more && size <= MSTREAM_BOUNDARY_MAX;
}

/* How long the boundary is that this line may have of a multipart that has named none; 0: none. */
static size_t guessed_size(const struct entity *entity, const uint8_t *line, size_t size)
{
	if (entity->depth == 0 || size < 3 || line[1] != '-')
		return 0;
	const struct level *level = &entity->levels[entity->depth - 1];
	if (!level->is_guessed || level->has_boundary)
		return 0;
	while (size > 2 && (line[size - 1] == ' ' || line[size - 1] == '\t'))
		size--;
	size -= 2;
	return may_be_boundary(line + 2, size) && size <= sizeof(entity->boundary_bytes) - level->at
		       ? size
		       : 0;
}

bool levels_guess(struct entity *entity, const uint8_t *line, size_t size)
{
	const size_t guessed = guessed_size(entity, line, size);
	if (guessed == 0)
		return false;
	struct level *level = &entity->levels[entity->depth - 1];
	memcpy(entity->boundary_bytes + level->at, line + 2, guessed);
	level->size = (uint16_t)guessed;
	level->has_boundary = true;
	return true;
}

bool levels_may_match(const struct entity *entity, const uint8_t *line, size_t size)
{
	return levels_match(entity, line, size).level >= 0 || guessed_size(entity, line, size) > 0;
}

bool levels_push(struct entity *entity, enum level_kind kind, const uint8_t *boundary, size_t size)
{
	const size_t at = boundary_end(entity);
	if (entity->depth == MSTREAM_DEPTH || size > sizeof(entity->boundary_bytes) - at)
		return false;
	if (size > 0)
		memcpy(entity->boundary_bytes + at, boundary, size);
	entity->levels[entity->depth++] = (struct level){
		.kind = kind,
		.at = (uint16_t)at,
		.size = (uint16_t)size,
		.has_boundary = boundary != NULL,
		.is_guessed = kind == LEVEL_MULTIPART && boundary == NULL,
	};
	watch(entity);
	return true;
}

void levels_pop(struct entity *entity, unsigned depth)
{
	entity->depth = (uint8_t)depth;
	watch(entity);
}

void levels_inherit(struct entity *to, const struct entity *from)
{
	to->depth = from->depth;
	to->is_watched = false;
	for (unsigned i = 0; i < from->depth; i++) {
		to->levels[i] = (struct level){
			.kind = from->levels[i].kind,
			.number = from->levels[i].number,
			.is_closed = true, /* its end is no matter of this entity */
		};
	}
}

bool levels_equal(const struct entity *one, const struct entity *other)
{
	if (one->depth != other->depth)
		return false;
	for (unsigned i = 0; i < one->depth; i++) {
		const struct level *a = &one->levels[i];
		const struct level *b = &other->levels[i];
		if (a->kind != b->kind || a->size != b->size || a->is_closed != b->is_closed ||
		    a->has_boundary != b->has_boundary || a->is_digest != b->is_digest ||
		    a->is_guessed != b->is_guessed ||
		    memcmp(one->boundary_bytes + a->at, other->boundary_bytes + b->at, a->size) !=
			    0)
			return false;
	}
	return true;
}

void levels_position(const struct entity *entity, char *ret_text)
{
	size_t put = 0;
	bool is_in_multipart = false;
	ret_text[0] = '\0';
	for (unsigned i = 0; i < entity->depth; i++) {
		const struct level *level = &entity->levels[i];
		const bool is_margin = entity->is_margin && i + 1U == entity->depth;
		is_in_multipart = level->kind == LEVEL_MULTIPART;
		if (!is_in_multipart)
			continue;
		const int size = snprintf(ret_text + put, LEVELS_POSITION_SIZE - put, "%s%u",
					  put > 0 ? "." : "", is_margin ? 0 : level->number);
		put += (size_t)size;
	}
	if (!is_in_multipart)
		snprintf(ret_text + put, LEVELS_POSITION_SIZE - put, "%s1", put > 0 ? "." : "");
}
