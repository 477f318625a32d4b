/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/control/totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/zone/catalog.h"

void totals_init(struct totals *totals)
{
	memset(totals, 0, sizeof(*totals));
}

void totals_deinit(struct totals *totals)
{
	for (size_t i = 0; i < totals->face_count; i++)
		free(totals->faces[i].name);
	free(totals->faces);
	memset(totals, 0, sizeof(*totals));
}

static struct totals_face *find(const struct totals *totals, const char *name)
{
	for (size_t i = 0; i < totals->face_count; i++) {
		if (strcmp(totals->faces[i].name, name) == 0)
			return &totals->faces[i];
	}
	return NULL;
}

static struct totals_face *find_or_add(struct totals *totals, const char *name)
{
	struct totals_face *face = find(totals, name);
	if (face != NULL)
		return face;
	struct totals_face *faces =
		reallocarray(totals->faces, totals->face_count + 1, sizeof(*faces));
	if (faces == NULL)
		return NULL;
	totals->faces = faces;
	face = &faces[totals->face_count];
	*face = (struct totals_face){ .name = strdup(name) };
	if (face->name == NULL)
		return NULL;
	totals->face_count++;
	return face;
}

static int add_face(struct totals *totals, const char *name, const uint64_t *values)
{
	struct totals_face *face = find_or_add(totals, name);
	if (face == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < COUNTERS_FACE_COUNT; i++)
		face->values[i] += values[i];
	return 0;
}

int totals_add_bank(struct totals *totals, const struct counters_bank *bank,
		    const struct settings *settings)
{
	uint64_t *faces = calloc(bank->face_count * COUNTERS_FACE_COUNT + 1, sizeof(*faces));
	if (faces == NULL)
		return -ENOMEM;
	struct counters sum = { totals->server, faces };
	counters_add(bank, &sum);
	int ret = 0;
	for (size_t i = 0; i < bank->face_count && ret == 0; i++)
		ret = add_face(totals, catalog_face_name(settings, i)->text,
			       counters_of_face(&sum, i));
	free(faces);
	return ret;
}

int totals_add(struct totals *totals, const struct totals *other)
{
	int ret = 0;
	for (size_t i = 0; i < COUNTERS_SERVER_COUNT; i++)
		totals->server[i] += other->server[i];
	for (size_t i = 0; i < other->face_count && ret == 0; i++)
		ret = add_face(totals, other->faces[i].name, other->faces[i].values);
	return ret;
}

const uint64_t *totals_find(const struct totals *totals, const char *name)
{
	const struct totals_face *face = find(totals, name);
	return face != NULL ? face->values : NULL;
}
