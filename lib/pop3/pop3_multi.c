/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/pop3_multi.h"

#include <string.h>

enum {
	AT_START, /* of a line, behind CR LF */
	AT_DOT,	  /* which is the first of a line, and not in out yet */
	AT_DOT_CR,
	AT_TEXT,
};

struct room {
	uint8_t *out;
	size_t room, size;
};

static void add(struct room *to, const char *bytes, size_t size)
{
	memcpy(to->out + to->size, bytes, size);
	to->size += size;
}

void pop3_multi_init(struct pop3_multi *ret_multi)
{
	memset(ret_multi, 0, sizeof(*ret_multi));
}

/* A byte at the beginning of a line. Has it been used? */
static bool take_start(struct pop3_multi *multi, uint8_t byte)
{
	multi->has_cr = false;
	multi->at = byte == '.' ? AT_DOT : AT_TEXT;
	return byte == '.';
}

static bool take_dot(struct pop3_multi *multi, uint8_t byte, struct room *to)
{
	if (byte == '\r') {
		multi->at = AT_DOT_CR;
		return true;
	}
	multi->at = AT_TEXT;
	/* "." LF might be an end to others: it stays a line with a dot in it. */
	if (byte == '\n')
		add(to, ".", 1);
	return false;
}

static bool take_dot_cr(struct pop3_multi *multi, struct room *to)
{
	multi->at = AT_TEXT;
	multi->has_cr = true;
	add(to, "\r", 1);
	return false;
}

/* Up to the end of a line. How many were used. */
static size_t take_text(struct pop3_multi *multi, const uint8_t *in, size_t in_size,
			struct room *to)
{
	const size_t left = to->room - to->size;
	const size_t seen = in_size < left ? in_size : left;
	const uint8_t *lf = memchr(in, '\n', seen);
	const size_t run = lf != NULL ? (size_t)(lf - in) : seen;
	add(to, (const char *)in, run);
	if (run > 0)
		multi->has_cr = in[run - 1] == '\r';
	if (lf == NULL || to->room - to->size < 2)
		return run;
	if (multi->has_cr)
		add(to, "\n", 1);
	else
		add(to, "\r\n", 2);
	multi->at = multi->has_cr ? AT_START : AT_TEXT;
	multi->has_cr = false;
	return run + 1;
}

enum pop3_multi_status pop3_multi_take(struct pop3_multi *multi, const uint8_t *in, size_t in_size,
				       size_t *ret_used, uint8_t *out, size_t room,
				       size_t *ret_out_size)
{
	struct room to = { out, room, 0 };
	size_t used = 0;
	bool is_end = false;
	while (!is_end && used < in_size && to.room - to.size >= POP3_MULTI_ROOM_MIN) {
		const uint8_t byte = in[used];
		if (multi->at == AT_START) {
			used += take_start(multi, byte);
		} else if (multi->at == AT_DOT) {
			used += take_dot(multi, byte, &to);
		} else if (multi->at == AT_DOT_CR) {
			is_end = byte == '\n';
			used += is_end || take_dot_cr(multi, &to);
		} else {
			used += take_text(multi, in + used, in_size - used, &to);
		}
	}
	*ret_used = used;
	*ret_out_size = to.size;
	return is_end ? POP3_MULTI_END : POP3_MULTI_MORE;
}

/* ---- into dots ---- */

void pop3_multi_put_init(struct pop3_multi_put *ret_put)
{
	memset(ret_put, 0, sizeof(*ret_put));
}

size_t pop3_multi_put(struct pop3_multi_put *put, const uint8_t *in, size_t in_size,
		      size_t *ret_used, uint8_t *out, size_t room)
{
	struct room to = { out, room, 0 };
	size_t used = 0;
	while (used < in_size && to.room - to.size >= 2) {
		if (!put->is_within && in[used] == '.')
			add(&to, ".", 1);
		const size_t left = to.room - to.size;
		const size_t seen = in_size - used < left ? in_size - used : left;
		const uint8_t *lf = memchr(in + used, '\n', seen);
		const size_t run = lf != NULL ? (size_t)(lf - in) + 1 - used : seen;
		add(&to, (const char *)in + used, run);
		used += run;
		put->is_within = lf == NULL;
	}
	*ret_used = used;
	return to.size;
}

size_t pop3_multi_close(struct pop3_multi_put *put, uint8_t *out)
{
	struct room to = { out, POP3_MULTI_END_MAX, 0 };
	if (put->is_within)
		add(&to, "\r\n", 2);
	add(&to, ".\r\n", 3);
	pop3_multi_put_init(put);
	return to.size;
}
