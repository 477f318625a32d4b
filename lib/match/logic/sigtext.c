/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/logic/sigtext.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sigtext_add(struct sigtext *text, const char *bytes, size_t size)
{
	if (text->is_failed)
		return;
	if (text->room - text->size <= size || text->bytes == NULL) {
		const size_t room = text->room * 2 + size + 64;
		char *grown = realloc(text->bytes, room);
		if (grown == NULL) {
			text->is_failed = true;
			return;
		}
		text->bytes = grown;
		text->room = room;
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
	if (words->count == words->room) {
		const size_t room = words->room * 2 + 16;
		uint32_t *grown = reallocarray(words->at, room, sizeof(*grown));
		if (grown == NULL) {
			words->is_failed = true;
			return;
		}
		words->at = grown;
		words->room = room;
	}
	words->at[words->count++] = word;
}

void sigwords_free(struct sigwords *words)
{
	free(words->at);
	memset(words, 0, sizeof(*words));
}
