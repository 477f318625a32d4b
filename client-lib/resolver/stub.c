/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/resolver/stub.h"

#include <errno.h>
#include <string.h>

#include "client-lib/resolver/stub_parts.h"
#include "lib/format/fnv.h"

#define ROUNDS_AT_ONCE 16 /* of events; more of them wait for the next stub_process() */
#define BACKEND_MS     50 /* until one that could not be asked is tried again */

enum { TIMER_ASKER, TIMER_FLIGHT }; /* kinds */

/* ---- free and used ---- */

/* NULL for want of memory: its timer must have room too. */
static struct asker *take_asker(struct stub *stub, unsigned zone)
{
	struct asker *asker = pool_take(&stub->askers);

	if (asker == NULL)
		return NULL;
	if (timers_reserve(&stub->timers, stub->askers.room + stub->all.config->max_sockets) != 0) {
		pool_give(&stub->askers, asker);
		return NULL;
	}
	asker->zone = zone;
	stub->places_taken[zone]++;
	return asker;
}

static void give_asker(struct stub *stub, struct asker *asker)
{
	stub->places_taken[asker->zone]--;
	pool_give(&stub->askers, asker);
}

/* ---- questions ---- */

static struct bucket *bucket_of(struct stub *stub, const struct dnsblv6_labels *name, uint16_t type)
{
	const uint64_t hash = fnv_add(stub->seed ^ type, name->wire, name->size);

	return &stub->buckets[(hash ^ hash >> 32) & (stub->bucket_count - 1)];
}

static struct question *find_question(struct stub *stub, const struct dnsblv6_labels *name,
				      uint16_t type)
{
	struct question *question;

	LIST_FOREACH(question, bucket_of(stub, name, type), bucket)
	{
		if (question->type == type && question->name.size == name->size &&
		    memcmp(question->name.wire, name->wire, name->size) == 0)
			break;
	}
	return question;
}

static void append_waiting(struct stub *stub, struct question *question)
{
	TAILQ_INSERT_TAIL(&stub->queues[question->zone], question, queue);
	shares_wait(&stub->shares, question->zone);
}

static void remove_waiting(struct stub *stub, struct question *question)
{
	TAILQ_REMOVE(&stub->queues[question->zone], question, queue);
	shares_leave(&stub->shares, question->zone);
}

static uint64_t backend_id(const struct stub *stub, const struct slot *slot)
{
	return (uint64_t)slot->generation << 32 | (uint64_t)(slot - stub->slots);
}

static void ask_backend(struct stub *stub, struct slot *slot, int64_t now_ms)
{
	const struct question *question = slot->question;

	slot->generation++;
	int ret = backend_ask(&stub->backend, &question->name, question->type,
			      backend_id(stub, slot));
	slot->is_asked = ret == 0;
	slot->flight.status = ret;
	if (ret == 0 && slot->flight.sent_ms < 0)
		slot->flight.sent_ms = now_ms;
	timers_set(&stub->timers, &slot->flight.turn,
		   now_ms + (ret == 0 ? flight_round_ms(&stub->all, &slot->flight) : BACKEND_MS));
}

static void extend(int64_t *number, int64_t least)
{
	if (*number < least)
		*number = least;
}

/* The time for an answer begins with the first flight, and each has time for a round. */
static void begin_time(struct stub *stub, struct question *question, int64_t now_ms)
{
	const bool is_first = question->sent_ms < 0;
	struct asker *asker;

	LIST_FOREACH(asker, &question->askers, alike)
	{
		int64_t when_ms = asker->deadline.when_ms;

		if (asker->life_ms > 0 && is_first)
			when_ms = now_ms + asker->life_ms;
		else if (asker->life_ms > 0)
			extend(&when_ms, now_ms + stub->all.config->attempt_timeout_ms);
		timers_set(&stub->timers, &asker->deadline, when_ms);
		if (asker == LIST_FIRST(&question->askers))
			question->deadline_ms = when_ms;
		extend(&question->deadline_ms, when_ms);
	}
}

static void start_flight(struct stub *stub, struct question *question, int64_t now_ms)
{
	struct slot *slot = LIST_FIRST(&stub->free);

	if (slot != NULL)
		LIST_REMOVE(slot, free);
	else
		slot = &stub->slots[stub->slots_used++];
	begin_time(stub, question, now_ms);
	slot->question = question;
	slot->flight.turn.kind = TIMER_FLIGHT;
	slot->flight.tag = (uint64_t)(slot - stub->slots);
	question->flight = &slot->flight;
	slot->is_asked = slot->is_noted = false;
	shares_begin(&stub->shares, question->zone);
	if (backend_is_used(&stub->backend)) {
		flight_prepare(&slot->flight, question->round);
		ask_backend(stub, slot, now_ms);
		return;
	}
	flight_start(&stub->all, &slot->flight, &question->name, question->type, question->round,
		     now_ms, question->deadline_ms);
}

/* When it first was; -1: not yet. */
static int64_t sent_ms(const struct question *question)
{
	if (question->sent_ms >= 0 || question->flight == NULL)
		return question->sent_ms;
	return question->flight->sent_ms;
}

/* Its flight is over. */
static void land(struct stub *stub, struct question *question)
{
	struct slot *slot = (struct slot *)question->flight;

	question->sent_ms = sent_ms(question);
	if (slot->is_asked)
		backend_cancel(&stub->backend, backend_id(stub, slot));
	slot->is_asked = false;
	flight_stop(&stub->all, &slot->flight);
	slot->question = NULL;
	LIST_INSERT_HEAD(&stub->free, slot, free);
	question->flight = NULL;
	shares_end(&stub->shares, question->zone);
}

/* It is not found any more, and asks no server; its askers go on to wait. */
static void end_question(struct stub *stub, struct question *question)
{
	LIST_REMOVE(question, bucket);
	question->is_over = true;
	if (question->flight != NULL)
		land(stub, question);
	else
		remove_waiting(stub, question);
}

/* When an asker of a question that was sent, or is being sent, gives up. */
static int64_t end_ms(const struct stub_what *what, int64_t now_ms)
{
	return what->life_ms > 0 ? now_ms + what->life_ms : what->deadline_ms;
}

/* NULL for want of memory. */
static struct question *add_question(struct stub *stub, const struct stub_what *what,
				     int64_t now_ms)
{
	struct question *question = pool_take(&stub->questions);

	if (question == NULL)
		return NULL;
	LIST_INIT(&question->askers);
	question->flight = NULL;
	question->is_over = false;
	question->type = what->type;
	question->zone = what->zone;
	question->round = 0;
	question->sent_ms = -1;
	question->deadline_ms = end_ms(what, now_ms);
	question->name = *what->name;
	LIST_INSERT_HEAD(bucket_of(stub, what->name, what->type), question, bucket);
	return question;
}

/* ---- askers ---- */

static void remove_asker(struct stub *stub, struct asker *asker)
{
	LIST_REMOVE(asker, alike);
	timers_clear(&stub->timers, &asker->deadline);
	give_asker(stub, asker);
}

/* Once for each flight at most, if it was sent. */
static void note_silence(struct stub *stub, const struct question *question)
{
	struct slot *slot = (struct slot *)question->flight;

	if (slot == NULL || slot->is_noted || slot->flight.sent_ms < 0)
		return;
	slot->is_noted = true;
	shares_note(&stub->shares, question->zone, false);
}

/* Callbacks may ask and cancel: each asker is gone from our lists before it is called. */
static void tell_all(struct stub *stub, struct question *question)
{
	stub->told_sent_ms = sent_ms(question);
	shares_note(&stub->shares, question->zone, true);
	end_question(stub, question);
	while (!LIST_EMPTY(&question->askers)) {
		struct asker *asker = LIST_FIRST(&question->askers);
		stub_fn callback = asker->callback;
		void *context = asker->context;

		remove_asker(stub, asker);
		callback(context, 0, &stub->all.reply, stub->all.reply_is_trusted);
	}
	pool_give(&stub->questions, question);
}

/* Its question waits for one more turn, of a zone that answers most: a packet was lost. */
static bool may_wait(struct stub *stub, struct asker *asker, int64_t now_ms)
{
	const struct question *question = asker->question;

	if (asker->life_ms == 0 || question->flight != NULL || question->sent_ms < 0 ||
	    shares_is_mute(&stub->shares, question->zone) || asker->last_ms <= now_ms)
		return false;
	timers_set(&stub->timers, &asker->deadline, asker->last_ms);
	return true;
}

static void expire_asker(struct stub *stub, struct asker *asker)
{
	struct question *question = asker->question;
	stub_fn callback = asker->callback;
	void *context = asker->context;
	/* It waits: for its turn, or for one more. */
	int status = question->sent_ms < 0 ? -EAGAIN : -ETIMEDOUT;

	if (question->flight != NULL)
		status = flight_outcome(&stub->all, question->flight);
	if (stub_is_unsent(status) && question->sent_ms >= 0)
		status = -ETIMEDOUT;
	stub->all.stats.unsent += stub_is_unsent(status);
	stub->told_sent_ms = sent_ms(question);
	remove_asker(stub, asker);
	if (LIST_EMPTY(&question->askers) && !question->is_over) {
		note_silence(stub, question);
		end_question(stub, question);
		pool_give(&stub->questions, question);
	}
	callback(context, status, status == 0 ? &stub->all.reply : NULL,
		 status == 0 && stub->all.reply_is_trusted);
}

/* ---- the descriptor ---- */

/* An id is good as long as what it asks is: whatever else comes was cancelled. */
static void on_backend(void *library, uint64_t id, int status, const uint8_t *reply, size_t size,
		       int is_secure)
{
	struct stub *stub = library;
	struct backend_bytes came = { status, reply, size, is_secure != 0 };
	uint64_t number = id & UINT32_MAX;

	if (number >= stub->slots_used || !stub->slots[number].is_asked ||
	    backend_id(stub, &stub->slots[number]) != id) {
		stub->all.stats.dropped++;
		return;
	}
	struct slot *slot = &stub->slots[number];
	slot->is_asked = false;
	stub->all.stats.replies++;
	backend_read(&came, &slot->question->name, slot->question->type, &stub->all.reply);
	stub->all.reply_is_trusted = stub->all.reply.is_secure;
	tell_all(stub, slot->question);
}

/* Of a flight that has ended since? Then another one looks at its socket, and finds nothing. */
static void handle_event(struct stub *stub, struct slot *slot, int64_t now_ms)
{
	if (slot->question == NULL)
		flight_drop_kept(&stub->all, &slot->flight);
	else if (flight_on_event(&stub->all, &slot->flight, now_ms) == FLIGHT_ENDED)
		tell_all(stub, slot->question);
}

static void read_events(struct stub *stub, int64_t now_ms)
{
	uint64_t tags[WAITSET_TAKE_MAX];

	for (unsigned round = 0; round < ROUNDS_AT_ONCE; round++) {
		int count = waitset_take(stub->all.waitset, tags, WAITSET_TAKE_MAX);

		for (int i = 0; i < count; i++) {
			if (tags[i] == STUB_BACKEND_TAG)
				backend_process(&stub->backend, on_backend, stub);
			else
				handle_event(stub, &stub->slots[tags[i]], now_ms);
		}
		if (count < WAITSET_TAKE_MAX)
			return;
	}
}

/* The question waits for its next turn, behind the others of its zone. */
static void yield(struct stub *stub, struct question *question)
{
	question->round = question->flight->round;
	land(stub, question);
	append_waiting(stub, question);
}

/* A turn, or a rest, has ended. */
static void continue_flight(struct stub *stub, struct slot *slot, int64_t now_ms)
{
	struct question *question = slot->question;
	const bool is_round_over = flight_is_round_over(&stub->all, &slot->flight);

	if (is_round_over)
		note_silence(stub, question);
	if (is_round_over && shares_must_yield(&stub->shares, question->zone)) {
		flight_give_up(&stub->all, &slot->flight, now_ms);
		yield(stub, question);
	} else if (flight_on_time(&stub->all, &slot->flight, now_ms) == FLIGHT_ENDED) {
		tell_all(stub, question);
	}
}

/* The same of the program's own resolver: a round is only the time until it is looked at. */
static void continue_backend(struct stub *stub, struct slot *slot, int64_t now_ms)
{
	struct question *question = slot->question;

	if (!slot->is_asked) {
		ask_backend(stub, slot, now_ms);
		return;
	}
	note_silence(stub, question);
	slot->flight.round++;
	if (shares_must_yield(&stub->shares, question->zone)) {
		yield(stub, question);
		return;
	}
	timers_set(&stub->timers, &slot->flight.turn,
		   now_ms + flight_round_ms(&stub->all, &slot->flight));
}

/*
 * Its time has passed while the process did something else: what the servers behind the first one would have said
 * is not known, and no packet that was lost was sent again. Each of them has time for a turn from now on, once.
 */
static void wake(struct stub *stub, struct question *question, int64_t now_ms)
{
	const struct config *config = stub->all.config;
	const int64_t turn_ms = config->attempt_timeout_ms;
	const int64_t when_ms =
		now_ms + turn_ms * (config->server_count > 0 ? config->server_count : 1);
	struct asker *asker;

	LIST_FOREACH(asker, &question->askers, alike)
	{
		if (asker->life_ms == 0 || asker->has_overslept ||
		    asker->deadline.when_ms + turn_ms > now_ms)
			continue;
		asker->has_overslept = true;
		timers_set(&stub->timers, &asker->deadline, when_ms);
		extend(&question->deadline_ms, when_ms);
		question->flight->deadline_ms = question->deadline_ms;
		/* What comes from now on is no older than this. */
		question->sent_ms = question->sent_ms < 0 ? -1 : now_ms;
		if (question->flight->sent_ms >= 0)
			question->flight->sent_ms = now_ms;
	}
}

static void wake_all(struct stub *stub, int64_t now_ms)
{
	const struct timer *timer = timers_first(&stub->timers);

	if (timer == NULL || timer->when_ms + stub->all.config->attempt_timeout_ms > now_ms)
		return;
	for (uint32_t i = 0; i < stub->slots_used; i++)
		if (stub->slots[i].question != NULL)
			wake(stub, stub->slots[i].question, now_ms);
}

static void handle_timers(struct stub *stub, int64_t now_ms)
{
	/* A callback may ask what is due at once; that is for the next stub_process(). */
	for (uint32_t left = stub->timers.count; left > 0; left--) {
		struct timer *timer = timers_first(&stub->timers);

		if (timer == NULL || timer->when_ms > now_ms)
			return;
		timers_clear(&stub->timers, timer);
		if (timer->kind == TIMER_ASKER) {
			if (!may_wait(stub, (struct asker *)timer, now_ms))
				expire_asker(stub, (struct asker *)timer);
			continue;
		}
		struct slot *slot = (struct slot *)timer;

		if (backend_is_used(&stub->backend))
			continue_backend(stub, slot, now_ms);
		else
			continue_flight(stub, slot, now_ms);
	}
}

/* Answers that came in time count even if they are read only now: they go first. */
void stub_process(struct stub *stub, int64_t now_ms)
{
	/* Without a socket none could be ready. */
	if (stub->shares.flying > 0 || !LIST_EMPTY(&stub->all.keeping) ||
	    backend_is_used(&stub->backend))
		read_events(stub, now_ms);
	wake_all(stub, now_ms);
	handle_timers(stub, now_ms);
	for (unsigned zone = shares_next(&stub->shares); zone != SHARES_NONE;
	     zone = shares_next(&stub->shares)) {
		struct question *question = TAILQ_FIRST(&stub->queues[zone]);

		remove_waiting(stub, question);
		start_flight(stub, question, now_ms);
	}
}

int stub_fd(const struct stub *stub)
{
	return stub->all.waitset;
}

int64_t stub_next_ms(const struct stub *stub)
{
	const struct timer *timer = timers_first(&stub->timers);

	if (shares_next(&stub->shares) != SHARES_NONE)
		return 0;
	return timer != NULL ? timer->when_ms : INT64_MAX;
}

/* ---- asking ---- */

/* The question of what, which may be there already; NULL for want of memory. */
static struct question *join_question(struct stub *stub, const struct stub_what *what,
				      int64_t now_ms)
{
	struct question *question = find_question(stub, what->name, what->type);

	if (question != NULL) {
		stub->all.stats.merged++;
		extend(&question->deadline_ms, end_ms(what, now_ms));
		if (question->flight != NULL)
			question->flight->deadline_ms = question->deadline_ms;
		return question;
	}
	question = add_question(stub, what, now_ms);
	if (question == NULL)
		return NULL;
	/* Not past those of its zone that wait already. */
	if (TAILQ_EMPTY(&stub->queues[what->zone]) && shares_may_begin(&stub->shares, what->zone))
		start_flight(stub, question, now_ms);
	else
		append_waiting(stub, question);
	return question;
}

static int refuse(struct stub *stub, int status)
{
	stub->all.stats.refused++;
	return status;
}

int stub_ask(struct stub *stub, const struct stub_what *what, int64_t now_ms, stub_fn callback,
	     void *context, uint64_t *ret_id)
{
	if (stub->places_taken[what->zone] == stub->places_max)
		return -ENOBUFS;
	struct asker *asker = take_asker(stub, what->zone);

	if (asker == NULL)
		return refuse(stub, -ENOMEM);
	struct question *question = join_question(stub, what, now_ms);

	if (question == NULL) {
		give_asker(stub, asker);
		return refuse(stub, -ENOMEM);
	}
	stub->all.stats.questions++;
	asker->callback = callback;
	asker->context = context;
	asker->life_ms = what->life_ms;
	asker->last_ms = what->deadline_ms;
	asker->has_overslept = false;
	asker->deadline.kind = TIMER_ASKER;
	asker->question = question;
	LIST_INSERT_HEAD(&question->askers, asker, alike);
	timers_set(&stub->timers, &asker->deadline,
		   question->flight != NULL || question->sent_ms >= 0 ? end_ms(what, now_ms)
								      : what->deadline_ms);
	*ret_id = pool_id(asker);
	return 0;
}

void stub_cancel(struct stub *stub, uint64_t id)
{
	struct asker *asker = pool_find(&stub->askers, id);

	if (asker == NULL)
		return;
	struct question *question = asker->question;

	remove_asker(stub, asker);
	if (LIST_EMPTY(&question->askers) && !question->is_over) {
		end_question(stub, question);
		pool_give(&stub->questions, question);
	}
}

int64_t stub_sent_ms(const struct stub *stub, uint64_t id)
{
	const struct asker *asker = pool_find(&stub->askers, id);

	return asker != NULL ? sent_ms(asker->question) : INT64_MIN;
}

int64_t stub_told_sent_ms(const struct stub *stub)
{
	return stub->told_sent_ms;
}

bool stub_is_unsent(int status)
{
	return flight_is_lack(status);
}

void stub_renew_servers(struct stub *stub, int64_t now_ms)
{
	if (backend_is_used(&stub->backend))
		return;
	memset(stub->all.servers, 0, sizeof(stub->all.servers));
	for (uint32_t i = 0; i < stub->slots_used; i++) {
		struct slot *slot = &stub->slots[i];
		struct question *question = slot->question;

		flight_drop_kept(&stub->all, &slot->flight);
		if (question == NULL)
			continue;
		question->sent_ms = sent_ms(question);
		flight_stop(&stub->all, &slot->flight);
		flight_start(&stub->all, &slot->flight, &question->name, question->type, 0, now_ms,
			     question->deadline_ms);
	}
}

const struct config_server *stub_replier(const struct stub *stub)
{
	return backend_is_used(&stub->backend) ? NULL : stub->all.reply_server;
}

void stub_get_stats(const struct stub *stub, struct stub_stats *ret_stats)
{
	*ret_stats = stub->all.stats;
}
