/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/inspection.h"

#include <string.h>

/*
 * The order that they are kept in, which is not the one that they come in: that depends on how bytes
 * are cut, as those of a container are matched before those of what is in it.
 */
static int compare(const struct inspect_finding *left, const struct inspect_finding *right)
{
	if (left->class_ != right->class_)
		return left->class_ < right->class_ ? -1 : 1;
	const int by_path = strcmp(left->path, right->path);
	return by_path != 0 ? by_path : strcmp(left->name, right->name);
}

/* In its place; the last one is lost when there is no room. Was it new, and kept? */
static bool keep(struct inspect_result *result, const struct inspect_finding *finding)
{
	unsigned at = 0;
	int order = -1;
	while (at < result->finding_count && (order = compare(&result->findings[at], finding)) < 0)
		at++;
	if (at == INSPECT_FINDINGS || (at < result->finding_count && order == 0))
		return false;
	if (result->finding_count < INSPECT_FINDINGS)
		result->finding_count++;
	memmove(&result->findings[at + 1], &result->findings[at],
		(result->finding_count - 1 - at) * sizeof(*finding));
	result->findings[at] = *finding;
	return true;
}

void inspect_add(struct inspection *inspection, const struct inspect_finding *finding)
{
	inspection->result.counts[finding->class_]++;
	if (keep(&inspection->result, finding) && inspection->rules.found != NULL)
		inspection->rules.found(inspection->rules.found_context, finding);
}

void finding_add(struct inspection *inspection, enum inspect_class class_, const char *name,
		 const char *path, uint64_t offset)
{
	struct inspect_finding finding = { .class_ = class_, .offset = offset };
	const size_t name_size = strnlen(name, MATCH_NAME_MAX);
	const size_t path_size = strnlen(path, INSPECT_PATH_SIZE - 1);
	memcpy(finding.name, name, name_size);
	memcpy(finding.path, path, path_size);
	inspect_add(inspection, &finding);
}

void inspect_add_counts(struct inspection *inspection, const unsigned *counts, uint64_t bytes,
			unsigned objects)
{
	struct inspect_result *result = &inspection->result;
	for (unsigned i = 0; i < INSPECT_CLASS_COUNT; i++)
		result->counts[i] += counts[i];
	result->bytes += bytes;
	result->objects += objects;
}

const char *inspect_class_name(enum inspect_class class_)
{
	static const char *const names[INSPECT_CLASS_COUNT] = {
		[INSPECT_SIGNATURE] = "signature", [INSPECT_BOMB] = "bomb",
		[INSPECT_ENCRYPTED] = "encrypted", [INSPECT_SUSPICIOUS] = "suspicious",
		[INSPECT_AMBIGUOUS] = "ambiguous", [INSPECT_BUSY] = "busy",
	};
	return (unsigned)class_ < INSPECT_CLASS_COUNT ? names[class_] : "unknown";
}

void finding_take(void *context, const struct match_finding *found)
{
	const struct object *object = (const struct object *)context;
	finding_add(object->inspection, INSPECT_SIGNATURE, found->name, object->path,
		    found->offset);
}
