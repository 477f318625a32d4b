/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * parent_parts.h - what the parent process is made of: generations of workers.
 *
 * Flow: parent.c makes, drains and ends them; accounts.c reads them, for
 *       dnsblv6ctl and for the log. For these two alone.
 *
 * A generation is what one reading of the configuration made: its settings, a slot for each
 * worker, and the memory that they share. The newest is the last in the list; those before it
 * drain. All of it is the parent's, which has one thread.
 */

#include "lib/process/callfilter.h"
#include "server/counts/driverstatus.h"
#include "server/counts/followstatus.h"
#include "server/counts/zonestatus.h"
#include "server/control/control.h"
#include "server/askers/cookie.h"
#include "server/process/cores.h"
#include "server/process/driver.h"
#include "server/process/worker.h"
#include "server/counts/counters.h"
#include "server/querylog/querylog.h"
#include "server/settings/settings.h"
#include "server/askers/frequent.h"
#include "server/askers/talkers.h"
#include "server/control/totals.h"
#include "lib/process/crew.h"

#include <sys/queue.h>

/* What the parent knows of the worker in the slot of the same index. */
struct worker_state {
	enum worker_word word; /* WORKER_SILENT too when it is dead, and before it says one */
	uint64_t restarts;
};

enum generation_role { GENERATION_WORKER, GENERATION_FILLER, GENERATION_ROLES };

struct generation {
	TAILQ_ENTRY(generation) link;
	uint64_t number; /* 1 is the first */
	struct settings settings;
	struct counters_bank bank;
	struct zonestatus zonestatus;
	struct followstatus followstatus;
	struct driverstatus driverstatus;
	struct talkers_bank talkers;
	struct frequent_bank frequent;
	struct crew crew;	     /* of workers, and a filler where there is something to fill */
	struct worker_state *states; /* one for each worker */
	uint64_t filler_restarts;
};

static inline bool generation_is_draining(const struct generation *generation)
{
	return generation->crew.is_told[GENERATION_WORKER];
}

static inline bool generation_has_filler(const struct generation *generation)
{
	return generation->crew.count > generation->settings.workers;
}

struct parent {
	const char *config_path;
	const struct settings *configured;
	const struct listener *listener;
	const struct callfilter *worker_filter;
	struct control *control; /* NULL: there is none */
	struct driver *driver;
	TAILQ_HEAD(generation_list, generation) generations; /* the newest last */
	struct generation *serving;			     /* NULL before the first is ready */
	struct querylog querylog;
	struct cores cores;
	struct totals past;
	struct cookie_random cookies;	  /* for when none are configured */
	struct talkers_bank past_talkers; /* one table, of the shape of the one that serves */
	uint64_t past_restarts;
	uint64_t seed; /* of hashes in what workers share */
	uint64_t generation_count;
	uint64_t reloads;
	uint64_t reloads_refused;
	uint64_t started_ms;
	uint64_t reply_ms; /* when a reload that is done is answered at the latest; 0: none is */
	const char *restart_item; /* what the newest file has and a restart alone does, or NULL */
	int signal_fd;
	int word_ends[2]; /* workers write struct worker_message, the parent reads */
	bool is_stopping;
};
