/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/smtp-load/reply.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char keyword[] = "PIPELINING";

void reply_begin(struct reply *ret_reply)
{
	memset(ret_reply, 0, sizeof(*ret_reply));
}

static bool is_digit(char byte)
{
	return isdigit((unsigned char)byte) != 0;
}

/* text has its first bytes, without LF; the rest of it is zero. */
static int code_of(const struct reply *reply)
{
	const char *text = reply->text;
	if (!is_digit(text[0]) || !is_digit(text[1]) || !is_digit(text[2]) || text[0] < '2' ||
	    text[0] > '5')
		return REPLY_BROKEN;
	if (text[3] != '\0' && text[3] != ' ' && text[3] != '-' && text[3] != '\r')
		return REPLY_BROKEN;
	return (text[0] - '0') * 100 + (text[1] - '0') * 10 + (text[2] - '0');
}

static bool says_pipelining(const struct reply *reply)
{
	const size_t size = sizeof(keyword) - 1;
	/* Only where another line, or a CR, may stand behind it. */
	return strncasecmp(reply->text + 4, keyword, size) == 0 &&
	       (reply->text[4 + size] == '\0' || reply->text[4 + size] == '\r');
}

static int end_line(struct reply *reply)
{
	int code = code_of(reply);
	if (code == REPLY_BROKEN || ++reply->lines > REPLY_LINES_MAX)
		return REPLY_BROKEN;
	if (says_pipelining(reply))
		reply->has_pipelining = true;
	bool has_more = reply->text[3] == '-';
	memset(reply->text, 0, sizeof(reply->text));
	reply->size = 0;
	return has_more ? REPLY_MORE : code;
}

int reply_feed(struct reply *reply, const char *bytes, size_t size, size_t *ret_taken)
{
	int ret = REPLY_MORE;
	size_t at = 0;
	while (at < size && ret == REPLY_MORE) {
		char byte = bytes[at++];
		if (byte == '\n') {
			ret = end_line(reply);
			continue;
		}
		if (reply->size < sizeof(reply->text) - 1)
			reply->text[reply->size] = byte;
		if (++reply->size > REPLY_LINE_MAX)
			ret = REPLY_BROKEN;
	}
	*ret_taken = at;
	return ret;
}
