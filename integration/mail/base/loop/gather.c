/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/loop/gather.h"

void gather_init(struct gather *ret_gather, uint64_t rest_ns)
{
	*ret_gather = (struct gather){ .rest_ns = rest_ns };
}

/* A rest that does not pay is tried again after twice the time; one that does, at once. */
static void decide(struct gather *gather, bool is_worth, uint64_t now_ns)
{
	const uint64_t first_ns = gather->rest_ns * GATHER_RESTS;
	const uint64_t last_ns = gather->rest_ns * GATHER_TRY_RESTS;

	if (gather->is_resting && is_worth) {
		gather->pause_ns = 0;
	} else if (gather->is_resting) {
		gather->pause_ns = gather->pause_ns == 0 ? first_ns : gather->pause_ns * 2;
		if (gather->pause_ns > last_ns)
			gather->pause_ns = last_ns;
		gather->retry_ns = now_ns + gather->pause_ns;
		gather->is_resting = false;
	} else {
		gather->is_resting = is_worth && now_ns >= gather->retry_ns;
	}
}

uint64_t gather_next(struct gather *gather, uint64_t now_ns)
{
	const uint64_t passed_ns = now_ns - gather->since_ns;

	if (gather->rest_ns == 0)
		return 0;
	if (passed_ns >= gather->rest_ns * GATHER_RESTS) {
		const double rests = (double)passed_ns / (double)gather->rest_ns;
		decide(gather, gather->events >= rests * GATHER_WORTH, now_ns);
		gather->since_ns = now_ns;
		gather->events = 0;
	}
	return gather->is_resting ? gather->rest_ns : 0;
}
