/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/recipients/callforward.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "integration/mail/base/loop/stall.h"
#include "integration/mail/smtp-front/recipients/hop.h"
#include "integration/mail/smtp-front/recipients/hopstate.h"

#define HOPS_MAX   4
#define PROBES_MAX 256 /* addresses that are asked about at once, in each edge */
/*
 * Postfix waits a second before each reply from the tenth error of a client on, hangs up at the
 * twentieth, and counts RSETs beyond a hundred as errors.
 */
#define QUESTIONS_MAX 50
#define REFUSED_MAX   8
#define IDLE_MS	      5000 /* then the server gets its process back */
#define DOWN_MS	      1000 /* no attempt to connect for so long after one has failed */
#define PUT_OFF_MS    50   /* the same after one that could not be begun now */

struct probe {
	TAILQ_ENTRY(probe) link;   /* forward->probes or forward->spare */
	TAILQ_ENTRY(probe) queued; /* forward->queue, while it has no hop */
	LIST_HEAD(, callforward_wait) waits;
	struct hop *hop;
	uint64_t deadline_ms;
	bool is_retried;
	bool is_utf8;
	size_t size;
	char address[ENVELOPE_ADDRESS_MAX];
};

TAILQ_HEAD(probe_list, probe);

struct callforward {
	uv_loop_t *loop;
	uv_timer_t tick;
	bool is_closing;
	bool is_tick_open;
	bool is_woken; /* the tick comes at once */
	struct place place;
	char hostname[ENVELOPE_HELO_MAX + 1];
	unsigned timeout_ms;
	unsigned valid_ms;
	unsigned refused_ms;
	uint64_t down_until_ms; /* no new question is taken */
	struct stall stall;
	uint64_t open_after_ms; /* no new connection: the server takes no more than there are */
	struct answers *answers;
	struct probe_list probes; /* by deadline, as all have the same time */
	struct probe_list queue;
	struct probe_list spare;
	struct probe all_probes[PROBES_MAX];
	struct hop hops[HOPS_MAX];
};

static const struct callforward_answer unreachable = {
	451, "4.4.1 Recipients cannot be verified now, please try again later"
};
static const struct callforward_answer refusing = {
	451, "4.3.0 Recipients cannot be verified now, please try again later"
};
static const struct callforward_answer overloaded = {
	451, "4.3.2 Too many recipients to verify now, please try again later"
};
static const struct callforward_answer without_utf8 = {
	550, "5.6.7 Internationalized addresses are not supported here"
};

static void on_tick(uv_timer_t *timer);

/* ---- probes ---- */

/* Looks at what is queued, as soon as what goes on now is over. */
static void wake(struct callforward *forward)
{
	forward->is_woken = true;
	if (!forward->is_closing)
		uv_timer_start(&forward->tick, on_tick, 0, 0);
}

static void enqueue(struct callforward *forward, struct probe *probe)
{
	probe->hop = NULL;
	if (probe->is_retried)
		TAILQ_INSERT_HEAD(&forward->queue, probe, queued);
	else
		TAILQ_INSERT_TAIL(&forward->queue, probe, queued);
}

static void remember(struct callforward *forward, const struct probe *probe,
		     const struct callforward_answer *answer)
{
	uint64_t now = uv_now(forward->loop);
	uint64_t keep_ms = answer->code == 250 ? forward->valid_ms : forward->refused_ms;
	if (answer->code / 100 != 4)
		answers_put(forward->answers, probe->address, probe->size, probe->is_utf8, answer,
			    now, now + keep_ms);
}

/* Tells all that wait. A callback may ask again at once: the probe is not found any more. */
static void finish(struct callforward *forward, struct probe *probe,
		   const struct callforward_answer *answer)
{
	struct callforward_wait *wait;
	if (probe->hop != NULL)
		probe->hop->question = NULL;
	else
		TAILQ_REMOVE(&forward->queue, probe, queued);
	TAILQ_REMOVE(&forward->probes, probe, link);
	remember(forward, probe, answer);
	while ((wait = LIST_FIRST(&probe->waits)) != NULL) {
		LIST_REMOVE(wait, link);
		wait->is_waiting = false;
		wait->callback(wait->context, answer);
	}
	TAILQ_INSERT_TAIL(&forward->spare, probe, link);
}

/* Ends the probes that had no hop yet: for a while no new ones are taken. */
static void give_up(struct callforward *forward)
{
	struct probe *probe;
	forward->down_until_ms = uv_now(forward->loop) + DOWN_MS;
	/* New ones are not queued before that time. */
	while ((probe = TAILQ_FIRST(&forward->queue)) != NULL)
		finish(forward, probe, &unreachable);
}

/* ---- hops ---- */

static unsigned count_hops(const struct callforward *forward, enum hop_state state)
{
	unsigned count = 0;
	for (unsigned i = 0; i < HOPS_MAX; i++)
		count += forward->hops[i].state == state;
	return count;
}

/* Those that will be ready for a question: they connect, or wait for the reply to RSET. */
static unsigned count_coming(const struct callforward *forward)
{
	unsigned count = count_hops(forward, HOP_OPENING);
	for (unsigned i = 0; i < HOPS_MAX; i++) {
		const struct hop *hop = &forward->hops[i];
		count += hop->state == HOP_BUSY && hop->question == NULL;
	}
	return count;
}

static struct hop *find_hop(struct callforward *forward, enum hop_state state)
{
	for (unsigned i = 0; i < HOPS_MAX; i++) {
		if (forward->hops[i].state == state)
			return &forward->hops[i];
	}
	return NULL;
}

static void give(struct callforward *forward, struct hop *hop, struct probe *probe)
{
	/* Its deadline is that of the probe, which closes the hop with it. */
	hop->deadline_ms = UINT64_MAX;
	hop->question = probe;
	TAILQ_REMOVE(&forward->queue, probe, queued);
	probe->hop = hop;
	if (probe->is_utf8 && !hop->offers_utf8) {
		hop->deadline_ms = uv_now(forward->loop) + IDLE_MS;
		finish(forward, probe, &without_utf8);
		return;
	}
	hop_ask(hop, probe->address, probe->size, probe->is_utf8);
}

static int open_hop(struct callforward *forward, struct hop *hop)
{
	int ret = hop_open(hop, forward->loop, (const struct sockaddr *)&forward->place.address,
			   forward->place.address_size);
	hop->deadline_ms = uv_now(forward->loop) + forward->timeout_ms;
	return ret;
}

/* As many connections as there are questions for which none comes, as far as there is room. */
static void open_hops(struct callforward *forward)
{
	const struct probe *probe;
	unsigned wanted = 0;
	if (forward->open_after_ms > uv_now(forward->loop))
		return;
	TAILQ_FOREACH(probe, &forward->queue, queued)
	wanted++;
	for (unsigned coming = count_coming(forward); coming < wanted; coming++) {
		struct hop *hop = find_hop(forward, HOP_CLOSED);
		if (hop == NULL)
			return;
		const int ret = open_hop(forward, hop);
		if (ret == 0)
			continue;
		if (hopstate_is_no_news(ret))
			forward->open_after_ms = uv_now(forward->loop) + PUT_OFF_MS;
		else if (coming == 0 && count_hops(forward, HOP_BUSY) == 0)
			give_up(forward);
		return;
	}
}

static void assign(struct callforward *forward)
{
	struct hop *hop;
	struct probe *probe;
	while ((probe = TAILQ_FIRST(&forward->queue)) != NULL &&
	       (hop = find_hop(forward, HOP_IDLE)) != NULL)
		give(forward, hop, probe);
	open_hops(forward);
}

/* ---- events of a hop ---- */

static void on_ready(struct hop *hop)
{
	struct callforward *forward = hop->owner;
	hop->deadline_ms = uv_now(forward->loop) + IDLE_MS;
	if (hop->question_count >= QUESTIONS_MAX || hop->refused_count >= REFUSED_MAX)
		hop_quit(hop);
	wake(forward);
}

static void on_answer(struct hop *hop, const struct callforward_answer *answer)
{
	struct callforward *forward = hop->owner;
	/* RSET has its time too. */
	hop->deadline_ms = uv_now(forward->loop) + forward->timeout_ms;
	if (hop->question == NULL)
		return;
	finish(forward, hop->question, answer->code != 0 ? answer : &refusing);
}

/*
 * A connection that was used before may have been closed while it was idle: its question gets
 * another one, once. One that never was ready says that the next hop is down, if no other is
 * there that proves the contrary.
 */
static void on_failed(struct hop *hop, enum hop_state state)
{
	struct callforward *forward = hop->owner;
	struct probe *probe = hop->question;
	unsigned ready = count_hops(forward, HOP_IDLE) + count_hops(forward, HOP_BUSY);
	hop->question = NULL;
	if (probe != NULL && hop->question_count > 1 && !probe->is_retried) {
		probe->is_retried = true;
		enqueue(forward, probe);
	} else if (probe != NULL) {
		enqueue(forward, probe);
		finish(forward, probe, &unreachable);
	} else if (state == HOP_OPENING && ready > 0) {
		forward->open_after_ms = uv_now(forward->loop) + DOWN_MS;
	} else if (state == HOP_OPENING && count_hops(forward, HOP_OPENING) == 0) {
		give_up(forward);
	}
	wake(forward);
}

static void end_if_closed(struct callforward *forward)
{
	if (!forward->is_closing || forward->is_tick_open ||
	    count_hops(forward, HOP_CLOSED) < HOPS_MAX)
		return;
	answers_free(forward->answers);
	free(forward);
}

static void on_closed(struct hop *hop)
{
	struct callforward *forward = hop->owner;
	if (forward->is_closing)
		end_if_closed(forward);
	else
		wake(forward);
}

static const struct hop_events hop_events = { on_ready, on_answer, on_failed, on_closed };

/* ---- time ---- */

static void expire_probes(struct callforward *forward, uint64_t now)
{
	struct probe *probe;
	while ((probe = TAILQ_FIRST(&forward->probes)) != NULL && probe->deadline_ms <= now) {
		/* What it would say later is an answer to nothing. */
		if (probe->hop != NULL)
			hop_close(probe->hop);
		finish(forward, probe, &unreachable);
	}
}

static void expire_hops(struct callforward *forward, uint64_t now)
{
	for (unsigned i = 0; i < HOPS_MAX; i++) {
		struct hop *hop = &forward->hops[i];
		if (hop->deadline_ms > now)
			continue;
		if (hop->state == HOP_IDLE)
			hop_quit(hop);
		else
			hop_close(hop);
	}
}

/* When the next deadline is, or at once: a callback may have asked again. */
static void arm(struct callforward *forward)
{
	uint64_t now = uv_now(forward->loop);
	if (forward->is_woken)
		return;
	const struct probe *first = TAILQ_FIRST(&forward->probes);
	uint64_t next_ms = first != NULL ? first->deadline_ms : UINT64_MAX;
	if (!TAILQ_EMPTY(&forward->queue) && forward->open_after_ms > now &&
	    forward->open_after_ms < next_ms)
		next_ms = forward->open_after_ms;
	for (unsigned i = 0; i < HOPS_MAX; i++) {
		const struct hop *hop = &forward->hops[i];
		if (hop->state != HOP_CLOSED && hop->state != HOP_CLOSING &&
		    hop->deadline_ms < next_ms)
			next_ms = hop->deadline_ms;
	}
	if (next_ms != UINT64_MAX)
		uv_timer_start(&forward->tick, on_tick, next_ms > now ? next_ms - now : 0, 0);
}

static bool has_to_read_first(struct callforward *forward, uint64_t now)
{
	const struct probe *first = TAILQ_FIRST(&forward->probes);
	return stall_waives_timer(&forward->stall, first != NULL ? first->deadline_ms : now, now);
}

/* The one place that gives out questions and connects: never inside of callforward_ask(). */
static void on_tick(uv_timer_t *timer)
{
	struct callforward *forward = timer->data;
	uint64_t now = uv_now(forward->loop);
	forward->is_woken = false;
	if (has_to_read_first(forward, now)) {
		uv_timer_start(&forward->tick, on_tick, 1,
			       0); /* behind the sockets, in which 0 is not */
		return;
	}
	expire_probes(forward, now);
	expire_hops(forward, now);
	assign(forward);
	arm(forward);
}

/* ---- questions ---- */

static struct probe *find_probe(struct callforward *forward, const char *address, size_t size,
				bool is_utf8)
{
	struct probe *probe;
	TAILQ_FOREACH(probe, &forward->probes, link)
	{
		if (probe->size == size && probe->is_utf8 == is_utf8 &&
		    memcmp(probe->address, address, size) == 0)
			return probe;
	}
	return NULL;
}

static struct probe *begin_probe(struct callforward *forward, const char *address, size_t size,
				 bool is_utf8)
{
	struct probe *probe = TAILQ_FIRST(&forward->spare);
	if (probe == NULL || size > sizeof(probe->address))
		return NULL;
	TAILQ_REMOVE(&forward->spare, probe, link);
	LIST_INIT(&probe->waits);
	probe->deadline_ms = uv_now(forward->loop) + forward->timeout_ms;
	probe->is_retried = false;
	probe->is_utf8 = is_utf8;
	probe->size = size;
	memcpy(probe->address, address, size);
	TAILQ_INSERT_TAIL(&forward->probes, probe, link);
	enqueue(forward, probe);
	wake(forward);
	return probe;
}

int callforward_ask(struct callforward *forward, const char *address, size_t size, bool is_utf8,
		    struct callforward_wait *wait, struct callforward_answer *ret_answer)
{
	uint64_t now = uv_now(forward->loop);
	if (answers_find(forward->answers, address, size, is_utf8, now, ret_answer))
		return 0;
	struct probe *probe = find_probe(forward, address, size, is_utf8);
	if (probe == NULL && forward->down_until_ms > now) {
		*ret_answer = unreachable;
		return 0;
	}
	if (probe == NULL)
		probe = begin_probe(forward, address, size, is_utf8);
	if (probe == NULL) {
		*ret_answer = overloaded;
		return 0;
	}
	LIST_INSERT_HEAD(&probe->waits, wait, link);
	wait->is_waiting = true;
	return -EINPROGRESS;
}

void callforward_cancel(struct callforward_wait *wait)
{
	if (!wait->is_waiting)
		return;
	LIST_REMOVE(wait, link);
	wait->is_waiting = false;
}

/* ---- begin and end ---- */

static void init_lists(struct callforward *forward, const struct callforward_setup *setup)
{
	TAILQ_INIT(&forward->probes);
	TAILQ_INIT(&forward->queue);
	TAILQ_INIT(&forward->spare);
	for (unsigned i = 0; i < PROBES_MAX; i++)
		TAILQ_INSERT_TAIL(&forward->spare, &forward->all_probes[i], link);
	for (unsigned i = 0; i < HOPS_MAX; i++) {
		forward->hops[i].owner = forward;
		forward->hops[i].events = &hop_events;
		forward->hops[i].hostname = forward->hostname;
		forward->hops[i].is_lmtp = setup->is_lmtp;
		forward->hops[i].proxy_version = setup->proxy_version;
	}
}

int callforward_new(uv_loop_t *loop, const struct callforward_setup *setup,
		    struct callforward **ret_forward)
{
	uint64_t seed = 0;
	struct callforward *forward = calloc(1, sizeof(*forward));
	if (forward == NULL)
		return -ENOMEM;
	/* Without it places in the table can be guessed, which is no reason not to begin. */
	(void)getrandom(&seed, sizeof(seed), GRND_NONBLOCK);
	int ret = answers_new(seed, &forward->answers);
	if (ret != 0) {
		free(forward);
		return ret;
	}
	uv_timer_init(loop, &forward->tick); /* cannot fail */
	forward->tick.data = forward;
	forward->is_tick_open = true;
	forward->loop = loop;
	forward->place = *setup->hop;
	snprintf(forward->hostname, sizeof(forward->hostname), "%s", setup->hostname);
	forward->timeout_ms = setup->timeout_ms;
	forward->valid_ms = setup->valid_ms;
	forward->refused_ms = setup->refused_ms;
	init_lists(forward, setup);
	*ret_forward = forward;
	return 0;
}

static void on_tick_closed(uv_handle_t *handle)
{
	struct callforward *forward = handle->data;
	forward->is_tick_open = false;
	end_if_closed(forward);
}

void callforward_close(struct callforward *forward)
{
	struct probe *probe;
	if (forward == NULL)
		return;
	forward->is_closing = true;
	TAILQ_FOREACH(probe, &forward->probes, link)
	{
		while (!LIST_EMPTY(&probe->waits))
			callforward_cancel(LIST_FIRST(&probe->waits));
	}
	for (unsigned i = 0; i < HOPS_MAX; i++) {
		if (forward->hops[i].state == HOP_IDLE)
			hop_quit(&forward->hops[i]);
		else
			hop_close(&forward->hops[i]);
	}
	uv_close((uv_handle_t *)&forward->tick, on_tick_closed);
}
