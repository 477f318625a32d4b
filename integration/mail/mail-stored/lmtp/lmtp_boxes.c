/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/lmtp/lmtp_boxes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 512
#define HEAD	   2 /* before each name */

static size_t room_for(const struct lmtp_boxes *boxes, size_t name_size)
{
	size_t room = boxes->room > 0 ? boxes->room : FIRST_ROOM;
	while (room - boxes->size < name_size + HEAD)
		room *= 2;
	return room;
}

size_t lmtp_boxes_growth(const struct lmtp_boxes *boxes, size_t name_size)
{
	return room_for(boxes, name_size) - boxes->room;
}

int lmtp_boxes_add(struct lmtp_boxes *boxes, const char *name, size_t name_size, bool is_first)
{
	size_t room = room_for(boxes, name_size);
	if (room > boxes->room) {
		uint8_t *bytes = realloc(boxes->bytes, room);
		if (bytes == NULL)
			return -ENOMEM;
		boxes->bytes = bytes;
		boxes->room = room;
	}
	boxes->bytes[boxes->size] = is_first;
	boxes->bytes[boxes->size + 1] = (uint8_t)name_size;
	memcpy(boxes->bytes + boxes->size + HEAD, name, name_size);
	boxes->size += HEAD + name_size;
	boxes->count++;
	return 0;
}

void lmtp_boxes_cut(struct lmtp_boxes *boxes, size_t count, size_t size)
{
	boxes->count = count;
	boxes->size = size;
}

bool lmtp_boxes_next(const struct lmtp_boxes *boxes, size_t *at, struct mailname *ret_name,
		     bool *ret_is_first)
{
	if (*at >= boxes->size)
		return false;
	*ret_is_first = boxes->bytes[*at];
	*ret_name = (struct mailname){ boxes->bytes + *at + HEAD, boxes->bytes[*at + 1] };
	*at += HEAD + ret_name->size;
	return true;
}

int lmtp_boxes_list(const struct lmtp_boxes *boxes, struct mailname **ret_names, size_t *ret_count)
{
	bool is_first;
	struct mailname *names = calloc(boxes->count + 1, sizeof(*names));
	if (names == NULL)
		return -ENOMEM;
	size_t at = 0;
	for (size_t i = 0; i < boxes->count; i++)
		(void)lmtp_boxes_next(boxes, &at, &names[i], &is_first);
	*ret_names = names;
	*ret_count = mailname_sort(names, boxes->count);
	return 0;
}

void lmtp_boxes_clear(struct lmtp_boxes *boxes)
{
	free(boxes->bytes);
	*boxes = (struct lmtp_boxes){ .bytes = NULL };
}
