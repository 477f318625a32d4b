/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * dnstap.h - samples as messages of dnstap.
 *
 * Flow: tap.c -> querylog.c -> dnstap_is_wanted() -> dnstap_encode() -> frames.c.
 *
 * The schema is dnstap.proto's; the encoding is protobuf-c's. No file, no clock.
 */

#include "server/settings/settings.h"
#include "server/querylog/tap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What stands beside the two messages: addresses, times, and two texts of the operator. */
#define DNSTAP_OVERHEAD 1024
#define DNSTAP_MAX	(TAP_SAMPLE_MAX + DNSTAP_OVERHEAD)

/* A sample as it came through the socket: size bytes. False when it is none. */
bool dnstap_is_whole(const uint8_t *sample, size_t size);

/* Is the name it asks for in one of the zones that are logged? The zone is in *ret_zone. */
bool dnstap_is_wanted(const struct settings_dnstap *settings, const uint8_t *sample,
		      const struct settings_name **ret_zone);

/*
 * The query (is_response false) or the response of a whole sample, into ret_wire, which has
 * DNSTAP_MAX bytes. zone may be NULL. Returns the size.
 */
size_t dnstap_encode(const struct settings_dnstap *settings, const uint8_t *sample,
		     bool is_response, const struct settings_name *zone, uint8_t *ret_wire);

#ifdef __cplusplus
}
#endif
