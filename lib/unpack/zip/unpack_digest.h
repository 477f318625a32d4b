/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_digest.h - the members of a zip, so that two lists of them can be compared.
 *
 * Flow: unpack_zip.c: what a local header, its data and its descriptor say -> unpack_digest_add();
 *       what the central directory says -> another one -> unpack_digest_equal().
 *
 *     unpack_digest_begin(&digest, &item);
 *     unpack_digest_name(&digest, &item, bytes, size);    as the name comes
 *     unpack_digest_add(&digest, &item, &facts);
 *
 * The order does not matter, and the size does not depend on their number. The sums are keyed by
 * what the kernel gave the process at random: an archive cannot be made for two lists to meet.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpack_digest {
	uint64_t key[4];
	uint64_t count;
	uint64_t sum;	 /* of the members' hashes */
	uint64_t placed; /* of each hash times its offset: so that all may be moved at once */
};

struct unpack_digest_item {
	uint64_t name; /* a polynomial over its bytes */
};

struct unpack_digest_facts {
	uint16_t method;
	uint32_t crc;
	uint64_t packed_size;
	uint64_t size;
	uint64_t offset;
};

void unpack_digest_begin(struct unpack_digest *ret_digest);
void unpack_digest_item(struct unpack_digest_item *ret_item);
void unpack_digest_name(const struct unpack_digest *digest, struct unpack_digest_item *item,
			const uint8_t *bytes, size_t size);
void unpack_digest_add(struct unpack_digest *digest, const struct unpack_digest_item *item,
		       const struct unpack_digest_facts *facts);
/* The same members, when all offsets of directory are base less. */
bool unpack_digest_equal(const struct unpack_digest *locals, const struct unpack_digest *directory,
			 uint64_t base);
