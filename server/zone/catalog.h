/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * catalog.h - every zone of a worker, and the names it is asked under.
 *
 * Flow: worker.c makes it from the settings; answer.c finds the face of a
 *       question.
 *
 * A zone has its own face, which is its domain, and others: the classic zone of the
 * same store under another name, or its records under one.
 */

#include "server/counts/counters.h"
#include "server/settings/settings.h"
#include "server/zone/zone.h"

#ifdef __cplusplus
extern "C" {
#endif

struct catalog_face {
	const struct settings_name *name; /* borrowed */
	struct zone *zone;
	bool is_own;	 /* the zone's domain: its answers are signed, transferred and common */
	bool is_classic; /* addresses, with A and TXT */
	size_t index;	 /* of its counters: in the order of the settings */
};

struct catalog {
	struct zone *zones; /* in the order of the settings */
	size_t zone_count;
	struct catalog_face *faces; /* in the order of find */
	size_t face_count;
	size_t label_max; /* of the longest name */
};

/* 0 or -ENOMEM. settings is borrowed until catalog_deinit(). All zones are closed. */
int catalog_init(struct catalog *catalog, const struct settings *settings);
/* Closes the zones. */
void catalog_deinit(struct catalog *catalog);

/* How many faces settings will make, and their names in the order of their counters. */
size_t catalog_count_faces(const struct settings *settings);
const struct settings_name *catalog_face_name(const struct settings *settings, size_t index);

/*
 * The face that answers for qname (lower case, with root label), or NULL: that with the longest
 * name that qname lies in; for a DS of its apex the next longest, if there is one, since it is
 * data of the parent (RFC 4035 section 3.1.4.1).
 */
const struct catalog_face *catalog_find(const struct catalog *catalog, const uint8_t *qname,
					size_t qname_size, uint16_t qtype);

/* Ends every zone that was begun. */
void catalog_end(struct catalog *catalog);

#ifdef __cplusplus
}
#endif
