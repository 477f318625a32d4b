/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/edge/asking.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/socket.h>

#include <openssl/crypto.h>

/* Each checker has one in hand and the next in its socket. */
#define OPEN_OF_ONE 2

TAILQ_HEAD(asking_list, asking_wait);

/* A question under way. */
struct slot {
	uint64_t serial;	  /* 0: free */
	struct asking_wait *wait; /* NULL: it was given up */
	uint64_t network;
	uint64_t sent_ms;
};

struct asking {
	struct asking_rules rules;
	uv_poll_t poll;
	struct asking_list waiting;
	unsigned waiting_count;
	struct slot slots[ASKING_OPEN_MAX];
	unsigned slot_count;
	uint64_t next_serial;
};

static unsigned count_open(const struct asking *asking, uint64_t network)
{
	unsigned count = 0;
	for (unsigned i = 0; i < asking->slot_count; i++)
		count += asking->slots[i].serial != 0 && asking->slots[i].network == network;
	return count;
}

/* NULL: none waits. */
static struct asking_wait *choose(const struct asking *asking)
{
	struct asking_wait *wait = NULL;
	struct asking_wait *best = NULL;
	unsigned least = UINT_MAX;
	TAILQ_FOREACH(wait, &asking->waiting, link)
	{
		const unsigned count = count_open(asking, wait->network);
		if (count >= least)
			continue;
		best = wait;
		least = count;
		if (least == 0)
			break;
	}
	return best;
}

/* ---- questions ---- */

static void leave(struct asking *asking, struct asking_wait *wait)
{
	TAILQ_REMOVE(&asking->waiting, wait, link);
	asking->waiting_count--;
	if (asking->rules.set != NULL)
		asking->rules.set(asking->rules.context, asking->waiting_count);
}

static struct slot *find_slot(struct asking *asking, uint64_t serial)
{
	for (unsigned i = 0; i < asking->slot_count; i++)
		if (asking->slots[i].serial == serial)
			return &asking->slots[i];
	return NULL;
}

/* False: the socket takes no more now. */
static bool send_one(struct asking *asking, struct slot *slot, struct asking_wait *wait)
{
	struct check_request request = { .serial = asking->next_serial };
	asking->rules.fill(wait, &request);
	const ssize_t sent =
		send(asking->rules.fd, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT);
	OPENSSL_cleanse(&request, sizeof(request));
	if (sent != (ssize_t)sizeof(request))
		return false;
	leave(asking, wait);
	wait->serial = asking->next_serial++;
	*slot = (struct slot){ wait->serial, wait, wait->network, uv_now(asking->poll.loop) };
	return true;
}

/*
 * One that is free, or whose checker has died with the question. Not one whose session has gone: the
 * checkers are still busy with that.
 */
static struct slot *free_slot(struct asking *asking)
{
	const uint64_t now_ms = uv_now(asking->poll.loop);
	for (unsigned i = 0; i < asking->slot_count; i++) {
		struct slot *slot = &asking->slots[i];
		if (slot->serial != 0 && slot->wait == NULL &&
		    now_ms - slot->sent_ms > asking->rules.timeout_ms)
			*slot = (struct slot){ 0 };
		if (slot->serial == 0)
			return slot;
	}
	return NULL;
}

static void drain(struct asking *asking)
{
	struct slot *slot = NULL;
	struct asking_wait *wait = NULL;
	while ((slot = free_slot(asking)) != NULL && (wait = choose(asking)) != NULL) {
		if (!send_one(asking, slot, wait))
			return; /* the next answer makes room */
	}
}

static void take_reply(struct asking *asking, const struct check_reply *reply)
{
	struct slot *slot = reply->serial != 0 ? find_slot(asking, reply->serial) : NULL;
	if (slot == NULL)
		return;
	struct asking_wait *wait = slot->wait;
	*slot = (struct slot){ 0 };
	if (wait == NULL)
		return;
	wait->serial = 0;
	wait->is_waiting = false;
	asking->rules.answer(wait, reply);
}

static void asking_on_event(uv_poll_t *poll, int status, int events)
{
	struct asking *asking = poll->data;
	struct check_reply reply;
	ssize_t size = 0;
	(void)status;
	(void)events;
	while ((size = recv(asking->rules.fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC)) >
	       0) {
		if (size == (ssize_t)sizeof(reply) && check_reply_is_valid(&reply))
			take_reply(asking, &reply);
		OPENSSL_cleanse(&reply, sizeof(reply));
	}
	/* All checkers have ended; the nanny keeps their end open, so it has, too. */
	if (size == 0)
		uv_poll_stop(&asking->poll);
	drain(asking);
}

void asking_add(struct asking *asking, struct asking_wait *wait, const struct dnsblv6_ip *ip)
{
	wait->network = limits_network(asking->rules.limits, ip);
	wait->serial = 0;
	wait->is_waiting = true;
	TAILQ_INSERT_TAIL(&asking->waiting, wait, link);
	asking->waiting_count++;
	if (asking->rules.set != NULL)
		asking->rules.set(asking->rules.context, asking->waiting_count);
	drain(asking);
}

void asking_cancel(struct asking *asking, struct asking_wait *wait)
{
	if (!wait->is_waiting)
		return;
	wait->is_waiting = false;
	if (wait->serial == 0) {
		leave(asking, wait);
		return;
	}
	struct slot *slot = find_slot(asking, wait->serial);
	if (slot != NULL)
		slot->wait = NULL;
	wait->serial = 0;
}

/* ---- begin and end ---- */

/*
 * The socket outlives an edge that is killed, with answers to its questions: none of them may be
 * one for a session of the next edge. Half of the numbers are left to count in.
 */
static int draw_serial(uint64_t *ret_serial)
{
	uint64_t random = 0;
	if (getentropy(&random, sizeof(random)) != 0)
		return -errno;
	*ret_serial = random / 2 + 1;
	return 0;
}

int asking_open(uv_loop_t *loop, const struct asking_rules *rules, struct asking **ret_asking)
{
	const int flags = fcntl(rules->fd, F_GETFL);
	if (flags < 0 || fcntl(rules->fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return -errno;
	struct asking *asking = calloc(1, sizeof(*asking));
	if (asking == NULL)
		return -ENOMEM;
	asking->rules = *rules;
	asking->slot_count = rules->checker_count * OPEN_OF_ONE;
	if (asking->slot_count > ASKING_OPEN_MAX)
		asking->slot_count = ASKING_OPEN_MAX;
	TAILQ_INIT(&asking->waiting);
	int ret = draw_serial(&asking->next_serial);
	if (ret == 0)
		ret = uv_poll_init(loop, &asking->poll, rules->fd);
	if (ret != 0) {
		free(asking);
		return ret;
	}
	asking->poll.data = asking;
	(void)uv_poll_start(&asking->poll, UV_READABLE, asking_on_event);
	/* It is nothing to live for. */
	uv_unref((uv_handle_t *)&asking->poll);
	*ret_asking = asking;
	return 0;
}

static void poll_on_close(uv_handle_t *handle)
{
	free(handle->data);
}

void asking_close(struct asking *asking)
{
	if (asking != NULL)
		uv_close((uv_handle_t *)&asking->poll, poll_on_close);
}
