/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_item.h - the items that the value of an entry is made of: a tag, a size, bytes.
 *
 * Flow: users_settings.c, users_secret.c and users_alias.c put theirs one behind the other, each
 *       reads its own out of the whole value and passes over the rest.
 * users_file.h describes the bytes; here is what is the same for all of them.
 *
 * Values are plain; an item borrows from its value. No function here allocates or logs.
 */

#include "lib/format/bytes.h"
#include "lib/lmdb/store.h"

/* In the order in which they stand in a value. */
enum users_tag {
	USERS_TAG_MESSAGES = 1,
	USERS_TAG_OCTETS,
	USERS_TAG_KEEP,
	USERS_TAG_PASSWORD,
	USERS_TAG_SCRAM,
	USERS_TAG_TO,
	USERS_TAG_NODE,
	USERS_TAG_END, /* from here on they are of later programs */
};

#define USERS_ITEM_HEAD 3 /* bytes before those of the item */

struct users_item {
	uint8_t tag;
	const uint8_t *bytes;
	size_t size;
};

/* The item behind this one; *item is 0 before the first. DNSBLV6_ENOTFOUND behind the last,
 * STORE_ECORRUPT where none can be. */
int users_item_next(struct bytes_input *value, struct users_item *item);
/* *out moves behind it. size is 65535 at most. */
void users_item_put(uint8_t **out, enum users_tag tag, const void *bytes, size_t size);
