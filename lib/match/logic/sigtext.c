/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/logic/sigtext.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/array.h"

void sigtext_add(struct sigtext *text, const char *bytes, size_t size)
{
	if (text->is_failed)
		return;
	if (!array_reserve(text->bytes, text->size + size + 1, &text->room)) {
		text->is_failed = true;
		return;
	}
	if (size > 0)
		memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	text->bytes[text->size] = '\0';
}

void sigtext_say(struct sigtext *text, const char *format, ...)
{
	char line[256];
	va_list arguments;
	va_start(arguments, format);
	const int size = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (size < 0 || (size_t)size >= sizeof(line))
		text->is_failed = true;
	else
		sigtext_add(text, line, (size_t)size);
}

void sigtext_free(struct sigtext *text)
{
	free(text->bytes);
	memset(text, 0, sizeof(*text));
}

void sigwords_add(struct sigwords *words, uint32_t word)
{
	if (words->is_failed)
		return;
	if (!array_reserve(words->at, words->count + 1, &words->room)) {
		words->is_failed = true;
		return;
	}
	words->at[words->count++] = word;
}

void sigwords_free(struct sigwords *words)
{
	free(words->at);
	memset(words, 0, sizeof(*words));
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(((const struct signame *)left)->name, ((const struct signame *)right)->name);
}

static void free_name(void *name)
{
	free(((struct signame *)name)->name);
	free(name);
}

struct signame *signame_get(void **tree, const char *name)
{
	struct signame wanted = { .name = (char *)(uintptr_t)name };
	struct signame *const *found = tfind(&wanted, tree, compare_names);
	if (found != NULL)
		return *found;
	struct signame *added = malloc(sizeof(*added));
	if (added == NULL)
		return NULL;
	added->number = SIGNAME_NEW;
	added->name = strdup(name);
	if (added->name != NULL && tsearch(added, tree, compare_names) != NULL)
		return added;
	free_name(added);
	return NULL;
}

bool signame_is_there(void *const *tree, const char *name)
{
	const struct signame wanted = { .name = (char *)(uintptr_t)name };
	return tfind(&wanted, tree, compare_names) != NULL;
}

void signame_free(void *tree)
{
	tdestroy(tree, free_name);
}
