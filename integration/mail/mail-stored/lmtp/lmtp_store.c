/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/lmtp/lmtp_store.h"

#include "integration/mail/mail-stored/lmtp/lmtp_fates.h"
#include "integration/mail/mail-stored/lmtp/lmtp_nodes.h"
#include "lib/common/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char context[] = "mail-stored";

/* Between attempts to connect; twice as long each time. */
#define PAUSE_FIRST_MS 50
#define PAUSE_MOST_MS  5000
/* For the store's greeting: it may have much to recover before it accepts. */
#define GREETING_MS 10000
/* Looks for requests without a reply, in the time that they have. */
#define LOOKS 16
/* Replies that are taken at a time; then it is the clients' turn. */
#define TAKE_MAX 256

static void retry_on_timer(uv_timer_t *timer);

/* ---- a connection's end ---- */

static void poll_on_close(uv_handle_t *handle)
{
	free(handle);
}

static void disconnect(struct lmtp_store *store)
{
	if (store->poll != NULL)
		uv_close((uv_handle_t *)store->poll, poll_on_close);
	store->poll = NULL;
	storelink_close(&store->link);
	store->is_greeted = false;
	store->is_full = false;
}

static void fail_all(struct lmtp_asks *asks, int status)
{
	struct lmtp_ask *ask = NULL;
	while ((ask = TAILQ_FIRST(asks)) != NULL) {
		TAILQ_REMOVE(asks, ask, link);
		ask->answer(ask, status, NULL);
	}
}

/* change() comes first, so that what is answered here asks nothing. */
static void lose(struct lmtp_store *store, int status)
{
	disconnect(store);
	if (!store->is_missed)
		log_warning(context, "store is not there, path=%s (%s)", store->path,
			    strerror(-status));
	store->is_missed = true;
	store->change(store->owner, false, false);
	fail_all(&store->mails, status);
	fail_all(&store->checks, status);
	fail_all(&store->unsent, status);
	uv_timer_start(&store->timer, retry_on_timer, store->pause_ms, 0);
	store->pause_ms = store->pause_ms * 2 < PAUSE_MOST_MS ? store->pause_ms * 2 : PAUSE_MOST_MS;
}

/* ---- requests ---- */

static void poll_on_event(uv_poll_t *poll, int status, int events);

static void watch(struct lmtp_store *store)
{
	int events = UV_READABLE | (store->is_full ? UV_WRITABLE : 0);
	int ret = uv_poll_start(store->poll, events, poll_on_event);
	if (ret != 0)
		lose(store, ret);
}

static struct lmtp_asks *sent_of(struct lmtp_store *store, uint8_t type)
{
	return type == STOREWIRE_CHECK ? &store->checks : &store->mails;
}

/* What the system refuses for one packet says nothing about the connection. */
static bool is_of_one(int ret)
{
	return ret == -ENOMEM || ret == -ENOBUFS || ret == -ETOOMANYREFS || ret == -EMSGSIZE;
}

static void send_unsent(struct lmtp_store *store)
{
	struct lmtp_ask *ask = NULL;
	while (store->is_greeted && !store->is_full &&
	       (ask = TAILQ_FIRST(&store->unsent)) != NULL) {
		int ret = storelink_send(&store->link, ask->request, ask->memory);
		if (ret == -EAGAIN) {
			store->is_full = true;
			watch(store);
			return;
		}
		if (ret != 0 && !is_of_one(ret)) {
			lose(store, ret);
			return;
		}
		TAILQ_REMOVE(&store->unsent, ask, link);
		if (ret == 0)
			TAILQ_INSERT_TAIL(sent_of(store, ask->request->type), ask, link);
		else
			ask->answer(ask, ret, NULL);
	}
}

static void prepare_on_wait(uv_prepare_t *prepare)
{
	send_unsent(prepare->data);
}

void lmtp_store_ask(struct lmtp_store *store, struct lmtp_ask *ask)
{
	ask->since_ms = uv_now(store->loop);
	if (store->nodes != NULL)
		lmtp_nodes_ask(store->nodes, ask);
	else
		TAILQ_INSERT_TAIL(&store->unsent, ask, link);
}

void lmtp_store_use_nodes(struct lmtp_store *store, struct lmtp_nodes *nodes)
{
	store->nodes = nodes;
	uv_timer_stop(&store->timer);
	store->change(store->owner, true, true);
}

/* ---- replies ---- */

/* One that was asked for long ago stands at the beginning. */
static struct lmtp_ask *find(struct lmtp_asks *asks, uint64_t serial)
{
	struct lmtp_ask *ask = NULL;
	TAILQ_FOREACH(ask, asks, link)
	if (ask->request->serial == serial)
		return ask;
	return NULL;
}

/* 0 or -errno: the connection is of no use any more. */
static int take_reply(struct lmtp_store *store)
{
	struct storewire_reply reply;
	int fd = -1;
	int ret = storelink_take(&store->link, &reply, &fd);
	if (ret != 0)
		return ret;
	if (fd >= 0)
		close(fd);
	struct lmtp_asks *asks = sent_of(store, reply.type);
	struct lmtp_ask *ask = find(asks, reply.serial);
	if (ask == NULL || ask->request->type != reply.type)
		return -EPROTO;
	TAILQ_REMOVE(asks, ask, link);
	const bool has_fates = reply.type == STOREWIRE_DELIVER &&
			       reply.rows_size == (size_t)reply.count * LMTP_FATES_ROW;
	ask->rows = reply.rows;
	ask->row_count = has_fates ? reply.count : 0;
	ask->answer(ask, reply.status, &reply.id);
	ask->row_count = 0;
	return 0;
}

static void take_replies(struct lmtp_store *store)
{
	int ret = 0;
	for (unsigned i = 0; ret == 0 && i < TAKE_MAX && store->is_greeted; i++)
		ret = take_reply(store);
	if (ret != 0 && ret != -EAGAIN && ret != -EINTR)
		lose(store, ret);
}

/* The first of each list has waited for longest. */
static bool is_late(const struct lmtp_store *store, const struct lmtp_asks *asks)
{
	const struct lmtp_ask *ask = TAILQ_FIRST(asks);
	return ask != NULL && uv_now(store->loop) - ask->since_ms > store->limit_ms;
}

static void look_on_timer(uv_timer_t *timer)
{
	struct lmtp_store *store = timer->data;
	if (is_late(store, &store->mails) || is_late(store, &store->checks) ||
	    is_late(store, &store->unsent))
		lose(store, -ETIMEDOUT);
}

/* ---- connecting ---- */

static void take_greeting(struct lmtp_store *store)
{
	int ret = storelink_greet(&store->link);
	if (ret == -EAGAIN)
		return;
	if (ret != 0) {
		lose(store, ret);
		return;
	}
	const unsigned look_ms = store->limit_ms / LOOKS;
	uv_timer_start(&store->timer, look_on_timer, look_ms, look_ms);
	store->is_greeted = true;
	store->pause_ms = PAUSE_FIRST_MS;
	if (store->is_missed)
		log_info(context, "store is there, path=%s", store->path);
	store->is_missed = false;
	store->change(store->owner, true, store->link.has_quotas);
}

static void poll_on_event(uv_poll_t *poll, int status, int events)
{
	struct lmtp_store *store = poll->data;
	/* libuv says -EBADF of a socket whose other end was killed with something unread. */
	if (status < 0) {
		lose(store, -ECONNRESET);
		return;
	}
	if (!store->is_greeted) {
		take_greeting(store);
		return;
	}
	if ((events & UV_WRITABLE) != 0) {
		store->is_full = false;
		watch(store);
	}
	if ((events & UV_READABLE) != 0 && store->is_greeted)
		take_replies(store);
}

static int open_poll(struct lmtp_store *store)
{
	uv_poll_t *poll = calloc(1, sizeof(*poll));
	if (poll == NULL)
		return -ENOMEM;
	int ret = uv_poll_init(store->loop, poll, store->link.fd);
	if (ret != 0) {
		free(poll);
		return ret;
	}
	poll->data = store;
	store->poll = poll;
	return uv_poll_start(poll, UV_READABLE, poll_on_event);
}

static void begin(struct lmtp_store *store)
{
	int ret = storelink_begin(store->path, &store->link);
	if (ret == 0)
		ret = open_poll(store);
	if (ret == 0)
		uv_timer_start(&store->timer, retry_on_timer, GREETING_MS, 0);
	else
		lose(store, ret);
}

/* Not greeted is not connected. */
static void retry_on_timer(uv_timer_t *timer)
{
	struct lmtp_store *store = timer->data;
	if (store->poll != NULL)
		lose(store, -ETIMEDOUT);
	else
		begin(store);
}

/* ---- begin and end ---- */

int lmtp_store_open(struct lmtp_store *ret_store, uv_loop_t *loop, const char *path,
		    lmtp_store_fn change, void *owner)
{
	memset(ret_store, 0, sizeof(*ret_store));
	ret_store->change = change;
	ret_store->owner = owner;
	ret_store->path = path;
	ret_store->loop = loop;
	ret_store->link.fd = -1;
	ret_store->pause_ms = PAUSE_FIRST_MS;
	ret_store->limit_ms = LMTP_STORE_LIMIT_MS;
	TAILQ_INIT(&ret_store->unsent);
	TAILQ_INIT(&ret_store->checks);
	TAILQ_INIT(&ret_store->mails);
	uv_prepare_init(loop, &ret_store->prepare); /* these cannot fail */
	uv_timer_init(loop, &ret_store->timer);
	ret_store->prepare.data = ret_store;
	ret_store->timer.data = ret_store;
	uv_prepare_start(&ret_store->prepare, prepare_on_wait);
	/* change() is not called before the loop runs. */
	return uv_timer_start(&ret_store->timer, retry_on_timer, 0, 0);
}

void lmtp_store_close(struct lmtp_store *store)
{
	disconnect(store);
	uv_close((uv_handle_t *)&store->prepare, NULL);
	uv_close((uv_handle_t *)&store->timer, NULL);
}
