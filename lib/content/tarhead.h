/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tarhead.h - headers of a tar (POSIX.1, ustar), as its readers bear them.
 *
 * Flow: kind.c: the first block of an object; unpack_tar.c of lib/unpack: each block that may be a header ->
 *       tarhead_is_right() -> it is one, and tarhead_number() reads its fields.
 *
 *     if (tarhead_is_right(block) && tarhead_number(block + TARHEAD_SIZE_AT, 12, &size))
 *
 * Numbers are octal, behind blanks, NULs or a plus, as far as there are digits, or of 256 to a digit. No reader takes
 * all of these; some takes each. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TARHEAD_SIZE	512
#define TARHEAD_SIZE_AT 124
#define TARHEAD_SUM_AT	148
#define TARHEAD_TYPE_AT 156

/* false: it is none, negative, or of more than 63 bits. */
bool tarhead_number(const uint8_t *field, size_t size, uint64_t *ret_number);
/* The checksum is over the block with blanks in its place. */
uint32_t tarhead_sum(const uint8_t *block);
/* Is the checksum that a block says its own? Of a block of zeros it is not. Old programs add signed bytes. */
bool tarhead_is_right(const uint8_t *block);
