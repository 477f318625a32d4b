/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/cached/callers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client-lib/shared/cached.h"
#include "lib/common/log.h"
#include "lib/process/doors.h"
#include "lib/process/listening.h"
#include "lib/process/packet.h"

static const char context[] = "dnsblv6-cached";

#define BACKLOG 512
/* Requests that one client is read at a time; then it is the others' turn. */
#define READ_MAX 32
/* When the system lacks descriptors for clients. */
#define PAUSE_MS 1000

struct caller {
	TAILQ_ENTRY(caller) link;
	struct callers *callers;
	uv_poll_t poll;
	int fd;
	bool is_read; /* the loop tells when it says something */
	bool is_closed;
	unsigned open_count;
	LIST_HEAD(question_list, question) open;
};

struct question {
	LIST_ENTRY(question) link;
	struct caller *caller;
	uint32_t id; /* the client's */
	unsigned zone;
	uint32_t timeout_ms;
	uint64_t submitted; /* the library's id */
};

struct callers {
	const struct cached_setup *setup;
	uv_loop_t *loop;
	int fd;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	struct doors *doors;
	TAILQ_HEAD(caller_list, caller) list; /* the one silent for longest first */
	unsigned count;
	uint64_t counters[CALLERS_COUNTER_COUNT];
};

unsigned callers_count(const struct callers *callers)
{
	return callers->count;
}

const uint64_t *callers_counters(const struct callers *callers)
{
	return callers->counters;
}

/* ---- an end ---- */

static void caller_on_close(uv_handle_t *handle)
{
	struct caller *caller = handle->data;
	close(caller->fd);
	free(caller);
}

/* Open questions go on in the library, into the cache, but get no reply any more. */
static void cut_off(struct caller *caller)
{
	struct callers *callers = caller->callers;
	struct question *next = NULL;
	if (caller->is_closed)
		return;
	caller->is_closed = true;
	for (struct question *question = LIST_FIRST(&caller->open); question != NULL;
	     question = next) {
		next = LIST_NEXT(question, link);
		dnsblv6_cancel(callers->setup->handle.client, question->submitted);
		free(question);
	}
	LIST_INIT(&caller->open);
	TAILQ_REMOVE(&callers->list, caller, link);
	callers->count--;
	uv_close((uv_handle_t *)&caller->poll, caller_on_close);
}

/* ---- replies ---- */

static void count_reply(struct callers *callers, const struct cached_reply *reply)
{
	static const enum callers_counter counters[] = {
		[CACHED_ANSWERED] = CALLERS_CLEAR, [CACHED_FAILED] = CALLERS_FAILED,
		[CACHED_LATE] = CALLERS_LATE,	   [CACHED_NO_ZONE] = CALLERS_NO_ZONE,
		[CACHED_BUSY] = CALLERS_BUSY,
	};
	callers->counters[reply->is_listed ? CALLERS_LISTED : counters[reply->outcome]]++;
}

/* The socket has room for more than CACHED_OPEN_MAX replies: a full one is not being read. */
static void say(struct caller *caller, const struct cached_reply *reply)
{
	uint8_t bytes[CACHED_REPLY_SIZE];
	count_reply(caller->callers, reply);
	cached_encode_reply(reply, bytes);
	if (send(caller->fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return;
	if (errno == EAGAIN || errno == ENOBUFS)
		caller->callers->counters[CALLERS_CUT]++;
	cut_off(caller);
}

static void say_outcome(struct caller *caller, uint32_t id, enum cached_outcome outcome)
{
	struct cached_reply reply = { .id = id, .outcome = outcome };
	say(caller, &reply);
}

/* The library's deadlines are whole milliseconds, so it may be one early. */
static bool is_over(const struct dnsblv6_result *result, const struct question *question)
{
	return result->elapsed_us / 1000 + 1 >= question->timeout_ms;
}

static struct cached_reply make_reply(const struct question *question,
				      const struct dnsblv6_result *result)
{
	uint64_t bit = (uint64_t)1 << question->zone;
	struct cached_reply reply = { .id = question->id, .outcome = CACHED_FAILED };
	if ((result->zones_answered & bit) != 0) {
		reply.outcome = CACHED_ANSWERED;
		reply.is_listed = (result->zones_listed & bit) != 0;
		reply.is_stale = (result->zones_stale & bit) != 0;
		reply.is_secure = (result->zones_secure & bit) != 0;
		reply.ttl_s = result->ttl_s;
	} else if (is_over(result, question)) {
		reply.outcome = CACHED_LATE;
	}
	return reply;
}

static void watch(struct caller *caller);

static void question_on_result(void *question_data, const struct dnsblv6_result *result)
{
	struct question *question = question_data;
	struct caller *caller = question->caller;
	struct cached_reply reply = make_reply(question, result);
	LIST_REMOVE(question, link);
	free(question);
	caller->open_count--;
	say(caller, &reply);
	if (!caller->is_closed && !caller->is_read)
		watch(caller);
}

/* ---- requests ---- */

static void ask(struct caller *caller, const struct cached_request *request, unsigned zone)
{
	struct callers *callers = caller->callers;
	struct question *question = calloc(1, sizeof(*question));
	if (question == NULL) {
		say_outcome(caller, request->id, CACHED_BUSY);
		return;
	}
	question->caller = caller;
	question->id = request->id;
	question->zone = zone;
	question->timeout_ms = request->timeout_ms;
	if (dnsblv6_submit(callers->setup->handle.client, &request->ip, (uint64_t)1 << zone,
			   (int)request->timeout_ms, question_on_result, question,
			   &question->submitted) != 0) {
		free(question);
		say_outcome(caller, request->id, CACHED_BUSY);
		return;
	}
	LIST_INSERT_HEAD(&caller->open, question, link);
	caller->open_count++;
}

static void take_request(struct caller *caller, const uint8_t *bytes, size_t size)
{
	struct callers *callers = caller->callers;
	struct cached_request request;
	if (cached_decode_request(bytes, size, &request) != 0) {
		callers->counters[CALLERS_CUT]++;
		cut_off(caller);
		return;
	}
	callers->counters[CALLERS_REQUESTS]++;
	int zone = cached_setup_find_zone(callers->setup, request.zone, request.zone_size);
	if (zone < 0)
		say_outcome(caller, request.id, CACHED_NO_ZONE);
	else
		ask(caller, &request, (unsigned)zone);
}

static void caller_on_readable(uv_poll_t *poll, int status, int events)
{
	struct caller *caller = poll->data;
	struct callers *callers = caller->callers;
	(void)events;
	TAILQ_REMOVE(&callers->list, caller, link);
	TAILQ_INSERT_TAIL(&callers->list, caller, link);
	if (status < 0)
		cut_off(caller);
	for (unsigned i = 0; i < READ_MAX && !caller->is_closed; i++) {
		uint8_t bytes[CACHED_REQUEST_MAX + 1];
		if (caller->open_count == CACHED_OPEN_MAX) {
			uv_poll_stop(&caller->poll);
			caller->is_read = false;
			return;
		}
		ssize_t size = recv(caller->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (size <= 0)
			cut_off(caller);
		else
			take_request(caller, bytes, (size_t)size);
	}
}

static void watch(struct caller *caller)
{
	caller->is_read = uv_poll_start(&caller->poll, UV_READABLE, caller_on_readable) == 0;
	if (!caller->is_read)
		cut_off(caller);
}

/* ---- clients ---- */

/* A client that is idle connects again with its next question. */
static bool make_room(struct callers *callers)
{
	struct caller *oldest = TAILQ_FIRST(&callers->list);
	if (callers->count < callers->setup->clients_max)
		return true;
	while (oldest != NULL && oldest->open_count > 0)
		oldest = TAILQ_NEXT(oldest, link);
	if (oldest == NULL)
		return false;
	callers->counters[CALLERS_REPLACED]++;
	cut_off(oldest);
	return true;
}

/*
 * The first packet of a connection, with the descriptor of the cache. The system sends no more of
 * them than it has room for as long as clients do not take theirs; the greeting alone will do then.
 */
static bool greet(const struct callers *callers, int fd)
{
	int table_fd = dnsblv6_shared_fd(callers->setup->handle.client);
	const struct iovec part = { (void *)(uintptr_t)CACHED_GREETING, CACHED_GREETING_SIZE };
	return packet_send(fd, &part, 1, &table_fd, 1) >= 0 ||
	       packet_send(fd, &part, 1, NULL, 0) >= 0;
}

static void take_caller(void *owner, unsigned door, int fd, const struct sockaddr *peer)
{
	struct callers *callers = owner;
	(void)door;
	(void)peer;
	struct caller *caller = make_room(callers) ? calloc(1, sizeof(*caller)) : NULL;
	if (caller == NULL || !greet(callers, fd) ||
	    uv_poll_init(callers->loop, &caller->poll, fd) != 0) {
		callers->counters[CALLERS_REFUSED]++;
		free(caller);
		close(fd);
		return;
	}
	callers->counters[CALLERS_CONNECTIONS]++;
	callers->count++;
	caller->callers = callers;
	caller->fd = fd;
	caller->poll.data = caller;
	LIST_INIT(&caller->open);
	TAILQ_INSERT_TAIL(&callers->list, caller, link);
	watch(caller);
}

static void log_wait(void *owner, int error)
{
	(void)owner;
	log_warning(context, "clients have to wait (%s)", strerror(error));
}

static const struct doors_rules rules = { PAUSE_MS, NULL, take_caller, log_wait };

/* ---- the socket ---- */

/*
 * The copy is for clients that may connect, and no others: it says when the daemon was last at work,
 * and has the names of zones, which may have keys in them, as the table that a connection brings.
 */
static int give_copy(const struct cached_setup *setup)
{
	char path[sizeof(((struct callers *)0)->path)];
	struct owner owner = setup->owner;
	owner.socket_mode = S_IRUSR | S_IWUSR | (owner.socket_mode & (S_IWGRP | S_IWOTH)) << 1;
	snprintf(path, sizeof(path), "%s/" CACHED_COPY, setup->directory);
	return owner_give(&owner, path);
}

/* No client can connect before the socket has its group and its mode. */
static int listen_at(struct callers *callers)
{
	int ret = give_copy(callers->setup);
	if (ret == 0)
		ret = listening_bind_path(callers->path, SOCK_SEQPACKET, &callers->fd);
	if (ret == 0)
		ret = owner_give(&callers->setup->owner, callers->path);
	if (ret == 0 && listen(callers->fd, BACKLOG) != 0)
		ret = -errno;
	return ret;
}

int callers_open(uv_loop_t *loop, const struct cached_setup *setup, struct callers **ret_callers)
{
	struct callers *callers = calloc(1, sizeof(*callers));
	if (callers == NULL)
		return -ENOMEM;
	callers->setup = setup;
	callers->loop = loop;
	TAILQ_INIT(&callers->list);
	callers->fd = -1;
	snprintf(callers->path, sizeof(callers->path), "%s/" CACHED_SOCKET, setup->directory);
	int ret = listen_at(callers);
	if (ret == 0)
		ret = doors_open(loop, &callers->fd, 1, &rules, callers, &callers->doors);
	if (ret == 0)
		ret = doors_watch(callers->doors);
	if (ret != 0) {
		if (callers->fd >= 0)
			close(callers->fd);
		free(callers);
		return ret;
	}
	*ret_callers = callers;
	return 0;
}

void callers_close(struct callers *callers)
{
	struct caller *caller = NULL;
	if (callers == NULL)
		return;
	unlink(callers->path);
	while ((caller = TAILQ_FIRST(&callers->list)) != NULL)
		cut_off(caller);
	doors_close(callers->doors);
}

void callers_free(struct callers *callers)
{
	if (callers == NULL)
		return;
	close(callers->fd);
	free(callers);
}
