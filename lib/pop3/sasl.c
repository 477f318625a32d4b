/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/sasl.h"

#include <string.h>

/* ---- text ---- */

/* Octets of the character that begins with this one, and the least value that needs so many. */
static const struct lead {
	uint8_t mask;
	uint8_t value;
	uint32_t least;
} leads[] = {
	{ 0x80, 0x00, 0 },
	{ 0xe0, 0xc0, 0x80 },
	{ 0xf0, 0xe0, 0x800 },
	{ 0xf8, 0xf0, 0x10000 },
};
#define LEAD_COUNT (sizeof(leads) / sizeof(leads[0]))

static bool is_allowed(uint32_t character, uint32_t least)
{
	const bool is_control = character < 0x20 || (character >= 0x7f && character < 0xa0);
	const bool is_surrogate = character >= 0xd800 && character < 0xe000;
	return character >= least && character <= 0x10ffff && !is_control && !is_surrogate;
}

/* The size of the character that text begins with; 0: none, or a control character. */
static size_t character_size(const uint8_t *text, size_t text_size)
{
	size_t size = 0;
	while (size < LEAD_COUNT && (text[0] & leads[size].mask) != leads[size].value)
		size++;
	if (size == LEAD_COUNT || size + 1 > text_size)
		return 0;
	uint32_t character = text[0] & (uint8_t)~leads[size].mask;
	for (size_t i = 1; i <= size; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (text[i] & 0x3fU);
	}
	return is_allowed(character, leads[size].least) ? size + 1 : 0;
}

bool sasl_is_text(const char *text, size_t text_size)
{
	if (text_size == 0 || text_size > SASL_TEXT_MAX)
		return false;
	for (size_t at = 0; at < text_size;) {
		const size_t size = character_size((const uint8_t *)text + at, text_size - at);
		if (size == 0)
			return false;
		at += size;
	}
	return true;
}

/* ---- PLAIN ---- */

struct part {
	const char *at;
	size_t size;
};

/* What stands before the next NUL. */
static bool take_part(struct part *rest, struct part *ret_part)
{
	const char *nul = rest->size > 0 ? memchr(rest->at, '\0', rest->size) : NULL;
	if (nul == NULL)
		return false;
	const size_t size = (size_t)(nul - rest->at);
	*ret_part = (struct part){ rest->at, size };
	*rest = (struct part){ nul + 1, rest->size - size - 1 };
	return true;
}

static void copy_part(struct part part, char *ret_text)
{
	memset(ret_text, 0, SASL_TEXT_MAX + 1);
	memcpy(ret_text, part.at, part.size);
}

enum sasl_status sasl_parse_plain(const uint8_t *message, size_t size, struct sasl_plain *ret_plain)
{
	struct part rest = { (const char *)message, size };
	struct part acting_for = { NULL, 0 };
	struct part user = { NULL, 0 };
	if (!take_part(&rest, &acting_for) || !take_part(&rest, &user))
		return SASL_MALFORMED;
	/* A NUL that is left makes the password none. */
	if (!sasl_is_text(user.at, user.size) || !sasl_is_text(rest.at, rest.size))
		return SASL_MALFORMED;
	if (acting_for.size > 0 && !sasl_is_text(acting_for.at, acting_for.size))
		return SASL_MALFORMED;
	if (acting_for.size > 0 &&
	    (acting_for.size != user.size || memcmp(acting_for.at, user.at, user.size) != 0))
		return SASL_FOREIGN;
	copy_part(user, ret_plain->user);
	copy_part(rest, ret_plain->password);
	return SASL_FINE;
}
