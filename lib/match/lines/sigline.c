/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/lines/sigline.h"

#include <string.h>

#include "lib/format/hex.h"
#include "lib/match/lines/sigbody.h"
#include "lib/match/lines/sigtarget.h"
#include "lib/match/match.h"

#define FIELDS_MAX 6

/* The fields between colons; more than max are an error, told by max + 1. */
static unsigned split(char *line, char **ret_fields, unsigned max)
{
	unsigned count = 0;
	for (char *at = line; at != NULL;) {
		char *end = strchr(at, ':');
		if (end != NULL)
			*end++ = '\0';
		if (count == max)
			return max + 1;
		ret_fields[count++] = at;
		at = end;
	}
	return count;
}

/*
 * The same where a separator in an expression, between two slashes, is a part of it. Before the
 * field of number first there are none.
 */
static unsigned split_outside(char *line, char separator, char **ret_fields, unsigned max,
			      unsigned first)
{
	unsigned count = 1;
	bool is_inside = false;
	ret_fields[0] = line;
	for (char *at = line; *at != '\0'; at++) {
		if (*at == separator && !is_inside) {
			*at = '\0';
			if (count == max)
				return max + 1;
			ret_fields[count++] = at + 1;
		} else if (*at == '/' && count > first && (at == line || at[-1] != '\\')) {
			is_inside = !is_inside;
		}
	}
	return count;
}

static const char *check_name(const char *name)
{
	const size_t size = name != NULL ? strlen(name) : 0;
	if (size == 0)
		return "the name is empty";
	if (size > MATCH_NAME_MAX)
		return "the name is too long";
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return "the name has a control character";
	return NULL;
}

/* Levels of the engine, as the last fields. */
static const char *read_levels(char **fields, unsigned count, enum compile_reason *reason)
{
	uint32_t level = 0;
	for (unsigned i = 0; i < count && i < 2; i++) {
		if (sigtarget_decimal(fields[i], &level) != NULL)
			return "a functionality level is no number";
		if (i == 0 ? level > SIGTARGET_LEVEL : level < SIGTARGET_LEVEL)
			*reason = COMPILE_ENGINE;
	}
	return NULL;
}

/* ---- hashes ---- */

static const char *read_digest(const char *text, struct sigline_hash *hash)
{
	const size_t size = strlen(text);
	if (size != 32 && size != 40 && size != 64)
		return "the hash is no MD5, SHA1 or SHA256";
	hash->digest_size = (unsigned)size / 2;
	for (unsigned i = 0; i < hash->digest_size; i++) {
		const int byte = hex_pair(text + 2 * (size_t)i);
		if (byte < 0)
			return "the hash is not hexadecimal";
		hash->digest[i] = (uint8_t)byte;
	}
	return NULL;
}

const char *sigline_hash(char *line, bool is_section, struct sigline_hash *ret_hash)
{
	char *fields[FIELDS_MAX] = { NULL };
	const unsigned count = split(line, fields, FIELDS_MAX);
	memset(ret_hash, 0, sizeof(*ret_hash));
	if (count < 3 || count > 5)
		return "a hash has three to five fields";
	const char *size = fields[is_section ? 0 : 1];
	ret_hash->name = fields[2];
	ret_hash->size = SIGLINE_NO_SIZE;
	const char *why = check_name(ret_hash->name);
	if (why == NULL)
		why = read_digest(fields[is_section ? 1 : 0], ret_hash);
	if (why == NULL && strcmp(size, "*") != 0 &&
	    sigtarget_decimal(size, &ret_hash->size) != NULL)
		why = "the size is neither a number nor *";
	return why != NULL ? why : read_levels(fields + 3, count - 3, &ret_hash->reason);
}

/* ---- bytes ---- */

const char *sigline_body(char *line, struct sigline_body *ret_body)
{
	char *fields[FIELDS_MAX] = { NULL };
	const unsigned count = split(line, fields, FIELDS_MAX);
	memset(ret_body, 0, sizeof(*ret_body));
	sigtarget_any(&ret_body->target);
	if (count < 4 || count > 6)
		return "a signature has four to six fields";
	ret_body->name = fields[0];
	ret_body->bytes = fields[3];
	const char *why = check_name(ret_body->name);
	if (why == NULL)
		why = sigtarget_number(fields[1], &ret_body->target);
	if (why == NULL)
		why = sigplace_parse(fields[2], &ret_body->place);
	if (why == NULL)
		why = read_levels(fields + 4, count - 4, &ret_body->target.reason);
	if (why == NULL && ret_body->place.kind == SIGPLACE_VERSION_INFO)
		ret_body->target.reason = COMPILE_ATTRIBUTE;
	return why;
}

/* ---- logic ---- */

/* A macro, a comparison of bytes and a picture are not looked at further. */
static bool is_other(const char *text, enum compile_reason *ret_reason)
{
	const char *mark = strchr(text, '#');
	if (text[0] == '$')
		*ret_reason = COMPILE_MACRO;
	else if (strncmp(text, "fuzzy_img#", 10) == 0)
		*ret_reason = COMPILE_FUZZY_IMAGE;
	else if (strchr(text, '/') == NULL && strchr(text, '(') != NULL && mark != NULL &&
		 strrchr(text, '#') != mark)
		*ret_reason = COMPILE_BYTE_COMPARE;
	else
		return false;
	return true;
}

static const char *read_flags(const char *letters, unsigned *ret_flags)
{
	unsigned flags = 0;
	for (; *letters != '\0'; letters++) {
		switch (*letters) {
		case 'i':
			flags |= SIGBODY_NOCASE;
			break;
		case 'f':
			flags |= SIGBODY_FULLWORD;
			break;
		case 'w':
			flags |= SIGBODY_WIDE;
			break;
		case 'a':
			flags |= SIGBODY_ASCII;
			break;
		default:
			return "a letter behind :: is not i, f, w or a";
		}
	}
	*ret_flags = flags;
	return NULL;
}

/* OFFSET:TRIGGER/EXPRESSION/LETTERS */
static const char *read_regex(char *text, struct sigline_sub *sub)
{
	char *fields[3] = { NULL };
	const unsigned count = split_outside(text, ':', fields, 2, 0);
	if (count > 2)
		return "an expression has more than an offset before it";
	char *whole = fields[count - 1];
	const char *why = count == 2 ? sigplace_parse(fields[0], &sub->place) : NULL;
	char *begin = strchr(whole, '/');
	char *end = strrchr(whole, '/');
	if (why != NULL)
		return why;
	if (begin == NULL || begin == end)
		return "an expression has one / alone";
	if (begin == whole)
		return "an expression has no trigger";
	*begin = '\0';
	*end = '\0';
	sub->kind = SIGLINE_REGEX;
	sub->trigger = whole;
	sub->bytes = begin + 1;
	sub->letters = end + 1;
	return NULL;
}

/* BYTES, OFFSET:BYTES, BYTES::LETTERS, OFFSET:BYTES::LETTERS */
static const char *read_bytes(char *text, struct sigline_sub *sub)
{
	char *fields[4] = { NULL };
	const unsigned count = split(text, fields, 4);
	const char *why = NULL;
	if (count > 4)
		return "a sub-signature has too many fields";
	if (count % 2 == 0)
		why = sigplace_parse(fields[0], &sub->place);
	if (why == NULL && count > 2)
		why = read_flags(fields[count - 1], &sub->flags);
	sub->kind = SIGLINE_BYTES;
	sub->bytes = fields[count % 2 == 0 ? 1 : 0];
	if (sub->place.kind == SIGPLACE_VERSION_INFO)
		sub->reason = COMPILE_ATTRIBUTE;
	return why;
}

static const char *read_sub(char *text, struct sigline_sub *sub)
{
	memset(sub, 0, sizeof(*sub));
	if (*text == '\0')
		return "a sub-signature is empty";
	if (is_other(text, &sub->reason)) {
		sub->kind = SIGLINE_OTHER;
		return NULL;
	}
	return strchr(text, '/') != NULL ? read_regex(text, sub) : read_bytes(text, sub);
}

const char *sigline_logical(char *line, struct sigline_logical *ret_logical)
{
	char *fields[3 + SIGLOGIC_SUBS_MAX] = { NULL };
	const unsigned count = split_outside(line, ';', fields, 3 + SIGLOGIC_SUBS_MAX, 3);
	memset(ret_logical, 0, sizeof(*ret_logical));
	if (count < 4)
		return "a signature has a name, attributes, logic and sub-signatures";
	if (count > 3 + SIGLOGIC_SUBS_MAX)
		return "more than 64 sub-signatures";
	ret_logical->name = fields[0];
	ret_logical->logic = fields[2];
	ret_logical->sub_count = count - 3;
	const char *why = check_name(ret_logical->name);
	if (why == NULL)
		why = sigtarget_attributes(fields[1], &ret_logical->target);
	for (unsigned i = 3; i < count && why == NULL; i++)
		why = read_sub(fields[i], &ret_logical->subs[i - 3]);
	return why;
}

const char *sigline_ignored(char *line, struct sigline_ignored *ret_ignored)
{
	char *fields[2] = { NULL };
	const unsigned count = split(line, fields, 2);
	ret_ignored->name = fields[0];
	ret_ignored->md5 = count == 2 ? fields[1] : NULL;
	if (count > 2 || (count == 2 && strlen(fields[1]) != 32))
		return "what is ignored is a name, or a name and an MD5";
	return check_name(fields[0]);
}
