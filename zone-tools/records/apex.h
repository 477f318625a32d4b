/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * apex.h - the records of a zone that are not bitmaps: SOA, NS, DNSKEY, glue, metadata.
 *
 * Flow: builder.c asks for them while it writes; spec.h says what they are.
 */

#include "zone-tools/keys/keyset.h"
#include "zone-tools/base/spec.h"

/* Any encoded record of this file fits: 32 NS of 255 octets each and an SOA. */
#define APEX_RECORD_MAX 12288

/*
 * Each writes one encoded record (record.h), without signatures and with names
 * in lower case, to ret_data and returns its size; 0 when it does not fit.
 */
size_t apex_encode_apex(const struct spec *spec, uint32_t serial, const struct keyset *keyset,
			uint8_t *ret_data);
size_t apex_encode_glue(const struct spec *spec, size_t ns, uint8_t *ret_data);
size_t apex_encode_metadata(const struct spec *spec, bool has_ipv4, bool has_ipv6,
			    uint8_t *ret_data);

/* The name of a name server below the zone, relative to it; false when it is elsewhere. */
bool apex_glue_name(const struct spec *spec, size_t ns, struct dnsblv6_labels *ret_name);
