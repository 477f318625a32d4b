/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/smtp/xclient.h"

#include <string.h>
#include <strings.h>

#include "lib/format/hex.h"
#include "lib/wire/word.h"

/* A value before its xtext is undone: each byte may be three. */
#define VALUE_MAX (3 * XCLIENT_TEXT_MAX)

static const char *const names[XCLIENT_COUNT] = {
	[XCLIENT_NAME] = "NAME",	 [XCLIENT_ADDR] = "ADDR",	  [XCLIENT_PORT] = "PORT",
	[XCLIENT_PROTO] = "PROTO",	 [XCLIENT_HELO] = "HELO",	  [XCLIENT_LOGIN] = "LOGIN",
	[XCLIENT_DESTADDR] = "DESTADDR", [XCLIENT_DESTPORT] = "DESTPORT",
};

/* ---- xtext ---- */

/* To at most XCLIENT_TEXT_MAX bytes and a NUL; at least one. */
static bool decode(const char *text, size_t text_size, char *ret_text)
{
	size_t size = 0;
	if (text_size > VALUE_MAX)
		return false;
	for (size_t i = 0; i < text_size; i++) {
		int value = (unsigned char)text[i];
		if (value == '+') {
			value = i + 2 < text_size ? hex_pair(text + i + 1) : -1;
			i += 2;
		}
		if (value <= 0 || size == XCLIENT_TEXT_MAX)
			return false;
		ret_text[size++] = (char)value;
	}
	ret_text[size] = '\0';
	return size > 0;
}

/* ---- values ---- */

static bool take_addr(const char *text, struct dnsblv6_addr *ret_addr)
{
	static const char tag[] = "IPV6:";
	const size_t tag_size = sizeof(tag) - 1;
	bool is_tagged = strncasecmp(text, tag, tag_size) == 0;
	if (is_tagged)
		text += tag_size;
	return (!is_tagged || strchr(text, ':') != NULL) &&
	       dnsblv6_addr_parse(text, strlen(text), ret_addr) == DNSBLV6_OK;
}

static bool take_value(struct xclient *xclient, enum xclient_attribute attribute, const char *text)
{
	switch (attribute) {
	case XCLIENT_ADDR:
		return take_addr(text, &xclient->client_addr);
	case XCLIENT_PORT:
		return word_parse_port(text, strlen(text), &xclient->client_port);
	case XCLIENT_DESTADDR:
		return take_addr(text, &xclient->local_addr);
	case XCLIENT_DESTPORT:
		return word_parse_port(text, strlen(text), &xclient->local_port);
	default:
		return true; /* nothing asks for it */
	}
}

/* ---- attributes ---- */

static unsigned find(const char *name, size_t name_size)
{
	unsigned attribute = 0;
	while (attribute < XCLIENT_COUNT && !word_is(name, name_size, names[attribute]))
		attribute++;
	return attribute;
}

static const char *take_attribute(struct xclient *xclient, const char *word, size_t word_size)
{
	char text[XCLIENT_TEXT_MAX + 1];
	const char *equals = memchr(word, '=', word_size);
	if (equals == NULL)
		return "Attribute without a value";
	unsigned attribute = find(word, (size_t)(equals - word));
	if (attribute == XCLIENT_COUNT)
		return "Attribute unknown";
	unsigned bit = 1U << attribute;
	const char *value = equals + 1;
	size_t value_size = word_size - (size_t)(value - word);
	if ((xclient->named & bit) != 0)
		return "Attribute given twice";
	xclient->named |= bit;
	if (word_is(value, value_size, "[UNAVAILABLE]") ||
	    word_is(value, value_size, "[TEMPUNAVAIL]"))
		return NULL;
	xclient->known |= bit;
	if (!decode(value, value_size, text) ||
	    !take_value(xclient, (enum xclient_attribute)attribute, text))
		return "Bad value of an attribute";
	return NULL;
}

const char *xclient_parse(const char *text, size_t text_size, struct xclient *ret_xclient)
{
	struct xclient xclient;
	const char *wrong = NULL;
	const char *end = text + text_size;
	memset(&xclient, 0, sizeof(xclient));
	while (text < end && wrong == NULL) {
		const char *blank = memchr(text, ' ', (size_t)(end - text));
		const char *word_end = blank != NULL ? blank : end;
		if (word_end > text)
			wrong = take_attribute(&xclient, text, (size_t)(word_end - text));
		text = blank != NULL ? blank + 1 : end;
	}
	if (wrong == NULL && xclient.named == 0)
		wrong = "Syntax: XCLIENT attribute=value";
	if (wrong == NULL)
		*ret_xclient = xclient;
	return wrong;
}
