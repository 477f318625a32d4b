/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/nodes/nodelink.h"

#include "lib/common/wholefile.h"
#include "lib/format/array.h"
#include "lib/process/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_SIZE  16384
#define CHUNK_SIZE 65536
/* Read in one turn of the loop, before others have theirs. */
#define TURN_MAX 64
/* A loop that is later than this has stood still: its process was stopped, or its machine. */
#define LATE_MS 500

enum state { CONNECTING, SHAKING, GREETING, OPEN };

/* What is still to be written to TLS: bytes, then a part of a file. */
struct outgoing {
	uint8_t *bytes;
	size_t room;
	size_t size;
	size_t at;
	int fd; /* -1: none */
	uint64_t fd_at;
	uint64_t fd_left;
};

struct nodelink {
	struct nodelink_start start;
	uv_poll_t poll;
	uv_timer_t timer;
	unsigned limit_ms;    /* 0: none */
	uint64_t until_ms;    /* when that is over; later with each byte that comes */
	uint64_t end_ms;      /* it is over then in any case */
	bool has_much_unsent; /* it had, when until_ms was set */
	bool has_stood;	      /* the loop was late, once */
	unsigned open_handles;
	enum state state;
	int events;
	bool is_local;
	bool is_server;
	bool is_closed;
	const struct nodesetup_peer *peer; /* expected; of a server the one that came */
	int fd;				   /* of TLS */
	struct nodetls_link *tls;
	struct storelink store; /* of the local store */
	struct outgoing out;
	struct nodewire_input in;
};

const char *nodelink_strerror(int status)
{
	if (status == TLS_EPEER)
		return "TLS has failed";
	if (status == TLS_ECUT)
		return "the connection was cut";
	return strerror(-status);
}

/* ---- the end ---- */

static void link_on_close(uv_handle_t *handle)
{
	struct nodelink *link = handle->data;
	if (--link->open_handles > 0)
		return;
	nodetls_link_free(link->tls);
	if (link->fd >= 0)
		close(link->fd);
	storelink_close(&link->store);
	if (link->out.fd >= 0)
		close(link->out.fd);
	free(link->out.bytes);
	nodewire_deinit(&link->in);
	free(link);
}

void nodelink_close(struct nodelink *link)
{
	if (link == NULL || link->is_closed)
		return;
	link->is_closed = true;
	uv_close((uv_handle_t *)&link->poll, link_on_close);
	uv_close((uv_handle_t *)&link->timer, link_on_close);
}

static void lose(struct nodelink *link, int status)
{
	if (link->is_closed)
		return;
	nodelink_close(link);
	link->start.rules->lost(link->start.owner, link, status);
}

static void timer_on_end(uv_timer_t *timer);

/* Of a large mail on a slow link. That it goes on is for TCP_USER_TIMEOUT to see. */
static bool has_much_unsent(const struct nodelink *link)
{
	int size = 0;
	return !link->is_local && ioctl(link->fd, SIOCOUTQ, &size) == 0 && size > CHUNK_SIZE;
}

/* Clients have a time of their own: what is answered behind it they send once more. */
static void put_off(struct nodelink *link)
{
	link->until_ms = uv_now(link->start.loop) + link->limit_ms;
	if (link->until_ms > link->end_ms)
		link->until_ms = link->end_ms;
}

static void begin_again(struct nodelink *link)
{
	link->has_much_unsent = has_much_unsent(link);
	put_off(link);
	uv_timer_start(&link->timer, timer_on_end, link->until_ms - uv_now(link->start.loop), 0);
}

static void timer_on_end(uv_timer_t *timer)
{
	struct nodelink *link = timer->data;
	const uint64_t now_ms = uv_now(link->start.loop);
	if (now_ms < link->until_ms) {
		uv_timer_start(timer, timer_on_end, link->until_ms - now_ms, 0);
		return;
	}
	/* When the loop is late, what has come meanwhile is not read yet. */
	const bool is_late = now_ms - link->until_ms > LATE_MS && !link->has_stood;
	if (is_late) {
		link->has_stood = true;
		link->end_ms = now_ms + link->limit_ms;
	}
	if (is_late || (link->has_much_unsent && now_ms < link->end_ms)) {
		begin_again(link);
		return;
	}
	/* Of a server that has shaken hands it is for half a message. */
	lose(link, link->is_server && link->state == OPEN ? -EPROTO : -ETIMEDOUT);
}

void nodelink_limit(struct nodelink *link, unsigned timeout_ms)
{
	if (link->is_closed)
		return;
	link->limit_ms = timeout_ms;
	link->end_ms = uv_now(link->start.loop) + 2 * (uint64_t)timeout_ms;
	link->has_stood = false;
	if (timeout_ms == 0)
		uv_timer_stop(&link->timer);
	else
		begin_again(link);
}

bool nodelink_is_due(const struct nodelink *link)
{
	const uint64_t now_ms = uv_now(link->start.loop);
	return link->limit_ms != 0 && now_ms + LATE_MS >= link->until_ms &&
	       now_ms <= link->until_ms + LATE_MS;
}

/* ---- events ---- */

static void poll_on_event(uv_poll_t *poll, int status, int events);

static void watch(struct nodelink *link, int events)
{
	if (link->is_closed || link->events == events)
		return;
	link->events = events;
	int ret = uv_poll_start(&link->poll, events, poll_on_event);
	if (ret != 0)
		lose(link, ret);
}

static void become_ready(struct nodelink *link)
{
	link->state = OPEN;
	nodelink_limit(link, 0);
	link->start.rules->ready(link->start.owner, link);
}

bool nodelink_is_sending(const struct nodelink *link)
{
	return link->out.at < link->out.size || link->out.fd_left > 0;
}

const struct nodesetup_peer *nodelink_peer(const struct nodelink *link)
{
	return link->peer;
}

bool nodelink_has_quotas(const struct nodelink *link)
{
	return link->store.has_quotas;
}

/* ---- the local store ---- */

static void tell(struct nodelink *link, struct nodelink_message *message)
{
	link->start.rules->message(link->start.owner, link, message);
}

static void take_packet(struct nodelink *link, struct packet *packet)
{
	struct stat st;
	struct nodelink_message message = { .packet = link->store.bytes,
					    .packet_size = packet->size,
					    .memory = { .fd = -1 } };
	if (packet->fd_count > 1 || packet->size == 0) {
		packet_close(packet);
		lose(link, -EPROTO);
		return;
	}
	if (packet->fd_count == 1) {
		message.memory.fd = packet->fds[0];
		if (fstat(packet->fds[0], &st) == 0)
			message.memory.size = (uint64_t)st.st_size;
	}
	tell(link, &message);
	if (message.memory.fd >= 0)
		close(message.memory.fd);
}

static void read_store(struct nodelink *link)
{
	struct packet packet;
	if (link->state == GREETING) {
		int ret = storelink_greet(&link->store);
		if (ret == 0)
			become_ready(link);
		else if (ret != -EAGAIN)
			lose(link, ret);
		return;
	}
	int ret = packet_receive(link->store.fd, link->store.bytes, sizeof(link->store.bytes),
				 &packet);
	if (ret == 1)
		take_packet(link, &packet);
	else if (ret != -EAGAIN && ret != -EINTR)
		lose(link, ret == 0 ? -ECONNRESET : ret);
}

/* Bytes that are few go in the packet; a whole file goes as it is; all else is put into one. */
static int send_store(struct nodelink *link, struct storewire_request *request,
		      const struct nodewire_memory *memory)
{
	uint8_t few[STOREWIRE_INLINE_MAX];
	struct iovec part = { few, 0 };
	struct storelink_memory sent = { .fd = -1, .parts = &part, .part_count = 1 };
	if (memory == NULL)
		return storelink_send(&link->store, request, NULL);
	const uint64_t size = memory->bytes_size + (memory->fd >= 0 ? memory->size : 0);
	int made = -1;
	int ret = 0;
	if (memory->bytes_size == 0 && memory->at == 0 && memory->fd >= 0 &&
	    size > STOREWIRE_INLINE_MAX) {
		sent.fd = memory->fd;
	} else if (size > STOREWIRE_INLINE_MAX) {
		made = nodewire_seal(memory);
		ret = made < 0 ? made : 0;
		sent.fd = made;
	} else {
		if (memory->bytes_size > 0)
			memcpy(few, memory->bytes, memory->bytes_size);
		if (memory->fd >= 0)
			ret = wholefile_get(memory->fd, memory->at, few + memory->bytes_size,
					    (size_t)memory->size);
		part.iov_len = (size_t)size;
	}
	if (ret == 0)
		ret = storelink_send(&link->store, request, &sent);
	if (made >= 0)
		close(made);
	return ret;
}

/* ---- TLS: out ---- */

static int put(struct outgoing *out, const void *bytes, size_t size)
{
	if (size == 0)
		return 0;
	if (!array_reserve(out->bytes, out->size + size, &out->room))
		return -ENOMEM;
	memcpy(out->bytes + out->size, bytes, size);
	out->size += size;
	return 0;
}

/* The next part of the file into the buffer. 0 or -errno. */
static int refill(struct outgoing *out)
{
	const size_t size = out->fd_left < CHUNK_SIZE ? (size_t)out->fd_left : CHUNK_SIZE;
	out->at = out->size = 0;
	if (!array_reserve(out->bytes, size, &out->room))
		return -ENOMEM;
	int ret = wholefile_get(out->fd, out->fd_at, out->bytes, size);
	if (ret != 0)
		return ret;
	out->size = size;
	out->fd_at += size;
	out->fd_left -= size;
	return 0;
}

static void end_file(struct outgoing *out)
{
	if (out->fd >= 0)
		close(out->fd);
	out->fd = -1;
	out->fd_left = 0;
}

/* 0 when all is written, TLS_WANT_..., or a failure. */
static int flush(struct nodelink *link)
{
	struct outgoing *out = &link->out;
	for (;;) {
		if (out->at == out->size && out->fd_left == 0) {
			out->at = out->size = 0;
			end_file(out);
			return 0;
		}
		if (out->at == out->size) {
			int ret = refill(out);
			if (ret != 0)
				return ret;
		}
		ssize_t sent = nodetls_write(link->tls, out->bytes + out->at, out->size - out->at);
		if (sent < 0)
			return (int)sent;
		out->at += (size_t)sent;
	}
}

static bool is_want(int ret)
{
	return ret == TLS_WANT_READ || ret == TLS_WANT_WRITE;
}

static void push(struct nodelink *link)
{
	int ret = flush(link);
	if (ret != 0 && !is_want(ret))
		lose(link, ret);
	else
		watch(link, UV_READABLE | (ret == TLS_WANT_WRITE ? UV_WRITABLE : 0));
}

static int send_message(struct nodelink *link, const struct iovec *parts, size_t count,
			const struct nodewire_memory *memory)
{
	uint8_t head[NODEWIRE_HEAD];
	struct outgoing *out = &link->out;
	size_t packet_size = 0;
	uint64_t memory_size = 0;
	for (size_t i = 0; i < count; i++)
		packet_size += parts[i].iov_len;
	if (memory != NULL)
		memory_size = memory->bytes_size + (memory->fd >= 0 ? memory->size : 0);
	nodewire_encode(packet_size, memory_size, head);
	int ret = out->fd >= 0 ? -EBUSY : put(out, head, sizeof(head));
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = put(out, parts[i].iov_base, parts[i].iov_len);
	if (ret == 0 && memory != NULL)
		ret = put(out, memory->bytes, memory->bytes_size);
	if (ret == 0 && memory != NULL && memory->fd >= 0) {
		out->fd = fcntl(memory->fd, F_DUPFD_CLOEXEC, 0);
		ret = out->fd < 0 ? -errno : 0;
		out->fd_at = memory->at;
		out->fd_left = memory->size;
	}
	if (ret == 0)
		ret = flush(link);
	if (!is_want(ret))
		return ret;
	link->events = UV_READABLE | (ret == TLS_WANT_WRITE ? UV_WRITABLE : 0);
	return uv_poll_start(&link->poll, link->events, poll_on_event);
}

/* ---- TLS: in ---- */

static void take_message(struct nodelink *link)
{
	struct nodewire_input *in = &link->in;
	struct nodelink_message message = {
		.packet = in->packet,
		.packet_size = in->packet_size,
		.memory = { .fd = -1 },
		.dropped = in->dropped,
	};
	if (in->fd >= 0) {
		message.memory.fd = in->fd;
		message.memory.size = in->memory_size;
		message.room_size = in->memory_size;
	} else if (in->dropped == 0) {
		message.memory.bytes = in->bytes;
		message.memory.bytes_size = (size_t)in->memory_size;
	}
	if (link->is_server)
		nodelink_limit(link, 0);
	tell(link, &message);
	if (in->fd >= 0 && message.memory.fd < 0)
		in->fd = -1; /* taken */
}

static void take_bytes(struct nodelink *link, const uint8_t *bytes, size_t size)
{
	while (size > 0 && !link->is_closed) {
		size_t used = 0;
		int ret = nodewire_take(&link->in, bytes, size, &used);
		if (ret < 0)
			lose(link, ret);
		else if (ret > 0)
			take_message(link);
		bytes += used;
		size -= used;
	}
}

static void read_all(struct nodelink *link)
{
	uint8_t bytes[READ_SIZE];
	for (unsigned i = 0; !link->is_closed; i++) {
		/* What OpenSSL has, the loop does not tell. */
		if (i >= TURN_MAX && !nodetls_has_pending(link->tls))
			return;
		ssize_t got = nodetls_read(link->tls, bytes, sizeof(bytes));
		if (got > 0) {
			put_off(link);
			take_bytes(link, bytes, (size_t)got);
			continue;
		}
		if (is_want((int)got))
			return;
		lose(link, got == TLS_CLOSED ? -ECONNRESET : (int)got);
	}
}

/* What comes for a server has no limit of its owner, and half a mail would hold its room for as long as it stays so. */
static void read_tls(struct nodelink *link)
{
	read_all(link);
	if (link->is_server && nodewire_is_amid(&link->in) && !link->is_closed &&
	    !uv_is_active((uv_handle_t *)&link->timer))
		nodelink_limit(link, link->start.setup->timeout_ms);
}

/* ---- TLS: begin ---- */

/*
 * With SIGSTOP or a cable out, the kernel goes on for long. A link that has nothing to send is probed as
 * well: the other side may have given it up while the cable was out, and the lock that it holds here
 * would stay for hours.
 */
static void set_options(int fd, unsigned silence_ms)
{
	const int on = 1;
	const int probe_s = silence_ms > 3000 ? (int)(silence_ms / 3000) : 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &probe_s, sizeof(probe_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe_s, sizeof(probe_s));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof(silence_ms));
}

static const struct nodesetup_peer *find_peer(const struct nodesetup *setup, const char *pin)
{
	for (unsigned i = 0; i < setup->peer_count; i++)
		if (strcmp(setup->peers[i].pin, pin) == 0)
			return &setup->peers[i];
	return NULL;
}

static int check_peer(struct nodelink *link)
{
	char pin[NODESETUP_PIN_SIZE];
	if (nodetls_pin(link->tls, pin) != 0)
		return -EACCES;
	const struct nodesetup_peer *peer = find_peer(link->start.setup, pin);
	if (peer == NULL || (!link->is_server && peer != link->peer))
		return -EACCES;
	link->peer = peer;
	return 0;
}

static void shake(struct nodelink *link)
{
	int ret = nodetls_handshake(link->tls);
	if (is_want(ret)) {
		watch(link, ret == TLS_WANT_WRITE ? UV_WRITABLE : UV_READABLE);
		return;
	}
	if (ret == 0)
		ret = check_peer(link);
	if (ret != 0) {
		lose(link, ret);
		return;
	}
	watch(link, UV_READABLE);
	become_ready(link);
	/* It may have come with the last of the handshake. */
	if (!link->is_closed)
		read_tls(link);
}

/* Of a socket whose poll has failed, and libuv says no more; 0: it has none. */
static int socket_error(int fd)
{
	int error = 0;
	socklen_t size = sizeof(error);
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? -error : -errno;
}

static void begin_tls(struct nodelink *link)
{
	int ret = socket_error(link->fd);
	if (ret != 0) {
		lose(link, ret);
		return;
	}
	link->state = SHAKING;
	shake(link);
}

static void poll_on_event(uv_poll_t *poll, int status, int events)
{
	struct nodelink *link = poll->data;
	if (status < 0) {
		int error = link->is_local ? 0 : socket_error(link->fd);
		lose(link, error != 0 ? error : -ECONNRESET);
		return;
	}
	if (link->is_local) {
		read_store(link);
		return;
	}
	switch (link->state) {
	case CONNECTING:
		begin_tls(link);
		return;
	case SHAKING:
		shake(link);
		return;
	default:
		break;
	}
	if ((events & UV_WRITABLE) != 0)
		push(link);
	if (!link->is_closed)
		read_tls(link);
}

/* ---- making ---- */

static struct nodelink *make(const struct nodelink_start *start)
{
	struct nodelink *link = calloc(1, sizeof(*link));
	if (link == NULL)
		return NULL;
	link->start = *start;
	link->fd = -1;
	link->store.fd = -1;
	link->out.fd = -1;
	link->in.fd = -1;
	link->in.room = start->room;
	link->in.memory_max = start->memory_max;
	return link;
}

/* All that was made before the handles were; fd goes with it. */
static int drop(struct nodelink *link, int ret)
{
	nodetls_link_free(link->tls);
	if (link->fd >= 0)
		close(link->fd);
	storelink_close(&link->store);
	free(link);
	return ret;
}

static int begin(struct nodelink *link, int fd, enum state state, int events)
{
	int ret = uv_poll_init(link->start.loop, &link->poll, fd);
	if (ret != 0)
		return drop(link, ret);
	uv_timer_init(link->start.loop, &link->timer); /* it cannot fail */
	link->poll.data = link;
	link->timer.data = link;
	link->open_handles = 2;
	link->state = state;
	link->events = events;
	ret = uv_poll_start(&link->poll, events, poll_on_event);
	if (ret != 0)
		nodelink_close(link);
	else
		nodelink_limit(link, link->start.setup->silence_ms);
	return ret;
}

/* The store has more time for its greeting: it may recover. */
int nodelink_open_local(const struct nodelink_start *start, const char *path,
			struct nodelink **ret_link)
{
	struct nodelink *link = make(start);
	if (link == NULL)
		return -ENOMEM;
	link->is_local = true;
	int ret = storelink_begin(path, &link->store);
	if (ret != 0)
		return drop(link, ret);
	ret = begin(link, link->store.fd, GREETING, UV_READABLE);
	if (ret == 0) {
		nodelink_limit(link, start->setup->timeout_ms);
		*ret_link = link;
	}
	return ret;
}

int nodelink_open_peer(const struct nodelink_start *start, const struct nodesetup_peer *peer,
		       struct nodelink **ret_link)
{
	const struct sockaddr *address = (const struct sockaddr *)&peer->address.address;
	struct nodelink *link = make(start);
	if (link == NULL)
		return -ENOMEM;
	link->peer = peer;
	link->in.takes_records = true;
	link->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link->fd < 0)
		return drop(link, -errno);
	set_options(link->fd, start->setup->silence_ms);
	if (connect(link->fd, address, peer->address.address_size) != 0 && errno != EINPROGRESS)
		return drop(link, -errno);
	int ret = nodetls_link_new(start->tls, link->fd, false, &link->tls);
	if (ret != 0)
		return drop(link, ret);
	ret = begin(link, link->fd, CONNECTING, UV_WRITABLE);
	if (ret == 0)
		*ret_link = link;
	return ret;
}

int nodelink_open_server(const struct nodelink_start *start, int fd, struct nodelink **ret_link)
{
	struct nodelink *link = make(start);
	if (link == NULL) {
		close(fd);
		return -ENOMEM;
	}
	link->is_server = true;
	link->fd = fd;
	set_options(fd, start->setup->silence_ms);
	int ret = nodetls_link_new(start->tls, fd, true, &link->tls);
	if (ret != 0)
		return drop(link, ret);
	ret = begin(link, fd, SHAKING, UV_READABLE);
	if (ret == 0)
		*ret_link = link;
	return ret;
}

/* ---- requests and replies ---- */

int nodelink_ask(struct nodelink *link, struct storewire_request *request,
		 const struct nodewire_memory *memory)
{
	uint8_t head[STOREWIRE_REQUEST_HEAD + MAILBOX_NAME_MAX];
	if (link->is_local)
		return send_store(link, request, memory);
	request->has_memory = false;
	const struct iovec part = { head, storewire_encode_request(request, head) };
	return send_message(link, &part, 1, memory);
}

int nodelink_answer(struct nodelink *link, const struct storewire_reply *reply,
		    const struct nodewire_memory *memory)
{
	uint8_t head[STOREWIRE_REPLY_HEAD];
	const struct iovec parts[] = { { head, sizeof(head) },
				       { (void *)(uintptr_t)reply->rows, reply->rows_size } };
	storewire_encode_reply(reply, head);
	return send_message(link, parts, 2, memory);
}

int nodelink_ping(struct nodelink *link)
{
	return send_message(link, NULL, 0, NULL);
}
