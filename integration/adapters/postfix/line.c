/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/postfix/line.h"

#include <stdio.h>
#include <string.h>

void line_begin(struct line *ret_line)
{
	memset(ret_line, 0, sizeof(*ret_line));
}

static void take_text(struct line *line)
{
	struct question *question = &line->question;
	if (line->size > 0 && line->size <= LINE_ADDRESS_MAX && line->text[line->size - 1] == '\r')
		line->text[--line->size] = '\0';
	bool is_whole = line->size <= LINE_ADDRESS_MAX && strlen(line->text) == line->size;
	question->has_ip = is_whole && dnsblv6_ip_parse(line->text, &question->ip) == 0;
	/* Exim has no address for a session of its own machine, and sends an empty line. */
	question->is_malformed = !question->has_ip && line->size > 0;
}

enum question_status line_feed(struct line *line, const char *bytes, size_t size, size_t *ret_taken)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\n') {
			*ret_taken = i + 1;
			take_text(line);
			return QUESTION_READY;
		}
		if (line->size == LINE_SIZE_MAX) {
			*ret_taken = i;
			return QUESTION_ENDLESS;
		}
		if (line->size < LINE_ADDRESS_MAX)
			line->text[line->size] = bytes[i];
		line->size++;
	}
	*ret_taken = size;
	return QUESTION_MORE;
}

bool line_end(struct line *line)
{
	if (line->size == 0)
		return false;
	take_text(line);
	return true;
}

size_t line_format(const struct judgement *judgement, char *ret_reply)
{
	const size_t size = QUESTION_REPLY_MAX + 1;
	int written = 0;
	switch (judgement->verdict) {
	case DNSBLV6_LISTED:
		written = snprintf(ret_reply, size, "listed %d %s\n", judgement->score,
				   judgement->text);
		break;
	case DNSBLV6_DEFER:
		written = snprintf(ret_reply, size, "defer %s\n", judgement->text);
		break;
	default:
		written = snprintf(ret_reply, size, "%s\n",
				   dnsblv6_verdict_name((int)judgement->verdict));
	}
	return (size_t)written;
}
