/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/peers/peer_replies.h"

#include "lib/format/bytes.h"

#include <ctype.h>
#include <string.h>

void reply_copy_text(const void *bytes, size_t size, char ret_text[REPLY_TEXT_MAX])
{
	const char *from = bytes;
	size_t count = 0;
	for (; count < size && count < REPLY_TEXT_MAX - 1; count++)
		ret_text[count] = from[count] >= ' ' && from[count] <= '~' ? from[count] : '?';
	ret_text[count] = '\0';
}

/* ---- clamd ---- */

enum reply_status clamd_reply_push(struct clamd_reply *reply, const uint8_t *bytes, size_t size)
{
	if (reply->size > 0 && reply->line[reply->size - 1] == '\0')
		return REPLY_WHOLE;
	for (size_t i = 0; i < size; i++) {
		if (reply->size == CLAMD_LINE_MAX)
			return REPLY_BAD;
		reply->line[reply->size++] = (char)bytes[i];
		if (bytes[i] == '\0')
			return REPLY_WHOLE;
	}
	return REPLY_MORE;
}

static bool ends_with(const char *line, size_t size, const char *word)
{
	const size_t word_size = strlen(word);
	return size >= word_size && memcmp(line + size - word_size, word, word_size) == 0;
}

bool clamd_reply_read(const struct clamd_reply *reply, enum clamd_word *ret_word,
		      char ret_text[REPLY_TEXT_MAX])
{
	static const char stream[] = "stream: ";
	static const char found[] = " FOUND";
	static const char error[] = "ERROR";
	const size_t head = sizeof(stream) - 1;
	const char *line = reply->line;
	const size_t size = reply->size - 1;
	const bool is_stream = size >= head && memcmp(line, stream, head) == 0;
	if (is_stream && size == head + 2 && memcmp(line + head, "OK", 2) == 0) {
		*ret_word = CLAMD_OK;
		ret_text[0] = '\0';
		return true;
	}
	if (is_stream && size > head + sizeof(found) - 1 && ends_with(line, size, found)) {
		*ret_word = CLAMD_FOUND;
		reply_copy_text(line + head, size - head - (sizeof(found) - 1), ret_text);
		return true;
	}
	if (!ends_with(line, size, error))
		return false;
	*ret_word = CLAMD_ERROR;
	reply_copy_text(line, size, ret_text);
	return true;
}

/* ---- milters ---- */

#define SIZE_SIZE   4
#define LETTER_SIZE 1

/* Its size and its letter. */
static enum reply_status push_head(struct milter_reply *reply, uint8_t byte)
{
	reply->head[reply->got++] = byte;
	if (reply->got < SIZE_SIZE)
		return REPLY_MORE;
	const uint32_t size = (uint32_t)bytes_get(reply->head, SIZE_SIZE);
	if (size < LETTER_SIZE || size > MILTER_PACKET_MAX)
		return REPLY_BAD;
	if (reply->got == SIZE_SIZE)
		return REPLY_MORE;
	reply->letter = (char)byte;
	reply->data_size = size - LETTER_SIZE;
	return reply->data_size == 0 ? REPLY_WHOLE : REPLY_MORE;
}

static size_t push_data(struct milter_reply *reply, const uint8_t *bytes, size_t size)
{
	const size_t at = reply->got - sizeof(reply->head);
	const size_t count = size < reply->data_size - at ? size : reply->data_size - at;
	if (at < MILTER_DATA_MAX) {
		const size_t room = MILTER_DATA_MAX - at;
		memcpy(reply->data + at, bytes, count < room ? count : room);
	}
	reply->got += count;
	return count;
}

static bool is_whole(const struct milter_reply *reply)
{
	return reply->got >= sizeof(reply->head) &&
	       reply->got - sizeof(reply->head) == reply->data_size;
}

enum reply_status milter_reply_push(struct milter_reply *reply, const uint8_t *bytes, size_t size,
				    size_t *ret_used)
{
	enum reply_status status = REPLY_MORE;
	size_t used = 0;
	if (is_whole(reply))
		reply->got = 0;
	while (status == REPLY_MORE && used < size) {
		if (reply->got < sizeof(reply->head))
			status = push_head(reply, bytes[used++]);
		else
			used += push_data(reply, bytes + used, size - used);
		if (status == REPLY_MORE && is_whole(reply))
			status = REPLY_WHOLE;
	}
	*ret_used = used;
	return status;
}

size_t milter_reply_kept(const struct milter_reply *reply)
{
	return reply->data_size < MILTER_DATA_MAX ? reply->data_size : MILTER_DATA_MAX;
}

/* "5.7.1 " at the beginning of size bytes: how long it is, 0 for none. */
static size_t enhanced_size(const uint8_t *text, size_t size)
{
	size_t at = 0;
	for (unsigned part = 0; part < 3; part++) {
		const size_t begin = at;
		while (at < size && isdigit(text[at]) != 0)
			at++;
		if (at == begin || at == size || text[at] != (part < 2 ? '.' : ' '))
			return 0;
		at++;
	}
	return at;
}

bool milter_reply_code(const struct milter_reply *reply, unsigned *ret_code,
		       char ret_text[REPLY_TEXT_MAX])
{
	const uint8_t *data = reply->data;
	size_t size = milter_reply_kept(reply);
	if (size < 3 || (data[0] != '4' && data[0] != '5') || isdigit(data[1]) == 0 ||
	    isdigit(data[2]) == 0)
		return false;
	*ret_code = (unsigned)(data[0] - '0') * 100 + (unsigned)(data[1] - '0') * 10 +
		    (unsigned)(data[2] - '0');
	size_t at = size > 3 && (data[3] == ' ' || data[3] == '-') ? 4 : 3;
	at += enhanced_size(data + at, size - at);
	size_t end = at;
	while (end < size && data[end] != '\0' && data[end] != '\r' && data[end] != '\n')
		end++;
	reply_copy_text(data + at, end - at, ret_text);
	return true;
}

bool milter_reply_options(const struct milter_reply *reply, uint32_t ret_numbers[3])
{
	if (milter_reply_kept(reply) < 12)
		return false;
	for (size_t i = 0; i < 3; i++)
		ret_numbers[i] = (uint32_t)bytes_get(reply->data + 4 * i, 4);
	return true;
}
