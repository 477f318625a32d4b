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

#include <errno.h>
#include <stdbool.h>
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

#define SEAL_EBAD     (-EBADMSG) /* cut, altered, or not a capsule; also of handover.h */
#define SEAL_EVERSION (-2351)	 /* whole, and of another version */
#define SEAL_EVALUE   (-2352)	 /* whole, but not what an edge makes */

/* 0, SEAL_EBAD or SEAL_EVERSION. Any bytes may be given. */
int seal_check(const uint8_t *bytes, size_t size, uint32_t magic, uint16_t version);
/* Text for these and for -errno values. Never NULL. */
const char *seal_strerror(int status);

/* A text of a capsule that is to go into headers, logs and replies as it is: printable ASCII, ended. */
bool seal_is_clean(const char *text, size_t room);

#ifdef __cplusplus
}
#endif
