/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * core.h - a message of a client in, and what becomes of it.
 *
 * Flow: answer.bpf.c, or a test, has a message in wire -> xdp_answer() -> it is sent, dropped, or
 *       goes on to the sockets as it came -> xdp_count().
 *
 * A version or the configuration may move meanwhile: then what was made is dropped.
 */

#include "server/xdp-kernel/cookie.h"
#include "server/xdp-kernel/limit.h"
#include "server/xdp-kernel/reply.h"

XDP_INLINE uint64_t xdp_read_once(const uint64_t *number)
{
	return *(const volatile uint64_t *)number;
}

/* A question that is over the limit. */
XDP_INLINE enum xdp_verdict xdp_answer_limited(struct xdp_scratch *scratch,
					       const struct xdp_config *config,
					       enum xdp_limited limited)
{
	if (limited == XDP_LIMITED_PASS)
		return XDP_VERDICT_PASS;
	scratch->result = XDP_RESULT_LIMITED;
	if (limited == XDP_LIMITED_DROP)
		return XDP_VERDICT_DROP;
	/* As answer_limited() in server/answer/answer.c. */
	scratch->rcode = scratch->has_cookie ? XDP_RCODE_BADCOOKIE : 0;
	xdp_put_question(scratch, config, scratch->has_cookie ? 0 : XDP_TC);
	return XDP_VERDICT_SEND;
}

XDP_INLINE enum xdp_verdict xdp_answer_zone(struct xdp_scratch *scratch,
					    const struct xdp_config *config,
					    const struct xdp_version *version)
{
	enum xdp_limited limited = XDP_LIMITED_NOT;
	if (scratch->has_cookie && !xdp_judge_cookie(scratch, config))
		return XDP_VERDICT_PASS;
	XDP_FORGET();
	if (config->interval_ns != 0 && !(scratch->has_cookie && scratch->is_cookie_good))
		limited = xdp_limit(scratch, config);
	if (limited != XDP_LIMITED_NOT)
		return xdp_answer_limited(scratch, config, limited);
	scratch->has_dnssec = scratch->has_do && (version->flags & XDP_ZONE_SIGNED) != 0;
	if (!xdp_find(scratch, version))
		return XDP_VERDICT_PASS;
	XDP_FORGET();
	return xdp_put_answer(scratch, config, version) ? XDP_VERDICT_SEND : XDP_VERDICT_PASS;
}

XDP_INLINE enum xdp_verdict xdp_answer(struct xdp_scratch *scratch, const struct xdp_config *config)
{
	uint64_t config_changes = xdp_read_once(&config->changes);
	xdp_barrier(scratch);
	scratch->answer_count = 0;
	scratch->authority_count = 0;
	scratch->has_dnssec = false;
	scratch->is_truncated = false;
	if (scratch->now_ns >= xdp_read_once(&config->until_ns) ||
	    !xdp_read_question(scratch, config))
		return XDP_VERDICT_PASS;
	XDP_FORGET();
	if (!xdp_read_name(scratch))
		return XDP_VERDICT_PASS;
	const struct xdp_zone *zone = xdp_get_zone(scratch, scratch->zone);
	if (zone == NULL)
		return XDP_VERDICT_PASS;
	uint64_t zone_changes = xdp_read_once(&zone->changes);
	xdp_barrier(scratch);
	if (scratch->now_ns >= xdp_read_once(&zone->until_ns))
		return XDP_VERDICT_PASS;
	enum xdp_verdict verdict =
		xdp_answer_zone(scratch, config, &zone->versions[zone->current & 1]);
	xdp_made(scratch);
	xdp_barrier(scratch);
	if (xdp_read_once(&zone->changes) == zone_changes &&
	    xdp_read_once(&config->changes) == config_changes)
		return verdict;
	scratch->result = XDP_RESULT_CHANGED;
	return verdict == XDP_VERDICT_PASS ? verdict : XDP_VERDICT_DROP;
}

/* ---- counts ---- */

XDP_INLINE void xdp_count_answer(const struct xdp_scratch *scratch, struct xdp_counts *counts)
{
	counts->queries++;
	if (scratch->result == XDP_RESULT_NOERROR)
		counts->noerror++;
	else if (scratch->result == XDP_RESULT_NODATA)
		counts->nodata++;
	else
		counts->nxdomain++;
	counts->truncated += scratch->is_truncated;
	counts->dnssec += scratch->has_dnssec;
	counts->cookies += scratch->has_cookie && scratch->is_cookie_good;
	counts->bytes += scratch->size;
}

XDP_INLINE void xdp_count_limited(const struct xdp_scratch *scratch, enum xdp_verdict verdict,
				  struct xdp_other_counts *other)
{
	if (verdict == XDP_VERDICT_DROP)
		other->limited_dropped++;
	else if (scratch->has_cookie)
		other->limited_badcookie++;
	else
		other->limited_truncated++;
}

/* What was sent, dropped or passed. counts is the line of the zone, others that behind the last zone. */
XDP_INLINE void xdp_count(const struct xdp_scratch *scratch, enum xdp_verdict verdict,
			  struct xdp_counts *counts, struct xdp_counts *others)
{
	struct xdp_other_counts *other = (struct xdp_other_counts *)(void *)others;
	if (verdict == XDP_VERDICT_PASS) {
		other->passed++;
		return;
	}
	if (scratch->result == XDP_RESULT_CHANGED) {
		other->changed++;
		return;
	}
	other->cookies_bad += scratch->has_cookie && scratch->is_cookie_bad;
	if (scratch->result == XDP_RESULT_LIMITED)
		xdp_count_limited(scratch, verdict, other);
	else
		xdp_count_answer(scratch, counts);
}
