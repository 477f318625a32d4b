/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/shared/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client-lib/cache/cache.h"
#include "client-lib/base/queue.h"
#include "client-lib/base/waitset.h"

/* On the wire an id is a place and how often it was used, so that a late reply finds no request. */
#define PLACE_BITS 7
#define PLACE_MASK (CACHED_OPEN_MAX - 1)

_Static_assert(CACHED_OPEN_MAX == 1 << PLACE_BITS, "a place has PLACE_BITS");

enum state { STATE_WAITING, STATE_SENT, STATE_ENDED, STATES };

struct request {
	TAILQ_ENTRY(request) link; /* of those in its state */
	enum state state;
	uint64_t number;  /* later ones have higher ones */
	uint32_t wire_id; /* STATE_SENT, as is heard */
	uint64_t heard;	  /* how many replies had come when it was sent */
	const char *zone; /* borrowed */
	struct dnsblv6_ip ip;
	int64_t deadline_ms;
	int status; /* STATE_ENDED, as is reply */
	struct cached_reply reply;
	remote_fn callback;
	void *context;
};

TAILQ_HEAD(request_list, request);

/*
 * A request is in the list of its state: those that wait, and those that were sent, are sorted by
 * deadline; those that have ended wait for their callbacks.
 */
struct remote {
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char copy[sizeof(((struct sockaddr_un *)0)->sun_path) + sizeof(CACHED_COPY)];
	struct sockaddr_un address;
	int waitset; /* of fd alone */
	int fd;	     /* -1: closed */
	bool is_greeted;
	remote_table_fn take_table; /* NULL: not wanted */
	void *table_context;
	int64_t retry_ms;	/* no connection is tried before */
	int closed_errno;	/* why it is closed, positive */
	uint64_t heard;		/* replies, of whatever request */
	unsigned silences;	/* without a reply between them */
	int64_t silent_beat_ms; /* the beat at the last of them; a later one says that it goes on */
	int64_t look_ms;	/* when the beat is looked at next, with something open */
	struct request_list lists[STATES];
	struct request *places[CACHED_OPEN_MAX]; /* those of sent */
	uint32_t uses[CACHED_OPEN_MAX];
	unsigned sent_count;
	uint64_t last_number;
	struct remote_stats stats;
};

/* ---- lists ---- */

/* Deadlines mostly come in order, so the search is short. */
static void insert(struct request_list *list, struct request *request)
{
	struct request *before = TAILQ_LAST(list, request_list);
	while (before != NULL && before->deadline_ms > request->deadline_ms)
		before = TAILQ_PREV(before, request_list, link);
	if (before != NULL)
		TAILQ_INSERT_AFTER(list, before, request, link);
	else
		TAILQ_INSERT_HEAD(list, request, link);
}

static struct request *first_of(const struct remote *remote, enum state state)
{
	/* The analyser does not see that TAILQ_REMOVE() changes what is first. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	return TAILQ_FIRST(&remote->lists[state]);
}

static void end_request(struct remote *remote, struct request *request, int status)
{
	if (request->state == STATE_SENT) {
		remote->places[request->wire_id & PLACE_MASK] = NULL;
		remote->sent_count--;
	}
	TAILQ_REMOVE(&remote->lists[request->state], request, link);
	request->state = STATE_ENDED;
	request->status = status;
	TAILQ_INSERT_TAIL(&remote->lists[STATE_ENDED], request, link);
}

static void forget(struct remote *remote)
{
	struct request *next = NULL;

	for (unsigned state = 0; state < STATES; state++) {
		for (struct request *request = first_of(remote, state); request != NULL;
		     request = next) {
			next = TAILQ_NEXT(request, link);
			free(request);
		}
		TAILQ_INIT(&remote->lists[state]);
	}
	memset(remote->places, 0, sizeof(remote->places));
	remote->sent_count = 0;
}

/* ---- the connection ---- */

static void end_all(struct remote *remote, int status)
{
	struct request *request;

	for (unsigned state = 0; state < STATE_ENDED; state++) {
		while ((request = first_of(remote, state)) != NULL)
			end_request(remote, request, status);
	}
}

static void stay_away(struct remote *remote, int64_t now_ms, int error)
{
	remote->retry_ms = now_ms + REMOTE_RETRY_MS;
	remote->closed_errno = error;
}

/* Does the daemon say that it is at work? Where its file cannot be read, a question will show. */
static bool has_beaten(const struct remote *remote, int64_t now_ms)
{
	int64_t beat_ms = 0;

	if (cache_read_beat(remote->copy, &beat_ms) != 0)
		return true;
	return beat_ms != remote->silent_beat_ms && beat_ms > now_ms - REMOTE_BEAT_MAX_MS &&
	       beat_ms < now_ms + REMOTE_BEAT_MAX_MS;
}

/* Nothing was heard for the whole time of a request, or of the daemon at all. */
static void note_silence(struct remote *remote, int64_t now_ms)
{
	int64_t pause_ms = (int64_t)REMOTE_RETRY_MS << remote->silences;

	if (pause_ms < REMOTE_PAUSE_MAX_MS)
		remote->silences++;
	remote->retry_ms = now_ms + pause_ms;
	/* Without a file the pause is all there is. */
	(void)cache_read_beat(remote->copy, &remote->silent_beat_ms);
}

/* The descriptor leaves an epoll set with its last copy; a child may have one. */
static void hang_up(struct remote *remote)
{
	if (remote->fd < 0)
		return;
	waitset_remove(remote->waitset, remote->fd);
	close(remote->fd);
	remote->fd = -1;
	remote->stats.lost++;
}

static void lose(struct remote *remote, int64_t now_ms, int error)
{
	hang_up(remote);
	stay_away(remote, now_ms, error);
	end_all(remote, -error);
}

/* The user of the process at the other end; -1 with errno, as of libc. */
static int find_peer(int fd, uid_t *ret_uid)
{
#ifdef __linux__
	struct ucred peer;
	socklen_t size = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return -1;
	*ret_uid = peer.uid;
	return 0;
#else
	gid_t unused;
	return getpeereid(fd, ret_uid, &unused);
#endif
}

/* Root, this user and the owner of the directory: each of them could make the cache there too. */
static int check_peer(const struct remote *remote, int fd)
{
	uid_t uid;
	struct stat status;
	if (find_peer(fd, &uid) != 0 || stat(remote->directory, &status) != 0)
		return -errno;
	bool is_believed = uid == 0 || uid == geteuid() || uid == status.st_uid;
	return is_believed ? 0 : -EPERM;
}

static int open_connection(struct remote *remote, int64_t now_ms)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int ret = 0;
	/* Never waits: with a full backlog it is EAGAIN. */
	if (connect(fd, (const struct sockaddr *)&remote->address, sizeof(remote->address)) != 0)
		ret = -errno;
	if (ret == 0)
		ret = check_peer(remote, fd);
	if (ret == 0)
		ret = waitset_add(remote->waitset, fd, 0);
	if (ret != 0) {
		close(fd);
		return ret;
	}
	remote->fd = fd;
	remote->is_greeted = false;
	remote->look_ms = now_ms + REMOTE_LOOK_MS;
	return 0;
}

static int reopen(struct remote *remote, int64_t now_ms)
{
	hang_up(remote);
	return open_connection(remote, now_ms);
}

/* Looks at the beat now and then; without one, what is open ends and the daemon is left. */
static void look_after(struct remote *remote, int64_t now_ms)
{
	if (now_ms < remote->look_ms)
		return;
	remote->look_ms = now_ms + REMOTE_LOOK_MS;
	if (has_beaten(remote, now_ms))
		return;
	lose(remote, now_ms, ETIMEDOUT);
	note_silence(remote, now_ms);
}

int remote_connect(struct remote *remote, int64_t now_ms)
{
	if (remote->fd >= 0)
		look_after(remote, now_ms);
	if (remote->fd >= 0)
		return 0;
	if (now_ms < remote->retry_ms)
		return -remote->closed_errno;
	int ret = remote->waitset >= 0 ? -ETIMEDOUT : -EMFILE;
	if (ret == -ETIMEDOUT && has_beaten(remote, now_ms))
		ret = open_connection(remote, now_ms);
	if (ret != 0) {
		stay_away(remote, now_ms, -ret);
		return ret;
	}
	return 0;
}

/* ---- life ---- */

int remote_new(const char *directory, struct remote **ret_remote)
{
	struct remote *remote = calloc(1, sizeof(*remote));
	if (remote == NULL)
		return -ENOMEM;
	for (unsigned state = 0; state < STATES; state++)
		TAILQ_INIT(&remote->lists[state]);
	remote->fd = -1;
	remote->waitset = -1;
	remote->retry_ms = INT64_MIN;
	remote->silent_beat_ms = INT64_MIN;
	remote->address.sun_family = AF_UNIX;
	int size = snprintf(remote->address.sun_path, sizeof(remote->address.sun_path),
			    "%s/" CACHED_SOCKET, directory);
	int ret = size < (int)sizeof(remote->address.sun_path) ? 0 : -ENAMETOOLONG;
	if (ret == 0) {
		snprintf(remote->directory, sizeof(remote->directory), "%s", directory);
		snprintf(remote->copy, sizeof(remote->copy), "%s/" CACHED_COPY, directory);
		remote->waitset = waitset_new();
		ret = remote->waitset >= 0 ? 0 : remote->waitset;
	}
	if (ret != 0) {
		remote_free(remote);
		return ret;
	}
	*ret_remote = remote;
	return 0;
}

void remote_free(struct remote *remote)
{
	if (remote == NULL)
		return;
	forget(remote);
	if (remote->fd >= 0)
		close(remote->fd);
	if (remote->waitset >= 0)
		close(remote->waitset);
	free(remote);
}

int remote_after_fork(struct remote *remote)
{
	forget(remote);
	/* Not hang_up(): the set may be the parent's, too. */
	if (remote->fd >= 0)
		close(remote->fd);
	remote->fd = -1;
	waitset_leave(remote->waitset);
	remote->waitset = waitset_new();
	return remote->waitset >= 0 ? 0 : remote->waitset;
}

void remote_on_table(struct remote *remote, remote_table_fn callback, void *context)
{
	remote->take_table = callback;
	remote->table_context = context;
}

bool remote_is_connected(const struct remote *remote)
{
	return remote->fd >= 0;
}

bool remote_is_expecting(const struct remote *remote)
{
	return remote->fd >= 0 && !remote->is_greeted;
}

void remote_get_stats(const struct remote *remote, struct remote_stats *ret_stats)
{
	*ret_stats = remote->stats;
}

/* ---- requests ---- */

static unsigned find_place(const struct remote *remote)
{
	unsigned place = 0;
	while (remote->places[place] != NULL)
		place++;
	return place;
}

/* A quarter is left for the way back, so that the daemon and not the clock says that it is late. */
static uint32_t share_of_daemon(int64_t left_ms)
{
	int64_t share_ms = left_ms - left_ms / 4;
	if (share_ms < 1)
		return 1;
	return share_ms < CACHED_TIMEOUT_MAX ? (uint32_t)share_ms : CACHED_TIMEOUT_MAX;
}

/* 0, -EAGAIN when the socket is full, or why the connection is lost. */
static int send_request(struct remote *remote, struct request *request, int64_t now_ms)
{
	unsigned place = find_place(remote);
	struct cached_request message = {
		.id = (remote->uses[place] + 1) << PLACE_BITS | place,
		.ip = request->ip,
		.timeout_ms = share_of_daemon(request->deadline_ms - now_ms),
		.zone = request->zone,
		.zone_size = strlen(request->zone),
	};
	uint8_t bytes[CACHED_REQUEST_MAX];
	int size = cached_encode_request(&message, bytes);
	if (size < 0) {
		end_request(remote, request, size); /* a name that no daemon has */
		return 0;
	}
	if (send(remote->fd, bytes, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno == EINTR || errno == ENOBUFS ? -EAGAIN : -errno;
	remote->uses[place]++;
	request->wire_id = message.id;
	TAILQ_REMOVE(&remote->lists[STATE_WAITING], request, link);
	request->state = STATE_SENT;
	request->heard = remote->heard;
	insert(&remote->lists[STATE_SENT], request);
	remote->places[place] = request;
	remote->sent_count++;
	return 0;
}

/* A full socket is tried again with the next reply: one is to come, or the daemon does not read. */
static void send_waiting(struct remote *remote, int64_t now_ms)
{
	bool is_idle = remote->sent_count == 0;
	while (remote->fd >= 0 && remote->sent_count < CACHED_OPEN_MAX &&
	       first_of(remote, STATE_WAITING) != NULL) {
		int ret = send_request(remote, first_of(remote, STATE_WAITING), now_ms);
		if (ret == -EAGAIN)
			return;
		if (ret == 0)
			continue;
		/* A daemon that was restarted while we had nothing to say to it. */
		if (!is_idle || reopen(remote, now_ms) != 0)
			lose(remote, now_ms, -ret);
		is_idle = false;
	}
}

int remote_ask(struct remote *remote, const char *zone, struct dnsblv6_addr addr, int64_t now_ms,
	       int64_t deadline_ms, remote_fn callback, void *context)
{
	size_t zone_size = strlen(zone);
	if (zone_size < 1 || zone_size > CACHED_ZONE_MAX || deadline_ms <= now_ms)
		return -EINVAL;
	int ret = remote_connect(remote, now_ms);
	if (ret != 0)
		return ret;
	struct request *request = calloc(1, sizeof(*request));
	if (request == NULL)
		return -ENOMEM;
	request->number = ++remote->last_number;
	request->zone = zone;
	dnsblv6_addr_to_bytes(addr, request->ip.bytes);
	request->deadline_ms = deadline_ms;
	request->callback = callback;
	request->context = context;
	insert(&remote->lists[STATE_WAITING], request);
	remote->stats.asked++;
	/* When this loses the connection, the callback tells it. */
	send_waiting(remote, now_ms);
	return 0;
}

/* ---- replies and time ---- */

static int status_of(enum cached_outcome outcome)
{
	switch (outcome) {
	case CACHED_LATE:
		return -ETIMEDOUT;
	case CACHED_NO_ZONE:
		return -ENOENT;
	case CACHED_BUSY:
		return -EBUSY;
	default:
		return 0;
	}
}

/* A reply that no request waits for came too late, or to a request that was cancelled. */
static void take_reply(struct remote *remote, const struct cached_reply *reply)
{
	struct request *request = remote->places[reply->id & PLACE_MASK];
	remote->heard++;
	remote->silences = 0;
	if (request == NULL || request->wire_id != reply->id)
		return;
	request->reply = *reply;
	end_request(remote, request, status_of(reply->outcome));
}

/* The end of an idle connection says nothing of the daemon that comes next. */
static void take_end(struct remote *remote, int64_t now_ms, int error)
{
	if (remote->sent_count == 0 && first_of(remote, STATE_WAITING) == NULL)
		hang_up(remote);
	else
		lose(remote, now_ms, error);
}

/* As recv(). *ret_fd is a descriptor that came with it, or -1. */
static ssize_t receive_packet(int fd, uint8_t *bytes, size_t size_bytes, int *ret_fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { .iov_base = bytes, .iov_len = size_bytes };
	/* CMSG_SPACE() is room for a second descriptor, which would stay open. */
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = CMSG_LEN(sizeof(int)) };

	*ret_fd = -1;
	ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *head = size >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(head), sizeof(*ret_fd));
	return size;
}

static void take_packet(struct remote *remote, int64_t now_ms, const uint8_t *bytes, size_t size,
			int fd)
{
	struct cached_reply reply;

	if (!remote->is_greeted && cached_is_greeting(bytes, size)) {
		remote->is_greeted = true;
		if (fd >= 0 && remote->take_table != NULL)
			remote->take_table(remote->table_context, fd);
	} else if (!remote->is_greeted || cached_decode_reply(bytes, size, &reply) != 0) {
		lose(remote, now_ms, EPROTO);
	} else {
		take_reply(remote, &reply);
	}
}

/* More than CACHED_OPEN_MAX come next time: the rest of the engine has its turn in between. */
static void receive(struct remote *remote, int64_t now_ms)
{
	for (unsigned i = 0; i < CACHED_OPEN_MAX && remote->fd >= 0; i++) {
		uint8_t bytes[CACHED_REPLY_SIZE + 1];
		int fd = -1;
		ssize_t size = receive_packet(remote->fd, bytes, sizeof(bytes), &fd);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (size <= 0)
			take_end(remote, now_ms, size < 0 ? errno : ECONNRESET);
		else
			take_packet(remote, now_ms, bytes, (size_t)size, fd);
		if (fd >= 0)
			close(fd);
		/* The end of the connection, if it is there too, is for the next time. */
		if (remote->sent_count == 0)
			return;
	}
}

static bool is_over(const struct request *request, int64_t now_ms)
{
	return request != NULL && request->deadline_ms <= now_ms;
}

/* No reply to any request since this one was sent: then no daemon is at work there. */
static void take_time(struct remote *remote, int64_t now_ms)
{
	struct request *request = first_of(remote, STATE_SENT);
	if (is_over(request, now_ms) && request->heard == remote->heard) {
		lose(remote, now_ms, ETIMEDOUT);
		note_silence(remote, now_ms);
	}
	if (remote->sent_count > 0)
		look_after(remote, now_ms);
	for (unsigned state = 0; state < STATE_ENDED; state++) {
		while (is_over(first_of(remote, state), now_ms))
			end_request(remote, first_of(remote, state), -ETIMEDOUT);
	}
}

static void tell(struct remote *remote, const struct request *request)
{
	remote->stats.answered += request->status == 0;
	remote->stats.late += request->status == -ETIMEDOUT;
	request->callback(request->context, request->status,
			  request->status == 0 ? &request->reply : NULL);
}

/* Only what has ended by now: what a callback asks has its callback next time. */
static void call_back(struct remote *remote)
{
	uint64_t last_number = remote->last_number;
	struct request *request;

	while ((request = first_of(remote, STATE_ENDED)) != NULL &&
	       request->number <= last_number) {
		TAILQ_REMOVE(&remote->lists[STATE_ENDED], request, link);
		tell(remote, request);
		free(request);
	}
}

int remote_fd(const struct remote *remote)
{
	return remote->waitset;
}

int64_t remote_next_ms(const struct remote *remote)
{
	int64_t next_ms = INT64_MAX;

	if (first_of(remote, STATE_ENDED) != NULL)
		return INT64_MIN;
	for (unsigned state = 0; state < STATE_ENDED; state++) {
		const struct request *first = first_of(remote, state);
		if (first != NULL && first->deadline_ms < next_ms)
			next_ms = first->deadline_ms;
	}
	if (remote->sent_count > 0 && remote->look_ms < next_ms)
		next_ms = remote->look_ms;
	return next_ms;
}

void remote_process(struct remote *remote, int64_t now_ms)
{
	receive(remote, now_ms);
	if (remote->waitset >= 0)
		waitset_settle(remote->waitset);
	take_time(remote, now_ms);
	send_waiting(remote, now_ms);
	call_back(remote);
}
