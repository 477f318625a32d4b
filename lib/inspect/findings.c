/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/inspection.h"

#include <string.h>

static bool is_there(const struct inspect_result *result, const struct inspect_finding *finding)
{
	for (unsigned i = 0; i < result->finding_count; i++) {
		const struct inspect_finding *other = &result->findings[i];
		if (other->class_ == finding->class_ && strcmp(other->name, finding->name) == 0 &&
		    strcmp(other->path, finding->path) == 0)
			return true;
	}
	return false;
}

/* Behind those of its class; the last one is lost when there is no room. */
static void keep(struct inspect_result *result, const struct inspect_finding *finding)
{
	unsigned at = 0;
	while (at < result->finding_count && result->findings[at].class_ <= finding->class_)
		at++;
	if (at == INSPECT_FINDINGS)
		return;
	if (result->finding_count < INSPECT_FINDINGS)
		result->finding_count++;
	memmove(&result->findings[at + 1], &result->findings[at],
		(result->finding_count - 1 - at) * sizeof(*finding));
	result->findings[at] = *finding;
}

void inspect_add(struct inspection *inspection, const struct inspect_finding *finding)
{
	struct inspect_result *result = &inspection->result;
	if (is_there(result, finding))
		return;
	result->counts[finding->class_]++;
	keep(result, finding);
	if (inspection->rules.found != NULL)
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
