/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * driverstatus.h - which zones the network driver answers for, and why it does not for others.
 *
 * Flow: parent.c makes one in shared memory for each generation -> filler.c writes -> report.c
 *       prints.
 *
 * A place for each zone, in the order of the settings. One process writes, the parent reads
 * without a lock: within the moment of a change, fields may be of two versions.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each with why the zone is left to the sockets. */
#define DRIVERSTATUS_MAP(X)                                                                        \
	X(READING, "it is being read")                                                             \
	X(ANSWERING, "it is not")                                                                  \
	X(UNFIT, "see what the store says") /* as reason says, of fill.h */                        \
	X(RULES, "it has rules by address or key")                                                 \
	X(LOGGED, "its questions are in the query log")                                            \
	X(EXPIRED, "its list has expired")                                                         \
	X(MEMORY, "there is no room for it")                                                       \
	X(PLACE, "there are too many zones before it")                                             \
	X(CONFIG, "there are too many names, addresses or interfaces")

#define X(name, text) DRIVERSTATUS_##name,
enum driverstatus_state { DRIVERSTATUS_MAP(X) DRIVERSTATUS_COUNT };
#undef X

struct driverstatus_zone {
	uint64_t state;	     /* enum driverstatus_state */
	uint64_t reason;     /* with DRIVERSTATUS_UNFIT: enum fill_reason */
	uint64_t serial;     /* that the driver answers with, as the next two; 0: with none */
	uint64_t switched_s; /* Unix time from when on */
	uint64_t lines;	     /* of memory that it takes */
};

struct driverstatus {
	struct driverstatus_zone *zones; /* shared with the filler */
	size_t count;
};

/* 0 or -errno. */
int driverstatus_open(struct driverstatus *status, size_t zone_count);
/* Takes one that is all zero. */
void driverstatus_close(struct driverstatus *status);

void driverstatus_put(const struct driverstatus *status, size_t zone,
		      const struct driverstatus_zone *value);
struct driverstatus_zone driverstatus_get(const struct driverstatus *status, size_t zone);

/* Why not, but for DRIVERSTATUS_UNFIT. Never NULL. */
const char *driverstatus_text(enum driverstatus_state state);

#ifdef __cplusplus
}
#endif
