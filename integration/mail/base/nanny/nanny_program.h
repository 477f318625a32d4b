/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nanny_program.h - what a server of mail tells the nanny about itself, and what that gives its
 *                   processes.
 *
 * Flow: a server's table of functions -> nanny_run(), which calls them, in order: values(),
 *       rights(), prepare(), share() -> fork() -> run_checker(), run_edge(), run_worker() ->
 *       unshare(), deinit().
 *
 * A checker answers what an edge cannot find out itself without keeping its clients waiting, such as
 * whether a password is right; or what a worker asks, by a socket that share() has made. Each edge has one
 * socket to all checkers (SOCK_SEQPACKET): the kernel gives a message to whichever of them asks first.
 *
 * A setup is the server's struct with its configuration. The nanny has one for each generation, and
 * looks only at what values() says of it.
 */

#include <stddef.h>
#include <stdint.h>

#include "integration/common/program.h"
#include "integration/mail/base/facts/bank.h"
#include "integration/mail/base/handover/nanny_child.h"
#include "integration/mail/base/nanny/confine.h"
#include "integration/mail/base/nanny/listeners.h"
#include "integration/mail/base/tls/keys.h"

#define NANNY_WORKERS_MAX  1024
#define NANNY_CHECKERS_MAX 64
/*
 * Blocks of counters: the nanny's, which is the first, and one for each process that lives. After
 * reloads generations overlap, and the largest may do so three times before a process cannot be
 * made.
 */
#define NANNY_SLOTS_OF_GENERATION (LISTENERS_EDGES_MAX + NANNY_CHECKERS_MAX + NANNY_WORKERS_MAX)
#define NANNY_SLOTS		  (1 + 4 * NANNY_SLOTS_OF_GENERATION)

/* As they are made. */
enum nanny_role { NANNY_KEYHOLDER, NANNY_CHECKER, NANNY_EDGE, NANNY_WORKER, NANNY_ROLES };

/* What the nanny counts; below these the role of a process that has died. */
enum { NANNY_RELOADED = NANNY_ROLES, NANNY_RELOAD_REFUSED, NANNY_EVENTS };

/* What it needs of a configuration. A plain value; borrowed from that. */
struct nanny_values {
	struct listeners_wanted listeners;
	unsigned workers;
	unsigned checkers;		  /* 0: the program has none */
	unsigned certificate_count;	  /* 0: there is no keyholder */
	const struct keys_chains *chains; /* of these */
	unsigned sessions_max;		  /* of each edge */
	uint64_t queue_bytes;
	unsigned drain_ms;
	int log_level;
	const char *metrics; /* "": none */
};

/* What is the server's own. */
struct nanny_program {
	const char *context; /* in the log */
	/* The configuration, which each generation has one of, in the heap. */
	size_t setup_size;
	program_parse_fn parse;
	void (*deinit)(void *setup);
	struct nanny_values (*values)(const void *setup);
	struct confine_rights (*rights)(const void *setup, unsigned role);
	/*
	 * What the configuration names, for --check; the same before each fork(), and what has to begin
	 * there. An exit status; what is not EX_OK is logged.
	 */
	int (*check)(const void *setup);
	int (*prepare)(const void *setup);
	/* What the processes of a generation share; 0 or -errno. Both or none; what is NULL is not ended. */
	int (*share)(const void *setup, void **ret_shared);
	void (*unshare)(void *shared);
	const char *checker_name;			     /* of its process; NULL: "checker" */
	int (*run_checker)(const struct nanny_child *child); /* each returns an exit status */
	int (*run_edge)(const struct nanny_child *child);
	int (*run_worker)(const struct nanny_child *child); /* NULL: there are none */
	/* What is counted, in NANNY_SLOTS blocks; and which number each of NANNY_EVENTS has there. */
	const struct bank_table *counters;
	const unsigned *event_numbers;
	/* Gauges that no process of its own sets, before they are read. May be NULL. */
	void (*note)(const struct bank *bank, const void *shared);
};
