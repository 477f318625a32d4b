/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/milter/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/common/log.h"

/* ---- what sessions share ---- */

int session_shared_init(struct session_shared *ret_sessions, struct judge *judge,
			bool is_quarantine)
{
	memset(ret_sessions, 0, sizeof(*ret_sessions));
	ret_sessions->judge = judge;
	ret_sessions->is_quarantine = is_quarantine;
	return -pthread_rwlock_init(&ret_sessions->allowing, NULL);
}

bool session_shared_want_headers(const struct session_shared *sessions)
{
	return sessions->judge->action == JUDGE_PREPEND || sessions->is_quarantine;
}

int session_shared_reload(struct session_shared *sessions, struct networks_error *reterr_error)
{
	struct networks allowed;
	int ret = judge_read(sessions->judge, &allowed, reterr_error);
	if (ret != 0)
		return ret;
	pthread_rwlock_wrlock(&sessions->allowing);
	judge_exchange(sessions->judge, &allowed);
	pthread_rwlock_unlock(&sessions->allowing);
	networks_deinit(&allowed);
	return 0;
}

static bool is_exempt(struct session_shared *sessions, const struct dnsblv6_ip *ip)
{
	pthread_rwlock_rdlock(&sessions->allowing);
	bool is_exempt = judge_exempts(sessions->judge, ip);
	pthread_rwlock_unlock(&sessions->allowing);
	return is_exempt;
}

/* ---- one session ---- */

struct session *session_new(struct session_shared *sessions)
{
	struct session *session = calloc(1, sizeof(*session));
	if (session == NULL)
		return NULL;
	session->all = sessions;
	__atomic_fetch_add(&sessions->open, 1, __ATOMIC_RELAXED);
	return session;
}

void session_free(struct session *session)
{
	if (session == NULL)
		return;
	__atomic_fetch_sub(&session->all->open, 1, __ATOMIC_RELAXED);
	free(session);
}

static void count(struct session *session, enum counters_number number)
{
	counts_add(&session->all->counters[number], 1);
}

/* A line of this session, whose end says which client it is about. */
static void say(const struct session *session, const char *what)
{
	log_info(session->id, "%s, client=%s verdict=%s score=%d zones=%s", what, session->client,
		 dnsblv6_verdict_name((int)session->judgement.verdict), session->judgement.score,
		 session->judgement.zones);
}

/* Once for a mail, however many recipients it has. */
static void say_once(struct session *session, const char *what)
{
	if (!session->is_logged)
		say(session, what);
	session->is_logged = true;
}

static void begin_mail(struct session *session)
{
	session->is_authenticated = false;
	session->is_logged = false;
	session->found_count = 0;
}

/* One connection of the mail server may bring one client after another. */
static void begin(struct session *session)
{
	uint32_t id = __atomic_add_fetch(&session->all->last_id, 1, __ATOMIC_RELAXED);
	snprintf(session->id, sizeof(session->id), "%06x", id);
	snprintf(session->client, sizeof(session->client), "-");
	memset(&session->judgement, 0, sizeof(session->judgement));
	begin_mail(session);
}

static enum counters_number counter_of(const struct judgement *judgement)
{
	if (judgement->verdict == DNSBLV6_LISTED)
		return COUNTERS_LISTED;
	return judgement->verdict == DNSBLV6_CLEAR ? COUNTERS_CLEAR : COUNTERS_UNKNOWN;
}

/* Mails of a client that passes may bring a header of our name. */
static enum session_step leave(const struct session *session)
{
	return session_shared_want_headers(session->all) ? SESSION_GO_ON : SESSION_LEAVE;
}

enum session_step session_connect(struct session *session, const struct sockaddr *address)
{
	struct session_shared *all = session->all;
	struct dnsblv6_ip ip;
	begin(session);
	count(session, COUNTERS_CONNECTIONS);
	if (address == NULL || dnsblv6_ip_from_sockaddr(address, &ip) != 0) {
		count(session, COUNTERS_NO_ADDRESS);
		return leave(session);
	}
	dnsblv6_ip_format(&ip, session->client);
	if (is_exempt(all, &ip)) {
		count(session, COUNTERS_EXEMPT);
		log_debug(session->id, "exempt, client=%s", session->client);
		return SESSION_LEAVE;
	}
	judge_check(all->judge, &ip, &session->judgement);
	count(session, counter_of(&session->judgement));
	log_debug(session->id, "judged, client=%s verdict=%s score=%d", session->client,
		  dnsblv6_verdict_name((int)session->judgement.verdict), session->judgement.score);
	return session->judgement.action == JUDGE_PASS ? leave(session) : SESSION_GO_ON;
}

enum session_step session_mail(struct session *session, const char *login)
{
	begin_mail(session);
	if (session->judgement.action == JUDGE_PASS)
		return leave(session);
	if (login != NULL && login[0] != '\0') {
		session->is_authenticated = true;
		count(session, COUNTERS_AUTHENTICATED);
		say(session, "let through, authenticated");
		return leave(session);
	}
	if (session->judgement.action == JUDGE_WARN) {
		count(session, COUNTERS_WARNED);
		say(session, "let through, a warning");
		return leave(session);
	}
	return SESSION_GO_ON;
}

/* What is done with the mail, in the end. */
static enum judge_action action_of(const struct session *session)
{
	return session->is_authenticated ? JUDGE_PASS : session->judgement.action;
}

enum session_step session_rcpt(struct session *session)
{
	enum judge_action action = action_of(session);
	if (action == JUDGE_REJECT && !session->all->is_quarantine) {
		count(session, COUNTERS_REJECTED);
		say_once(session, "rejected");
		return SESSION_REJECT;
	}
	if (action == JUDGE_DEFER) {
		count(session, COUNTERS_DEFERRED);
		say_once(session, "deferred");
		return SESSION_DEFER;
	}
	return SESSION_GO_ON;
}

void session_header(struct session *session, const char *name)
{
	if (session_shared_want_headers(session->all) && strcasecmp(name, JUDGE_HEADER_NAME) == 0)
		session->found_count++;
}

void session_end_mail(struct session *session, struct session_changes *ret_changes)
{
	enum judge_action action = action_of(session);
	bool is_quarantined = action == JUDGE_REJECT && session->all->is_quarantine;
	memset(ret_changes, 0, sizeof(*ret_changes));
	ret_changes->delete_count = session->found_count;
	if (session->found_count > 0)
		count(session, COUNTERS_CLEANED);
	if (action == JUDGE_PREPEND || is_quarantined) {
		ret_changes->header = session->judgement.header;
		count(session, COUNTERS_MARKED);
	}
	if (is_quarantined) {
		ret_changes->quarantine = session->judgement.text;
		count(session, COUNTERS_QUARANTINED);
	}
	if (ret_changes->header != NULL)
		say(session, is_quarantined ? "quarantined" : "marked");
	/* A mail may follow without its MAIL being told, when that was left. */
	begin_mail(session);
}
