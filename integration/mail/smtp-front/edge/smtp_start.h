/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * smtp_start.h - what an edge of smtp-front is given by the process that makes it.
 *
 * Flow: front.c -> smtp_edge_run() -> edge_run() of base, and the functions of talk.h.
 */

#include "integration/mail/base/edge/edge_start.h"
#include "integration/mail/smtp-front/facts/tally.h"
#include "integration/mail/smtp-front/recipients/hopstate.h"
#include "integration/mail/smtp-front/setup/setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plain value; everything in it is borrowed until smtp_edge_run() returns. */
struct smtp_edge_start {
	struct edge_start edge;	   /* without protocol, rules and own */
	const struct setup *setup; /* its library is started */
	uint64_t *counters;	   /* of the edge's own slot; may be NULL */
	struct hopstate *hop;	   /* of all processes; may be NULL */
};

#ifdef __cplusplus
}
#endif
