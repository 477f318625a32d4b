/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * serving.h - this server as the engines of lib/dns know it.
 *
 * Flow: udp.h and tcp.h have a query -> answer_make(), the query log's
 *       sample (tap.h), the connection of a transfer (forks.h), counters ->
 *       answer_end() behind a batch.
 *
 * Everything is borrowed. A stranger that wants a zone is no news to the log; the operator of
 * a secondary that is configured and refused wants to know why, if not each time.
 */

#include <uv.h>

#include "lib/dns/responder.h"
#include "lib/process/ration.h"
#include "server/answer/answer.h"
#include "server/transfer/forks.h"
#include "server/querylog/tap.h"

struct tcp;

struct serving {
	struct answer *answer;
	struct forks *forks;
	struct counters counters;
	struct tap *tap; /* NULL: no query log */
	struct tcp *tcp; /* NULL until there is one; before the first query of one */
	/* Lines about transfers that are refused, and about those that are made; zero at the beginning. */
	struct ration refusals;
	struct ration transfers;
	uv_timer_t telling; /* runs when some were left out */
};

/* Its timer holds no loop. */
void serving_open(struct serving *serving, uv_loop_t *loop);
/* Tells of what was left out. No query comes after this. */
void serving_close(struct serving *serving);

/* For udp_new() and tcp_new(). serving is borrowed. */
struct responder serving_responder(struct serving *serving);
