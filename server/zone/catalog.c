/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/zone/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_MAX 127 /* RFC 1035: 255 octets hold no more */
#define TYPE_DS	   43

static int compare_name(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
	if (a_size != b_size)
		return a_size < b_size ? -1 : 1;
	return memcmp(a, b, a_size);
}

static int compare_faces(const void *a, const void *b)
{
	const struct settings_name *left = ((const struct catalog_face *)a)->name;
	const struct settings_name *right = ((const struct catalog_face *)b)->name;
	return compare_name(left->wire, left->size, right->wire, right->size);
}

/* Where each label begins, the root label included. Returns how many that are. */
static size_t find_labels(const uint8_t *name, size_t *ret_offsets)
{
	size_t count = 0;
	size_t offset = 0;
	while (name[offset] != 0 && count < LABELS_MAX) {
		ret_offsets[count++] = offset;
		offset += 1U + name[offset];
	}
	ret_offsets[count] = offset;
	return count + 1;
}

static void add_face(struct catalog *catalog, const struct settings_name *name, struct zone *zone,
		     bool is_own, bool is_classic)
{
	size_t offsets[LABELS_MAX + 1];
	size_t labels = find_labels(name->wire, offsets);
	if (labels > catalog->label_max)
		catalog->label_max = labels;
	size_t index = catalog->face_count++;
	catalog->faces[index] = (struct catalog_face){ name, zone, is_own, is_classic, index };
}

int catalog_init(struct catalog *catalog, const struct settings *settings)
{
	memset(catalog, 0, sizeof(*catalog));
	/* One more than needed: a count of zero is no failure. */
	catalog->zones = calloc(settings->zone_count + 1, sizeof(*catalog->zones));
	catalog->faces = calloc(catalog_count_faces(settings) + 1, sizeof(*catalog->faces));
	if (catalog->zones == NULL || catalog->faces == NULL) {
		catalog_deinit(catalog);
		return -ENOMEM;
	}
	catalog->zone_count = settings->zone_count;
	for (size_t i = 0; i < settings->zone_count; i++) {
		const struct settings_zone *from = &settings->zones[i];
		struct zone *zone = &catalog->zones[i];
		zone_init(zone, from->domain.wire, from->domain.size,
			  settings_store_path(settings, i));
		add_face(catalog, &from->domain, zone, true, false);
		for (size_t j = 0; j < from->other_count; j++)
			add_face(catalog, &from->others[j].name, zone, false,
				 from->others[j].is_classic);
	}
	qsort(catalog->faces, catalog->face_count, sizeof(*catalog->faces), compare_faces);
	return 0;
}

void catalog_deinit(struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->zone_count; i++)
		zone_close(&catalog->zones[i]);
	free(catalog->zones);
	free(catalog->faces);
	memset(catalog, 0, sizeof(*catalog));
}

size_t catalog_count_faces(const struct settings *settings)
{
	size_t count = settings->zone_count;
	for (size_t i = 0; i < settings->zone_count; i++)
		count += settings->zones[i].other_count;
	return count;
}

const struct settings_name *catalog_face_name(const struct settings *settings, size_t index)
{
	size_t face = 0;
	for (size_t i = 0; i < settings->zone_count; i++) {
		const struct settings_zone *zone = &settings->zones[i];
		if (index == face)
			return &zone->domain;
		if (index - face <= zone->other_count)
			return &zone->others[index - face - 1].name;
		face += 1 + zone->other_count;
	}
	return NULL;
}

static const struct catalog_face *find_exact(const struct catalog *catalog, const uint8_t *name,
					     size_t size)
{
	size_t low = 0;
	size_t high = catalog->face_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct catalog_face *face = &catalog->faces[middle];
		int order = compare_name(name, size, face->name->wire, face->name->size);
		if (order == 0)
			return face;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static const struct catalog_face *find_longest(const struct catalog *catalog, const uint8_t *qname,
					       size_t qname_size)
{
	size_t offsets[LABELS_MAX + 1];
	size_t labels = find_labels(qname, offsets);
	size_t first = labels > catalog->label_max ? labels - catalog->label_max : 0;
	for (size_t i = first; i < labels; i++) {
		const struct catalog_face *face =
			find_exact(catalog, qname + offsets[i], qname_size - offsets[i]);
		if (face != NULL)
			return face;
	}
	return NULL;
}

const struct catalog_face *catalog_find(const struct catalog *catalog, const uint8_t *qname,
					size_t qname_size, uint16_t qtype)
{
	const struct catalog_face *face = find_longest(catalog, qname, qname_size);
	if (qtype != TYPE_DS || face == NULL || face->name->size != qname_size || qname[0] == 0)
		return face;
	size_t label_size = 1U + qname[0];
	const struct catalog_face *parent =
		find_longest(catalog, qname + label_size, qname_size - label_size);
	return parent != NULL ? parent : face;
}

void catalog_end(struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->zone_count; i++)
		zone_end(&catalog->zones[i]);
}
