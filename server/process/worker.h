/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * worker.h - one process that answers: an event loop, its sockets, its zones.
 *
 * Flow: parent.c forks and calls worker_serve() -> stores are opened -> a word
 *       into word_fd -> questions -> SIGTERM -> drain -> exit.
 *
 * A worker has no privileges, opens stores only after the fork (LMDB), and
 * obeys SIGTERM alone: SIGINT, SIGHUP and SIGUSR1 are for the parent, which a
 * terminal sends them to as well. It drains too when the parent is gone.
 */

#include "lib/process/callfilter.h"
#include "lib/dns/listener.h"
#include "server/counts/followstatus.h"
#include "server/counts/zonestatus.h"
#include "server/process/cores.h"
#include "server/counts/counters.h"
#include "server/settings/settings.h"
#include "server/process/takeover.h"
#include "server/askers/frequent.h"
#include "server/askers/talkers.h"

struct worker_start {
	const struct settings *settings;
	const struct listener *listener;
	const struct callfilter *filter; /* of confine_make_filter() */
	const struct counters_bank *bank;
	const struct zonestatus *zonestatus;
	const struct followstatus *followstatus;
	const struct cores *cores; /* for pin-workers */
	const struct talkers_bank *talkers;
	const struct frequent_bank *frequent;
	size_t index;
	int word_fd; /* for struct worker_message */
	int tap_fd;  /* samples for the query log go there; -1: none */
	/* The workers that answer meanwhile, and go on when a zone would be lost; NULL: none. */
	const struct takeover_side *before;
};

/*
 * A worker that would lose a zone of "before" does not serve, and waits to be ended. One that drains
 * reads no more questions, but those of TCP clients that have begun one.
 */
enum worker_word { WORKER_SILENT, WORKER_SERVES, WORKER_WOULD_LOSE, WORKER_DRAINS };

/* In a pipe of all workers, which takes it whole. */
struct worker_message {
	pid_t pid;
	enum worker_word word;
};

/* Returns the exit status of the process. */
int worker_serve(const struct worker_start *start);
