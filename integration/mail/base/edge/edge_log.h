/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * edge_log.h - how many lines an edge has about strangers.
 *
 * Flow: session.c about connections beyond a limit, the server about refused commands -> may it
 *       have its line? -> the log; the tick of edge.c says how many lines were left out.
 *
 * A network beyond its limits, or one that tries addresses or passwords, is to be seen in the log
 * and not to fill the disk with it: of lines of each of the two kinds there are so many in a
 * second. The first refusal of a session has its line in any case, as the session has.
 */

#include "integration/mail/base/edge/edge_parts.h"

/* May a connection beyond a limit have its line? */
bool edge_log_takes_flood(struct edge *edge);
/* May a refused command? */
bool edge_log_takes_refusal(struct session *session);

/* True while there are lines of which nothing was said yet; with UINT64_MAX all is said. */
bool edge_log_settle(struct edge *edge, uint64_t now_ms);
