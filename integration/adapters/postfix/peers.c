/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/postfix/peers.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/adapters/postfix/line.h"
#include "integration/adapters/postfix/request.h"
#include "lib/common/log.h"
#include "lib/process/doors.h"
#include "lib/process/ration.h"

static const char context[] = "dnsblv6-policy";

/* A request of Postfix is half of it; what is longer comes in pieces. */
#define IN_SIZE		2048
#define PAUSE_MS	1000 /* when the system lacks descriptors for connections */
#define SWEEP_MS	1000
#define DRAIN_MS	2000 /* beyond the deadline of questions */
#define LOG_LINES_MAX_S 50   /* about questions, in a second */

struct peer {
	TAILQ_ENTRY(peer) link;
	TAILQ_ENTRY(peer) stuck;
	struct peers *peers;
	uv_poll_t poll;
	int fd;
	int watched; /* events of poll that are waited for; 0: none */
	enum setup_protocol protocol;
	bool is_asking; /* a question is open in the library */
	bool is_ended;	/* nothing more will come in */
	bool is_stuck;	/* with a reply that it does not take */
	bool is_closed;
	uint64_t stuck_ms; /* since when */
	uint64_t submitted;
	union {
		struct request request;
		struct line line;
	} parser;
	char prepended[QUESTION_INSTANCE_MAX + 1]; /* the message that has its header */
	char in[IN_SIZE];
	size_t in_start;
	size_t in_size;
	char out[QUESTION_REPLY_MAX + 1];
	size_t out_start;
	size_t out_size;
};

TAILQ_HEAD(peer_list, peer);

struct peers {
	const struct policy_setup *setup;
	uv_loop_t *loop;
	struct doors *doors;	/* in the order of setup's places */
	struct peer_list list;	/* the one silent for longest first */
	struct peer_list stuck; /* for longest first */
	unsigned count;
	unsigned handle_count; /* of libuv that are not closed */
	uv_timer_t sweep;      /* looks for those that are stuck, tells of lines left out */
	uv_timer_t drain;      /* the end of waiting at the end */
	bool is_stopping;
	peers_fn done;
	void *done_context;
	struct ration lines; /* of the log */
	uint64_t counters[PEERS_COUNTER_COUNT];
};

unsigned peers_count(const struct peers *peers)
{
	return peers->count;
}

const uint64_t *peers_counters(const struct peers *peers)
{
	return peers->counters;
}

/* ---- the log ---- */

static void begin_sweep(struct peers *peers);

/* UINT64_MAX: at the end, when no second is awaited. */
static void tell_left_out(struct peers *peers, uint64_t now_ms)
{
	unsigned left_out = ration_settle(&peers->lines, now_ms);
	if (left_out > 0)
		log_info(context, "lines left out, count=%u", left_out);
}

/* A client that sends a thousand questions a second must not fill the disk with them. */
static bool may_log(struct peers *peers)
{
	uint64_t now_ms = uv_now(peers->loop);
	tell_left_out(peers, now_ms);
	if (ration_take(&peers->lines, now_ms, LOG_LINES_MAX_S))
		return true;
	begin_sweep(peers);
	return false;
}

static void log_decision(struct peers *peers, const struct question *question,
			 const struct judgement *judgement, enum setup_protocol protocol)
{
	char address[DNSBLV6_IP_TEXT_SIZE];
	if (judgement->action == JUDGE_PASS || !may_log(peers))
		return;
	dnsblv6_ip_format(&question->ip, address);
	log_info(context, "%s, client=%s score=%d zones=%s action=%s state=%s",
		 judgement->verdict == DNSBLV6_LISTED ? "listed" : "deferred", address,
		 judgement->score, judgement->zones,
		 protocol == SETUP_LINES ? "told" : judge_action_name(judgement->action),
		 question->state[0] != '\0' ? question->state : "-");
}

static void log_trouble(struct peers *peers, const char *what)
{
	if (may_log(peers))
		log_warning(context, "%s", what);
}

/* ---- an end ---- */

static void handle_on_close(struct peers *peers)
{
	peers->handle_count--;
	if (peers->handle_count == 0 && peers->is_stopping)
		peers->done(peers->done_context);
}

static void own_on_close(uv_handle_t *handle)
{
	handle_on_close(handle->data);
}

static void peer_on_close(uv_handle_t *handle)
{
	struct peer *peer = handle->data;
	struct peers *peers = peer->peers;
	close(peer->fd);
	free(peer);
	handle_on_close(peers);
}

static void set_stuck(struct peer *peer, bool is_stuck);

/* Timers are the last to go, once all connections are closed. */
static void close_timers(struct peers *peers)
{
	if (!peers->is_stopping || peers->count > 0 || uv_is_closing((uv_handle_t *)&peers->drain))
		return;
	tell_left_out(peers, UINT64_MAX);
	uv_close((uv_handle_t *)&peers->drain, own_on_close);
	uv_close((uv_handle_t *)&peers->sweep, own_on_close);
}

/* An open question goes on in the library, into the cache, but gets no reply any more. */
static void cut_off(struct peer *peer)
{
	struct peers *peers = peer->peers;
	if (peer->is_closed)
		return;
	peer->is_closed = true;
	if (peer->is_asking)
		dnsblv6_cancel(peers->setup->handle.client, peer->submitted);
	set_stuck(peer, false);
	TAILQ_REMOVE(&peers->list, peer, link);
	peers->count--;
	uv_close((uv_handle_t *)&peer->poll, peer_on_close);
	close_timers(peers);
}

static void cut_with_reason(struct peer *peer, const char *what)
{
	peer->peers->counters[PEERS_CUT]++;
	log_trouble(peer->peers, what);
	cut_off(peer);
}

/* ---- what a connection is waited for ---- */

static void peer_on_event(uv_poll_t *poll, int status, int events);

static void watch(struct peer *peer, int events)
{
	if (peer->is_closed || peer->watched == events)
		return;
	peer->watched = events;
	if (events == 0)
		uv_poll_stop(&peer->poll);
	else if (uv_poll_start(&peer->poll, events, peer_on_event) != 0)
		cut_off(peer);
}

static void sweep_on_timer(uv_timer_t *timer)
{
	struct peers *peers = timer->data;
	struct peer *peer = NULL;
	uint64_t now_ms = uv_now(peers->loop);
	while ((peer = TAILQ_FIRST(&peers->stuck)) != NULL &&
	       now_ms - peer->stuck_ms >= PEERS_STUCK_S * 1000)
		cut_with_reason(peer, "connection cut off (it does not take its replies)");
	tell_left_out(peers, now_ms);
	if (!TAILQ_EMPTY(&peers->stuck) || peers->lines.left_out > 0)
		begin_sweep(peers);
}

/* One that runs already is soon enough. */
static void begin_sweep(struct peers *peers)
{
	if (!uv_is_active((uv_handle_t *)&peers->sweep))
		uv_timer_start(&peers->sweep, sweep_on_timer, SWEEP_MS, 0);
}

static void set_stuck(struct peer *peer, bool is_stuck)
{
	struct peers *peers = peer->peers;
	if (peer->is_stuck == is_stuck)
		return;
	peer->is_stuck = is_stuck;
	if (!is_stuck) {
		TAILQ_REMOVE(&peers->stuck, peer, stuck);
		return;
	}
	peer->stuck_ms = uv_now(peers->loop);
	begin_sweep(peers);
	TAILQ_INSERT_TAIL(&peers->stuck, peer, stuck);
}

/* ---- replies ---- */

/* As much as the connection takes. */
static void flush(struct peer *peer)
{
	while (peer->out_start < peer->out_size) {
		ssize_t sent = send(peer->fd, peer->out + peer->out_start,
				    peer->out_size - peer->out_start, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent >= 0) {
			peer->out_start += (size_t)sent;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN || errno == ENOBUFS) {
			set_stuck(peer, true);
			watch(peer, UV_WRITABLE);
		} else {
			cut_off(peer);
		}
		return;
	}
	peer->out_start = 0;
	peer->out_size = 0;
	set_stuck(peer, false);
	/* Nothing else would end that watch while the next question is open. */
	if (peer->watched == UV_WRITABLE)
		watch(peer, 0);
}

/* Each recipient of a message is asked about; the message wants one header. */
static bool has_header(struct peer *peer, const struct question *question)
{
	if (question->instance[0] == '\0')
		return false;
	bool is_same = strcmp(peer->prepended, question->instance) == 0;
	memcpy(peer->prepended, question->instance, sizeof(peer->prepended));
	return is_same;
}

static struct question *question_of(struct peer *peer)
{
	return peer->protocol == SETUP_LINES ? &peer->parser.line.question
					     : &peer->parser.request.question;
}

static void begin(struct peer *peer)
{
	if (peer->protocol == SETUP_LINES)
		line_begin(&peer->parser.line);
	else
		request_begin(&peer->parser.request);
}

static void say(struct peer *peer, struct judgement *judgement)
{
	const struct question *question = question_of(peer);
	log_decision(peer->peers, question, judgement, peer->protocol);
	if (peer->protocol == SETUP_LINES) {
		peer->out_size = line_format(judgement, peer->out);
	} else {
		if (judgement->action == JUDGE_PREPEND && has_header(peer, question))
			judgement->action = JUDGE_PASS;
		peer->out_size = request_format(judgement, peer->out);
	}
	begin(peer);
	flush(peer);
}

static void say_verdict(struct peer *peer, enum dnsblv6_verdict verdict)
{
	struct judgement judgement = { .action = JUDGE_PASS, .verdict = verdict };
	say(peer, &judgement);
}

static void count_verdict(struct peers *peers, enum dnsblv6_verdict verdict)
{
	static const enum peers_counter counters[] = {
		[DNSBLV6_CLEAR] = PEERS_CLEAR,
		[DNSBLV6_LISTED] = PEERS_LISTED,
		[DNSBLV6_UNKNOWN] = PEERS_UNKNOWN,
		[DNSBLV6_DEFER] = PEERS_DEFERRED,
	};
	peers->counters[counters[verdict]]++;
}

/* ---- questions ---- */

static void go_on(struct peer *peer);

static void question_on_result(void *peer_data, const struct dnsblv6_result *result)
{
	struct peer *peer = peer_data;
	struct judgement judgement;
	peer->is_asking = false;
	judge_decide(&peer->peers->setup->judge, &question_of(peer)->ip, result, 0, &judgement);
	count_verdict(peer->peers, judgement.verdict);
	say(peer, &judgement);
	go_on(peer);
}

/* When there are too many questions, the cache still has answers. */
static void say_what_is_cached(struct peer *peer)
{
	struct peers *peers = peer->peers;
	struct judgement judgement;
	if (judge_peek(&peers->setup->judge, &question_of(peer)->ip, &judgement))
		count_verdict(peers, judgement.verdict);
	else
		peers->counters[PEERS_BUSY]++;
	say(peer, &judgement);
}

static void ask(struct peer *peer)
{
	const struct judge *judge = &peer->peers->setup->judge;
	int ret = judge_submit(judge, &question_of(peer)->ip, question_on_result, peer,
			       &peer->submitted);
	peer->is_asking = ret == 0;
	if (ret != 0)
		say_what_is_cached(peer);
}

static void take_question(struct peer *peer)
{
	struct peers *peers = peer->peers;
	const struct question *question = question_of(peer);
	peers->counters[PEERS_REQUESTS]++;
	if (question->is_malformed) {
		peers->counters[PEERS_MALFORMED]++;
		log_trouble(peers, "request not understood, client let pass");
		say_verdict(peer, DNSBLV6_UNKNOWN);
	} else if (!question->has_ip) {
		peers->counters[PEERS_ADDRESSLESS]++;
		say_verdict(peer, DNSBLV6_UNKNOWN);
	} else if (question->is_authenticated) {
		peers->counters[PEERS_AUTHENTICATED]++;
		say_verdict(peer, DNSBLV6_CLEAR);
	} else if (judge_exempts(&peers->setup->judge, &question->ip)) {
		peers->counters[PEERS_EXEMPT]++;
		say_verdict(peer, DNSBLV6_CLEAR);
	} else {
		ask(peer);
	}
}

static enum question_status feed(struct peer *peer)
{
	size_t taken = 0;
	const char *bytes = peer->in + peer->in_start;
	size_t size = peer->in_size - peer->in_start;
	enum question_status status =
		peer->protocol == SETUP_LINES
			? line_feed(&peer->parser.line, bytes, size, &taken)
			: request_feed(&peer->parser.request, bytes, size, &taken);
	peer->in_start += taken;
	return status;
}

/* Nothing more comes in, and all questions have their replies. */
static void finish(struct peer *peer)
{
	if (peer->protocol == SETUP_LINES && line_end(&peer->parser.line))
		take_question(peer);
	else
		cut_off(peer);
}

/* As far as what has come in goes, a question and its reply at a time. */
static void go_on(struct peer *peer)
{
	while (!peer->is_closed && !peer->is_asking && peer->out_size == 0) {
		if (peer->peers->is_stopping) {
			cut_off(peer);
			return;
		}
		if (peer->in_start == peer->in_size) {
			if (!peer->is_ended)
				break;
			finish(peer);
			continue;
		}
		enum question_status status = feed(peer);
		if (status == QUESTION_READY)
			take_question(peer);
		if (status == QUESTION_ENDLESS)
			cut_with_reason(peer, "connection cut off (a request without an end)");
	}
	/* While the library is asked, what comes is not looked for before it has come. */
	if (!peer->is_closed && !peer->is_asking && peer->out_size == 0)
		watch(peer, UV_READABLE);
}

static void read_some(struct peer *peer)
{
	ssize_t size = recv(peer->fd, peer->in, sizeof(peer->in), MSG_DONTWAIT);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size < 0) {
		cut_off(peer);
		return;
	}
	peer->is_ended = size == 0;
	peer->in_start = 0;
	peer->in_size = (size_t)size;
	go_on(peer);
}

static void peer_on_event(uv_poll_t *poll, int status, int events)
{
	struct peer *peer = poll->data;
	struct peer_list *list = &peer->peers->list;
	TAILQ_REMOVE(list, peer, link);
	TAILQ_INSERT_TAIL(list, peer, link);
	if (status < 0) {
		cut_off(peer);
	} else if ((events & UV_WRITABLE) != 0) {
		flush(peer);
		go_on(peer);
	} else if (peer->is_asking) {
		watch(peer, 0);
	} else {
		read_some(peer);
	}
}

/* ---- connections ---- */

/* A process that is idle connects again with its next question. */
static bool make_room(struct peers *peers)
{
	struct peer *oldest = TAILQ_FIRST(&peers->list);
	if (peers->count < peers->setup->clients_max)
		return true;
	while (oldest != NULL && (oldest->is_asking || oldest->out_size > 0))
		oldest = TAILQ_NEXT(oldest, link);
	if (oldest == NULL)
		return false;
	peers->counters[PEERS_REPLACED]++;
	cut_off(oldest);
	return true;
}

static void take_peer(void *owner, unsigned door, int fd, const struct sockaddr *from)
{
	struct peers *peers = owner;
	(void)from;
	int on = 1;
	struct peer *peer = make_room(peers) ? calloc(1, sizeof(*peer)) : NULL;
	if (peer == NULL || uv_poll_init(peers->loop, &peer->poll, fd) != 0) {
		peers->counters[PEERS_REFUSED]++;
		free(peer);
		close(fd);
		return;
	}
	/* Fails on a UNIX socket, which has no such delay. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	peers->counters[PEERS_CONNECTIONS]++;
	peers->count++;
	peers->handle_count++;
	peer->peers = peers;
	peer->fd = fd;
	peer->protocol = peers->setup->places[door].protocol;
	peer->poll.data = peer;
	begin(peer);
	TAILQ_INSERT_TAIL(&peers->list, peer, link);
	watch(peer, UV_READABLE);
}

static void log_wait(void *owner, int error)
{
	(void)owner;
	log_warning(context, "connections have to wait (%s)", strerror(error));
}

static const struct doors_rules rules = { PAUSE_MS, NULL, take_peer, log_wait };

/* ---- begin and end ---- */

static void init_timer(struct peers *peers, uv_timer_t *timer, void *data)
{
	uv_timer_init(peers->loop, timer); /* cannot fail */
	timer->data = data;
	peers->handle_count++;
}

int peers_open(uv_loop_t *loop, const struct policy_setup *setup, const struct sockets *sockets,
	       struct peers **ret_peers)
{
	struct peers *peers = calloc(1, sizeof(*peers));
	int ret = 0;
	if (peers == NULL)
		return -ENOMEM;
	peers->setup = setup;
	peers->loop = loop;
	TAILQ_INIT(&peers->list);
	TAILQ_INIT(&peers->stuck);
	init_timer(peers, &peers->sweep, peers);
	init_timer(peers, &peers->drain, peers);
	ret = doors_open(loop, sockets->fds, sockets->count, &rules, peers, &peers->doors);
	if (ret == 0)
		ret = doors_watch(peers->doors);
	*ret_peers = peers; /* in either case: its handles are in the loop */
	return ret;
}

/* All, or only those that are owed nothing. */
static void cut_off_some(struct peers *peers, bool is_all)
{
	struct peer *next = NULL;
	for (struct peer *peer = TAILQ_FIRST(&peers->list); peer != NULL; peer = next) {
		next = TAILQ_NEXT(peer, link);
		if (is_all || (!peer->is_asking && peer->out_size == 0))
			cut_off(peer);
	}
}

static void drain_on_timer(uv_timer_t *timer)
{
	cut_off_some(timer->data, true);
}

void peers_stop(struct peers *peers, peers_fn done, void *done_context)
{
	peers->is_stopping = true;
	peers->done = done;
	peers->done_context = done_context;
	doors_close(peers->doors);
	uv_timer_start(&peers->drain, drain_on_timer,
		       (uint64_t)peers->setup->judge.deadline_ms + DRAIN_MS, 0);
	cut_off_some(peers, false);
	close_timers(peers);
}

void peers_free(struct peers *peers)
{
	free(peers);
}
