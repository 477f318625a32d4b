/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nanny_parts.h - what the nanny has: generations of processes, and what they share.
 *
 * Flow: nanny.c decides, generation.c makes and buries processes, roles.c is what a new one does
 *       first. For these alone.
 *
 * The newest generation is first in the list; those behind it drain. Everything is the nanny's,
 * which has one thread. A child has all of it as it was at its fork(), and uses what roles.c says.
 */

#include <signal.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "integration/mail/base/facts/bank.h"
#include "integration/mail/base/handover/scoreboard.h"
#include "lib/process/crew.h"
#include "integration/mail/base/nanny/confine.h"
#include "integration/mail/base/nanny/listeners.h"
#include "integration/mail/base/handover/passed.h"
#include "integration/mail/base/nanny/nanny_program.h"

/* The ends of an edge's socket to the keyholder, and of the one to the checkers. */
enum { NANNY_KEY_EDGE, NANNY_KEY_HOLDER };
enum { NANNY_CHECK_EDGE, NANNY_CHECK_CHECKER };
enum { NANNY_QUEUE_EDGES, NANNY_QUEUE_WORKERS };
/* Of the pipes in which processes say that they are ready, and are told to begin. */
enum { NANNY_READY_NANNY, NANNY_READY_CHILD };
enum { NANNY_WORD_CHILD, NANNY_WORD_NANNY };

struct generation {
	SLIST_ENTRY(generation) link;
	unsigned number;
	const struct nanny_program *program;
	void *setup;
	struct nanny_values values; /* of setup */
	void *shared;
	struct crew crew;
	int key_ends[LISTENERS_EDGES_MAX][2];	/* -1 without certificates */
	int check_ends[LISTENERS_EDGES_MAX][2]; /* -1 without checkers */
	/* A byte of each and a byte for each, while they begin; -1 for those of later. */
	int ready_ends[2];
	int word_ends[2];
	int failure; /* exit status of the last one that died */
};

struct nanny {
	const struct nanny_program *program;
	struct bank bank; /* of counters; its first block is the nanny's */
	const char *config_path;
	SLIST_HEAD(generation_list, generation) generations;
	unsigned generation_count;
	struct listeners listeners;
	struct listeners former; /* until the newest generation has begun */
	int queue_ends[2];
	uint64_t queue_bytes;	       /* that were asked for */
	struct scoreboard *scoreboard; /* of as many processes as there are blocks of counters */
	struct passed *passed;	       /* of all generations */
	bool is_taken[NANNY_SLOTS];    /* which blocks a process has */
	uint64_t metrics_ms;	       /* when they are written next */
	bool lacks_metrics;	       /* the last could not be, and that was said */
	bool is_stopping;
	uint64_t stop_ms; /* when it was told to */
	sigset_t waited;  /* blocked in the nanny */
	sigset_t before;  /* what children have */
};

/* One more: event is a role that has died, or NANNY_RELOADED and the like. */
static inline void nanny_count(const struct nanny *nanny, unsigned event)
{
	bank_add(bank_block(&nanny->bank, 0), nanny->program->event_numbers[event], 1);
}

void nanny_free_setup(const struct nanny_program *program, void *setup);
/* "keyholder", "checker" or the program's word for it, "edge", "worker". Static. */
const char *roles_name(const struct nanny_program *program, unsigned role);
/* In the child, after fork(): the role of that slot. Does not return. */
__attribute__((noreturn)) void roles_run(struct nanny *nanny, struct generation *generation,
					 const struct crew_slot *slot);
