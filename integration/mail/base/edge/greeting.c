/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/edge/greeting.h"

#include <errno.h>
#include <sys/socket.h>

#include "integration/mail/base/edge/channel.h"
#include "integration/mail/base/edge/exchange.h"
#include "integration/mail/base/edge/handout.h"
#include "integration/mail/base/edge/session.h"
#include "integration/mail/base/loop/proxypeek.h"
#include "lib/wire/proxy.h"

/* For a header that a balancer sends with its first segment. */
#define PROXY_TIMEOUT_MS 5000

static struct dnsblv6_addr address_of(const struct dnsblv6_ip *ip)
{
	return dnsblv6_addr_from_bytes(ip->bytes);
}

/* ---- the verdict, and what follows ---- */

static bool is_passed_on(const struct session *session)
{
	const struct edge_protocol *protocol = session->edge->protocol;
	return protocol->is_passed_on != NULL && protocol->is_passed_on(session);
}

/* When neither the pause nor a verdict is to be waited for any more. */
static void finish(struct session *session)
{
	if (session->is_pausing || session->is_judging)
		return;
	if (session->banner_ms > 0)
		exchange_on_verdict(session);
	else if (is_passed_on(session))
		handout_join(session);
	else
		exchange_begin(session);
}

static void count_verdict(struct session *session)
{
	static const enum edge_event events[] = {
		[DNSBLV6_CLEAR] = EDGE_JUDGED_CLEAR,
		[DNSBLV6_LISTED] = EDGE_JUDGED_LISTED,
		[DNSBLV6_UNKNOWN] = EDGE_JUDGED_UNKNOWN,
		[DNSBLV6_DEFER] = EDGE_JUDGED_UNKNOWN,
	};
	session_count(session, events[session->facts.verdict]);
	if (session->facts.action == JUDGE_REJECT || session->facts.action == JUDGE_DEFER)
		session_count(session, EDGE_JUDGED_REFUSED);
}

/* The far part is left alone for a client that passes: most do. */
static void take_judgement(struct session *session)
{
	const struct judgement *judgement = &session->edge->judgement;
	session->is_judging = false;
	session->facts.has_verdict = true;
	session->verdict_ms = session_now(session);
	session->facts.action = judgement->action;
	session->facts.verdict = judgement->verdict;
	session->facts.score = judgement->score;
	session->has_judgement = judgement->action != JUDGE_PASS;
	if (session->has_judgement)
		session_far(session)->kept.judgement = *judgement;
	if (session->facts.verdict == DNSBLV6_LISTED)
		passed_forget(session->edge->child->passed, &session->facts.client_ip);
	count_verdict(session);
}

static void judge_on_result(void *session_data, const struct dnsblv6_result *result)
{
	struct session *session = session_data;
	struct edge *edge = session->edge;
	judge_decide(edge->rules->judge, &session->facts.client_ip, result, 0, &edge->judgement);
	take_judgement(session);
	finish(session);
	session_take_event_time(session);
}

static void ask(struct session *session)
{
	struct edge *edge = session->edge;
	const struct judge *judge = edge->rules->judge;
	session->facts.has_verdict = false;
	session->has_judgement = false;
	session->facts.action = JUDGE_PASS;
	session->facts.verdict = DNSBLV6_CLEAR;
	session->facts.score = 0;
	session->facts.is_exempt = judge_exempts(judge, &session->facts.client_ip);
	if (session->facts.is_exempt)
		session_count(session, EDGE_EXEMPT);
	if (session->facts.is_exempt || !edge->rules->has_zones)
		return;
	if (judge_submit(judge, &session->facts.client_ip, judge_on_result, session,
			 &session->judge_id) == 0) {
		session->is_judging = true;
		return;
	}
	/* Too many questions are open; the cache still has answers. */
	judge_peek(judge, &session->facts.client_ip, &edge->judgement);
	take_judgement(session);
}

void greeting_cancel(struct session *session)
{
	if (session->is_judging)
		dnsblv6_cancel(session->edge->rules->client, session->judge_id);
	session->is_judging = false;
}

void greeting_judge_again(struct session *session)
{
	session_enter(session, SESSION_PAUSE);
	channel_watch(session, 0);
	wheel_clear(&session->timer);
	ask(session);
	finish(session);
}

/* ---- limits and the pause ---- */

/* False: it is beyond one, *ret_refusal. */
static bool count_connection(struct session *session, enum edge_refusal *ret_refusal)
{
	struct edge *edge = session->edge;
	if (networks_contain(&edge->rules->unlimited, address_of(&session->facts.client_ip)))
		return true;
	bool is_counted = false;
	switch (limits_enter(edge->limits, &session->facts.client_ip, session_now(session),
			     &is_counted)) {
	case LIMITS_CONNECTIONS:
		*ret_refusal = EDGE_CONNECTIONS;
		return false;
	case LIMITS_RATE:
		*ret_refusal = EDGE_RATE;
		return false;
	case LIMITS_FINE:
		break;
	}
	session->is_counted = is_counted;
	return true;
}

/* A blacklist is asked all the same. */
static unsigned pause_of(const struct session *session)
{
	const struct edge *edge = session->edge;
	const struct edge_rules *rules = edge->rules;
	if (session->facts.is_exempt || rules->greet_pause_ms == 0)
		return 0;
	if (rules->greet_cache_ms == 0 ||
	    !passed_has(edge->child->passed, &session->facts.client_ip, session_now(session)))
		return rules->greet_pause_ms;
	session_count(session, EDGE_PAUSE_SPARED);
	return 0;
}

/* Not each has a line in the log, and none may stay to hear more. */
static void turn_away(struct session *session, enum edge_refusal refusal)
{
	struct edge *edge = session->edge;
	char text[EDGE_REPLY_MAX];
	session_count(session, EDGE_ACCEPTED_LIMITED);
	if (!session->begins_with_tls)
		channel_say(session, text, edge->protocol->refuse(edge, session, refusal, text));
	session->is_flood = true;
	session->end = "limited";
	session->next = NEXT_CLOSE;
	session_settle(session);
}

/* The client's address is known. */
static void enter(struct session *session)
{
	enum edge_refusal refusal = EDGE_CONNECTIONS;
	bool is_taken = count_connection(session, &refusal);
	session_enter(session, SESSION_PAUSE);
	session->facts.is_xclient = networks_contain(&session->edge->rules->xclient,
						     address_of(&session->facts.client_ip));
	if (!is_taken) {
		turn_away(session, refusal);
		return;
	}
	ask(session);
	unsigned pause_ms = pause_of(session);
	session->is_pausing = pause_ms > 0;
	if (session->is_pausing)
		session_set_timer(session, pause_ms);
	else
		wheel_clear(&session->timer);
	/* Without a pause no client is early, however long DNS takes; with TLS it speaks first. */
	bool listens = session->is_pausing && !session->begins_with_tls;
	channel_watch(session, listens ? UV_READABLE : 0);
	finish(session);
}

/* ---- clients that speak first ---- */

static void take_early(struct session *session)
{
	session_count(session, EDGE_EARLY_TALKER);
	if (!session->edge->rules->ignores_early) {
		session_refuse(session, EDGE_EARLY_INPUT, "early");
		return;
	}
	session->is_early = true;
	channel_watch(session, 0);
}

static void look_for_early(struct session *session)
{
	char byte = 0;
	ssize_t got = recv(session->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	if (got > 0)
		take_early(session);
	else if (got == 0)
		session_end(session, "hangup");
	else if (errno != EAGAIN && errno != EINTR)
		session_end(session, "reset");
}

/* ---- PROXY ---- */

static void take_proxy(struct session *session, const struct proxy *proxy)
{
	if (!proxy->is_local) {
		dnsblv6_addr_to_bytes(proxy->client_addr, session->facts.client_ip.bytes);
		session->facts.client_port = proxy->client_port;
		dnsblv6_addr_to_bytes(proxy->local_addr, session->facts.local_ip.bytes);
		session->facts.local_port = proxy->local_port;
	}
	channel_store(session);
	enter(session);
	if (session->phase == SESSION_PAUSE && session->is_pausing && session->in_size > 0)
		take_early(session);
}

/* What is behind the header is the handshake's, where that is next: it reads the socket itself. */
static enum channel_status read_header(struct session *session)
{
	struct edge *edge = session->edge;
	const size_t room = EDGE_IN_SIZE - edge->in_end;
	if (!session->begins_with_tls)
		return channel_read(session);
	return channel_read_some(session, proxypeek(session->fd, edge->in, edge->in_end, room));
}

static void read_proxy(struct session *session)
{
	struct edge *edge = session->edge;
	struct proxy proxy;
	size_t used = 0;
	channel_load(session);
	enum channel_status read = read_header(session);
	enum proxy_status status = proxy_parse(edge->in, edge->in_end, &proxy, &used);
	if (read == CHANNEL_NOTHING)
		return;
	if (status == PROXY_DONE) {
		edge->in_start = used;
		take_proxy(session, &proxy);
	} else if (status == PROXY_BAD || read != CHANNEL_SOME) {
		session_count(session, EDGE_PROXY_BAD);
		session_end(session, "proxy");
	} else {
		channel_store(session);
	}
}

/* ---- events ---- */

void greeting_begin(struct session *session)
{
	const struct networks *proxy = &session->edge->rules->proxy;
	if (!networks_contain(proxy, address_of(&session->facts.client_ip))) {
		enter(session);
		return;
	}
	session_set_timer(session, PROXY_TIMEOUT_MS);
	channel_watch(session, UV_READABLE);
}

void greeting_on_event(struct session *session)
{
	if (session->phase == SESSION_PROXY)
		read_proxy(session);
	else
		look_for_early(session);
}

void greeting_on_timer(struct session *session)
{
	if (session->phase == SESSION_PROXY) {
		session_count(session, EDGE_PROXY_BAD);
		session_end(session, "proxy");
		return;
	}
	/* Timers come before sockets in a round: it may have spoken already. */
	if (session->watched != 0)
		look_for_early(session);
	if (session->phase != SESSION_PAUSE)
		return;
	session->is_pausing = false;
	session->has_paused = !session->is_early && !session->begins_with_tls;
	finish(session);
}
