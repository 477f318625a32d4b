/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/smtp/replies.h"

#include "lib/format/ascii.h"

#include <stdbool.h>
#include <string.h>

#define HEAD_SIZE 4 /* "250-" */

void replies_begin(struct replies *ret_replies)
{
	memset(ret_replies, 0, sizeof(*ret_replies));
}

static void keep(struct replies *replies, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const size_t at = replies->size++;
		const char byte = bytes[i] != '\0' ? bytes[i] : '?';
		if (at < HEAD_SIZE)
			replies->head[at] = byte;
		else if (at - HEAD_SIZE < REPLIES_TEXT_SIZE - 1)
			replies->text[at - HEAD_SIZE] = byte;
	}
}

/* The CR of the end is no part of a line. */
static void cut(struct replies *replies)
{
	const size_t last = replies->size - 1;
	const bool is_head = replies->size <= HEAD_SIZE;
	if (replies->size > 0 && is_head && replies->head[last] == '\r')
		replies->size--;
	size_t size = replies->size > HEAD_SIZE ? replies->size - HEAD_SIZE : 0;
	replies->is_full = size > REPLIES_TEXT_SIZE - 1;
	if (replies->is_full)
		size = REPLIES_TEXT_SIZE - 1;
	else if (size > 0 && replies->text[size - 1] == '\r')
		size--;
	replies->text[size] = '\0';
}

/* Of "250-text", "250 text" or "250"; 0 when it is no such line. */
static int code_of(const struct replies *replies)
{
	const char *head = replies->head;
	if (replies->size < 3 || head[0] < '2' || head[0] > '5' || !ascii_is_digit(head[1]) ||
	    !ascii_is_digit(head[2]) || (replies->size > 3 && head[3] != ' ' && head[3] != '-'))
		return 0;
	return (head[0] - '0') * 100 + (head[1] - '0') * 10 + (head[2] - '0');
}

static enum replies_status end_line(struct replies *replies)
{
	cut(replies);
	const int code = code_of(replies);
	const bool has_more = replies->size > 3 && replies->head[3] == '-';
	if (code == 0 || (replies->line_count > 0 && code != replies->code))
		return REPLIES_BROKEN;
	replies->code = code;
	if (++replies->line_count == REPLIES_LINES_MAX && has_more)
		return REPLIES_BROKEN;
	return has_more ? REPLIES_LINE : REPLIES_END;
}

enum replies_status replies_feed(struct replies *replies, const void *bytes, size_t size,
				 size_t *ret_taken)
{
	const char *end = size > 0 ? memchr(bytes, '\n', size) : NULL;
	const size_t part = end != NULL ? (size_t)(end - (const char *)bytes) : size;
	*ret_taken = 0;
	if (replies->status == REPLIES_BROKEN)
		return REPLIES_BROKEN;
	if (replies->status == REPLIES_END)
		replies->line_count = 0;
	if (replies->status != REPLIES_MORE)
		replies->size = 0;
	*ret_taken = end != NULL ? part + 1 : part;
	replies->status = REPLIES_MORE;
	if (part > REPLIES_LINE_MAX - replies->size)
		replies->status = REPLIES_BROKEN;
	else
		keep(replies, bytes, part);
	if (end != NULL && replies->status == REPLIES_MORE)
		replies->status = end_line(replies);
	return replies->status;
}
