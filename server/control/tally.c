/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/control/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/zone/catalog.h"

void tally_init(struct tally *tally)
{
	memset(tally, 0, sizeof(*tally));
}

void tally_deinit(struct tally *tally)
{
	for (size_t i = 0; i < tally->face_count; i++)
		free(tally->faces[i].name);
	free(tally->faces);
	memset(tally, 0, sizeof(*tally));
}

static struct tally_face *find(const struct tally *tally, const char *name)
{
	for (size_t i = 0; i < tally->face_count; i++) {
		if (strcmp(tally->faces[i].name, name) == 0)
			return &tally->faces[i];
	}
	return NULL;
}

static struct tally_face *find_or_add(struct tally *tally, const char *name)
{
	struct tally_face *face = find(tally, name);
	if (face != NULL)
		return face;
	struct tally_face *faces =
		reallocarray(tally->faces, tally->face_count + 1, sizeof(*faces));
	if (faces == NULL)
		return NULL;
	tally->faces = faces;
	face = &faces[tally->face_count];
	*face = (struct tally_face){ .name = strdup(name) };
	if (face->name == NULL)
		return NULL;
	tally->face_count++;
	return face;
}

static int add_face(struct tally *tally, const char *name, const uint64_t *values)
{
	struct tally_face *face = find_or_add(tally, name);
	if (face == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < COUNTERS_FACE_COUNT; i++)
		face->values[i] += values[i];
	return 0;
}

int tally_add_bank(struct tally *tally, const struct counters_bank *bank,
		   const struct settings *settings)
{
	uint64_t *faces = calloc(bank->face_count * COUNTERS_FACE_COUNT + 1, sizeof(*faces));
	if (faces == NULL)
		return -ENOMEM;
	struct counters sum = { tally->server, faces, bank->face_count };
	counters_add(bank, &sum);
	int ret = 0;
	for (size_t i = 0; i < bank->face_count && ret == 0; i++)
		ret = add_face(tally, catalog_face_name(settings, i)->text,
			       counters_of_face(&sum, i));
	free(faces);
	return ret;
}

int tally_add(struct tally *tally, const struct tally *other)
{
	int ret = 0;
	for (size_t i = 0; i < COUNTERS_SERVER_COUNT; i++)
		tally->server[i] += other->server[i];
	for (size_t i = 0; i < other->face_count && ret == 0; i++)
		ret = add_face(tally, other->faces[i].name, other->faces[i].values);
	return ret;
}

const uint64_t *tally_find(const struct tally *tally, const char *name)
{
	const struct tally_face *face = find(tally, name);
	return face != NULL ? face->values : NULL;
}
