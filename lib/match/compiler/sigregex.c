/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/compiler/sigregex.h"

#include <hs/hs.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/match/logic/sigtext.h"

struct tried {
	char *key;
	bool streams;
};

struct sigregex_cache {
	void *tree;
};

static int compare_tried(const void *left, const void *right)
{
	return strcmp(((const struct tried *)left)->key, ((const struct tried *)right)->key);
}

static void free_tried(void *tried)
{
	free(((struct tried *)tried)->key);
	free(tried);
}

struct sigregex_cache *sigregex_cache_new(void)
{
	return calloc(1, sizeof(struct sigregex_cache));
}

void sigregex_cache_free(struct sigregex_cache *cache)
{
	if (cache != NULL)
		tdestroy(cache->tree, free_tried);
	free(cache);
}

/* How many bytes of a stream are its own; SIZE_MAX when it has none. */
static size_t state_size(const char *expression, unsigned flags)
{
	const unsigned id = 0;
	hs_database_t *db = NULL;
	hs_compile_error_t *error = NULL;
	size_t size = SIZE_MAX;
	if (hs_compile_multi(&expression, &flags, &id, 1, HS_MODE_STREAM, NULL, &db, &error) !=
	    HS_SUCCESS) {
		hs_free_compile_error(error);
		return SIZE_MAX;
	}
	if (hs_stream_size(db, &size) != HS_SUCCESS)
		size = SIZE_MAX;
	hs_free_database(db);
	return size;
}

static bool does_stream(struct sigregex_cache *cache, const char *expression, unsigned flags)
{
	struct sigtext key = { .bytes = NULL };
	sigtext_say(&key, "%x ", flags);
	sigtext_add(&key, expression, strlen(expression));
	if (key.is_failed) {
		sigtext_free(&key);
		return false;
	}
	struct tried wanted = { .key = key.bytes };
	struct tried *const *found = tfind(&wanted, &cache->tree, compare_tried);
	if (found != NULL) {
		sigtext_free(&key);
		return (*found)->streams;
	}
	struct tried *tried = malloc(sizeof(*tried));
	if (tried == NULL) {
		sigtext_free(&key);
		return false;
	}
	tried->key = key.bytes;
	tried->streams = state_size(expression, flags) <= SIGREGEX_STATE_MAX;
	const bool streams = tried->streams;
	if (tsearch(tried, &cache->tree, compare_tried) == NULL)
		free_tried(tried);
	return streams;
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

enum compile_reason sigregex_prepare(struct sigregex_cache *cache, const char *expression,
				     const char *letters, char **ret_text, unsigned *ret_flags)
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
	if (text.is_failed || !does_stream(cache, text.bytes, flags)) {
		sigtext_free(&text);
		return COMPILE_PCRE;
	}
	*ret_text = text.bytes;
	*ret_flags = flags;
	return COMPILE_STREAMS;
}
