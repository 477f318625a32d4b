/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/loop/batching.h"

void batching_init(struct batching *ret_gather, uint64_t rest_ns)
{
	*ret_gather = (struct batching){ .rest_ns = rest_ns };
}

/* A rest that does not pay is tried again after twice the time; one that does, at once. */
static void decide(struct batching *batching, bool is_worth, uint64_t now_ns)
{
	const uint64_t first_ns = batching->rest_ns * BATCHING_RESTS;
	const uint64_t last_ns = batching->rest_ns * BATCHING_TRY_RESTS;

	if (batching->is_resting && is_worth) {
		batching->pause_ns = 0;
	} else if (batching->is_resting) {
		batching->pause_ns = batching->pause_ns == 0 ? first_ns : batching->pause_ns * 2;
		if (batching->pause_ns > last_ns)
			batching->pause_ns = last_ns;
		batching->retry_ns = now_ns + batching->pause_ns;
		batching->is_resting = false;
	} else {
		batching->is_resting = is_worth && now_ns >= batching->retry_ns;
	}
}

uint64_t batching_next(struct batching *batching, uint64_t now_ns)
{
	const uint64_t passed_ns = now_ns - batching->since_ns;

	if (batching->rest_ns == 0)
		return 0;
	if (passed_ns >= batching->rest_ns * BATCHING_RESTS) {
		const double rests = (double)passed_ns / (double)batching->rest_ns;
		decide(batching, batching->events >= rests * BATCHING_WORTH, now_ns);
		batching->since_ns = now_ns;
		batching->events = 0;
	}
	return batching->is_resting ? batching->rest_ns : 0;
}
