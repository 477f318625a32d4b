/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * upstream.h - which of the resolvers is asked first.
 *
 * Flow: flight.c -> upstream_order() -> turns; what became of them ->
 *       upstream_answered(), upstream_failed()
 *
 * The order is the one they were given in, but those that were silent or out of reach
 * come last for a while: 1 s after the first time, then twice as long each time,
 * up to UPSTREAM_SICK_MAX_MS. When that is over, one question tries them at
 * their place, not all at once: a resolver that is still dead costs that one a turn.
 *
 * Plain values, the caller's, all zero at first. No function here reads a clock.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UPSTREAM_SICK_MS     1000
#define UPSTREAM_SICK_MAX_MS 32000

struct upstream {
	unsigned failures; /* since its last reply; 0: well */
	bool is_tried;	   /* a question is on its way to see whether it is well again */
	int64_t sick_until_ms;
};

/* ret_order gets the numbers 0 to count - 1, each once. */
void upstream_order(struct upstream *servers, unsigned count, int64_t now_ms, uint8_t *ret_order);

/* Any reply at all, SERVFAIL too: that is about the name, not about the resolver. */
void upstream_answered(struct upstream *server);
void upstream_failed(struct upstream *server, int64_t now_ms);

#ifdef __cplusplus
}
#endif
