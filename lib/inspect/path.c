/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/path.h"

#include <string.h>

#include "lib/content/unicode.h"

#define BETWEEN	     " / "
#define LOST	     "..."
#define PATH_LONGEST (INSPECT_PATH_SIZE - 1)

/* Longest name that is looked at: names of parts and members are shorter. */
#define NAME_LONGEST (2 * INSPECT_PATH_SIZE)

/* Bytes of the character at text, 1 for one that is to be replaced. */
static size_t character(const uint8_t *text, size_t size, bool *ret_is_shown)
{
	uint32_t code = 0;
	const size_t length = unicode_get(text, size, &code);
	*ret_is_shown = length > 0 && unicode_is_shown(code);
	return length > 0 ? length : 1;
}

/* name, made safe, behind size bytes of text. Its size then. */
static size_t append(const char *name, char *text, size_t size, size_t room)
{
	const uint8_t *at = (const uint8_t *)name;
	size_t left = strnlen(name, NAME_LONGEST);
	while (left > 0) {
		bool is_shown;
		const size_t length = character(at, left, &is_shown);
		if (size + length > room)
			break;
		if (is_shown) {
			memcpy(text + size, at, length);
			size += length;
		} else {
			text[size++] = '?';
		}
		at += length;
		left -= length;
	}
	return size;
}

static bool is_inside(char byte)
{
	return ((uint8_t)byte & 0xc0) == 0x80;
}

/* The middle goes, with no character cut. */
static void shorten(const char *text, size_t size, char *ret_path)
{
	size_t begin = (PATH_LONGEST - (sizeof(LOST) - 1)) / 2;
	size_t end = size - begin;
	while (begin > 0 && is_inside(text[begin]))
		begin--;
	while (end < size && is_inside(text[end]))
		end++;
	memcpy(ret_path, text, begin);
	memcpy(ret_path + begin, LOST, sizeof(LOST) - 1);
	memcpy(ret_path + begin + sizeof(LOST) - 1, text + end, size - end);
	ret_path[begin + sizeof(LOST) - 1 + size - end] = '\0';
}

void path_join(const char *parent, const char *name, char *ret_path)
{
	char text[INSPECT_PATH_SIZE + sizeof(BETWEEN) + NAME_LONGEST];
	size_t size = strnlen(parent, PATH_LONGEST);
	memcpy(text, parent, size);
	if (size > 0 && name[0] != '\0') {
		memcpy(text + size, BETWEEN, sizeof(BETWEEN) - 1);
		size += sizeof(BETWEEN) - 1;
	}
	size = append(name, text, size, sizeof(text));
	if (size > PATH_LONGEST) {
		shorten(text, size, ret_path);
		return;
	}
	memcpy(ret_path, text, size);
	ret_path[size] = '\0';
}
