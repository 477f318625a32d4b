/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * followers.h - what commands that publish a version do about the secondaries of its zone.
 *
 * Flow: a store is written -> followers_await() -> secondaries.h asks them -> a line for each that
 *       has not got the version, and an exit status that says so.
 */

#include "zone-tools/zones/secondaries.h"

#include "lib/common/options.h"

/* EX_OK, also without any; EX_UNAVAILABLE when one has not got it. */
int followers_await(struct secondaries *secondaries, const struct dnsblv6_labels *zone,
		    uint32_t serial, const char *store);
/* The same for the version that is in a store. Crashes over a damaged one. */
int followers_await_store(const struct secondaries *secondaries, const char *store);

#define ROWS_SECONDARIES(type, member)                                                             \
	{ { 0, "secondary", "ADDRESS[@PORT]", "wait until it has the version; may be repeated" },  \
	  OPTIONS_AT(type, member),                                                                \
	  .take = secondaries_add,                                                                 \
	  .is_repeated = true },                                                                   \
	{                                                                                          \
		{ 0, "secondary-wait", "SECONDS", "how long for all of them (30)" },               \
			OPTIONS_AT(type, member.wait_s), .min = 1, .max = 86400                    \
	}
