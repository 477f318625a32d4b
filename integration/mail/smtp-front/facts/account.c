/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/facts/account.h"

#include "integration/mail/base/facts/object.h"
#include "lib/common/log.h"

/*
 * Bytes of the object that a text may have, escapes included. Together with all numbers at
 * their longest they fit into ACCOUNT_TEXT_SIZE; a test has them all.
 */
#define ZONES_ROOM 96
#define HELO_ROOM  72
#define PATH_ROOM  72

size_t account_format(const struct account *account, char *ret_text)
{
	const struct session_facts *facts = &account->facts;
	struct text text = text_make(ret_text, ACCOUNT_TEXT_SIZE);
	object_put_client(&text, facts);
	object_put_word(&text, "by", account->by);
	object_put_word(&text, "end", account->end);
	object_put_verdict(&text, facts);
	object_put_text(&text, "zones", account->zones, ZONES_ROOM);
	object_put_word(&text, "tls", account->tls);
	object_put_number(&text, "mails", account->mail_count);
	object_put_number(&text, "recipients", account->recipient_count);
	object_put_number(&text, "refused", facts->refused_count);
	object_put_number(&text, "commands", account->command_count);
	object_put_number(&text, "waited_ms", facts->waited_ms);
	object_put_number(&text, "dns_ms", facts->dns_ms);
	object_put_number(&text, "dialogue_ms", facts->dialogue_ms);
	object_put_time(&text, "queue_ms", account->queue_us);
	object_put_number(&text, "worker_ms", account->worker_ms);
	object_put_number(&text, "in", facts->bytes_in);
	object_put_number(&text, "out", facts->bytes_out);
	object_put_number(&text, "edge_us", facts->edge_cpu_us);
	object_put_number(&text, "worker_us", account->worker_cpu_us);
	object_put_text(&text, "helo", account->helo, HELO_ROOM);
	object_put_text(&text, "from", account->sender, PATH_ROOM);
	object_put_text(&text, "to", account->recipient, PATH_ROOM);
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
