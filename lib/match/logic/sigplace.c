/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/logic/sigplace.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/format/ascii.h"

/* Digits only, at least one; *text goes behind them. */
static bool read_number(const char **text, uint32_t *ret_number)
{
	const int64_t number = ascii_take_number(text, NULL, INT32_MAX);
	if (number < 0)
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

static bool skip_word(const char **text, const char *word)
{
	const size_t size = strlen(word);
	if (strncmp(*text, word, size) != 0)
		return false;
	*text += size;
	return true;
}

static bool read_section(const char **text, struct sigplace *place)
{
	if (skip_word(text, "SL+")) {
		place->kind = SIGPLACE_SECTION_LAST;
		return read_number(text, &place->value);
	}
	if (skip_word(text, "SE")) {
		place->kind = SIGPLACE_SECTION_WITHIN;
		return read_number(text, &place->section);
	}
	place->kind = SIGPLACE_SECTION;
	return skip_word(text, "S") && read_number(text, &place->section) && skip_word(text, "+") &&
	       read_number(text, &place->value);
}

static bool read_base(const char **text, struct sigplace *place)
{
	static const struct {
		const char *word;
		enum sigplace_kind kind;
	} words[] = {
		{ "EOF-", SIGPLACE_END },
		{ "EP+", SIGPLACE_ENTRY_PLUS },
		{ "EP-", SIGPLACE_ENTRY_MINUS },
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (skip_word(text, words[i].word)) {
			place->kind = words[i].kind;
			return read_number(text, &place->value);
		}
	}
	if (**text == 'S')
		return read_section(text, place);
	if (skip_word(text, "VI")) {
		place->kind = SIGPLACE_VERSION_INFO;
		return true;
	}
	place->kind = SIGPLACE_ABSOLUTE;
	return read_number(text, &place->value);
}

const char *sigplace_parse(const char *text, struct sigplace *ret_place)
{
	struct sigplace place = { .kind = SIGPLACE_ANY };
	if (strcmp(text, "*") == 0) {
		*ret_place = place;
		return NULL;
	}
	if (!read_base(&text, &place))
		return "an offset is *, N, EOF-N, EP+N, EP-N, SX+N, SL+N, SEX or VI";
	if (skip_word(&text, ",") && !read_number(&text, &place.shift))
		return "no number behind the comma of an offset";
	if (*text != '\0')
		return "something stands behind an offset";
	*ret_place = place;
	return NULL;
}
