/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/compiler/sigregex.h"

#include <hs/hs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/match/logic/sigtext.h"

/* Is there a {n}, {n,} or {n,m} with a large number? */
static bool repeats_much(const char *expression)
{
	for (const char *at = strchr(expression, '{'); at != NULL; at = strchr(at + 1, '{')) {
		char *end = NULL;
		const unsigned long first = strtoul(at + 1, &end, 10);
		const unsigned long second = *end == ',' ? strtoul(end + 1, NULL, 10) : 0;
		if (first > SIGREGEX_REPEAT_MAX || second > SIGREGEX_REPEAT_MAX)
			return true;
	}
	return false;
}

/* Does Vectorscan take it, within what an object and a database may have? */
static bool is_small(const char *expression, unsigned flags)
{
	const unsigned id = 0;
	hs_database_t *db = NULL;
	hs_compile_error_t *error = NULL;
	size_t stream_size = 0;
	size_t database_size = 0;
	if (repeats_much(expression))
		return false;
	if (hs_compile_multi(&expression, &flags, &id, 1, HS_MODE_STREAM, NULL, &db, &error) !=
	    HS_SUCCESS) {
		hs_free_compile_error(error);
		return false;
	}
	const bool is_known = hs_stream_size(db, &stream_size) == HS_SUCCESS &&
			      hs_database_size(db, &database_size) == HS_SUCCESS;
	hs_free_database(db);
	return is_known && stream_size <= SIGREGEX_STATE_MAX &&
	       database_size <= SIGREGEX_DATABASE_MAX;
}

static bool does_stream(void **tried, const char *expression, unsigned flags)
{
	struct sigtext key = { .bytes = NULL };
	sigtext_say(&key, "%x ", flags);
	sigtext_add(&key, expression, strlen(expression));
	struct signame *one = key.is_failed ? NULL : signame_get(tried, key.bytes);
	sigtext_free(&key);
	if (one != NULL && one->number == SIGNAME_NEW)
		one->number = is_small(expression, flags);
	return one != NULL && one->number != 0;
}

/* PCRE's letters, and those of ClamAV that change nothing here. */
static bool read_letters(const char *letters, unsigned *ret_flags, bool *ret_is_anchored)
{
	unsigned flags = 0;
	for (; *letters != '\0'; letters++) {
		switch (*letters) {
		case 'i':
			flags |= HS_FLAG_CASELESS;
			break;
		case 's':
			flags |= HS_FLAG_DOTALL;
			break;
		case 'm':
			flags |= HS_FLAG_MULTILINE;
			break;
		case 'A':
			*ret_is_anchored = true;
			break;
		case 'U': /* greedy or not, it is there or not */
		case 'e': /* about an offset, of which there is none */
		case 'r':
			break;
		default: /* E, g, x and unknown ones */
			return false;
		}
	}
	*ret_flags = flags;
	return true;
}

enum compile_reason sigregex_prepare(void **tried, const char *expression, const char *letters,
				     char **ret_text, unsigned *ret_flags)
{
	struct sigtext text = { .bytes = NULL };
	bool is_anchored = false;
	unsigned flags = 0;
	if (!read_letters(letters, &flags, &is_anchored))
		return COMPILE_PCRE;
	if (is_anchored)
		sigtext_add(&text, "\\A(?:", 5);
	sigtext_add(&text, expression, strlen(expression));
	if (is_anchored)
		sigtext_add(&text, ")", 1);
	if (text.is_failed || !does_stream(tried, text.bytes, flags)) {
		sigtext_free(&text);
		return COMPILE_PCRE;
	}
	*ret_text = text.bytes;
	*ret_flags = flags;
	return COMPILE_STREAMS;
}
