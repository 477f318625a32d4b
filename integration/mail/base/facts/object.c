/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/facts/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/common/log.h"

/* Bytes that a text may have, escapes included. */
#define WORD_ROOM  16
#define ZONES_ROOM 96

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

/* As milliseconds with three decimals. */
static void put_queue(struct text *text, uint64_t time_us)
{
	char digits[28];
	put_name(text, "queue_ms");
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

/* "none" or "exempt": no zone was asked. */
static const char *verdict_of(const struct session_facts *facts)
{
	if (facts->has_verdict)
		return dnsblv6_verdict_name((int)facts->verdict);
	return facts->is_exempt ? "exempt" : "none";
}

struct text object_make(const struct object_session *session, char *ret_object)
{
	const struct session_facts *facts = &session->facts;
	struct text text = text_make(ret_object, OBJECT_SIZE);
	put_ip(&text, "client", &facts->client_ip);
	object_put_number(&text, "port", facts->client_port);
	put_ip(&text, "local", &facts->local_ip);
	object_put_word(&text, "by", session->by);
	object_put_word(&text, "end", session->end);
	object_put_word(&text, "verdict", verdict_of(facts));
	put_signed(&text, "score", facts->score);
	object_put_text(&text, "zones", session->zones, ZONES_ROOM);
	object_put_word(&text, "tls", session->tls);
	return text;
}

void object_put_work(struct text *text, const struct object_session *session)
{
	const struct session_facts *facts = &session->facts;
	object_put_number(text, "refused", facts->refused_count);
	object_put_number(text, "commands", session->command_count);
	object_put_number(text, "waited_ms", facts->waited_ms);
	object_put_number(text, "dns_ms", facts->dns_ms);
	object_put_number(text, "dialogue_ms", facts->dialogue_ms);
	put_queue(text, session->queue_us);
	object_put_number(text, "worker_ms", session->worker_ms);
	object_put_number(text, "in", facts->bytes_in);
	object_put_number(text, "out", facts->bytes_out);
	object_put_number(text, "edge_us", facts->edge_cpu_us);
	object_put_number(text, "worker_us", session->worker_cpu_us);
}

size_t object_finish(struct text *text)
{
	text_put(text, "}");
	return text->size;
}

void object_log(const struct object_session *session, const char *object)
{
	char id[SESSION_ID_SIZE];
	log_info(session_facts_format_id(session->facts.id, id), "session %s", object);
}
