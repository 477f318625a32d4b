/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/facts/popaccount.h"

#include "integration/mail/base/facts/object.h"
#include "lib/common/log.h"
#include "lib/pop3/pop3_dialogue.h"

/* Together with all numbers at their longest these fit into POPACCOUNT_TEXT_SIZE. */
#define ZONES_ROOM 96
#define USER_ROOM  140

const char *popaccount_way(unsigned way)
{
	switch (way) {
	case POP3_WAY_USER:
		return "user";
	case POP3_WAY_APOP:
		return "apop";
	case POP3_WAY_PLAIN:
		return "plain";
	case POP3_WAY_SCRAM:
		return "scram";
	default:
		return "";
	}
}

size_t popaccount_format(const struct popaccount *account, char *ret_text)
{
	const struct session_facts *facts = &account->facts;
	struct text text = text_make(ret_text, POPACCOUNT_TEXT_SIZE);
	object_put_client(&text, facts);
	object_put_word(&text, "by", account->by);
	object_put_word(&text, "end", account->end);
	object_put_verdict(&text, facts);
	object_put_text(&text, "zones", account->zones, ZONES_ROOM);
	object_put_word(&text, "tls", account->tls);
	object_put_word(&text, "way", account->way);
	object_put_number(&text, "mails", account->message_count);
	object_put_number(&text, "retrieved", account->retrieved_count);
	object_put_number(&text, "tops", account->top_count);
	object_put_number(&text, "deleted", account->deleted_count);
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
	object_put_text(&text, "user", account->user, USER_ROOM);
	text_put(&text, "}");
	return text.size;
}

void popaccount_log(const struct popaccount *account)
{
	char id[SESSION_ID_SIZE];
	char text[POPACCOUNT_TEXT_SIZE];
	popaccount_format(account, text);
	log_info(session_facts_format_id(account->facts.id, id), "session %s", text);
}
