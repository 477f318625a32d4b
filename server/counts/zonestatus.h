/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * zonestatus.h - how each worker's zones are, for the parent, which opens no store.
 *
 * Flow: parent.c makes a zonestatus in shared memory for each generation of workers
 *       -> watch.c writes, once a second -> report.c prints.
 *
 * Each worker writes its own part; the parent reads without a lock, so that
 * within the second of a change the fields of a zone may be of two versions.
 */

#include "lib/format/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum zonestatus_state {
	ZONESTATUS_OPENING, /* nothing is known yet */
	ZONESTATUS_SERVING,
	ZONESTATUS_EXPIRED, /* answering SERVFAIL, because the list must not be used any more */
	ZONESTATUS_FAILED,  /* answering SERVFAIL, because no store can be opened; see status */
};

#define ZONESTATUS_ZONE_MAP(X)                                                                     \
	X(state)  /* enum zonestatus_state */                                                      \
	X(status) /* what zone_strerror() explains, as uint64_t */                                 \
	X(serial)                                                                                  \
	X(records)                                                                                 \
	X(addresses) /* IPv4, that are listed */                                                   \
	X(networks)  /* /64s */                                                                    \
	X(names)     /* domain names */                                                            \
	X(built_s)                                                                                 \
	X(lists_s)	/* when the lists were written; 0: unknown */                              \
	X(expires_s)	/* 0: never */                                                             \
	X(signatures_s) /* when the first one ends; 0: not signed */                               \
	X(damage)	/* of what is served, as status; 0: none is known */                       \
	X(checked_s)	/* when all of it was compared with its checksum last */

struct zonestatus_zone {
#define X(name) uint64_t name;
	ZONESTATUS_ZONE_MAP(X)
#undef X
};

/* When each file of its lists was written, a row of struct dnsblv6_list_file: damaged while it is written. */
struct zonestatus_files {
	uint64_t size; /* 0: none is known */
	uint8_t bytes[DNSBLV6_LIST_FILES_MAX];
};

struct zonestatus {
	void *memory; /* shared with the workers */
	size_t size_bytes;
	size_t worker_count;
	size_t zone_count;
};

/* 0 or -errno. */
int zonestatus_open(struct zonestatus *zonestatus, size_t worker_count, size_t zone_count);
/* Takes a zonestatus that is all zero. */
void zonestatus_close(struct zonestatus *zonestatus);

void zonestatus_put(const struct zonestatus *zonestatus, size_t worker, size_t zone,
		    const struct zonestatus_zone *value);
/* Those of the first worker: all read the same store. */
void zonestatus_put_files(const struct zonestatus *zonestatus, size_t worker, size_t zone,
			  const uint8_t *bytes, size_t size);
struct zonestatus_files zonestatus_get_files(const struct zonestatus *zonestatus, size_t zone);
/*
 * The zone as the worker has it that is worst off: in the worst state, and of
 * those the one with the oldest data. Damage that any of them has found, and the
 * latest check: one worker looks for all.
 */
struct zonestatus_zone zonestatus_find_worst(const struct zonestatus *zonestatus, size_t zone);
/* Does each worker serve that serial, or a newer one? */
bool zonestatus_all_have(const struct zonestatus *zonestatus, size_t zone, uint32_t serial);
/* What a worker has said that has zone in that state; false when none has. */
bool zonestatus_find(const struct zonestatus *zonestatus, size_t zone, enum zonestatus_state state,
		     struct zonestatus_zone *ret_zone);

#ifdef __cplusplus
}
#endif
