/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_item.h"

#define TAG_SIZE  1
#define SIZE_SIZE 2

_Static_assert(USERS_ITEM_HEAD == TAG_SIZE + SIZE_SIZE, "a head is a tag and a size");

int users_item_next(struct bytes_input *value, struct users_item *item)
{
	if (value->size == 0)
		return DNSBLV6_ENOTFOUND;
	const uint8_t tag = (uint8_t)bytes_take(value, TAG_SIZE);
	const size_t size = (size_t)bytes_take(value, SIZE_SIZE);
	const uint8_t *bytes = bytes_take_string(value, size);
	if (bytes == NULL || tag <= item->tag)
		return STORE_ECORRUPT;
	*item = (struct users_item){ tag, bytes, size };
	return STORE_OK;
}

void users_item_put(uint8_t **out, enum users_tag tag, const void *bytes, size_t size)
{
	bytes_put(out, tag, TAG_SIZE);
	bytes_put(out, size, SIZE_SIZE);
	bytes_put_string(out, bytes, size);
}
