/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * versions.h - what a store held in an earlier version, as far as its journal has kept it.
 *
 * Flow: lib/store/history.h -> version_load() -> chain/rollback.c writes it again, and history.c
 *       prints what has become different since.
 *
 * Of each entry that has been written since, what it was then; all others are as they are now. A
 * version owns its memory.
 */

#include "lib/lmdb/reader.h"
#include "lib/store/tables.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VERSION_EUNKNOWN (-2260) /* the journal has no such serial */
#define VERSION_EGONE	 (-2261) /* what a change since that version has done was not kept */
#define VERSION_EFIRST	 (-2264) /* the journal has no change that did more than sign */

/* Text for these; NULL for any other status. */
const char *version_strerror(int status);

struct version_entry {
	enum store_table table; /* but STORE_JOURNAL */
	bool is_there;		/* false: there was none */
	uint8_t *key;		/* ours, with the value behind it */
	size_t key_size;
	const uint8_t *value;
	size_t value_size;
	size_t rank; /* of the entries of one key, the least counts */
};

struct version {
	uint32_t serial;
	uint32_t newest;	     /* the serial that the store has */
	struct version_entry *items; /* by table and key, each once */
	size_t count;
	size_t capacity;
};

/* What is to be known about a version. */
enum version_scope {
	VERSION_NAMES, /* STORE_RECORDS alone */
	VERSION_WHOLE, /* all tables: what a rollback needs */
};

/*
 * Between reader_begin() and reader_end(). ret_version is zeroed or deinited before; end it with
 * version_deinit() either way. A status above, or of lib/store.
 */
int version_load(struct reader *reader, uint32_t serial, enum version_scope scope,
		 struct version *ret_version);
/* The serial before the newest change that did more than sign. VERSION_EFIRST without one. */
int version_previous(struct reader *reader, uint32_t *ret_serial);

/* The first entry of a table; count when there is none. */
size_t version_first(const struct version *version, enum store_table table);
void version_deinit(struct version *version);

#ifdef __cplusplus
}
#endif
