/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/edge/edge.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "integration/common/program.h"
#include "integration/mail/base/edge/edge_log.h"
#include "integration/mail/base/edge/edge_parts.h"
#include "integration/mail/base/edge/handout.h"
#include "integration/mail/base/edge/session.h"
#include "lib/common/log.h"

/* Sockets of the library's resolver, 512 at most, listeners, the loop's own, and some files. */
#define OWN_DESCRIPTORS 640
#define SHORT_PAUSE_MS	100 /* when the system lacks descriptors for connections */

/* ---- accept ---- */

static void log_wait(void *owner, int error)
{
	const struct edge *edge = owner;
	log_warning(edge->protocol->context, "connections have to wait, edge=%u sessions=%u (%s)",
		    edge->child->index, edge->session_count, strerror(error));
}

static void tick_on_timer(uv_timer_t *timer)
{
	struct edge *edge = timer->data;
	session_take_time(edge, NULL);
	if (stall_waives_tick(&edge->stall, uv_now(&edge->loop)))
		return;
	session_run_timers(edge);
	handout_drain(edge);
	/* An idle edge sleeps, when it has said all. */
	if (!edge_log_settle(edge, uv_now(&edge->loop)) && edge->session_count == 0)
		uv_timer_stop(timer);
}

/* Do clients of that socket begin with the handshake? */
static bool begins_with_tls(const struct edge *edge, unsigned door)
{
	return (edge->rules->tls_places >> edge->child->listener_places[door] & 1) != 0;
}

static void turn_away(struct edge *edge, int fd, bool is_tls)
{
	char text[EDGE_REPLY_MAX];
	edge->protocol->count(edge, EDGE_ACCEPTED_FULL);
	if (!is_tls)
		send(fd, text, edge->protocol->refuse(edge, NULL, EDGE_FULL, text),
		     MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void take_client(void *owner, unsigned door, int fd, const struct sockaddr *peer)
{
	struct edge *edge = owner;
	const bool is_tls = begins_with_tls(edge, door);
	edge->protocol->count(edge, EDGE_ACCEPTED);
	if (arena_count(edge->arena) == arena_room(edge->arena)) {
		turn_away(edge, fd, is_tls);
		return;
	}
	if (!uv_is_active((uv_handle_t *)&edge->tick)) {
		stall_begin_ticks(&edge->stall, uv_now(&edge->loop));
		uv_timer_start(&edge->tick, tick_on_timer, WHEEL_TICK_MS, WHEEL_TICK_MS);
	}
	session_open(edge, fd, peer, is_tls);
}

static void begin_taking(void *owner)
{
	struct edge *edge = owner;
	batching_count(&edge->batching);
	session_take_time(edge, NULL);
}

static const struct doors_rules doors_rules = { SHORT_PAUSE_MS, begin_taking, take_client,
						log_wait };

/* A signal ends the rest; then it is the loop's. */
static void rest_on_wait(uv_prepare_t *wait)
{
	struct edge *edge = wait->data;
	uint64_t rest_ns = batching_next(&edge->batching, uv_hrtime());
	struct timespec rest = { .tv_nsec = (long)rest_ns };
	if (rest_ns == 0 || edge->is_draining)
		return;
	nanosleep(&rest, NULL);
	uv_update_time(&edge->loop);
}

/* ---- the end ---- */

/* When the pause takes little of the time that there is: no client is to suffer from a reload. */
static bool may_greet(const struct edge *edge)
{
	const struct edge_rules *rules = edge->rules;
	unsigned needed_ms = rules->greet_pause_ms;
	if (rules->has_zones)
		needed_ms += (unsigned)rules->judge->deadline_ms;
	return needed_ms < rules->drain_ms / 2;
}

static void refuse_some(struct edge *edge, bool is_all)
{
	struct session *next = NULL;
	for (struct session *session = TAILQ_FIRST(&edge->sessions); session != NULL;
	     session = next) {
		next = TAILQ_NEXT(session, link);
		if (session->phase == SESSION_RELAYED || session->phase == SESSION_LINGER)
			continue;
		if (is_all || (session->banner_ms == 0 && !may_greet(edge)))
			session_refuse(session, EDGE_SHUTTING_DOWN, "drained");
	}
}

static void drain_on_timer(uv_timer_t *timer)
{
	refuse_some(timer->data, true);
}

static void close_doors(struct edge *edge)
{
	doors_close(edge->doors);
	for (unsigned i = 0; i < edge->child->listener_count; i++)
		close(edge->child->listeners[i]);
}

static void term_on_raise(uv_signal_t *raised, int number)
{
	struct edge *edge = raised->data;
	(void)number;
	if (edge->is_draining)
		return;
	/*
	 * A client that waits at a socket is lost with it, when no other process has the socket: its
	 * place has gone, or the server ends.
	 */
	if (may_greet(edge))
		doors_take_last(edge->doors);
	log_info(edge->protocol->context, "edge drains, edge=%u sessions=%u", edge->child->index,
		 edge->session_count);
	edge->is_draining = true;
	close_doors(edge);
	/* No client comes any more that would have to wait for one of them. */
	session_forget_held(edge);
	uv_timer_start(&edge->drain, drain_on_timer, edge->rules->drain_ms, 0);
	refuse_some(edge, false);
	if (edge->session_count == 0)
		uv_stop(&edge->loop);
}

static void cut_on_raise(uv_signal_t *raised, int number)
{
	(void)number;
	session_end_relays(raised->data);
}

/* ---- the beginning ---- */

/* Of the workers that a network may have, this edge's part: the kernel spreads its clients. */
static unsigned share_of(const struct edge_rules *rules)
{
	return (rules->network.held_max + rules->edges - 1) / rules->edges;
}

static int open_memory(struct edge *edge)
{
	struct limits_rules network = edge->rules->network;
	uint64_t random[2] = { 0, 0 };
	if (getentropy(random, sizeof(random)) != 0)
		return -errno;
	edge->next_id = random[0];
	network.held_max = share_of(edge->rules);
	edge->counts_held = network.connections_max > 0 || network.held_max > 0;
	int ret = arena_new(edge->session_max, edge->protocol->near_size, edge->protocol->far_size,
			    &edge->arena);
	if (ret == 0)
		ret = limits_new((size_t)edge->session_max * 4, random[1], &network, &edge->limits);
	return ret;
}

/* Behind this nothing is opened by name. */
static int open_files(struct edge *edge)
{
	const struct edge_rules *rules = edge->rules;
	const struct edge_protocol *protocol = edge->protocol;
	struct keys_error error;
	int status = protocol->open_files != NULL ? protocol->open_files(edge) : EX_OK;
	if (status != EX_OK || rules->certificate_count == 0)
		return status;
	if (tls_context_new(rules->chains, edge->child->keyholder_fd, &edge->tls_context, &error) ==
	    0)
		return EX_OK;
	log_error(protocol->context, "certificate not taken, path=%s (%s)", error.path,
		  error.reason);
	return EX_CONFIG;
}

static void init_timer(struct edge *edge, uv_timer_t *timer)
{
	uv_timer_init(&edge->loop, timer); /* cannot fail */
	timer->data = edge;
}

static int open_handles(struct edge *edge)
{
	const struct nanny_child *child = edge->child;
	int flags = fcntl(child->queue_fd, F_GETFL);
	if (flags < 0 || fcntl(child->queue_fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return -errno;
	init_timer(edge, &edge->tick);
	init_timer(edge, &edge->drain);
	uv_prepare_init(&edge->loop, &edge->wait);
	edge->wait.data = edge;
	uv_prepare_start(&edge->wait, rest_on_wait);
	/* It is nothing to live for. */
	uv_unref((uv_handle_t *)&edge->wait);
	uv_signal_init(&edge->loop, &edge->term);
	edge->term.data = edge;
	uv_signal_init(&edge->loop, &edge->cut);
	edge->cut.data = edge;
	int ret = uv_poll_init(&edge->loop, &edge->queue, child->queue_fd);
	edge->queue.data = edge;
	if (ret == 0)
		ret = doors_open(&edge->loop, child->listeners, child->listener_count, &doors_rules,
				 edge, &edge->doors);
	if (ret == 0)
		ret = uv_signal_start(&edge->term, term_on_raise, SIGTERM);
	if (ret == 0)
		ret = uv_signal_start(&edge->cut, cut_on_raise, SIGUSR2);
	if (ret == 0 && edge->protocol->open_handles != NULL)
		ret = edge->protocol->open_handles(edge);
	if (ret == 0 && edge->rules->has_zones)
		ret = uvhandle_open(&edge->uvhandle, &edge->loop, edge->rules->client);
	return ret;
}

static void close_handles(struct edge *edge)
{
	uvhandle_close(&edge->uvhandle);
	if (edge->protocol->close_handles != NULL)
		edge->protocol->close_handles(edge);
	uv_close((uv_handle_t *)&edge->tick, NULL);
	uv_close((uv_handle_t *)&edge->drain, NULL);
	uv_close((uv_handle_t *)&edge->wait, NULL);
	uv_close((uv_handle_t *)&edge->term, NULL);
	uv_close((uv_handle_t *)&edge->cut, NULL);
	uv_close((uv_handle_t *)&edge->queue, NULL);
}

/* Until the edge is told to end, and no session is left. */
static void take_clients(struct edge *edge)
{
	log_info(edge->protocol->context, "edge ready, edge=%u sessions=%u session_bytes=%zu",
		 edge->child->index, edge->session_max, arena_stride(edge->arena));
	session_take_time(edge, NULL);
	doors_watch(edge->doors);
	uv_run(&edge->loop, UV_RUN_DEFAULT);
}

static int serve(struct edge *edge)
{
	const struct nanny_child *child = edge->child;
	int ret = open_handles(edge);
	if (ret != 0) {
		log_error(edge->protocol->context, "loop not started (%s)", uv_strerror(ret));
		return EX_OSERR;
	}
	int status = child->confine != NULL ? child->confine(child->context) : EX_OK;
	if (status == EX_OK)
		take_clients(edge);
	else
		close_doors(edge);
	close_handles(edge);
	uv_run(&edge->loop, UV_RUN_DEFAULT);
	(void)edge_log_settle(edge, UINT64_MAX);
	if (status == EX_OK)
		log_info(edge->protocol->context, "edge ended, edge=%u", child->index);
	return status;
}

static int begin(struct edge *edge)
{
	int ret = open_memory(edge);
	if (ret == 0)
		ret = uv_loop_init(&edge->loop);
	if (ret != 0) {
		log_error(edge->protocol->context, "edge not started (%s)", strerror(-ret));
		return EX_OSERR;
	}
	wheel_init(&edge->wheel, uv_now(&edge->loop));
	batching_init(&edge->batching, edge->rules->batching_ms * UINT64_C(1000000));
	TAILQ_INIT(&edge->sessions);
	TAILQ_INIT(&edge->waiting);
	int status = open_files(edge);
	return status == EX_OK ? serve(edge) : status;
}

int edge_run(const struct nanny_child *child, const struct edge_protocol *protocol,
	     const struct edge_rules *rules, void *own)
{
	struct edge *edge = calloc(1, protocol->edge_size);
	if (edge == NULL)
		return EX_OSERR;
	edge->child = child;
	edge->rules = rules;
	edge->protocol = protocol;
	edge->own = own;
	edge->on_event = session_on_event;
	signal(SIGPIPE, SIG_IGN); /* of a log whose reader has ended */
	edge->session_max =
		daemon_share_descriptors(protocol->context, OWN_DESCRIPTORS, rules->sessions_max);
	int status = begin(edge);
	/* With something in it only when the start has failed; then the process ends anyway. */
	uv_loop_close(&edge->loop);
	tls_context_free(edge->tls_context);
	if (protocol->close_files != NULL)
		protocol->close_files(edge);
	limits_free(edge->limits);
	arena_free(edge->arena);
	free(edge);
	return status;
}
