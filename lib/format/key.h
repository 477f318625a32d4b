/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * key.h - store keys: owner names in an order that memcmp() understands.
 *
 * Flow: zone-tools/chain/builder.c writes keys, server/zone/zone.c looks names up.
 * This file alone knows the bytes of a key.
 *
 * A key is the labels of the relative owner name in reverse order, lower
 * case, with one zero byte between two labels; the apex is the key 0x00 alone
 * (LMDB has no empty keys, and no other key begins with a zero byte). Inside a
 * label byte 0x00 is written 01 01 and byte 0x01 is written 01 02. Compared as bytes, keys are in
 * canonical DNS order (RFC 4034 section 6.1), and everything below a name is the run of keys that
 * begin with its key and a zero byte.
 *
 *     0.2.0.192   ->   "192" 00 "0" 00 "2" 00 "0"
 *
 * No function here allocates, locks, logs or keeps a pointer.
 */

#include "lib/format/name.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DNSBLV6_KEY_MAX 511 /* LMDB's own limit; the worst name of 254 octets takes 503 */

struct dnsblv6_key {
	uint16_t size;
	uint8_t bytes[DNSBLV6_KEY_MAX];
};

/* labels: size bytes of wire form without the root. DNSBLV6_ENAME when they are malformed. */
int dnsblv6_key_from_labels(const uint8_t *labels, size_t size, struct dnsblv6_key *ret_key);
struct dnsblv6_key dnsblv6_key_of_apex(void);
int dnsblv6_key_to_labels(const uint8_t *key, size_t key_size, struct dnsblv6_labels *ret_name);

/* <0, 0, >0 in canonical order: as memcmp(), and a key before all that begin with it. */
int dnsblv6_key_compare(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size);

/*
 * Shortens key to its parent's; false (and unchanged) at the apex. With
 * dnsblv6_key_add_label() this walks to a closest encloser's wildcard.
 */
bool dnsblv6_key_to_parent(struct dnsblv6_key *key);
/* label is label_size bytes, 1 to 63. DNSBLV6_ESPACE when the key would be too long. */
int dnsblv6_key_add_label(struct dnsblv6_key *key, const uint8_t *label, size_t label_size);

/* Is the name of key somewhere below (never equal to) the name of ancestor? */
bool dnsblv6_key_is_below(const uint8_t *key, size_t key_size, const uint8_t *ancestor,
			  size_t ancestor_size);

/* How many leading labels (from the apex) two keys share. */
unsigned dnsblv6_key_common_labels(const uint8_t *a, size_t a_size, const uint8_t *b,
				   size_t b_size);
/* How many labels a key has; the apex has 0. */
unsigned dnsblv6_key_label_count(const uint8_t *key, size_t key_size);

/*
 * A byte string that every key of a block inside prefix begins with, and no
 * key of a block outside: what to seek to, and to compare with, to learn
 * whether anything inside prefix is listed. It is below origin (a key; the
 * apex or a sub-zone). IPv4 prefixes of 8, 16 and 24 bits and IPv6 prefixes of
 * 4 to 56 bits in steps of 4 have one; others are DNSBLV6_EPREFIX.
 * Whole-block records above the prefix are not in that run: ask for them with
 * dnsblv6_name_make() one by one.
 */
int dnsblv6_key_of_prefix(const struct dnsblv6_key *origin, enum dnsblv6_style style,
			  struct dnsblv6_prefix prefix, struct dnsblv6_key *ret_start);

#ifdef __cplusplus
}
#endif
