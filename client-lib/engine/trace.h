/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * trace.h - debug lines for the log hook: the servers, what is asked, what comes back.
 *
 * Flow: engine_life.c, zone.c, fetch.c, probe.c -> a line -> the hook of
 *       dnsblv6_set_log(), such as that of dnsblv6-lookup --trace
 *
 * Free of cost without a hook. Nothing that these lines tell is an event: what an operator
 * must know is logged by others, at other levels.
 */

#include "client-lib/engine/zone.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRACE_LINE_MAX 1280 /* a name has up to 1024 */

void trace_servers(const struct zones *all);
void trace_question(const struct zone *zone, const struct dnsblv6_labels *name, uint16_t type);
/* As a stub_fn has it. */
void trace_reply(const struct zone *zone, const struct dnsblv6_labels *name, int status,
		 const struct message_reply *reply, bool is_trusted);

#ifdef __cplusplus
}
#endif
