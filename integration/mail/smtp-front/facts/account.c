/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/facts/account.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "integration/mail/base/facts/text.h"
#include "lib/common/log.h"

/*
 * Bytes of the object that a text may have, escapes included. Together with all numbers at
 * their longest they fit into ACCOUNT_TEXT_SIZE; a test has them all.
 */
#define ZONES_ROOM 96
#define HELO_ROOM  72
#define PATH_ROOM  72
#define WORD_ROOM  16

static void put_name(struct text *text, const char *name)
{
	text_put(text, text->size == 0 ? "{\"" : ",\"");
	text_put(text, name);
	text_put(text, "\":");
}

static void put_number(struct text *text, const char *name, uint64_t number)
{
	put_name(text, name);
	text_put_number(text, number);
}

/* Microseconds, as milliseconds with three decimals. */
static void put_time(struct text *text, const char *name, uint64_t time_us)
{
	char digits[28];
	put_name(text, name);
	snprintf(digits, sizeof(digits), "%" PRIu64 ".%03u", time_us / 1000,
		 (unsigned)(time_us % 1000));
	text_put(text, digits);
}

/* No more than room bytes between the quotes: what does not fit is left out. */
static void put_text(struct text *text, const char *name, const char *value, size_t room)
{
	put_name(text, name);
	text_put_foreign(text, value, value != NULL ? strlen(value) : 0, room, TEXT_JSON);
}

static void put_ip(struct text *text, const char *name, const struct dnsblv6_ip *ip)
{
	char address[DNSBLV6_IP_TEXT_SIZE];
	dnsblv6_ip_format(ip, address);
	put_text(text, name, address, sizeof(address));
}

static void put_score(struct text *text, int score)
{
	char digits[16];
	put_name(text, "score");
	snprintf(digits, sizeof(digits), "%d", score);
	text_put(text, digits);
}

/* "none" or "exempt": no zone was asked. */
static const char *verdict_of(const struct session_facts *facts)
{
	if (facts->has_verdict)
		return dnsblv6_verdict_name((int)facts->verdict);
	return facts->is_exempt ? "exempt" : "none";
}

size_t account_format(const struct account *account, char *ret_text)
{
	const struct session_facts *facts = &account->facts;
	struct text text = text_make(ret_text, ACCOUNT_TEXT_SIZE);
	put_ip(&text, "client", &facts->client_ip);
	put_number(&text, "port", facts->client_port);
	put_ip(&text, "local", &facts->local_ip);
	put_text(&text, "by", account->by, WORD_ROOM);
	put_text(&text, "end", account->end, WORD_ROOM);
	put_text(&text, "verdict", verdict_of(facts), WORD_ROOM);
	put_score(&text, facts->score);
	put_text(&text, "zones", account->zones, ZONES_ROOM);
	put_text(&text, "tls", account->tls, WORD_ROOM);
	put_number(&text, "mails", account->mail_count);
	put_number(&text, "recipients", account->recipient_count);
	put_number(&text, "refused", facts->refused_count);
	put_number(&text, "commands", account->command_count);
	put_number(&text, "waited_ms", facts->waited_ms);
	put_number(&text, "dns_ms", facts->dns_ms);
	put_number(&text, "dialogue_ms", facts->dialogue_ms);
	put_time(&text, "queue_ms", account->queue_us);
	put_number(&text, "worker_ms", account->worker_ms);
	put_number(&text, "in", facts->bytes_in);
	put_number(&text, "out", facts->bytes_out);
	put_number(&text, "edge_us", facts->edge_cpu_us);
	put_number(&text, "worker_us", account->worker_cpu_us);
	put_text(&text, "helo", account->helo, HELO_ROOM);
	put_text(&text, "from", account->sender, PATH_ROOM);
	put_text(&text, "to", account->recipient, PATH_ROOM);
	text_put(&text, "}");
	return text.size;
}

void account_log(const struct account *account)
{
	char id[SESSION_ID_SIZE];
	char text[ACCOUNT_TEXT_SIZE];
	account_format(account, text);
	log_info(session_facts_format_id(account->facts.id, id), "session %s", text);
}
