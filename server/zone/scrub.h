/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scrub.h - reads the stores that are served against their checksums, again and again.
 *
 * Flow: worker.c starts it in the first worker of a generation, once that serves
 *       -> a child of lib/lmdb/verify.h, at idle priority, for one store after
 *       the other -> zone.h keeps what was found -> watch.c puts it on the zonestatus.
 *
 *     whole --differs, or the child crashes over it, twice running--> damaged
 *     damaged --a reading without fault, or another file at the path--> whole
 *
 * A disk, memory or a foreign hand changes bytes below a store that was whole
 * when it was opened, and a damaged key answers as a name that is not there: no
 * answer can tell. A store that cannot be read for another reason (no memory, no
 * permission, a child that was killed) is no damage: the log says which.
 *
 * The path is read, as no other process can have what a worker has mapped of a
 * file that is gone. So a zone whose file was deleted or replaced is passed
 * over; watch.h speaks of that one.
 *
 * The children of a round take at most a tenth of one processor core, rests
 * included. One holds a version of its store, whose pages a writer cannot use
 * again, for SCRUB_READ_MAX_S at most.
 */

#include "lib/lmdb/verify.h"
#include "server/zone/catalog.h"
#include "server/settings/settings.h"

#include <uv.h>

#define SCRUB_READ_MAX_S 300
#define SCRUB_REST_PARTS 9 /* of a round's processor time that pass before the next */

struct scrub_zone {
	const char *name; /* for the log */
	int told;	  /* the status that the log has, 0 at first */
};

struct scrub {
	struct catalog *catalog;
	struct scrub_zone *zones; /* in the order of the catalog */
	uint64_t interval_ms;
	uv_timer_t timer;
	size_t at; /* the zone in hand */
	bool is_reading;
	struct verify verify; /* while is_reading */
	uint64_t deadline_ms; /* of that, by uv_now() */
	bool is_late;
	int suspicion;	  /* what the first reading of this store has found */
	uint64_t used_us; /* processor time of this round */
};

/*
 * catalog and settings are borrowed. 0 or a negative error. With an interval of 0 it does nothing.
 */
int scrub_open(struct scrub *scrub, uv_loop_t *loop, struct catalog *catalog,
	       const struct settings *settings);
/* Ends a child and closes the handle; run the loop, then scrub_free(). */
void scrub_close(struct scrub *scrub);
/* Takes one that is all zero. */
void scrub_free(struct scrub *scrub);
