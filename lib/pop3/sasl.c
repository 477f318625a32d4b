/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/sasl.h"

#include <string.h>

#include "lib/wire/utf8.h"

/* ---- text ---- */

/* The size of the character that text begins with; 0: none, or a control character. */
static size_t character_size(const char *text, size_t text_size)
{
	return text[0] >= ' ' && text[0] <= '~' ? 1 : utf8_size(text, text_size);
}

bool sasl_is_text(const char *text, size_t text_size)
{
	if (text_size == 0 || text_size > SASL_TEXT_MAX)
		return false;
	for (size_t at = 0; at < text_size;) {
		const size_t size = character_size(text + at, text_size - at);
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
