/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/within.h"

#include <stdio.h>

#include "lib/inspect/inspection.h"

static void *begin_file(void *context, enum mstream_coding coding, const char *name)
{
	struct object *object = (struct object *)context;
	if (object->depth >= INSPECT_DEPTH) {
		finding_add(object->inspection, INSPECT_BOMB, "bomb: depth", object->path, 0);
		return NULL;
	}
	if (!object_count(object))
		return NULL;
	return object_begin(object->inspection, object,
			    name[0] != '\0' ? name : mstream_coding_name(coding));
}

static bool take_data(void *context, void *file, const uint8_t *bytes, size_t size)
{
	if (!object_spend((struct object *)context, size))
		return false;
	object_push((struct object *)file, bytes, size);
	return true;
}

static void take_oddity(void *context, enum mstream_oddity oddity)
{
	const struct object *object = (const struct object *)context;
	char name[MATCH_NAME_MAX + 1];
	snprintf(name, sizeof(name), "%s: %s", inspect_class_name(INSPECT_AMBIGUOUS),
		 mstream_oddity_text(oddity));
	finding_add(object->inspection, INSPECT_AMBIGUOUS, name, object->path, 0);
}

static const struct finder_files files = { begin_file, take_data, object_end_within, take_oddity };

void within_begin(struct object *object)
{
	finder_begin(&object->more->within, object->kind == CONTENT_TNEF);
}

bool within_copy(struct object *object, const struct object *from)
{
	const struct finder *finder = &from->more->within;
	if (from->route != OBJECT_WITHIN || finder_is_open(finder))
		return false;
	object->more->within = *finder;
	return true;
}

void within_push(struct object *object, const uint8_t *bytes, size_t size)
{
	finder_push(&object->more->within, bytes, size, &files, object);
}

void within_end(struct object *object, bool is_whole)
{
	finder_end(&object->more->within, is_whole, &files, object);
}
