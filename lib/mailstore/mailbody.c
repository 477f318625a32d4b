/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/mailbody.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VARINT_MAX 10

/* ---- there ---- */

static int add_exception(struct mailbody *body, uint64_t lines)
{
	if (body->exceptions == NULL)
		body->exceptions = malloc(MAILBODY_EXCEPTIONS_MAX);
	if (body->exceptions == NULL)
		return -ENOMEM;
	if (body->exceptions_size + VARINT_MAX > MAILBODY_EXCEPTIONS_MAX)
		return -E2BIG;
	for (; lines >= 0x80; lines >>= 7)
		body->exceptions[body->exceptions_size++] = (uint8_t)(lines | 0x80);
	body->exceptions[body->exceptions_size++] = (uint8_t)lines;
	return 0;
}

struct counted {
	uint64_t lines; /* that end in LF, with or without CR */
	uint64_t lone;	/* LF without CR */
	uint64_t dots;	/* lines that begin with one */
};

/* With list, also puts down where the lone ones are. */
static int count_lines(struct mailbody *body, bool is_listing, struct counted *ret_counted)
{
	struct counted counted = { 0 };
	const uint8_t *end = body->text + body->size;
	uint64_t last = 0;
	int ret = 0;
	for (const uint8_t *line = body->text; ret == 0 && line < end;) {
		const uint8_t *lf = memchr(line, '\n', (size_t)(end - line));
		counted.dots += *line == '.';
		if (lf == NULL)
			break;
		counted.lines++;
		if (lf == line || lf[-1] != '\r') {
			counted.lone++;
			if (is_listing)
				ret = add_exception(body, counted.lines - last);
			last = counted.lines;
		}
		line = lf + 1;
	}
	*ret_counted = counted;
	return ret;
}

int mailbody_measure(const uint8_t *text, size_t size, struct mailbody *ret_body)
{
	struct counted counted;
	*ret_body = (struct mailbody){ .text = text, .size = size };
	(void)count_lines(ret_body, false, &counted);
	bool is_open = size > 0 && text[size - 1] != '\n';
	ret_body->lines = MAILBODY_CRLF;
	if (counted.lone > 0)
		ret_body->lines = counted.lone == counted.lines ? MAILBODY_LF : MAILBODY_MIXED;
	bool is_mixed = ret_body->lines == MAILBODY_MIXED;
	if (is_open)
		ret_body->lines |= MAILBODY_OPEN;
	ret_body->octets = size + counted.lone + (is_open ? 2 : 0);
	ret_body->wire_size = ret_body->octets + counted.dots;
	ret_body->is_wire = ret_body->wire_size == size;
	mailbody_rewind(ret_body);
	return is_mixed ? count_lines(ret_body, true, &counted) : 0;
}

void mailbody_free(struct mailbody *body)
{
	free(body->exceptions);
	body->exceptions = NULL;
}

void mailbody_rewind(struct mailbody *body)
{
	body->at = 0;
	body->is_dot_due = body->size > 0 && body->text[0] == '.';
	body->is_lf_due = false;
}

/* What stands before the byte at body->at and is not in the text: 0 when nothing does. */
static uint8_t take_added(struct mailbody *body)
{
	if (body->is_dot_due) {
		body->is_dot_due = false;
		return '.';
	}
	bool is_end = body->at == body->size;
	if (body->is_lf_due) {
		body->is_lf_due = false;
		/* At the end it is a byte of its own; elsewhere the text has it. */
		if (is_end)
			body->at++;
		return is_end ? '\n' : 0;
	}
	bool is_line_end = is_end ? (body->lines & MAILBODY_OPEN) != 0
				  : body->at < body->size && body->text[body->at] == '\n' &&
					    (body->at == 0 || body->text[body->at - 1] != '\r');
	body->is_lf_due = is_line_end;
	return is_line_end ? '\r' : 0;
}

/* Up to and with the next LF, or up to one that lacks its CR. */
static size_t copy_line(struct mailbody *body, uint8_t *out, size_t room)
{
	size_t left = body->size - body->at;
	const uint8_t *from = body->text + body->at;
	const uint8_t *lf = memchr(from, '\n', left);
	size_t size = lf == NULL ? left : (size_t)(lf - from) + 1;
	/* The CR before a LF at the very beginning has been looked at by take_added(). */
	if (lf != NULL && size > 1 && lf[-1] != '\r')
		size--;
	if (size > room)
		size = room;
	memcpy(out, from, size);
	body->at += size;
	if (size > 0 && out[size - 1] == '\n')
		body->is_dot_due = body->at < body->size && body->text[body->at] == '.';
	return size;
}

size_t mailbody_fill(struct mailbody *body, uint8_t *out, size_t room)
{
	size_t done = 0;
	while (done < room && body->at <= body->size) {
		bool is_last = body->at == body->size && !body->is_dot_due && !body->is_lf_due &&
			       (body->lines & MAILBODY_OPEN) == 0;
		if (is_last)
			break;
		uint8_t added = take_added(body);
		if (added != 0)
			out[done++] = added;
		else if (body->at < body->size)
			done += copy_line(body, out + done, room - done);
	}
	return done;
}

/* ---- and back ---- */

/* The line of the next lone LF, or one that never comes. */
static void take_exception(struct mailbody_undo *undo)
{
	uint64_t lines = 0;
	for (unsigned shift = 0; undo->exceptions_size > 0 && shift < 64; shift += 7) {
		uint8_t byte = *undo->exceptions++;
		undo->exceptions_size--;
		lines |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) == 0) {
			undo->next_exception += lines;
			return;
		}
	}
	undo->next_exception = UINT64_MAX;
}

void mailbody_undo_init(struct mailbody_undo *ret_undo, uint8_t lines, const uint8_t *exceptions,
			size_t exceptions_size, uint64_t wire_size)
{
	*ret_undo = (struct mailbody_undo){ .lines = lines,
					    .exceptions = exceptions,
					    .exceptions_size = exceptions_size,
					    .left = wire_size,
					    .is_at_start = true };
	if ((lines & 3) == MAILBODY_MIXED)
		take_exception(ret_undo);
}

/* Had the line that now ends a LF alone? */
static bool was_lone(struct mailbody_undo *undo)
{
	undo->line++;
	if ((undo->lines & 3) != MAILBODY_MIXED)
		return (undo->lines & 3) == MAILBODY_LF;
	if (undo->line != undo->next_exception)
		return false;
	take_exception(undo);
	return true;
}

static size_t end_line(struct mailbody_undo *undo, uint8_t *out)
{
	size_t size = 0;
	bool is_ours = undo->left == 0 && (undo->lines & MAILBODY_OPEN) != 0;
	undo->is_at_start = true;
	undo->has_cr = false;
	if (is_ours)
		return 0;
	if (!was_lone(undo))
		out[size++] = '\r';
	out[size++] = '\n';
	return size;
}

size_t mailbody_undo_take(struct mailbody_undo *undo, const uint8_t *in, size_t size, uint8_t *out)
{
	size_t done = 0;
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = in[i];
		undo->left -= undo->left > 0;
		if (byte == '\n' && undo->has_cr) {
			done += end_line(undo, out + done);
			continue;
		}
		if (undo->has_cr)
			out[done++] = '\r';
		undo->has_cr = byte == '\r';
		bool is_added = byte == '.' && undo->is_at_start;
		undo->is_at_start = false;
		if (!undo->has_cr && !is_added)
			out[done++] = byte;
	}
	if (undo->left == 0 && undo->has_cr) {
		out[done++] = '\r';
		undo->has_cr = false;
	}
	return done;
}
