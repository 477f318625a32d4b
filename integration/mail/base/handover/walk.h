/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * walk.h - one walk over all members of a capsule, which writes or reads them.
 *
 * Flow: a program's capsule -> its walk over the members, in the order of the wire -> seal_put(); and
 *       seal_check() -> the same walk -> the program looks whether the values are such as an edge
 *       makes.
 *
 * A struct that is read is zero before. A failure is kept, and what comes behind it is not read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct walk {
	uint8_t *out;	   /* with room for all; NULL: it reads */
	const uint8_t *in; /* the same bytes */
	size_t at;
	size_t size; /* of what is read */
	bool has_failed;
};

/* The value itself, or the one that is read: big-endian, of so many bytes. */
uint64_t walk_number(struct walk *walk, unsigned size, uint64_t value);
bool walk_flag(struct walk *walk, bool value);
/* A walk that writes leaves the bytes as they are, here and below. */
void walk_bytes(struct walk *walk, void *bytes, size_t size);
/* With the size before them, as two bytes; the size, which is at most room. */
size_t walk_sized(struct walk *walk, void *bytes, size_t size, size_t room);
/* The same for a text, whose end is not sent; room counts it. A NUL inside is none of it. */
void walk_text(struct walk *walk, char *text, size_t room);

#define WALK_NUMBER(walk, size, member)                                                            \
	((member) = (__typeof__(member))walk_number(walk, size, (uint64_t)(member)))
#define WALK_FLAG(walk, member) ((member) = walk_flag(walk, member))
