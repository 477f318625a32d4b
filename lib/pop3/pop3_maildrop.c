/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/pop3_maildrop.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

void pop3_maildrop_init(struct pop3_message *messages, size_t message_count,
			struct pop3_maildrop *ret_maildrop)
{
	ret_maildrop->messages = messages;
	ret_maildrop->message_count = message_count;
	pop3_maildrop_reset(ret_maildrop);
}

void pop3_maildrop_delete(struct pop3_maildrop *maildrop, size_t index)
{
	assert(index < maildrop->message_count && !maildrop->messages[index].is_deleted);
	maildrop->messages[index].is_deleted = true;
	maildrop->left_count--;
	maildrop->left_octets -= maildrop->messages[index].octets;
}

void pop3_maildrop_reset(struct pop3_maildrop *maildrop)
{
	maildrop->left_count = maildrop->message_count;
	maildrop->left_octets = 0;
	for (size_t i = 0; i < maildrop->message_count; i++) {
		maildrop->messages[i].is_deleted = false;
		maildrop->left_octets += maildrop->messages[i].octets;
	}
}

static size_t put_message(const struct pop3_list *list, const struct pop3_maildrop *maildrop,
			  char *out)
{
	const size_t i = list->next_index;
	const struct pop3_message *message = &maildrop->messages[i];
	int size = 0;
	if (message->is_deleted)
		return 0;
	if (list->is_uidl)
		size = snprintf(out, POP3_LIST_ROOM_MIN, "%zu %.*s\r\n", i + 1, POP3_UID_MAX,
				message->uid);
	else
		size = snprintf(out, POP3_LIST_ROOM_MIN, "%zu %" PRIu64 "\r\n", i + 1,
				message->octets);
	return (size_t)size;
}

size_t pop3_list_fill(struct pop3_list *list, const struct pop3_maildrop *maildrop, char *out,
		      size_t room)
{
	size_t size = 0;
	assert(room >= POP3_LIST_ROOM_MIN);
	while (room - size >= POP3_LIST_ROOM_MIN && !list->is_done) {
		if (list->next_index >= maildrop->message_count) {
			list->is_done = true;
			return size + (size_t)snprintf(out + size, POP3_LIST_ROOM_MIN, ".\r\n");
		}
		size += put_message(list, maildrop, out + size);
		list->next_index++;
	}
	return size;
}
