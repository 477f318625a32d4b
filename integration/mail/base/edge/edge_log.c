/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/edge/edge_log.h"

#include "lib/common/log.h"

/* In a second. */
#define FLOOD_LINES_MAX	  10
#define REFUSAL_LINES_MAX 50 /* behind the first of each session */

bool edge_log_takes_flood(struct edge *edge)
{
	return ration_take(&edge->flood, uv_now(&edge->loop), FLOOD_LINES_MAX);
}

bool edge_log_takes_refusal(struct session *session)
{
	struct edge *edge = session->edge;
	if (session->has_refusal_line &&
	    !ration_take(&edge->refusals, uv_now(&edge->loop), REFUSAL_LINES_MAX))
		return false;
	session->has_refusal_line = true;
	return true;
}

bool edge_log_settle(struct edge *edge, uint64_t now_ms)
{
	const unsigned sessions = ration_settle(&edge->flood, now_ms);
	const unsigned refusals = ration_settle(&edge->refusals, now_ms);
	if (sessions + refusals > 0)
		log_info(edge->protocol->context, "lines left out, edge=%u sessions=%u refusals=%u",
			 edge->child->index, sessions, refusals);
	return edge->flood.left_out + edge->refusals.left_out > 0;
}
