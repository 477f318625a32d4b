/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/edge/smtp_edge.h"

#include <sysexits.h>

#include "integration/mail/base/edge/edge.h"
#include "integration/mail/smtp-front/edge/pack.h"
#include "integration/mail/smtp-front/edge/smtp_parts.h"
#include "integration/mail/smtp-front/edge/talk.h"
#include "integration/mail/smtp-front/facts/account.h"
#include "lib/common/log.h"

static const char context[] = "smtp-front";

/* A recipient that there was not may soon be there; one that there was is seldom taken away. */
#define FORWARD_REFUSED_SHARE 12
/* A capsule, as bytes, and what the kernel adds: it gives them room in powers of two. */
#define MESSAGE_LEAST 1280

_Static_assert(EDGE_REPLY_MAX >= DIALOGUE_REPLY_MAX, "a reply does not fit");

/* ---- the configuration ---- */

static struct edge_rules rules_of(const struct setup *setup)
{
	struct edge_rules rules = setup->edge;
	const unsigned step_ms = setup->sink.timeout_ms;
	const unsigned end_ms = setup->sink.end_timeout_ms;
	rules.has_zones = setup->has_zones;
	rules.judge = &setup->judge;
	rules.client = setup->handle.client;
	rules.worker_silence_ms = setup->edge.command_timeout_ms + setup->limits.data_timeout_ms +
				  (step_ms > end_ms ? step_ms : end_ms);
	rules.certificate_count = setup->tls.certificate_count;
	rules.chains = setup->tls.chains;
	return rules;
}

/* What is said to other clients, and what to those that may say XCLIENT. */
static void make_dialogue_rules(struct smtp_edge *edge)
{
	const struct setup *setup = edge->setup;
	struct dialogue_limits *rules = edge->rules;
	rules[0] = setup->dialogue;
	rules[0].offers_tls = setup->tls.certificate_count > 0;
	rules[0].requires_tls = setup->tls.is_required;
	rules[0].hostname = setup->front.hostname;
	rules[1] = rules[0];
	rules[1].offers_xclient = true;
}

/* ---- the process ---- */

static int open_files(struct edge *base)
{
	struct smtp_edge *edge = smtp_edge(base);
	int ret = 0;
	edge->setup = base->child->setup;
	edge->hop = base->own;
	make_dialogue_rules(edge);
	if (edge->setup->trust.users[0] != '\0')
		ret = users_open(edge->setup->trust.users, &edge->users);
	if (ret == 0)
		return EX_OK;
	log_error(context, "recipients not opened, path=%s (%s)", edge->setup->trust.users,
		  users_strerror(ret));
	return EX_NOINPUT;
}

static int open_handles(struct edge *base)
{
	struct smtp_edge *edge = smtp_edge(base);
	const struct setup *setup = edge->setup;
	const struct callforward_setup forward = {
		.hop = &setup->trust.forward,
		.is_lmtp = setup_asks_sink(setup) && setup->sink.kind == SETUP_SINK_LMTP,
		.proxy_version = setup_asks_sink(setup) ? setup_proxy_version(&setup->sink) : 0,
		.hostname = setup->front.hostname,
		.timeout_ms = setup->trust.forward_timeout_ms,
		.valid_ms = setup->trust.forward_cache_ms,
		.refused_ms = setup->trust.forward_cache_ms / FORWARD_REFUSED_SHARE,
	};
	if (setup->trust.forward.text[0] == '\0')
		return 0;
	return callforward_new(&base->loop, &forward, &edge->forward);
}

static void close_handles(struct edge *edge)
{
	callforward_close(smtp_edge(edge)->forward);
}

static void close_files(struct edge *edge)
{
	users_close(smtp_edge(edge)->users);
}

/* ---- sessions ---- */

static void open_session(struct session *session)
{
	dialogue_init(&smtp_session(session)->dialogue);
}

/* An unmodified smtpd is to have it before the banner; one that is to be refused is not for it. */
static bool is_passed_on(const struct session *session)
{
	return smtp_edge_of(session)->setup->sink.kind == SETUP_SINK_POSTFIX &&
	       session->facts.action != JUDGE_REJECT && session->facts.action != JUDGE_DEFER;
}

static void log_end(const struct session *session, const char *end)
{
	const struct smtp_session *smtp = smtp_session(session);
	uint64_t now_ms = session_now(session);
	struct tls_facts tls = { .protocol = "" };
	if (session->tls != NULL && smtp->dialogue.is_tls)
		tls_facts(session->tls, &tls);
	account_log(&(struct account){
		.session.facts = session->facts,
		.session.by = "edge",
		.session.end = end,
		.session.zones =
			session->has_judgement ? session_far(session)->kept.judgement.zones : "",
		.session.tls = tls.protocol,
		.session.command_count = smtp->dialogue.command_count,
		.session.queue_us =
			session->trusted_ms > 0 ? (now_ms - session->trusted_ms) * 1000 : 0,
		.helo = smtp->dialogue.helo,
		.sender = smtp->sender,
		.recipient = smtp->recipient,
	});
}

/* ---- the counters ---- */

static void count(struct edge *edge, enum edge_event event)
{
	static const uint8_t own[] = {
		[EDGE_EARLY_TALKER - EDGE_EVENT_OWN] = TALLY_EARLY_TALKERS,
		[EDGE_PAUSE_SPARED - EDGE_EVENT_OWN] = TALLY_SPARED,
		[EDGE_JUDGED_REFUSED - EDGE_EVENT_OWN] = TALLY_REFUSED,
		[EDGE_ENDED_BOUNCED - EDGE_EVENT_OWN] = TALLY_BOUNCED,
		[EDGE_ENDED_UNFINISHED - EDGE_EVENT_OWN] = TALLY_UNFINISHED,
	};
	const unsigned number = event < EDGE_EVENT_OWN ? event : own[event - EDGE_EVENT_OWN];
	bank_add(edge->child->counters, number, 1);
}

static void set(struct edge *edge, enum edge_gauge gauge, unsigned value)
{
	bank_set(edge->child->counters, TALLY_COUNT + gauge, value);
}

static const struct edge_protocol protocol = {
	.context = context,
	.edge_size = sizeof(struct smtp_edge),
	.near_size = sizeof(struct smtp_session),
	.far_size = sizeof(union smtp_far),
	.message_least = MESSAGE_LEAST,
	.open_files = open_files,
	.open_handles = open_handles,
	.close_handles = close_handles,
	.close_files = close_files,
	.open = open_session,
	.greet = talk_greet,
	.take = talk_take,
	.ask = talk_ask,
	.cancel = talk_cancel,
	.on_tls = talk_on_tls,
	.on_verdict = talk_on_verdict,
	.is_passed_on = is_passed_on,
	.refuse = talk_refuse,
	.hand_over = pack_hand_over,
	.log_end = log_end,
	.count = count,
	.set = set,
};

int smtp_edge_run(const struct nanny_child *child, struct hopstate *hop)
{
	const struct edge_rules rules = rules_of(child->setup);
	return edge_run(child, &protocol, &rules, hop);
}
