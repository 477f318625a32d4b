/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * bitmap.h - the 128 listing bits of one IPv4 /25 or one IPv6 /57.
 *
 * Flow: zone-tools/chain/builder.c sets bits -> lib/store keeps the 16 bytes ->
 *       server/answer/records.c copies them into an AAAA -> client-lib tests one.
 * This file alone knows the bit order. It includes nothing but libc.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   hosts 0 to 7 of the block; host 0 is the 0x80 bit
 *        1      1   hosts 8 to 15
 *       ...
 *       15      1   hosts 120 to 127; host 127 is the 0x01 bit
 *
 * A host is an IPv4 address (the last seven bits of it) or an IPv6 /64 (the
 * last seven bits of its 64-bit prefix); address.h says which.
 *
 * Values are plain: copy them, compare them with memcmp(), keep them anywhere.
 * No function here allocates, locks, logs or keeps a pointer.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DNSBLV6_BITMAP_SIZE  16 /* bytes: the RDATA of an AAAA, RFC 3596 */
#define DNSBLV6_BITMAP_HOSTS 128

struct dnsblv6_bitmap {
	uint8_t bytes[DNSBLV6_BITMAP_SIZE];
};

/* host_index is 0 to 127; only its last seven bits are looked at. */
bool dnsblv6_bitmap_get(const struct dnsblv6_bitmap *map, unsigned host_index);
void dnsblv6_bitmap_add(struct dnsblv6_bitmap *map, unsigned host_index);

/* Sets the bits first to last, both included. Nothing is set when last < first. */
void dnsblv6_bitmap_add_range(struct dnsblv6_bitmap *map, unsigned first_index,
			      unsigned last_index);

/* How many hosts are listed, 0 to 128. */
unsigned dnsblv6_bitmap_count(const struct dnsblv6_bitmap *map);

bool dnsblv6_bitmap_is_empty(const struct dnsblv6_bitmap *map);
bool dnsblv6_bitmap_is_full(const struct dnsblv6_bitmap *map);

/* All 128 bits set: the value of every whole-block record. */
struct dnsblv6_bitmap dnsblv6_bitmap_make_full(void);

#ifdef __cplusplus
}
#endif
