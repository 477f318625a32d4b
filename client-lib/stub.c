/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/stub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client-lib/backend.h"
#include "client-lib/entropy.h"
#include "client-lib/flight.h"
#include "client-lib/timers.h"

#define BUCKETS	       1024
#define EVENTS_AT_ONCE 64
#define ROUNDS_AT_ONCE 16 /* of events; more of them wait for the next stub_process() */
#define BACKEND_TAG    UINT64_MAX
#define BACKEND_MS     50 /* until one that could not be asked is tried again */

enum { TIMER_ASKER, TIMER_FLIGHT }; /* kinds */

/* One stub_ask(). */
struct asker {
	struct timer deadline;	       /* first: found by its address */
	struct question *question;     /* NULL: free */
	struct asker *previous, *next; /* of the same question; next free */
	uint32_t generation;	       /* upper half of the id, so that an old one finds nobody */
	stub_fn callback;
	void *context;
};

/* What one or more askers want to know: in flight, or waiting for a free flight. */
struct question {
	struct asker *askers;
	struct flight *flight;		  /* NULL: waiting */
	struct question *next_alike;	  /* in its bucket */
	struct question *previous, *next; /* waiting; next free */
	bool is_over;			  /* its askers are being told */
	uint16_t type;
	int64_t deadline_ms; /* of the last asker */
	struct dnsblv6_labels name;
};

struct slot {
	struct flight flight;	   /* first: its timer is found by its address */
	struct question *question; /* NULL: free */
	struct slot *next_free;
	uint32_t generation; /* upper half of its id for the backend, so that an old one finds
				nobody */
	bool is_asked;
};

/*
 * All memory is taken in stub_new(), so that nothing fails later; what was never
 * used was never touched, and takes up no pages.
 */
struct stub {
	struct flights all;
	struct timers timers;
	uint64_t seed; /* of the buckets */
	struct question *buckets[BUCKETS];

	struct asker *askers;
	struct question *questions;
	struct slot *slots;
	uint32_t askers_max;
	uint32_t askers_used, questions_used, slots_used; /* from the first on, once or more */
	struct asker *free_askers;
	struct question *free_questions;
	struct slot *free_slots;

	struct question *first_waiting, *last_waiting;

	struct backend backend; /* if there is one, no flight ever leaves the ground */
};

/* ---- free and used ---- */

static struct asker *take_asker(struct stub *stub)
{
	struct asker *asker = stub->free_askers;

	if (asker != NULL)
		stub->free_askers = asker->next;
	else if (stub->askers_used < stub->askers_max)
		asker = &stub->askers[stub->askers_used++];
	else
		return NULL;
	asker->generation++;
	return asker;
}

static void give_asker(struct stub *stub, struct asker *asker)
{
	asker->question = NULL;
	asker->next = stub->free_askers;
	stub->free_askers = asker;
}

/* There are as many as askers. */
static struct question *take_question(struct stub *stub)
{
	struct question *question = stub->free_questions;

	if (question != NULL)
		stub->free_questions = question->next;
	else
		question = &stub->questions[stub->questions_used++];
	return question;
}

static void give_question(struct stub *stub, struct question *question)
{
	question->next = stub->free_questions;
	stub->free_questions = question;
}

static bool has_slot(const struct stub *stub)
{
	return stub->free_slots != NULL || stub->slots_used < stub->all.config->max_sockets;
}

static struct slot *take_slot(struct stub *stub)
{
	struct slot *slot = stub->free_slots;

	if (slot != NULL)
		stub->free_slots = slot->next_free;
	else
		slot = &stub->slots[stub->slots_used++];
	return slot;
}

/* ---- questions ---- */

static struct question **bucket_of(struct stub *stub, const struct dnsblv6_labels *name,
				   uint16_t type)
{
	uint64_t hash = stub->seed ^ type;

	for (unsigned i = 0; i < name->size; i++)
		hash = (hash ^ name->wire[i]) * UINT64_C(0x100000001b3);
	return &stub->buckets[(hash ^ hash >> 32) % BUCKETS];
}

static struct question *find_question(struct stub *stub, const struct dnsblv6_labels *name,
				      uint16_t type)
{
	struct question *question = *bucket_of(stub, name, type);

	while (question != NULL && (question->type != type || question->name.size != name->size ||
				    memcmp(question->name.wire, name->wire, name->size) != 0))
		question = question->next_alike;
	return question;
}

static void append_waiting(struct stub *stub, struct question *question)
{
	question->next = NULL;
	question->previous = stub->last_waiting;
	if (stub->last_waiting != NULL)
		stub->last_waiting->next = question;
	else
		stub->first_waiting = question;
	stub->last_waiting = question;
}

static void remove_waiting(struct stub *stub, struct question *question)
{
	if (question->previous != NULL)
		question->previous->next = question->next;
	else
		stub->first_waiting = question->next;
	if (question->next != NULL)
		question->next->previous = question->previous;
	else
		stub->last_waiting = question->previous;
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
	if (ret != 0)
		timers_set(&stub->timers, &slot->flight.turn, now_ms + BACKEND_MS);
}

static void start_flight(struct stub *stub, struct question *question, int64_t now_ms)
{
	struct slot *slot = take_slot(stub);

	slot->question = question;
	slot->flight.turn.kind = TIMER_FLIGHT;
	slot->flight.tag = (uint64_t)(slot - stub->slots);
	question->flight = &slot->flight;
	slot->is_asked = false;
	if (backend_is_used(&stub->backend)) {
		flight_prepare(&slot->flight);
		ask_backend(stub, slot, now_ms);
		return;
	}
	flight_start(&stub->all, &slot->flight, &question->name, question->type, now_ms,
		     question->deadline_ms);
}

/* Nobody finds it any more, and it asks nobody; who waits for it still does. */
static void end_question(struct stub *stub, struct question *question)
{
	struct question **link = bucket_of(stub, &question->name, question->type);

	while (*link != question)
		link = &(*link)->next_alike;
	*link = question->next_alike;
	question->is_over = true;
	if (question->flight == NULL) {
		remove_waiting(stub, question);
		return;
	}
	struct slot *slot = (struct slot *)question->flight;

	if (slot->is_asked)
		backend_cancel(&stub->backend, backend_id(stub, slot));
	slot->is_asked = false;
	flight_stop(&stub->all, &slot->flight);
	slot->question = NULL;
	slot->next_free = stub->free_slots;
	stub->free_slots = slot;
	question->flight = NULL;
}

static struct question *add_question(struct stub *stub, const struct dnsblv6_labels *name,
				     uint16_t type, int64_t deadline_ms)
{
	struct question *question = take_question(stub);
	struct question **bucket = bucket_of(stub, name, type);

	question->askers = NULL;
	question->flight = NULL;
	question->is_over = false;
	question->type = type;
	question->deadline_ms = deadline_ms;
	question->name = *name;
	question->next_alike = *bucket;
	*bucket = question;
	return question;
}

/* ---- askers ---- */

static void add_asker(struct question *question, struct asker *asker)
{
	asker->question = question;
	asker->previous = NULL;
	asker->next = question->askers;
	if (question->askers != NULL)
		question->askers->previous = asker;
	question->askers = asker;
}

static void remove_asker(struct stub *stub, struct asker *asker)
{
	if (asker->previous != NULL)
		asker->previous->next = asker->next;
	else
		asker->question->askers = asker->next;
	if (asker->next != NULL)
		asker->next->previous = asker->previous;
	timers_clear(&stub->timers, &asker->deadline);
	give_asker(stub, asker);
}

/* Callbacks may ask and cancel: each asker is gone from our lists before it is called. */
static void tell_all(struct stub *stub, struct question *question)
{
	end_question(stub, question);
	while (question->askers != NULL) {
		struct asker *asker = question->askers;
		stub_fn callback = asker->callback;
		void *context = asker->context;

		remove_asker(stub, asker);
		callback(context, 0, &stub->all.reply, stub->all.reply_is_trusted);
	}
	give_question(stub, question);
}

static void expire_asker(struct stub *stub, struct asker *asker)
{
	struct question *question = asker->question;
	stub_fn callback = asker->callback;
	void *context = asker->context;
	int status = -ETIMEDOUT;

	if (question->flight != NULL)
		status = flight_outcome(&stub->all, question->flight);
	remove_asker(stub, asker);
	if (question->askers == NULL && !question->is_over) {
		end_question(stub, question);
		give_question(stub, question);
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

/* Of a flight that has ended since? Then another one has a look at its socket, and finds nothing.
 */
static void handle_event(struct stub *stub, struct slot *slot, int64_t now_ms)
{
	if (slot->question != NULL &&
	    flight_on_event(&stub->all, &slot->flight, now_ms) == FLIGHT_ENDED)
		tell_all(stub, slot->question);
}

static void read_events(struct stub *stub, int64_t now_ms)
{
	struct epoll_event events[EVENTS_AT_ONCE];

	for (unsigned round = 0; round < ROUNDS_AT_ONCE; round++) {
		int count = epoll_wait(stub->all.epoll_fd, events, EVENTS_AT_ONCE, 0);

		for (int i = 0; i < count; i++) {
			if (events[i].data.u64 == BACKEND_TAG)
				backend_process(&stub->backend, on_backend, stub);
			else
				handle_event(stub, &stub->slots[events[i].data.u64], now_ms);
		}
		if (count < EVENTS_AT_ONCE)
			return;
	}
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
			expire_asker(stub, (struct asker *)timer);
			continue;
		}
		struct slot *slot = (struct slot *)timer;

		if (backend_is_used(&stub->backend))
			ask_backend(stub, slot, now_ms);
		else if (flight_on_time(&stub->all, &slot->flight, now_ms) == FLIGHT_ENDED)
			tell_all(stub, slot->question);
	}
}

/* Answers that came in time count even if nobody looked until now: they go first. */
void stub_process(struct stub *stub, int64_t now_ms)
{
	read_events(stub, now_ms);
	handle_timers(stub, now_ms);
	while (stub->first_waiting != NULL && has_slot(stub)) {
		struct question *question = stub->first_waiting;

		remove_waiting(stub, question);
		start_flight(stub, question, now_ms);
	}
}

int stub_fd(const struct stub *stub)
{
	return stub->all.epoll_fd;
}

int64_t stub_next_ms(const struct stub *stub)
{
	const struct timer *timer = timers_first(&stub->timers);

	if (stub->first_waiting != NULL && has_slot(stub))
		return 0;
	return timer != NULL ? timer->when_ms : INT64_MAX;
}

/* ---- asking ---- */

int stub_ask(struct stub *stub, const struct dnsblv6_labels *name, uint16_t type, int64_t now_ms,
	     int64_t deadline_ms, stub_fn callback, void *context, uint64_t *ret_id)
{
	struct asker *asker = take_asker(stub);

	if (asker == NULL)
		return -ENOBUFS;
	struct question *question = find_question(stub, name, type);

	stub->all.stats.questions++;
	if (question != NULL) {
		stub->all.stats.merged++;
		if (question->deadline_ms < deadline_ms)
			question->deadline_ms = deadline_ms;
		if (question->flight != NULL)
			question->flight->deadline_ms = question->deadline_ms;
	} else {
		question = add_question(stub, name, type, deadline_ms);
		/* Not past those that wait already. */
		if (stub->first_waiting == NULL && has_slot(stub))
			start_flight(stub, question, now_ms);
		else
			append_waiting(stub, question);
	}
	asker->callback = callback;
	asker->context = context;
	asker->deadline.kind = TIMER_ASKER;
	add_asker(question, asker);
	timers_set(&stub->timers, &asker->deadline, deadline_ms);
	*ret_id = (uint64_t)asker->generation << 32 | (uint64_t)(asker - stub->askers + 1);
	return 0;
}

void stub_cancel(struct stub *stub, uint64_t id)
{
	uint64_t number = id & UINT32_MAX;

	if (number == 0 || number > stub->askers_used)
		return;
	struct asker *asker = &stub->askers[number - 1];
	struct question *question = asker->question;

	if (question == NULL || asker->generation != id >> 32)
		return;
	remove_asker(stub, asker);
	if (question->askers == NULL && !question->is_over) {
		end_question(stub, question);
		give_question(stub, question);
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

/* ---- beginning and end ---- */

static int open_descriptor(struct stub *stub)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = BACKEND_TAG };

	stub->all.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (stub->all.epoll_fd < 0)
		return -errno;
	int ret = backend_open(&stub->backend, stub->all.config);
	if (ret != 0 || !backend_is_used(&stub->backend))
		return ret;
	return epoll_ctl(stub->all.epoll_fd, EPOLL_CTL_ADD, backend_fd(&stub->backend), &event) == 0
		       ? 0
		       : -errno;
}

int stub_new(const struct config *config, struct stub **ret_stub)
{
	int ret = -ENOMEM;
	struct stub *stub = calloc(1, sizeof(*stub));

	if (stub == NULL)
		return ret;
	stub->all.config = config;
	stub->all.epoll_fd = -1;
	stub->all.timers = &stub->timers;
	stub->askers_max = config->max_sockets + config->max_requests;
	stub->askers = calloc(stub->askers_max, sizeof(*stub->askers));
	stub->questions = calloc(stub->askers_max, sizeof(*stub->questions));
	stub->slots = calloc(config->max_sockets, sizeof(*stub->slots));
	if (stub->askers == NULL || stub->questions == NULL || stub->slots == NULL ||
	    timers_init(&stub->timers, stub->askers_max + config->max_sockets) != 0)
		goto fail;
	ret = open_descriptor(stub);
	if (ret != 0)
		goto fail;
	/* Without it buckets may be filled on purpose; that is no reason not to start. */
	(void)entropy_take(&stub->all.entropy, &stub->seed, sizeof(stub->seed));
	*ret_stub = stub;
	return 0;
fail:
	stub_free(stub);
	return ret;
}

/* Closes without a word to the epoll set, which may be the parent's. */
static void forget_all(struct stub *stub)
{
	for (uint32_t i = 0; i < stub->slots_used; i++) {
		if (stub->slots[i].question != NULL)
			flight_forget(&stub->slots[i].flight);
		stub->slots[i].question = NULL;
		stub->slots[i].flight.turn.place = 0;
	}
	for (uint32_t i = 0; i < stub->askers_used; i++) {
		stub->askers[i].question = NULL;
		stub->askers[i].deadline.place = 0;
	}
	if (stub->all.epoll_fd >= 0)
		close(stub->all.epoll_fd);
	stub->all.epoll_fd = -1;
}

int stub_after_fork(struct stub *stub)
{
	forget_all(stub);
	entropy_forget(&stub->all.entropy);
	stub->timers.count = 0;
	stub->all.lack_until_ms = 0;
	memset(stub->buckets, 0, sizeof(stub->buckets));
	stub->first_waiting = stub->last_waiting = NULL;
	/* Generations go on counting: an id of before is unknown. */
	stub->askers_used = stub->questions_used = stub->slots_used = 0;
	stub->free_askers = NULL;
	stub->free_questions = NULL;
	stub->free_slots = NULL;
	backend_close(&stub->backend, true);
	return open_descriptor(stub);
}

void stub_free(struct stub *stub)
{
	if (stub == NULL)
		return;
	forget_all(stub);
	backend_close(&stub->backend, false);
	timers_deinit(&stub->timers);
	free(stub->slots);
	free(stub->questions);
	free(stub->askers);
	free(stub);
}
