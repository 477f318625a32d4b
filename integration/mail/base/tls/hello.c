/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/tls/hello.h"

enum { CHANGE_CIPHER_SPEC = 20, ALERT = 21, HANDSHAKE = 22, CLIENT_KEY_EXCHANGE = 16 };

/* A byte before a record's own. */
static void take_record_head(struct hello *hello, uint8_t byte)
{
	hello->record_head[hello->record_head_size++] = byte;
	if (hello->record_head_size < sizeof(hello->record_head))
		return;
	uint8_t type = hello->record_head[0];
	hello->record_left = (uint16_t)(hello->record_head[3] << 8 | hello->record_head[4]);
	hello->is_done = type != CHANGE_CIPHER_SPEC && type != ALERT && type != HANDSHAKE;
	if (hello->record_left == 0)
		hello->record_head_size = 0;
}

static bool take_message_head(struct hello *hello, uint8_t byte, size_t size_max)
{
	const uint8_t *head = hello->message_head;
	hello->message_head[hello->message_head_size++] = byte;
	if (hello->message_head_size < sizeof(hello->message_head))
		return true;
	hello->message_head_size = 0;
	hello->message_left = (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
	hello->is_done = head[0] == CLIENT_KEY_EXCHANGE;
	return hello->message_left <= size_max;
}

/* As many as are passed over at once: of a message's body, or of a record without messages. */
static size_t skip(struct hello *hello, size_t size)
{
	bool is_handshake = hello->record_head[0] == HANDSHAKE;
	size_t count = hello->record_left < size ? hello->record_left : size;
	if (is_handshake && hello->message_left < count)
		count = hello->message_left;
	if (is_handshake)
		hello->message_left -= (uint32_t)count;
	return count;
}

bool hello_take(struct hello *hello, const uint8_t *bytes, size_t size, size_t size_max)
{
	while (size > 0 && !hello->is_done) {
		size_t count = 1;
		if (hello->record_head_size < sizeof(hello->record_head)) {
			take_record_head(hello, *bytes);
		} else {
			if (hello->record_head[0] == HANDSHAKE && hello->message_left == 0) {
				if (!take_message_head(hello, *bytes, size_max))
					return false;
			} else {
				count = skip(hello, size);
			}
			hello->record_left = (uint16_t)(hello->record_left - count);
			if (hello->record_left == 0)
				hello->record_head_size = 0;
		}
		bytes += count;
		size -= count;
	}
	return true;
}
