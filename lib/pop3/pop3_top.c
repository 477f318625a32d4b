/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/pop3_top.h"

#include <string.h>

void pop3_top_init(struct pop3_top *ret_top, uint64_t line_count)
{
	memset(ret_top, 0, sizeof(*ret_top));
	ret_top->lines_left = line_count;
}

/* Bytes without an LF. */
static void take_text(struct pop3_top *top, const uint8_t *bytes, size_t size)
{
	if (size == 0)
		return;
	/* A CR that something stands behind is text. */
	top->has_text = top->has_text || top->has_cr || size > 1 || bytes[0] != '\r';
	top->has_cr = bytes[size - 1] == '\r';
}

/* An LF, which ends a line behind a CR only. */
static void take_lf(struct pop3_top *top)
{
	if (!top->has_cr) {
		top->has_text = true;
		return;
	}
	if (top->is_body)
		top->lines_left--;
	else
		top->is_body = !top->has_text;
	top->is_done = top->is_body && top->lines_left == 0;
	top->has_text = false;
	top->has_cr = false;
}

size_t pop3_top_take(struct pop3_top *top, const uint8_t *bytes, size_t size)
{
	size_t used = 0;
	while (used < size && !top->is_done) {
		const uint8_t *lf = memchr(bytes + used, '\n', size - used);
		const size_t end = lf != NULL ? (size_t)(lf - bytes) : size;
		take_text(top, bytes + used, end - used);
		used = end;
		if (lf != NULL) {
			take_lf(top);
			used++;
		}
	}
	return used;
}
