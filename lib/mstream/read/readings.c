/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/read/readings.h"

#include "lib/mstream/read/entity.h"
#include "lib/mstream/read/leaf.h"
#include "lib/mstream/read/levels.h"
#include "lib/mstream/head/mimehead.h"

#include <string.h>

#define READINGS_MAX 8 /* that are thought of; there is room for MSTREAM_VIEWS */
#define NO_BOUNDARY  UINT8_MAX

enum reading_kind {
	READING_LEAF,
	READING_MULTIPART,
	READING_MESSAGE,
	READING_CODED_MULTIPART,
	READING_CODED_MESSAGE,
};

struct reading {
	enum reading_kind kind;
	enum mstream_coding coding; /* of the coded ones */
	uint8_t type;
	uint8_t boundary; /* of mimehead.boundaries, or NO_BOUNDARY */
	bool is_tentative;
};

struct readings {
	unsigned count;
	struct reading all[READINGS_MAX];
	uint16_t oddities;
};

static void odd(struct readings *readings, enum mstream_oddity oddity)
{
	readings->oddities = (uint16_t)(readings->oddities | 1U << oddity);
}

static void add(struct readings *readings, struct reading reading)
{
	for (unsigned i = 0; i < readings->count; i++) {
		/* Bytes are the same bytes whatever their type. */
		if (readings->all[i].kind == READING_LEAF && reading.kind == READING_LEAF)
			return;
	}
	if (readings->count == READINGS_MAX) {
		odd(readings, MSTREAM_TOO_ODD);
		return;
	}
	readings->all[readings->count++] = reading;
}

static void add_coded(struct readings *readings, const struct mimehead *head,
		      struct reading reading)
{
	for (unsigned i = 0; i < head->coding_count; i++) {
		reading.coding = (enum mstream_coding)head->codings[i];
		if (reading.coding == MSTREAM_IDENTITY)
			continue;
		odd(readings, MSTREAM_BAD_CODING);
		add(readings, reading);
	}
}

/* Each boundary of this type. Returns how many there are, but for one of no bytes. */
static unsigned add_boundaries(struct readings *readings, const struct mimehead *head,
			       struct reading reading)
{
	unsigned count = 0;
	for (unsigned i = 0; i < head->boundary_count; i++) {
		if (head->boundaries[i].type != reading.type)
			continue;
		reading.boundary = (uint8_t)i;
		add(readings, reading);
		count += head->boundaries[i].size > 0;
	}
	return count;
}

static void add_multipart(struct readings *readings, const struct mimehead *head, uint8_t type)
{
	struct reading reading = { .kind = READING_MULTIPART, .type = type };
	if (add_boundaries(readings, head, reading) == 0) {
		odd(readings, MSTREAM_BAD_BOUNDARY);
		add(readings, (struct reading){ .kind = READING_LEAF, .type = type });
		reading.boundary = NO_BOUNDARY;
		add(readings, reading);
		return;
	}
	reading.kind = READING_CODED_MULTIPART;
	reading.boundary = readings->all[readings->count - 1].boundary;
	add_coded(readings, head, reading);
}

static void add_message(struct readings *readings, const struct mimehead *head, uint8_t type)
{
	struct reading coded = { .kind = READING_CODED_MESSAGE, .type = type };
	struct reading plain = { .kind = READING_MESSAGE, .type = type };
	plain.is_tentative = head->codings[0] != MSTREAM_IDENTITY;
	if (!plain.is_tentative)
		add(readings, plain);
	add_coded(readings, head, coded);
	if (plain.is_tentative)
		add(readings, plain);
}

static bool is_message(const char *type)
{
	return strcmp(type, "message/rfc822") == 0 || strcmp(type, "message/global") == 0 ||
	       strcmp(type, "message/news") == 0;
}

static void list(struct readings *readings, const struct mimehead *head)
{
	readings->count = 0;
	readings->oddities = head->oddities;
	for (uint8_t type = 0; type < head->type_count; type++) {
		const char *name = head->types[type];
		if (mimehead_begins(name, "multipart/")) {
			add_multipart(readings, head, type);
			continue;
		}
		if (is_message(name))
			add_message(readings, head, type);
		else
			add(readings, (struct reading){ .kind = READING_LEAF, .type = type });
		if (strcmp(name, "message/partial") == 0 ||
		    strcmp(name, "message/external-body") == 0)
			odd(readings, MSTREAM_PARTIAL);
		const struct reading other = { .kind = READING_MULTIPART, .type = type };
		if (add_boundaries(readings, head, other) > 0)
			odd(readings, MSTREAM_BAD_FIELD);
	}
}

/* ---- each reading ---- */

static void begin_leaf(struct mstream *mail, struct entity *entity, const char *type)
{
	const struct mimehead *head = &entity->head;
	for (unsigned i = 0; i < head->coding_count; i++)
		leaf_add(mail, entity, type, (enum mstream_coding)head->codings[i]);
}

static bool push_multipart(struct entity *entity, const struct mimehead *head,
			   const struct reading *reading)
{
	const uint8_t *boundary = NULL;
	size_t size = 0;
	if (reading->boundary != NO_BOUNDARY) {
		boundary = head->boundary_bytes + head->boundaries[reading->boundary].at;
		size = head->boundaries[reading->boundary].size;
	}
	if (!levels_push(entity, LEVEL_MULTIPART, boundary, size))
		return false;
	entity->levels[entity->depth - 1].is_digest =
		strcmp(head->types[reading->type], "multipart/digest") == 0;
	entity->is_margin = true;
	return true;
}

static bool push(struct entity *entity, const struct mimehead *head, const struct reading *reading)
{
	if (reading->kind == READING_MULTIPART || reading->kind == READING_CODED_MULTIPART) {
		if (!push_multipart(entity, head, reading))
			return false;
		entity_begin_body(entity);
		return true;
	}
	if (!levels_push(entity, LEVEL_MESSAGE, NULL, 0))
		return false;
	entity_begin_header(entity, false);
	return true;
}

/* A mail, or parts, in what this body decodes to. */
static void begin_coded(struct mstream *mail, struct entity *entity, const struct reading *reading)
{
	const unsigned stream =
		leaf_add(mail, entity, entity->head.types[reading->type], reading->coding);
	struct entity *nested = mstream_nest(mail, entity, stream);
	if (nested == NULL || push(nested, &entity->head, reading))
		return;
	mstream_odd(mail, entity, MSTREAM_TOO_DEEP);
	mstream_drop(mail, nested);
}

static void apply(struct mstream *mail, struct entity *entity, const struct reading *reading)
{
	const char *type = entity->head.types[reading->type];
	const bool is_level =
		reading->kind == READING_MULTIPART || reading->kind == READING_MESSAGE;
	if (is_level && push(entity, &entity->head, reading)) {
		entity->is_tentative = reading->is_tentative;
		return;
	}
	entity_begin_body(entity);
	entity->is_too_deep = is_level;
	if (is_level)
		mstream_odd(mail, entity, MSTREAM_TOO_DEEP);
	if (reading->kind == READING_CODED_MESSAGE || reading->kind == READING_CODED_MULTIPART)
		begin_coded(mail, entity, reading);
	else
		begin_leaf(mail, entity, type);
}

void readings_begin(struct mstream *mail, struct entity *entity)
{
	struct readings readings;
	mimehead_finish(&entity->head);
	list(&readings, &entity->head);
	for (unsigned i = 0; i < MSTREAM_ODDITY_COUNT; i++) {
		if ((readings.oddities & 1U << i) != 0)
			mstream_odd(mail, entity, (enum mstream_oddity)i);
	}
	for (unsigned i = 1; i < readings.count; i++) {
		struct entity *copy = mstream_fork(mail, entity);
		if (copy != NULL)
			apply(mail, copy, &readings.all[i]);
	}
	apply(mail, entity, &readings.all[0]);
}
