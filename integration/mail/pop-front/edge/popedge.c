/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/edge/popedge.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "integration/mail/base/edge/edge.h"
#include "integration/mail/base/edge/handout.h"
#include "integration/mail/pop-front/edge/poplogin.h"
#include "integration/mail/pop-front/edge/poptalk.h"
#include "integration/mail/pop-front/facts/popaccount.h"
#include "integration/mail/pop-front/facts/poplimits.h"

/* Networks whose wrong logins are remembered, as a multiple of sessions. */
#define FAILURES_OF_SESSION 4
/* What the kernel takes for the shortest capsule, with its own book-keeping. */
#define MESSAGE_LEAST 1280
/* Beyond the time of a question: for one that a dead checker had. */
#define LOST_MORE_MS 1000

/* ---- the process ---- */

static void set_asked(void *context, unsigned count)
{
	const struct edge *edge = context;
	bank_set(edge->child->counters, POP_ASKED, count);
}

static int open_failures(struct pop_edge *pop)
{
	const struct popsetup *setup = pop_setup(&pop->edge);
	struct limits_rules rules = setup->edge.network;
	uint64_t seed = 0;
	rules.connections_max = rules.held_max = 0;
	rules.rate_max = setup->login.failure_rate;
	if (getentropy(&seed, sizeof(seed)) != 0)
		return -errno;
	return limits_new((size_t)pop->edge.session_max * FAILURES_OF_SESSION, seed, &rules,
			  &pop->failures);
}

static int open_handles(struct edge *edge)
{
	struct pop_edge *pop = (struct pop_edge *)edge;
	const struct popsetup *setup = pop_setup(edge);
	int ret = open_failures(pop);
	if (ret != 0)
		return ret;
	poplimits_make(setup, &pop->limits);
	const struct asking_rules rules = {
		.fd = edge->child->check_fds[0],
		.checker_count = setup->login.checkers,
		.limits = pop->failures,
		.timeout_ms = setup->login.timeout_ms + LOST_MORE_MS,
		.fill = poplogin_fill,
		.answer = poplogin_answer,
		.set = set_asked,
		.context = edge,
	};
	return asking_open(&edge->loop, &rules, &pop->asking);
}

static void close_handles(struct edge *edge)
{
	asking_close(((struct pop_edge *)edge)->asking);
}

static void close_files(struct edge *edge)
{
	limits_free(((struct pop_edge *)edge)->failures);
}

/* ---- sessions ---- */

static void open_session(struct session *session)
{
	pop3_dialogue_init(&pop_session(session)->dialogue);
}

static const char *protocol_of(const struct session *session, struct tls_facts *facts)
{
	facts->protocol[0] = '\0';
	if (session->tls != NULL)
		tls_facts(session->tls, facts);
	return facts->protocol;
}

static int hand_over(struct session *session, const struct handover_fds *fds)
{
	uint8_t bytes[HANDOVER_SIZE_MAX];
	struct tls_facts tls;
	size_t size = 0;
	const struct pop_kept *kept = pop_kept(session);
	struct popcapsule *capsule = &pop_edge(session)->capsule;
	memset(capsule, 0, sizeof(*capsule));
	capsule->facts = handout_facts(session);
	capsule->queued_at_us = handout_queued_at_us(session);
	capsule->dialogue = pop_session(session)->dialogue;
	memcpy(capsule->mailbox, kept->mailbox, sizeof(capsule->mailbox));
	capsule->ticket = kept->ticket;
	if (session->has_judgement)
		memcpy(capsule->zones, kept->kept.judgement.zones, sizeof(capsule->zones));
	memcpy(capsule->tls, protocol_of(session, &tls), sizeof(capsule->tls));
	capsule->unread_size = session->in_size;
	memcpy(capsule->unread, kept->kept.in, session->in_size);
	const int ret = popcapsule_encode(capsule, bytes, &size);
	return ret == 0 ? handover_send(session->edge->child->queue_fd, bytes, size, fds) : ret;
}

static void log_end(const struct session *session, const char *end)
{
	struct tls_facts tls;
	const struct pop_session *pop = (const struct pop_session *)session;
	const struct popaccount account = {
		.session.facts = session->facts,
		.session.by = "edge",
		.session.end = end,
		.session.zones =
			session->has_judgement ? session_far(session)->kept.judgement.zones : "",
		.session.tls = pop->dialogue.is_tls ? protocol_of(session, &tls) : "",
		.session.command_count = pop->dialogue.command_count,
		.way = popaccount_way(pop->dialogue.way),
		.user = pop->dialogue.user,
	};
	popaccount_log(&account);
}

/* ---- counters ---- */

/* The others are counted with other events, or do not happen. */
static void count(struct edge *edge, enum edge_event event)
{
	if (event == EDGE_ENDED_BOUNCED)
		bank_add(edge->child->counters, POP_REFUSED, 1);
	else if (event == EDGE_ENDED_UNFINISHED)
		bank_add(edge->child->counters, POP_UNFINISHED, 1);
	else if (event < EDGE_EVENT_OWN)
		bank_add(edge->child->counters, event, 1);
}

static void set(struct edge *edge, enum edge_gauge gauge, unsigned value)
{
	bank_set(edge->child->counters, POP_COUNTERS + gauge, value);
}

/* ---- all of it ---- */

static struct edge_rules rules_of(const struct popsetup *setup)
{
	const struct popsetup_pop *pop = &setup->pop;
	struct edge_rules rules = setup->edge;
	rules.ignores_early = true;
	rules.has_zones = setup->has_zones;
	rules.judge = &setup->judge;
	rules.client = setup->handle.client;
	rules.worker_silence_ms = poplimits_silence_ms(setup);
	rules.certificate_count = setup->tls.certificate_count;
	rules.chains = setup->tls.chains;
	rules.tls_places = ((UINT32_C(1) << pop->tls_count) - 1) << pop->clear_count;
	return rules;
}

static const struct edge_protocol protocol = {
	.context = "pop-front",
	.edge_size = sizeof(struct pop_edge),
	.near_size = sizeof(struct pop_session),
	.far_size = sizeof(union pop_far),
	.message_least = MESSAGE_LEAST,
	.open_handles = open_handles,
	.close_handles = close_handles,
	.close_files = close_files,
	.open = open_session,
	.greet = poptalk_greet,
	.take = poptalk_take,
	.ask = poplogin_ask,
	.cancel = poplogin_cancel,
	.on_tls = poptalk_on_tls,
	.refuse = poptalk_refuse,
	.hand_over = hand_over,
	.log_end = log_end,
	.count = count,
	.set = set,
};

int popedge_run(const struct nanny_child *child)
{
	const struct edge_rules rules = rules_of(child->setup);
	return edge_run(child, &protocol, &rules, NULL);
}
