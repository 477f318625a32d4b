/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * seal.h - the first bytes of a capsule, by which its receiver knows that it is whole.
 *
 * Flow: a program's capsule has its bytes -> seal_put() -> handover.h -> seal_check() -> the program
 *       reads the rest.
 *
 *     OFFSET  SIZE  DESCRIPTION, numbers big-endian
 *        0      4   the program's magic
 *        4      2   version
 *        6      2   the program's own
 *        8      4   size of the whole capsule
 *       12      4   CRC-32 (IEEE 802.3) of it, with these four bytes as zero
 *
 * The sum finds any single bit and any burst of 32. Values are plain; no function here allocates,
 * keeps a pointer or logs.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEAL_SIZE 16

/* A number of so many bytes, big-endian: at most 8. bytes_get() of lib/format/bytes.h reads it. */
void seal_put_number(uint8_t *bytes, unsigned size, uint64_t value);

/* bytes has all but magic, version, size and sum, which are written; size is SEAL_SIZE at least. */
void seal_put(uint8_t *bytes, size_t size, uint32_t magic, uint16_t version);

enum seal_result { SEAL_WHOLE, SEAL_BROKEN, SEAL_VERSION };

/* SEAL_VERSION: it is whole, and of another version. Any bytes may be given. */
enum seal_result seal_check(const uint8_t *bytes, size_t size, uint32_t magic, uint16_t version);

#ifdef __cplusplus
}
#endif
