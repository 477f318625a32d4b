/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * watch.h - keeps the zones of a worker open, and tells the log how they are.
 *
 * Flow: worker.c starts it; it opens the zones of the catalog that answer.c
 *       then asks.
 *
 *     file seen first, or another one at the path
 *         -> lib/lmdb/verify.h in a child -> whole: zone_open() switches
 *                                -> damaged: the old store stays, or SERVFAIL
 *
 * Once a second every path is looked at: a store may be missing, deleted,
 * replaced, forbidden, expired. A new version inside the same file needs none
 * of this; the next batch of queries sees it. It would not behind a lock file
 * that was deleted or replaced: such a store is opened anew when it has been
 * written to. A file that was refused is not read again before it changes.
 *
 * So are the signatures of what is served: they may end soon, or have ended.
 *
 * Each state of a zone is logged once, by whichever worker comes to it first, and
 * stands on the worker's part of the zonestatus. The filler watches too, and tells
 * what that means for the network driver.
 * A watch is closed with watch_close(); its handles end in the loop after that.
 */

#include "server/counts/counters.h"
#include "server/counts/zonestatus.h"
#include "server/zone/catalog.h"
#include "lib/lmdb/verify.h"

#include <uv.h>

#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

struct watch;

/* Which content of a path we mean; a changed file has another one. */
struct watch_file {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

/* The state of a zone that this process was in last. */
struct watch_noted {
	bool is_set;
	int number;
};

struct watch_zone {
	struct watch *watch;
	struct zone *zone;
	const char *name; /* for the log */
	size_t index;
	struct verify verify;
	uv_poll_t poll; /* of the child, while is_verifying */
	bool is_verifying;
	bool is_closing;	     /* the poll handle is on its way out */
	bool is_decided;	     /* opened or refused once since start */
	struct watch_file file;	     /* what is being verified, or was last */
	uint64_t opened_version;     /* of the file that is served, when it was opened */
	struct watch_file seen;	     /* the last with the lock file that was opened */
	int refused_status;	     /* why file was refused; 0 when it was not */
	struct dnsblv6_labels found; /* the zone that file says it is of */
	uint64_t failed_count;	     /* of the zone, at the last look */
	struct watch_noted noted[COUNTERS_NOTICE_COUNT];
	bool has_secondaries;
	bool has_before;
	uint32_t serial_before; /* the newest of files that were served before this one */
};

struct watch {
	uv_loop_t *loop;
	const struct counters_bank *bank;    /* borrowed: the notices; NULL: of the filler */
	const struct zonestatus *zonestatus; /* borrowed; NULL: there is none */
	size_t worker;
	struct watch_zone *zones;
	size_t zone_count;
	size_t undecided_count;
	uv_timer_t timer;
	void (*on_decided)(void *context); /* called once, from the loop; may be NULL */
	void *context;
	bool is_told;
};

/*
 * Begins; on_decided is called when every zone has been opened or refused.
 * catalog, settings and bank are borrowed; bank is NULL in the filler. 0 or a
 * negative error.
 */
int watch_open(struct watch *watch, uv_loop_t *loop, struct catalog *catalog,
	       const struct settings *settings, const struct counters_bank *bank,
	       void (*on_decided)(void *context), void *context);
/* From now on worker's part of zonestatus says how the zones are. Borrowed. */
void watch_set_zonestatus(struct watch *watch, const struct zonestatus *zonestatus, size_t worker);
/* Ends children and closes handles; run the loop, then watch_free(). */
void watch_close(struct watch *watch);
void watch_free(struct watch *watch);

#ifdef __cplusplus
}
#endif
