/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/wire/word.h"

#include <string.h>
#include <strings.h>

bool word_is(const char *text, size_t text_size, const char *keyword)
{
	return text_size == strlen(keyword) && strncasecmp(text, keyword, text_size) == 0;
}

bool word_parse_port(const char *text, size_t text_size, uint16_t *ret_port)
{
	uint32_t port = 0;
	if (text_size == 0 || text_size > 5 || (text[0] == '0' && text_size > 1))
		return false;
	for (size_t i = 0; i < text_size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (uint32_t)(text[i] - '0');
	}
	if (port > UINT16_MAX)
		return false;
	*ret_port = (uint16_t)port;
	return true;
}
