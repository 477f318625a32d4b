/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/resolver/upstream.h"

static int64_t sick_ms(unsigned failures)
{
	int64_t ms = UPSTREAM_SICK_MS;

	while (failures-- > 1 && ms < UPSTREAM_SICK_MAX_MS)
		ms *= 2;
	return ms;
}

void upstream_order(struct upstream *servers, unsigned count, int64_t now_ms, uint8_t *ret_order)
{
	unsigned placed = 0;
	uint64_t is_sick = 0;

	for (unsigned i = 0; i < count; i++) {
		struct upstream *server = &servers[i];

		if (server->failures > 0 && now_ms < server->sick_until_ms) {
			is_sick |= UINT64_C(1) << i;
			continue;
		}
		/* For the next questions it is sick until this one has found out more. */
		if (server->failures > 0) {
			server->is_tried = true;
			server->sick_until_ms = now_ms + sick_ms(server->failures);
		}
		ret_order[placed++] = (uint8_t)i;
	}
	for (unsigned i = 0; i < count; i++) {
		if (is_sick & UINT64_C(1) << i)
			ret_order[placed++] = (uint8_t)i;
	}
}

void upstream_answered(struct upstream *server)
{
	server->failures = 0;
}

void upstream_failed(struct upstream *server, int64_t now_ms)
{
	/* Of the many questions that fail in one outage only one makes it longer. */
	if (server->failures > 0 && now_ms < server->sick_until_ms && !server->is_tried)
		return;
	server->is_tried = false;
	if (server->failures < UINT8_MAX)
		server->failures++;
	server->sick_until_ms = now_ms + sick_ms(server->failures);
}
