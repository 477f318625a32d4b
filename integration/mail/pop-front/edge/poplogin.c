/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/edge/poplogin.h"

#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>

#include "integration/mail/base/edge/edge_log.h"
#include "integration/mail/base/edge/exchange.h"
#include "integration/mail/base/edge/session.h"
#include "integration/mail/base/facts/text.h"
#include "integration/mail/pop-front/edge/poptalk.h"
#include "integration/mail/pop-front/facts/popaccount.h"
#include "lib/common/log.h"

#define USER_ROOM 200 /* of a line of the log */

static struct session *session_of(struct asking_wait *wait)
{
	char *start = (char *)wait - offsetof(struct pop_session, wait);
	return (struct session *)(void *)start;
}

/* ---- refusals ---- */

static void log_refusal(struct session *session, const char *reason)
{
	char id[SESSION_ID_SIZE];
	char user[USER_ROOM + 3];
	char client[DNSBLV6_IP_TEXT_SIZE];
	const struct pop3_dialogue *dialogue = &pop_session(session)->dialogue;
	session->facts.refused_count++;
	if (!edge_log_takes_refusal(session))
		return;
	struct text text = text_make(user, sizeof(user));
	text_put_foreign(&text, dialogue->user, strlen(dialogue->user), USER_ROOM, TEXT_LOG);
	(void)dnsblv6_ip_format(&session->facts.client_ip, client);
	log_info(session_facts_format_id(session->facts.id, id),
		 "login refused, client=%s user=%s way=%s reason=%s", client, user,
		 popaccount_way(dialogue->way), reason);
}

static enum pop3_action refuse(struct session *session, enum pop3_refusal refusal,
			       enum popcount_number number, const char *reason)
{
	struct pop_edge *edge = pop_edge(session);
	pop_count(session, number);
	log_refusal(session, reason);
	exchange_delay(session);
	return pop3_dialogue_refuse(&pop_session(session)->dialogue, &edge->limits, refusal,
				    &edge->event);
}

/* The words are the operator's, as for SMTP. */
static enum pop3_action refuse_listed(struct session *session)
{
	char text[JUDGE_TEXT_MAX + 16];
	struct pop_edge *edge = pop_edge(session);
	const struct judgement *judgement = &session_far(session)->kept.judgement;
	snprintf(text, sizeof(text), "%s %s",
		 session->facts.action == JUDGE_REJECT ? "[SYS/PERM]" : "[SYS/TEMP]",
		 judgement->text);
	pop_count(session, POP_LISTED_REFUSED);
	log_refusal(session, "listed");
	exchange_delay(session);
	return pop3_dialogue_answer(&pop_session(session)->dialogue, &edge->limits, false, text,
				    &edge->event);
}

static void count_failure(struct session *session)
{
	bool is_counted = false;
	struct pop_edge *edge = pop_edge(session);
	const struct dnsblv6_ip *ip = &session->facts.client_ip;
	if (limits_enter(edge->failures, ip, session_now(session), &is_counted) == LIMITS_FINE &&
	    is_counted)
		limits_leave(edge->failures, ip);
}

static bool is_listed(const struct session *session)
{
	return pop_setup(session->edge)->login.refuses_listed &&
	       (session->facts.action == JUDGE_REJECT || session->facts.action == JUDGE_DEFER);
}

static bool has_failed_often(const struct session *session)
{
	const struct pop_edge *edge = pop_edge(session);
	const struct popsetup *setup = pop_setup(session->edge);
	if (networks_contain(&setup->edge.unlimited,
			     dnsblv6_addr_from_bytes(session->facts.client_ip.bytes)))
		return false;
	return !limits_may_enter(edge->failures, &session->facts.client_ip, session_now(session));
}

/* ---- a login ---- */

static void trust(struct session *session)
{
	session->trusted_ms = session_now(session);
	session->next = NEXT_QUEUE;
}

static void keep(struct session *session, enum check_kind kind)
{
	struct pop_kept *kept = pop_kept(session);
	const struct pop3_login *login = &pop_edge(session)->event.login;
	pop_session(session)->kind = (uint8_t)kind;
	if (kind == CHECK_PASSWORD) {
		memcpy(kept->password, login->password, sizeof(kept->password));
	} else if (kind == CHECK_SCRAM_FIRST) {
		kept->first_size = (uint16_t)login->message_size;
		memcpy(kept->first, login->message, login->message_size);
	} else {
		kept->final_size = (uint16_t)login->message_size;
		memcpy(kept->final, login->message, login->message_size);
	}
	session->next = NEXT_ASK;
}

/* RFC 5034, part 4: the client says nothing to the server's signature. */
static enum pop3_action end_scram(struct session *session)
{
	struct pop_edge *edge = pop_edge(session);
	if (edge->event.login.message_size == 0) {
		trust(session);
		return POP3_AUTHENTICATE;
	}
	pop_session(session)->is_signed = false;
	return pop3_dialogue_refuse(&pop_session(session)->dialogue, &edge->limits, POP3_MALFORMED,
				    &edge->event);
}

static enum pop3_action begin(struct session *session)
{
	struct pop_session *pop = pop_session(session);
	const struct pop3_login *login = &pop_edge(session)->event.login;
	const bool is_scram = login->way == POP3_WAY_SCRAM;
	if (is_scram && !login->is_first && pop->is_signed)
		return end_scram(session);
	pop->is_signed = false;
	if (is_listed(session))
		return refuse_listed(session);
	if (has_failed_often(session))
		return refuse(session, POP3_TRY_LATER, POP_LOGINS_LIMITED, "limited");
	if (!is_scram)
		keep(session, CHECK_PASSWORD);
	else
		keep(session, login->is_first ? CHECK_SCRAM_FIRST : CHECK_SCRAM_FINAL);
	return POP3_AUTHENTICATE;
}

enum pop3_action poplogin_begin(struct session *session)
{
	struct pop3_login *login = &pop_edge(session)->event.login;
	const enum pop3_action action = begin(session);
	OPENSSL_cleanse(login->password, sizeof(login->password));
	return action;
}

/* ---- the question ---- */

void poplogin_ask(struct session *session)
{
	const struct popsetup *setup = pop_setup(session->edge);
	exchange_wait(session, setup->login.timeout_ms);
	asking_add(pop_edge(session)->asking, &pop_session(session)->wait,
		   &session->facts.client_ip);
}

/* Behind the answer, too: then there is nothing left to do. */
void poplogin_cancel(struct session *session)
{
	struct pop_kept *kept = pop_kept(session);
	OPENSSL_cleanse(kept->password, sizeof(kept->password));
	asking_cancel(pop_edge(session)->asking, &pop_session(session)->wait);
}

void poplogin_fill(struct asking_wait *wait, struct check_request *ret_request)
{
	struct session *session = session_of(wait);
	const struct pop_session *pop = pop_session(session);
	struct pop_kept *kept = pop_kept(session);
	ret_request->kind = pop->kind;
	if (pop->kind == CHECK_PASSWORD) {
		memcpy(ret_request->user, pop->dialogue.user, sizeof(ret_request->user));
		memcpy(ret_request->password, kept->password, sizeof(ret_request->password));
		return;
	}
	ret_request->first_size = kept->first_size;
	memcpy(ret_request->first, kept->first, kept->first_size);
	if (pop->kind == CHECK_SCRAM_FIRST)
		return;
	memcpy(ret_request->nonce, kept->nonce, sizeof(ret_request->nonce));
	ret_request->final_size = kept->final_size;
	memcpy(ret_request->final, kept->final, kept->final_size);
}

/* ---- the answer ---- */

static enum pop3_action take_challenge(struct session *session, const struct check_reply *reply)
{
	struct pop_edge *edge = pop_edge(session);
	memcpy(pop_kept(session)->nonce, reply->nonce, sizeof(reply->nonce));
	return pop3_dialogue_challenge(&pop_session(session)->dialogue, reply->text,
				       reply->text_size, &edge->event);
}

static enum pop3_action take_yes(struct session *session, const struct check_reply *reply)
{
	struct pop_edge *edge = pop_edge(session);
	struct pop_session *pop = pop_session(session);
	memcpy(pop_kept(session)->mailbox, reply->mailbox, sizeof(reply->mailbox));
	pop_kept(session)->ticket = reply->ticket;
	if (pop->kind == CHECK_PASSWORD) {
		trust(session);
		return POP3_AUTHENTICATE;
	}
	pop->is_signed = true;
	(void)pop3_dialogue_name(&pop->dialogue, reply->mailbox);
	return pop3_dialogue_challenge(&pop->dialogue, reply->text, reply->text_size, &edge->event);
}

/* Its messages say which user the log has to name; a checker does not tell. */
static void name_user(struct session *session)
{
	struct scram scram;
	const struct pop_kept *kept = pop_kept(session);
	scram_init(&scram);
	if (scram_first(&scram, kept->first, kept->first_size) == SASL_FINE)
		(void)pop3_dialogue_name(&pop_session(session)->dialogue, scram.user);
}

static enum pop3_action take_reply(struct session *session, const struct check_reply *reply)
{
	switch (reply->answer) {
	case CHECK_YES:
		return take_yes(session, reply);
	case CHECK_CHALLENGE:
		return take_challenge(session, reply);
	case CHECK_NO:
		count_failure(session);
		if (pop_session(session)->kind != CHECK_PASSWORD)
			name_user(session);
		return refuse(session, POP3_BAD_LOGIN, POP_LOGINS_WRONG, "wrong");
	case CHECK_MALFORMED:
		return refuse(session, POP3_MALFORMED, POP_LOGINS_WRONG, "malformed");
	default:
		return refuse(session, POP3_TRY_LATER, POP_LOGINS_FAILED, "not looked up");
	}
}

void poplogin_answer(struct asking_wait *wait, const struct check_reply *reply)
{
	struct session *session = session_of(wait);
	exchange_take_up(session);
	poptalk_act(session, take_reply(session, reply));
	exchange_go_on(session);
	session_take_event_time(session);
}
