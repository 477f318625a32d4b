/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/smtp/address.h"

#include <string.h>
#include <strings.h>

#include "lib/smtp/envelope.h"
#include "lib/format/address.h"
#include "lib/format/ascii.h"
#include "lib/wire/utf8.h"

#define LABEL_MAX  63 /* RFC 1035, 2.3.4 */
#define POSTMASTER "postmaster"

/* What is still to be read. */
struct cursor {
	const char *at;
	const char *end;
	bool is_utf8; /* something beyond ASCII was read */
};

static bool has_byte(const struct cursor *cursor, char byte)
{
	return cursor->at < cursor->end && *cursor->at == byte;
}

static bool take_byte(struct cursor *cursor, char byte)
{
	if (!has_byte(cursor, byte))
		return false;
	cursor->at++;
	return true;
}

/* ---- characters ---- */

/* With the dot, which may stand anywhere, see address.h. */
static bool is_local_byte(char c)
{
	return ascii_is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-./=?^_`{|}~", c) != NULL);
}

static bool is_label_byte(char c)
{
	return ascii_is_alnum(c) || c == '-' || c == '_';
}

/* One character that is beyond ASCII or one that is_member() takes. */
static bool take_character(struct cursor *cursor, bool (*is_member)(char c))
{
	size_t left = (size_t)(cursor->end - cursor->at);
	if (left > 0 && is_member(*cursor->at)) {
		cursor->at++;
		return true;
	}
	size_t size = utf8_size(cursor->at, left);
	cursor->at += size;
	cursor->is_utf8 = cursor->is_utf8 || size > 0;
	return size > 0;
}

/* ---- local parts ---- */

static bool is_qtext(char c)
{
	return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

static bool take_quoted(struct cursor *cursor)
{
	if (!take_byte(cursor, '"'))
		return false;
	while (!take_byte(cursor, '"')) {
		if (take_byte(cursor, '\\')) {
			bool is_printable = cursor->at < cursor->end && *cursor->at >= ' ' &&
					    *cursor->at <= '~';
			if (!is_printable)
				return false;
			cursor->at++;
		} else if (!take_character(cursor, is_qtext)) {
			return false;
		}
	}
	return true;
}

static bool take_unquoted(struct cursor *cursor)
{
	const char *begin = cursor->at;
	while (take_character(cursor, is_local_byte))
		;
	return cursor->at > begin;
}

/* ---- domains ---- */

static bool take_label(struct cursor *cursor)
{
	const char *begin = cursor->at;
	while (take_character(cursor, is_label_byte))
		;
	size_t size = (size_t)(cursor->at - begin);
	return size > 0 && size <= LABEL_MAX && *begin != '-' && cursor->at[-1] != '-';
}

static bool has_label(const struct cursor *cursor)
{
	return cursor->at < cursor->end &&
	       (is_label_byte(*cursor->at) || (unsigned char)*cursor->at > '~');
}

/* With the dot of the root, where there is one. */
static bool take_name(struct cursor *cursor)
{
	do {
		if (!take_label(cursor))
			return false;
	} while (take_byte(cursor, '.') && has_label(cursor));
	return true;
}

static bool take_literal(struct cursor *cursor)
{
	static const char tag[] = "IPv6:";
	const size_t tag_size = sizeof(tag) - 1;
	if (!take_byte(cursor, '['))
		return false;
	const char *close = memchr(cursor->at, ']', (size_t)(cursor->end - cursor->at));
	if (close == NULL)
		return false;
	const char *text = cursor->at;
	size_t size = (size_t)(close - text);
	bool is_tagged = size > tag_size && strncasecmp(text, tag, tag_size) == 0;
	if (is_tagged) {
		text += tag_size;
		size -= tag_size;
	}
	struct dnsblv6_addr ignored;
	bool has_colon = memchr(text, ':', size) != NULL;
	cursor->at = close + 1;
	return is_tagged == has_colon && dnsblv6_addr_parse(text, size, &ignored) == DNSBLV6_OK;
}

static bool take_domain(struct cursor *cursor)
{
	return has_byte(cursor, '[') ? take_literal(cursor) : take_name(cursor);
}

/* ---- mailboxes ---- */

static bool is_postmaster(const char *text, size_t text_size)
{
	return text_size == strlen(POSTMASTER) && strncasecmp(text, POSTMASTER, text_size) == 0;
}

static enum address_status take_mailbox(struct cursor *cursor, struct address *ret_address)
{
	const char *begin = cursor->at;
	bool is_local = has_byte(cursor, '"') ? take_quoted(cursor) : take_unquoted(cursor);
	size_t local_size = (size_t)(cursor->at - begin);
	ret_address->mailbox = begin;
	ret_address->is_postmaster = is_postmaster(begin, local_size) && !has_byte(cursor, '@');
	if (ret_address->is_postmaster) {
		ret_address->mailbox_size = local_size;
		return ADDRESS_OK;
	}
	if (!is_local || !take_byte(cursor, '@'))
		return ADDRESS_MALFORMED;
	const char *domain = cursor->at;
	if (!take_domain(cursor))
		return ADDRESS_MALFORMED;
	const char *end = cursor->at[-1] == '.' ? cursor->at - 1 : cursor->at;
	ret_address->mailbox_size = (size_t)(end - begin);
	ret_address->is_utf8 = cursor->is_utf8;
	bool fits = end - domain <= ENVELOPE_DOMAIN_MAX &&
		    ret_address->mailbox_size + strlen("<>") <= ENVELOPE_PATH_MAX;
	return fits ? ADDRESS_OK : ADDRESS_TOO_LONG;
}

/* "@one,@two:" */
static bool take_route(struct cursor *cursor)
{
	do {
		if (!take_byte(cursor, '@') || !take_domain(cursor))
			return false;
	} while (take_byte(cursor, ','));
	return take_byte(cursor, ':');
}

enum address_status address_parse_path(const char *text, size_t text_size,
				       struct address *ret_address, size_t *ret_used)
{
	struct cursor cursor = { .at = text, .end = text + text_size };
	struct address address = { .mailbox = text };
	enum address_status status = ADDRESS_OK;
	const bool is_bare = !take_byte(&cursor, '<');
	if (!is_bare && has_byte(&cursor, '@') && !take_route(&cursor))
		return ADDRESS_MALFORMED;
	/* What a route had beyond ASCII goes with it. */
	cursor.is_utf8 = false;
	bool is_null = !is_bare && cursor.at == text + 1 && has_byte(&cursor, '>');
	if (!is_null)
		status = take_mailbox(&cursor, &address);
	if (status == ADDRESS_MALFORMED || (!is_bare && !take_byte(&cursor, '>')))
		return ADDRESS_MALFORMED;
	if (status != ADDRESS_OK)
		return status;
	*ret_address = address;
	*ret_used = (size_t)(cursor.at - text);
	return ADDRESS_OK;
}

bool address_is_mailbox(const char *text, size_t text_size, bool allows_utf8)
{
	struct cursor cursor = { .at = text, .end = text + text_size };
	struct address address = { .mailbox = text };
	return take_mailbox(&cursor, &address) == ADDRESS_OK && address.mailbox_size == text_size &&
	       (allows_utf8 || !address.is_utf8);
}
