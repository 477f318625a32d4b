/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/facts/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORD_ROOM 16

static void put_name(struct text *text, const char *name)
{
	text_put(text, text->size == 0 ? "{\"" : ",\"");
	text_put(text, name);
	text_put(text, "\":");
}

void object_put_number(struct text *text, const char *name, uint64_t number)
{
	put_name(text, name);
	text_put_number(text, number);
}

static void put_signed(struct text *text, const char *name, int number)
{
	char digits[16];
	put_name(text, name);
	snprintf(digits, sizeof(digits), "%d", number);
	text_put(text, digits);
}

void object_put_time(struct text *text, const char *name, uint64_t time_us)
{
	char digits[28];
	put_name(text, name);
	snprintf(digits, sizeof(digits), "%" PRIu64 ".%03u", time_us / 1000,
		 (unsigned)(time_us % 1000));
	text_put(text, digits);
}

void object_put_text(struct text *text, const char *name, const char *value, size_t room)
{
	put_name(text, name);
	text_put_foreign(text, value, value != NULL ? strlen(value) : 0, room, TEXT_JSON);
}

void object_put_word(struct text *text, const char *name, const char *value)
{
	object_put_text(text, name, value, WORD_ROOM);
}

static void put_ip(struct text *text, const char *name, const struct dnsblv6_ip *ip)
{
	char address[DNSBLV6_IP_TEXT_SIZE];
	dnsblv6_ip_format(ip, address);
	object_put_text(text, name, address, sizeof(address));
}

void object_put_client(struct text *text, const struct session_facts *facts)
{
	put_ip(text, "client", &facts->client_ip);
	object_put_number(text, "port", facts->client_port);
	put_ip(text, "local", &facts->local_ip);
}

/* "none" or "exempt": no zone was asked. */
static const char *verdict_of(const struct session_facts *facts)
{
	if (facts->has_verdict)
		return dnsblv6_verdict_name((int)facts->verdict);
	return facts->is_exempt ? "exempt" : "none";
}

void object_put_verdict(struct text *text, const struct session_facts *facts)
{
	object_put_word(text, "verdict", verdict_of(facts));
	put_signed(text, "score", facts->score);
}
