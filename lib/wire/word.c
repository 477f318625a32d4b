/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/wire/word.h"

#include <string.h>
#include <strings.h>

#include "lib/format/ascii.h"

bool word_is(const char *text, size_t text_size, const char *keyword)
{
	return text_size == strlen(keyword) && strncasecmp(text, keyword, text_size) == 0;
}

bool word_parse_port(const char *text, size_t text_size, uint16_t *ret_port)
{
	const int64_t port = ascii_number(text, text_size, UINT16_MAX);
	if (port < 0 || (text[0] == '0' && text_size > 1))
		return false;
	*ret_port = (uint16_t)port;
	return true;
}
