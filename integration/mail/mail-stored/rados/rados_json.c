/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/rados/rados_json.h"

#include <string.h>

#include "lib/format/ascii.h"

/* ---- past a value: NULL when there is none that is whole ---- */

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0')
		at++;
	return at;
}

static const char *skip_text(const char *at, const char *end)
{
	if (at == end || *at != '"')
		return NULL;
	for (at++; at < end; at++) {
		if (*at == '"')
			return at + 1;
		if (*at == '\\')
			at++;
	}
	return NULL;
}

static const char *skip_word(const char *at, const char *end)
{
	const char *start = at;
	while (at < end && strchr("+-.0123456789Eaeflnrstu", *at) != NULL && *at != '\0')
		at++;
	return at > start ? at : NULL;
}

static bool is_at(const char *at, const char *end, char wanted)
{
	return at != NULL && at < end && *at == wanted;
}

/* "key": and what is before its value; for a caller that has no use for the key. */
static const char *skip_key(const char *at, const char *end)
{
	at = skip_text(skip_blanks(at, end), end);
	if (at == NULL)
		return NULL;
	at = skip_blanks(at, end);
	return is_at(at, end, ':') ? at + 1 : NULL;
}

static const char *skip_value(const char *at, const char *end, unsigned depth_max);

/* Behind the last of what is in an object or an array, each behind its key or not. */
static const char *skip_inside(const char *at, const char *end, unsigned depth_max)
{
	const bool is_object = *at == '{';
	const char closing = is_object ? '}' : ']';
	if (depth_max == 0)
		return NULL;
	at = skip_blanks(at + 1, end);
	if (is_at(at, end, closing))
		return at + 1;
	for (;;) {
		if (is_object)
			at = skip_key(at, end);
		if (at != NULL)
			at = skip_value(at, end, depth_max - 1);
		if (at == NULL)
			return NULL;
		at = skip_blanks(at, end);
		if (is_at(at, end, closing))
			return at + 1;
		if (!is_at(at, end, ','))
			return NULL;
		at++;
	}
}

static const char *skip_value(const char *at, const char *end, unsigned depth_max)
{
	at = skip_blanks(at, end);
	if (is_at(at, end, '{') || is_at(at, end, '['))
		return skip_inside(at, end, depth_max);
	return is_at(at, end, '"') ? skip_text(at, end) : skip_word(at, end);
}

/* ---- values ---- */

struct json_at json_whole(const char *text, size_t size)
{
	return (struct json_at){ skip_blanks(text, text + size), text + size };
}

bool json_member(struct json_at object, const char *key, struct json_at *ret_value)
{
	const char *at = object.at;
	const char *end = object.end;
	const size_t key_size = strlen(key);
	char before = '{';
	while (is_at(at, end, before)) {
		const char *name = skip_blanks(at + 1, end);
		const char *value = skip_key(name, end);
		if (value == NULL)
			return false;
		value = skip_blanks(value, end);
		const char *behind = skip_value(value, end, JSON_DEPTH_MAX);
		if (behind == NULL)
			return false;
		if (skip_text(name, end) == name + key_size + 2 &&
		    memcmp(name + 1, key, key_size) == 0) {
			*ret_value = (struct json_at){ value, behind };
			return true;
		}
		at = skip_blanks(behind, end);
		before = ',';
	}
	return false;
}

bool json_next(struct json_at *array, struct json_at *ret_item)
{
	const char *end = array->end;
	if (!is_at(array->at, end, '[') && !is_at(array->at, end, ','))
		return false;
	const char *item = skip_blanks(array->at + 1, end);
	const char *behind = skip_value(item, end, JSON_DEPTH_MAX);
	if (behind == NULL)
		return false; /* also at the "]" of an array without items */
	*ret_item = (struct json_at){ item, behind };
	array->at = skip_blanks(behind, end);
	return true;
}

bool json_is_text(struct json_at value, const char *text)
{
	const size_t size = strlen(text);
	return (size_t)(value.end - value.at) == size + 2 && *value.at == '"' &&
	       memcmp(value.at + 1, text, size) == 0;
}

bool json_number(struct json_at value, uint64_t *ret_number)
{
	const int64_t number = ascii_number(value.at, (size_t)(value.end - value.at), INT64_MAX);
	if (number < 0)
		return false;
	*ret_number = (uint64_t)number;
	return true;
}
