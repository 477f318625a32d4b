/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/nodes/noderouter.h"

#include "integration/mail/mail-stored/nodes/nodehealth.h"

#include <errno.h>
#include <stdlib.h>

/* Requests for one node that wait for a link. */
#define WAITING_MAX 4096
#define SILENT_MS   (2 * (uint64_t)NODEROUTER_PULSE_MS)

struct node;

struct noderouter_slot {
	TAILQ_ENTRY(noderouter_slot) entry; /* of all of its node */
	TAILQ_ENTRY(noderouter_slot) idle;  /* only while it is */
	struct node *node;
	struct nodelink *link;
	struct nodeask *ask; /* NULL: none is under way */
	struct nodepin *pin;
	struct nodeasks queue; /* of the pin */
	bool is_ended;	       /* its memory goes when the loop waits next */
	bool is_ready;
	bool is_idle;
	bool is_pulse;
	bool is_asked; /* of a pulse: the answer has not come */
	uint64_t asked_ms;
	uint64_t used_ms;
};

TAILQ_HEAD(slots, noderouter_slot);

struct node {
	struct noderouter *router;
	struct nodehealth health;
	struct slots slots;
	struct slots idle;
	struct nodeasks waiting;
	unsigned slot_count;
	unsigned pin_count; /* of these */
	unsigned waiting_count;
	struct noderouter_slot *pulse;
	bool has_quotas;
	uint64_t since_us; /* of its store */
	uint64_t asked;
	uint64_t failed;
};

struct noderouter {
	struct noderouter_start start;
	struct nodewire_room room;
	uv_timer_t pulse;
	uv_prepare_t prepare;
	struct nodeasks failed; /* to be answered */
	struct slots ended;
	uint64_t looked_ms; /* at the clock */
	uint64_t woken_ms;
	bool is_closed;
	struct node nodes[NODES_MAX];
};

static const struct nodesetup_peer *peer_of(const struct node *node)
{
	return &node->router->start.setup->peers[node->health.at];
}

static bool is_local(const struct node *node)
{
	return node->health.at == node->router->start.setup->self;
}

static uint64_t now_of(const struct node *node)
{
	return uv_now(node->router->start.loop);
}

/* ---- answers ---- */

/* From the loop, later. */
static void fail(struct node *node, struct nodeask *ask, int status)
{
	ask->status = status;
	node->failed++;
	TAILQ_INSERT_TAIL(&node->router->failed, ask, entry);
}

static void free_ended(struct noderouter *router)
{
	struct noderouter_slot *slot = NULL;
	while ((slot = TAILQ_FIRST(&router->ended)) != NULL) {
		TAILQ_REMOVE(&router->ended, slot, entry);
		free(slot);
	}
}

static void prepare_on_wait(uv_prepare_t *prepare)
{
	struct noderouter *router = prepare->data;
	struct nodeask *ask = NULL;
	while ((ask = TAILQ_FIRST(&router->failed)) != NULL) {
		TAILQ_REMOVE(&router->failed, ask, entry);
		ask->answer(ask, ask->status, NULL, NULL);
	}
	free_ended(router);
}

static void fail_all(struct node *node, struct nodeasks *asks, int status)
{
	struct nodeask *ask = NULL;
	while ((ask = TAILQ_FIRST(asks)) != NULL) {
		TAILQ_REMOVE(asks, ask, entry);
		fail(node, ask, status);
	}
}

static void fail_waiting(struct node *node)
{
	fail_all(node, &node->waiting, MAILSTORE_EAWAY);
	node->waiting_count = 0;
}

/* ---- slots ---- */

static void set_idle(struct noderouter_slot *slot, bool is_idle)
{
	if (slot->is_idle == is_idle)
		return;
	slot->is_idle = is_idle;
	if (is_idle)
		TAILQ_INSERT_HEAD(&slot->node->idle, slot, idle);
	else
		TAILQ_REMOVE(&slot->node->idle, slot, idle);
}

/* Its link is closed already, or is now. What it was about fails with status. */
static void end_slot(struct noderouter_slot *slot, int status)
{
	struct node *node = slot->node;
	struct nodepin *pin = slot->pin;
	if (slot->is_ended)
		return;
	slot->is_ended = true;
	set_idle(slot, false);
	nodelink_close(slot->link);
	TAILQ_REMOVE(&node->slots, slot, entry);
	TAILQ_INSERT_TAIL(&node->router->ended, slot, entry);
	if (slot->is_pulse) {
		node->pulse = NULL;
		node->since_us = 0; /* it may come back with another store */
	} else {
		node->slot_count--;
	}
	if (slot->ask != NULL)
		fail(node, slot->ask, status);
	fail_all(node, &slot->queue, status);
	if (pin != NULL) {
		pin->slot = NULL;
		node->pin_count--;
		if (pin->lost != NULL)
			pin->lost(pin);
	}
}

static void next(struct noderouter_slot *slot);
static struct noderouter_slot *open_slot(struct node *node, bool is_pulse, int *ret_status);

/* What waits for a link gets another for the one that is lost; without any it fails. */
static void relieve(struct node *node)
{
	int status = 0;
	if (node->router->is_closed || TAILQ_EMPTY(&node->waiting) ||
	    node->slot_count >= node->router->start.setup->links_max)
		return;
	struct noderouter_slot *slot = nodehealth_is_pausing(&node->health, now_of(node))
					       ? NULL
					       : open_slot(node, false, &status);
	if (slot != NULL)
		next(slot);
	else if (node->slot_count == 0)
		fail_waiting(node);
}

/* The link is of no use, and the node may be well. */
static void give_up(struct noderouter_slot *slot, int status)
{
	end_slot(slot, status);
	relieve(slot->node);
}

static void send_ask(struct noderouter_slot *slot, struct nodeask *ask)
{
	slot->ask = ask;
	slot->used_ms = now_of(slot->node);
	set_idle(slot, false);
	if (!slot->is_ready)
		return; /* slot_on_ready() comes here again */
	int ret = nodelink_ask(slot->link, &ask->request, ask->has_memory ? &ask->memory : NULL);
	if (ret != 0)
		give_up(slot, ret == -ENODATA || ret == -ENOMEM ? ret : MAILSTORE_EAWAY);
	else
		nodelink_limit(slot->link, slot->node->router->start.setup->timeout_ms);
}

static void slot_on_ready(void *owner, struct nodelink *link)
{
	struct noderouter_slot *slot = owner;
	slot->is_ready = true;
	if (is_local(slot->node))
		slot->node->has_quotas = nodelink_has_quotas(link);
	if (slot->ask != NULL)
		send_ask(slot, slot->ask);
	else if (!slot->is_pulse)
		next(slot);
}

/* ---- stuck ---- */

static bool is_mail(const struct nodeask *ask)
{
	return ask->request.type == STOREWIRE_DELIVER;
}

/* Mails that wait would keep all links from others, and all that a client may have under way. */
static void get_stuck(struct node *node)
{
	struct nodeask *ask = TAILQ_FIRST(&node->waiting);
	if (!nodehealth_get_stuck(&node->health, now_of(node)))
		return;
	while (ask != NULL) {
		struct nodeask *behind = TAILQ_NEXT(ask, entry);
		if (is_mail(ask)) {
			TAILQ_REMOVE(&node->waiting, ask, entry);
			node->waiting_count--;
			fail(node, ask, MAILSTORE_EAWAY);
		}
		ask = behind;
	}
}

/* Of a link that was lost. */
static bool has_no_answer(const struct noderouter_slot *slot)
{
	return slot->is_ready && slot->ask != NULL && is_mail(slot->ask) &&
	       slot->node->health.mail_ms <= slot->used_ms && nodelink_is_due(slot->link);
}

/* ---- up and down ---- */

/* All of its links go, but the pulse: that is what finds it again. */
static void go_down(struct node *node, const char *reason)
{
	struct noderouter_slot *slot = TAILQ_FIRST(&node->slots);
	if (is_local(node) || !nodehealth_go_down(&node->health, reason))
		return;
	fail_waiting(node);
	while (slot != NULL) {
		struct noderouter_slot *behind = TAILQ_NEXT(slot, entry);
		if (!slot->is_pulse)
			end_slot(slot, MAILSTORE_EAWAY);
		slot = behind;
	}
}

static bool is_unheard_for(const struct node *node, uint64_t time_ms)
{
	const uint64_t woken_ms = node->router->woken_ms;
	const uint64_t since_ms =
		node->health.heard_ms > woken_ms ? node->health.heard_ms : woken_ms;
	return now_of(node) - since_ms > time_ms;
}

/*
 * One link that fails is no node that is down: its other links may have mails under way, and to end
 * these is to have them delivered twice.
 */
static bool is_silent(const struct node *node)
{
	return is_unheard_for(node, SILENT_MS);
}

/* Its store has not answered for so long that it counts as away. */
static bool is_unheard(const struct node *node)
{
	return is_unheard_for(node, node->router->start.setup->silence_ms);
}

/* This process may have stood still, and not the nodes: what they said meanwhile is not read yet. */
static void look_at_clock(struct noderouter *router)
{
	const uint64_t now_ms = uv_now(router->start.loop);
	if (now_ms - router->looked_ms > SILENT_MS &&
	    now_ms - router->woken_ms > router->start.setup->silence_ms)
		router->woken_ms = now_ms;
	router->looked_ms = now_ms;
}

static void slot_on_lost(void *owner, struct nodelink *link, int status)
{
	struct noderouter_slot *slot = owner;
	struct node *node = slot->node;
	const bool was_ready = slot->is_ready;
	const bool is_late = has_no_answer(slot);
	const bool is_early = slot->ask != NULL && is_mail(slot->ask) && !nodelink_is_due(link);
	look_at_clock(node->router);
	if (status == -EPROTO)
		nodehealth_count_broken(&node->health, now_of(node));
	/* Of a request whose time is over the node may be well: its store may not. */
	end_slot(slot, status == -ETIMEDOUT && was_ready ? -ETIMEDOUT : MAILSTORE_EAWAY);
	if (is_late)
		get_stuck(node);
	if (is_early)
		nodehealth_note_refusal(&node->health, now_of(node));
	if (was_ready ? slot->is_pulse && is_unheard(node)
		      : slot->is_pulse || status == -ECONNREFUSED || is_silent(node))
		go_down(node, nodelink_strerror(status));
	relieve(node);
}

/* ---- requests ---- */

static void break_off(struct noderouter_slot *slot)
{
	struct node *node = slot->node;
	nodehealth_count_broken(&node->health, now_of(node));
	end_slot(slot, MAILSTORE_EAWAY);
	if (slot->is_pulse && is_unheard(node))
		go_down(node, "it breaks the protocol");
	relieve(node);
}

/* Without its store, which may be replaced just now, it is as if it had said nothing. */
static void take_pulse(struct noderouter_slot *slot, const struct storewire_reply *reply)
{
	struct node *node = slot->node;
	slot->is_asked = false;
	if (reply->status == 0) {
		node->has_quotas = (reply->number & STOREWIRE_HAS_QUOTAS) != 0;
		node->since_us = bytes_get(reply->id.bytes, 8);
		nodehealth_take_sum(&node->health, bytes_get(reply->id.bytes + 8, 8));
		nodehealth_go_up(&node->health);
	} else if (is_unheard(node)) {
		go_down(node, "its store is not there");
	}
}

static void slot_on_message(void *owner, struct nodelink *link, struct nodelink_message *message)
{
	struct noderouter_slot *slot = owner;
	struct node *node = slot->node;
	struct nodeask *ask = slot->ask;
	struct storewire_reply reply;
	if (storewire_decode_reply(message->packet, message->packet_size, &reply) != 0) {
		break_off(slot);
		return;
	}
	const bool is_pong = slot->is_pulse && reply.type == STOREWIRE_HELLO;
	if (!is_pong && (ask == NULL || reply.type != ask->request.type ||
			 reply.serial != ask->request.serial)) {
		break_off(slot);
		return;
	}
	if (reply.status != MAILSTORE_EAWAY)
		node->health.heard_ms = now_of(node);
	if (is_pong) {
		take_pulse(slot, &reply);
		return;
	}
	node->health.broken = 0;
	if (is_mail(ask) && reply.status == 0)
		nodehealth_note_mail(&node->health, now_of(node));
	else if (is_mail(ask))
		nodehealth_note_refusal(&node->health, now_of(node));
	nodelink_limit(link, 0);
	slot->ask = NULL;
	if (message->dropped != 0 && reply.status == 0)
		ask->answer(ask, message->dropped, NULL, NULL);
	else
		ask->answer(ask, 0, &reply, message);
	next(slot);
}

static const struct nodelink_rules link_rules = { slot_on_ready, slot_on_message, slot_on_lost };

/* NULL: the node is not there, or the system has no room. */
static struct noderouter_slot *open_slot(struct node *node, bool is_pulse, int *ret_status)
{
	struct noderouter *router = node->router;
	struct noderouter_slot *slot = calloc(1, sizeof(*slot));
	const struct nodelink_start start = {
		.loop = router->start.loop,
		.rules = &link_rules,
		.owner = slot,
		.tls = router->start.tls,
		.setup = router->start.setup,
		.room = &router->room,
		.memory_max = router->start.memory_max,
	};
	int ret = slot == NULL ? -ENOMEM : 0;
	if (ret == 0 && is_local(node))
		ret = nodelink_open_local(&start, router->start.store_path, &slot->link);
	else if (ret == 0)
		ret = nodelink_open_peer(&start, peer_of(node), &slot->link);
	if (ret != 0) {
		free(slot);
		*ret_status = ret;
		return NULL;
	}
	slot->node = node;
	slot->is_pulse = is_pulse;
	slot->used_ms = now_of(node);
	TAILQ_INIT(&slot->queue);
	TAILQ_INSERT_TAIL(&node->slots, slot, entry);
	if (is_pulse)
		node->pulse = slot;
	else
		node->slot_count++;
	return slot;
}

static struct nodeask *take_waiting(struct node *node)
{
	struct nodeask *ask = TAILQ_FIRST(&node->waiting);
	if (ask != NULL) {
		TAILQ_REMOVE(&node->waiting, ask, entry);
		node->waiting_count--;
	}
	return ask;
}

/*
 * A pin has its link for as long as a session of POP3 lasts: a quarter of the links, and one of few, is for what takes
 * a moment, or as many sessions as there are links would keep all mail away.
 */
static unsigned max_pins(const struct node *node)
{
	const unsigned links_max = node->router->start.setup->links_max;
	return links_max - (links_max < 4 ? 1 : links_max / 4);
}

static struct nodeask *take_possible(struct node *node)
{
	struct nodeask *ask = take_waiting(node);
	while (ask != NULL && ask->pin != NULL && node->pin_count >= max_pins(node)) {
		fail(node, ask, -EAGAIN);
		ask = take_waiting(node);
	}
	return ask;
}

/* It has nothing to do: the next of its pin, or of its node. */
static void next(struct noderouter_slot *slot)
{
	struct node *node = slot->node;
	struct nodeask *ask = NULL;
	if (slot->is_ended || slot->ask != NULL)
		return; /* its answer has ended it, or brought another */
	if (slot->pin == NULL)
		ask = take_possible(node);
	else if ((ask = TAILQ_FIRST(&slot->queue)) != NULL)
		TAILQ_REMOVE(&slot->queue, ask, entry);
	if (ask == NULL) {
		set_idle(slot, slot->pin == NULL);
		return;
	}
	if (ask->pin != NULL && slot->pin == NULL) {
		slot->pin = ask->pin;
		node->pin_count++;
		ask->pin->slot = slot;
		ask->pin->node = node->health.at;
	}
	send_ask(slot, ask);
}

static void ask_any(struct node *node, struct nodeask *ask)
{
	struct noderouter_slot *slot = TAILQ_FIRST(&node->idle);
	int status = MAILSTORE_EAWAY;
	TAILQ_INSERT_TAIL(&node->waiting, ask, entry);
	node->waiting_count++;
	if (slot == NULL && !nodehealth_is_pausing(&node->health, now_of(node)) &&
	    node->slot_count < node->router->start.setup->links_max)
		slot = open_slot(node, false, &status);
	else if (slot == NULL && node->slot_count > 0)
		return; /* the next that is free */
	if (slot != NULL) {
		next(slot);
		return;
	}
	if (node->slot_count > 0 && (status == -EMFILE || status == -ENOMEM || status == -EAGAIN))
		return; /* there are other links, which take it */
	TAILQ_REMOVE(&node->waiting, ask, entry);
	node->waiting_count--;
	fail(node, ask, MAILSTORE_EAWAY);
	if (status == -ECONNREFUSED || status == -ENETUNREACH || status == -EHOSTUNREACH)
		go_down(node, strerror(-status));
}

/* The other side would take it for no message, and close the link. */
static bool is_too_large(const struct noderouter *router, const struct nodeask *ask)
{
	const struct nodewire_memory *memory = &ask->memory;
	const uint64_t max = router->start.memory_max;
	return ask->has_memory && (memory->bytes_size > max ||
				   (memory->fd >= 0 && memory->size > max - memory->bytes_size));
}

void noderouter_ask(struct noderouter *router, struct nodeask *ask)
{
	struct node *node = &router->nodes[ask->node];
	struct noderouter_slot *pinned = ask->pin != NULL ? ask->pin->slot : NULL;
	node->asked++;
	ask->since_ms = now_of(node);
	ask->request.serial = node->asked;
	if (router->is_closed || node->health.is_down ||
	    (is_local(node) && router->start.store_path == NULL)) {
		fail(node, ask, MAILSTORE_EAWAY);
	} else if (is_too_large(router, ask)) {
		fail(node, ask, -EFBIG);
	} else if (is_mail(ask) && nodehealth_keeps_away(&node->health, now_of(node))) {
		fail(node, ask, MAILSTORE_EAWAY);
	} else if (node->waiting_count >= WAITING_MAX) {
		fail(node, ask, -EBUSY);
	} else if (pinned == NULL) {
		ask_any(node, ask);
	} else if (pinned->ask != NULL) {
		TAILQ_INSERT_TAIL(&pinned->queue, ask, entry);
	} else {
		send_ask(pinned, ask);
	}
}

void noderouter_unpin(struct nodepin *pin)
{
	struct noderouter_slot *slot = pin->slot;
	if (slot == NULL)
		return;
	pin->slot = NULL;
	slot->pin = NULL;
	slot->node->pin_count--;
	/* What was asked for with the lock goes on without. */
	while (!TAILQ_EMPTY(&slot->queue)) {
		struct nodeask *ask = TAILQ_FIRST(&slot->queue);
		TAILQ_REMOVE(&slot->queue, ask, entry);
		TAILQ_INSERT_TAIL(&slot->node->waiting, ask, entry);
		slot->node->waiting_count++;
	}
	if (slot->ask == NULL && slot->is_ready)
		next(slot);
}

void noderouter_drop(struct nodepin *pin)
{
	pin->lost = NULL;
	if (pin->slot != NULL)
		give_up(pin->slot, MAILSTORE_EAWAY);
}

/* ---- the pulse ---- */

static void feel(struct node *node)
{
	const uint64_t now_ms = now_of(node);
	const uint64_t silence_ms = node->router->start.setup->silence_ms;
	int status = 0;
	if (node->pulse == NULL && open_slot(node, true, &status) == NULL) {
		if (status != -ENOMEM && status != -EMFILE)
			go_down(node, strerror(-status));
		return;
	}
	struct noderouter_slot *pulse = node->pulse;
	if (!pulse->is_ready)
		return;
	if (pulse->is_asked && now_ms - pulse->asked_ms > silence_ms && is_unheard(node)) {
		end_slot(pulse, MAILSTORE_EAWAY);
		go_down(node, "it says nothing");
		return;
	}
	if (pulse->is_asked)
		return;
	pulse->is_asked = true;
	pulse->asked_ms = now_ms;
	if (nodelink_ping(pulse->link) != 0)
		end_slot(pulse, MAILSTORE_EAWAY);
}

/* Those that wait for too long, or for a link that may be opened by now; links that nothing has used for long. */
static void tidy(struct node *node)
{
	const uint64_t now_ms = now_of(node);
	struct nodeask *ask = NULL;
	while ((ask = TAILQ_FIRST(&node->waiting)) != NULL &&
	       now_ms - ask->since_ms > node->router->start.setup->timeout_ms)
		fail(node, take_waiting(node), -ETIMEDOUT);
	struct noderouter_slot *slot = TAILQ_LAST(&node->idle, slots);
	if (slot != NULL && now_ms - slot->used_ms > NODEROUTER_IDLE_MS)
		end_slot(slot, MAILSTORE_EAWAY);
	relieve(node);
}

static void pulse_on_timer(uv_timer_t *timer)
{
	struct noderouter *router = timer->data;
	look_at_clock(router);
	for (unsigned i = 0; i < router->start.setup->peer_count; i++) {
		if (!is_local(&router->nodes[i]))
			feel(&router->nodes[i]);
		tidy(&router->nodes[i]);
	}
}

/* ---- what is known ---- */

bool noderouter_is_down(const struct noderouter *router, unsigned node)
{
	return router->nodes[node].health.is_down;
}

bool noderouter_has_quotas(const struct noderouter *router, unsigned node)
{
	return router->nodes[node].has_quotas;
}

void noderouter_describe(const struct noderouter *router, unsigned node,
			 struct noderouter_facts *ret_facts)
{
	const struct node *it = &router->nodes[node];
	*ret_facts = (struct noderouter_facts){
		.is_down = it->health.is_down,
		.differs = it->health.differs,
		.silent_ms = it->health.heard_ms != 0 ? now_of(it) - it->health.heard_ms : 0,
		.since_us = is_local(it) ? *router->start.since_us : it->since_us,
		.links = it->slot_count,
		.waiting = it->waiting_count,
		.asked = it->asked,
		.failed = it->failed,
		.downs = it->health.downs,
	};
}

struct nodewire_room *noderouter_room(struct noderouter *router)
{
	return &router->room;
}

/* ---- begin and end ---- */

int noderouter_open(const struct noderouter_start *start, struct noderouter **ret_router)
{
	struct noderouter *router = calloc(1, sizeof(*router));
	if (router == NULL)
		return -ENOMEM;
	router->start = *start;
	router->room.max = start->setup->memory_max;
	router->looked_ms = uv_now(start->loop);
	TAILQ_INIT(&router->failed);
	TAILQ_INIT(&router->ended);
	for (unsigned i = 0; i < start->setup->peer_count; i++) {
		struct node *node = &router->nodes[i];
		node->router = router;
		node->health = (struct nodehealth){ .setup = start->setup, .at = i };
		/* Until it is known it is as if there were some: that is asked then. */
		node->has_quotas = true;
		TAILQ_INIT(&node->slots);
		TAILQ_INIT(&node->idle);
		TAILQ_INIT(&node->waiting);
	}
	uv_timer_init(start->loop, &router->pulse); /* these cannot fail */
	uv_prepare_init(start->loop, &router->prepare);
	router->pulse.data = router;
	router->prepare.data = router;
	uv_prepare_start(&router->prepare, prepare_on_wait);
	uv_timer_start(&router->pulse, pulse_on_timer, 0, NODEROUTER_PULSE_MS);
	*ret_router = router;
	return 0;
}

void noderouter_close(struct noderouter *router)
{
	if (router->is_closed)
		return;
	router->is_closed = true;
	for (unsigned i = 0; i < router->start.setup->peer_count; i++) {
		struct node *node = &router->nodes[i];
		fail_waiting(node);
		while (!TAILQ_EMPTY(&node->slots))
			end_slot(TAILQ_FIRST(&node->slots), MAILSTORE_EAWAY);
	}
	prepare_on_wait(&router->prepare);
	uv_close((uv_handle_t *)&router->pulse, NULL);
	uv_close((uv_handle_t *)&router->prepare, NULL);
}

void noderouter_free(struct noderouter *router)
{
	if (router == NULL)
		return;
	free_ended(router);
	free(router);
}
