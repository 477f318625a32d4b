/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/config/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client-lib/config/config.h"

enum { WORD_CUT = 48 }; /* characters of a refused word that are shown */

static bool is_divider(char c)
{
	return c == ' ' || c == ',' || c == '\t' || c == '\r' || c == '\n';
}

struct word words_next(const char **value)
{
	const char *at = *value;
	struct word word;

	while (is_divider(*at))
		at++;
	word = (struct word){ at, 0 };
	while (at[word.size] != '\0' && !is_divider(at[word.size]))
		word.size++;
	*value = at + word.size;
	return word;
}

bool words_is(struct word word, const char *text)
{
	return word.size == strlen(text) && memcmp(word.text, text, word.size) == 0;
}

struct word words_whole(const char *text)
{
	return (struct word){ text, strlen(text) };
}

int words_find(struct word word, const char *const *names)
{
	for (int i = 0; names[i] != NULL; i++) {
		if (words_is(word, names[i]))
			return i;
	}
	return -1;
}

/* Printable ASCII between quotes, cut. */
static void quote(struct word word, char *ret_text)
{
	char *out = ret_text;
	size_t i;

	*out++ = '"';
	for (i = 0; i < word.size && out < ret_text + WORD_CUT; i++) {
		const unsigned char c = (unsigned char)word.text[i];

		if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
			*out++ = (char)c;
		else
			out += snprintf(out, 5, "\\x%02x", c);
	}
	(void)snprintf(out, 5, "%s\"", i < word.size ? "..." : "");
}

int words_refuse(const char *key, struct word word, const char *reason, char *ret_error)
{
	char text[WORD_CUT + 10];

	quote(word, text);
	(void)snprintf(ret_error, CONFIG_ERROR_MAX, "%s %s: %s", key, text, reason);
	return -EINVAL;
}
