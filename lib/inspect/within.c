/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/within.h"

#include <stdio.h>

#include "lib/inspect/inspection.h"

struct finding {
	struct object *object;
	struct object **file;
};

static void begin_file(void *context, enum mstream_coding coding, const char *name)
{
	const struct finding *finding = (const struct finding *)context;
	struct object *object = finding->object;
	*finding->file = NULL;
	if (object->depth >= INSPECT_DEPTH) {
		finding_add(object->inspection, INSPECT_BOMB, "bomb: depth", object->path, 0);
		return;
	}
	if (!object_count(object))
		return;
	*finding->file = object_begin(object->inspection, object,
				      name[0] != '\0' ? name : mstream_coding_name(coding));
}

static void end_file(void *context, bool is_whole)
{
	const struct finding *finding = (const struct finding *)context;
	if (*finding->file != NULL)
		object_end(*finding->file, is_whole);
	*finding->file = NULL;
}

static void take_data(void *context, const uint8_t *bytes, size_t size)
{
	const struct finding *finding = (const struct finding *)context;
	if (*finding->file == NULL)
		return;
	if (object_spend(finding->object, size))
		object_push(*finding->file, bytes, size);
	else
		end_file(context, false);
}

static void take_oddity(void *context, enum mstream_oddity oddity)
{
	const struct object *object = ((const struct finding *)context)->object;
	char name[MATCH_NAME_MAX + 1];
	snprintf(name, sizeof(name), "%s: %s", inspect_class_name(INSPECT_AMBIGUOUS),
		 mstream_oddity_text(oddity));
	finding_add(object->inspection, INSPECT_AMBIGUOUS, name, object->path, 0);
}

static const struct mstream_files files = { begin_file, take_data, end_file, take_oddity };

void within_begin(struct object *object)
{
	struct within *within = &object->more->within;
	within->is_tnef = object->kind == CONTENT_TNEF;
	within->file = NULL;
	within->address = NULL;
	within->value = NULL;
	addresses_begin(&within->addresses);
	inlined_begin(&within->inlined);
	if (within->is_tnef)
		tnef_begin(&within->of.tnef);
	else
		embedded_begin(&within->of.embedded);
}

void within_push(struct object *object, const uint8_t *bytes, size_t size)
{
	struct within *within = &object->more->within;
	struct finding finding = { object, &within->file };
	if (within->is_tnef) {
		tnef_push(&within->of.tnef, bytes, size, &files, &finding);
		return;
	}
	embedded_push(&within->of.embedded, bytes, size, &files, &finding);
	finding.file = &within->address;
	addresses_push(&within->addresses, bytes, size, &files, &finding);
	finding.file = &within->value;
	inlined_push(&within->inlined, bytes, size, &files, &finding);
}

void within_end(struct object *object, bool is_whole)
{
	struct within *within = &object->more->within;
	struct finding finding = { object, &within->file };
	if (within->is_tnef)
		tnef_end(&within->of.tnef, is_whole, &files, &finding);
	else
		embedded_end(&within->of.embedded, is_whole, &files, &finding);
	finding.file = &within->address;
	addresses_end(&within->addresses, is_whole, &files, &finding);
	finding.file = &within->value;
	inlined_end(&within->inlined, is_whole, &files, &finding);
}
