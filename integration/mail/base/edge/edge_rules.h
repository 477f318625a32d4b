/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * edge_rules.h - what a server's configuration says to its edges.
 *
 * Flow: the rows of the server's configuration -> the edge_rules of its setup, to which the edge's
 *       process adds what is not written there -> edge_run() -> all parts of an edge, which read them
 *       and change nothing.
 *
 * A plain value. Pointers, those of networks too, are borrowed. Times are in milliseconds, and 0
 * is "none" or "no limit" but where something else is said.
 */

#include <stdbool.h>
#include <stdint.h>

#include "integration/common/judge.h"
#include "integration/common/networks.h"
#include "integration/mail/base/loop/limits.h"
#include "integration/mail/base/tls/keys.h"

struct edge_rules {
	unsigned sessions_max; /* of an edge; fewer where there are no descriptors for them */
	unsigned edges;	       /* that the server has; never 0 */
	unsigned batching_ms;  /* rests of a busy edge */
	unsigned drain_ms;     /* for sessions that are open at SIGTERM */

	/* Networks. */
	struct networks proxy;	     /* clients that must send a PROXY header first */
	struct networks xclient;     /* clients that may name others */
	struct networks unlimited;   /* clients that the limits are not for */
	struct limits_rules network; /* of one edge, but for held_max: by workers, of all edges */

	/* Before the banner. */
	unsigned greet_pause_ms; /* silence; with TLS from the start the client may break it */
	/* For so long the pause is left out for clients that a worker has praised; 0: it never is. */
	unsigned greet_cache_ms;
	bool ignores_early; /* a client that breaks it, but for noting it; else it is refused */

	/* Dialogues. */
	unsigned command_timeout_ms; /* never 0 */
	unsigned stress_timeout_ms;  /* instead of it, when under stress */
	unsigned stress_share;	     /* per cent of sessions_max from which on it is stress */
	unsigned session_timeout_ms; /* all of it in the edge */
	unsigned tarpit_ms;	     /* pause before each refusal */

	/* Workers. */
	bool refuses_at_capacity;  /* with no worker idle at once; else after queue_timeout_ms */
	unsigned queue_timeout_ms; /* 0: until the next tick */

	/* What is in no row. */
	bool has_zones; /* the library is started, and the judge's client may be called */
	const struct judge *judge;  /* exempts own networks also without zones */
	struct dnsblv6 *client;	    /* the judge's */
	unsigned worker_silence_ms; /* the longest of a worker that lives: for relays; never 0 */
	unsigned certificate_count; /* 0: there is none */
	const struct keys_chains *chains;
	uint32_t
		tls_places; /* bit i: clients of place i begin with the handshake, no word before */
};
