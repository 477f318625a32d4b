/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/dns/udp.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH	   64
#define LINE_SIZE  64	/* of a processor's cache */
#define QUERY_SIZE 2048 /* a longer query is cut, and then refused as malformed */
/* Not a power of two: buffers so far apart would all compete for a few places of the cache. */
#define QUERY_STRIDE (QUERY_SIZE + LINE_SIZE)
/* Responses lie behind one another, so that those of a batch take few lines. */
#define RESPONSES_SIZE (BATCH * (RESPONDER_PAYLOAD_MAX + LINE_SIZE))

/* Then timers and TCP get their turn. */
#define ROUNDS_MAX 16
/*
 * A socket with so many queries at once is busy. It is then read without being
 * polled until nothing comes: a polled socket looks for a process to wake up after
 * each datagram that it has sent, which costs a tenth of the whole answer.
 */
#define BUSY_MIN 16
/* Enough to empty any socket buffer, few enough to end under a flood. */
#define DRAIN_ROUNDS_MAX 4096

struct udp_socket {
	struct udp *udp;
	uv_poll_t poll;
	uv_idle_t busy; /* active instead of poll */
	int fd;
	bool has_control; /* bound to no address: the kernel says which one was asked */
};

struct udp {
	struct responder responder;
	struct udp_socket *sockets;
	size_t socket_count;
	const struct mmsghdr *asked; /* whose query answer() has in hand; otherwise NULL */

	const struct udp_socket *prepared; /* what the headers of in[] are made for */
	struct mmsghdr in[BATCH];
	struct mmsghdr out[BATCH];
	struct iovec in_vectors[BATCH];
	struct iovec out_vectors[BATCH];
	struct responder_query asking[BATCH];
	struct sockaddr_storage peers[BATCH];
	_Alignas(struct cmsghdr) char controls[BATCH][UDP_CONTROL_SIZE];
	uint8_t queries[BATCH][QUERY_STRIDE];
	uint8_t responses[RESPONSES_SIZE];
};

/* The first count headers, for datagrams from socket. */
static void prepare(struct udp *udp, const struct udp_socket *socket, unsigned count)
{
	for (size_t i = 0; i < count; i++) {
		struct msghdr *header = &udp->in[i].msg_hdr;
		udp->in_vectors[i] = (struct iovec){ udp->queries[i], QUERY_SIZE };
		header->msg_name = &udp->peers[i];
		header->msg_namelen = sizeof(udp->peers[i]);
		header->msg_iov = &udp->in_vectors[i];
		header->msg_iovlen = 1;
		header->msg_control = socket->has_control ? udp->controls[i] : NULL;
		header->msg_controllen = socket->has_control ? UDP_CONTROL_SIZE : 0;
	}
}

/* ---- responses ---- */

/* The address asked is sent from; the interface is the routing's business. */
static void clear_interface(struct msghdr *header)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(header);
	if (control == NULL)
		return;
	if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;
		memcpy(&info, CMSG_DATA(control), sizeof(info));
		info.ipi_ifindex = 0;
		memcpy(CMSG_DATA(control), &info, sizeof(info));
	}
}

/* Makes the header of the next response, of size bytes, to the client of the i-th query. */
static void put_response(struct udp *udp, unsigned out, unsigned i, uint8_t *response, size_t size)
{
	struct msghdr *header = &udp->out[out].msg_hdr;
	*header = udp->in[i].msg_hdr;
	udp->out_vectors[out] = (struct iovec){ response, size };
	header->msg_iov = &udp->out_vectors[out];
	header->msg_flags = 0;
	if (header->msg_controllen != 0)
		clear_interface(header);
}

/* Returns how many responses there are to send. */
static unsigned answer_batch(struct udp *udp, int fd, unsigned count)
{
	struct timespec now;
	struct timespec steady;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &steady);
	uint64_t now_ms = (uint64_t)steady.tv_sec * 1000 + (uint64_t)steady.tv_nsec / 1000000;
	uint8_t *response = udp->responses;
	unsigned out = 0;
	const struct responder *responder = &udp->responder;
	for (unsigned i = 0; i < count; i++)
		udp->asking[i] = (struct responder_query){ .wire = udp->queries[i],
							   .size = udp->in[i].msg_len,
							   .client = udp->in[i].msg_hdr.msg_name,
							   .fd = fd,
							   .now_s = (uint64_t)now.tv_sec,
							   .now_ms = now_ms };
	if (responder->lookahead != NULL)
		responder->lookahead(responder->context, udp->asking, count);
	for (unsigned i = 0; i < count; i++) {
		udp->asked = &udp->in[i];
		size_t size = responder->answer(responder->context, &udp->asking[i], response,
						RESPONDER_PAYLOAD_MAX);
		if (size == 0)
			continue;
		put_response(udp, out++, i, response, size);
		response += (size + LINE_SIZE - 1) / LINE_SIZE * LINE_SIZE;
	}
	udp->asked = NULL;
	return out;
}

static void count_dropped(struct udp *udp)
{
	if (udp->responder.count != NULL)
		udp->responder.count(udp->responder.context, RESPONDER_DROPPED);
}

static void send_batch(struct udp *udp, int fd, unsigned count)
{
	unsigned done = 0;
	while (done < count) {
		int sent = sendmmsg(fd, udp->out + done, count - done, MSG_DONTWAIT);
		if (sent > 0) {
			done += (unsigned)sent;
			continue;
		}
		if (sent < 0 && errno == EINTR)
			continue;
		/* That one cannot be sent: port 0, no route, no room. The others may. */
		count_dropped(udp);
		done++;
	}
}

/* ---- answers that come later ---- */

void udp_defer(const struct udp *udp, struct udp_asker *ret_asker)
{
	assert(udp->asked != NULL);
	struct msghdr header = udp->asked->msg_hdr;
	memset(ret_asker, 0, sizeof(*ret_asker));
	ret_asker->socket = (uint32_t)(udp->prepared - udp->sockets);
	memcpy(&ret_asker->client, header.msg_name,
	       header.msg_namelen < sizeof(ret_asker->client) ? header.msg_namelen
							      : sizeof(ret_asker->client));
	if (header.msg_controllen == 0)
		return;
	clear_interface(&header);
	ret_asker->control_size = (uint32_t)header.msg_controllen;
	memcpy(ret_asker->control, header.msg_control, header.msg_controllen);
}

void udp_send(struct udp *udp, const struct udp_asker *asker, const uint8_t *wire, size_t size)
{
	struct udp_asker copy = *asker; /* sendmsg() reads only, but does not say so */
	struct iovec vector = { (void *)(uintptr_t)wire, size };
	struct msghdr header = { .msg_name = &copy.client,
				 .msg_namelen = copy.client.any.sa_family == AF_INET
							? sizeof(copy.client.four)
							: sizeof(copy.client.six),
				 .msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = copy.control_size > 0 ? copy.control : NULL,
				 .msg_controllen = copy.control_size };
	ssize_t sent = 0;
	do
		sent = sendmsg(udp->sockets[copy.socket].fd, &header, MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		count_dropped(udp);
}

/* ---- batches ---- */

/* One batch. Returns how many queries it had; less than BATCH: the socket has no more. */
static unsigned serve_batch(struct udp *udp, const struct udp_socket *socket)
{
	if (udp->prepared != socket)
		prepare(udp, socket, BATCH);
	udp->prepared = socket;
	int count = recvmmsg(socket->fd, udp->in, BATCH, MSG_DONTWAIT, NULL);
	if (count <= 0)
		return 0;
	send_batch(udp, socket->fd, answer_batch(udp, socket->fd, (unsigned)count));
	if (udp->responder.end != NULL)
		udp->responder.end(udp->responder.context);
	prepare(udp, socket, (unsigned)count);
	return (unsigned)count;
}

/* Some batches. Returns how many queries they had. */
static unsigned serve_rounds(const struct udp_socket *socket, unsigned round_max)
{
	unsigned sum = 0;
	for (unsigned round = 0; round < round_max; round++) {
		unsigned count = serve_batch(socket->udp, socket);
		sum += count;
		if (count < BATCH)
			break;
	}
	return sum;
}

static void udp_on_busy(uv_idle_t *busy);

static void udp_on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status; /* an error of the socket is read, and so cleared, by recvmmsg() */
	(void)events;
	struct udp_socket *socket = poll->data;
	if (serve_rounds(socket, ROUNDS_MAX) < BUSY_MIN)
		return;
	uv_poll_stop(&socket->poll);
	uv_idle_start(&socket->busy, udp_on_busy);
}

/* Once in each round of the loop, which does not wait meanwhile. */
static void udp_on_busy(uv_idle_t *busy)
{
	struct udp_socket *socket = busy->data;
	if (serve_rounds(socket, ROUNDS_MAX) == 0 &&
	    uv_poll_start(&socket->poll, UV_READABLE, udp_on_readable) == 0)
		uv_idle_stop(&socket->busy);
}

/* ---- life ---- */

/* What listener.c has set on sockets that are bound to no address. */
static bool has_control(int fd)
{
	int is_on = 0;
	socklen_t size = sizeof(is_on);
	if (getsockopt(fd, IPPROTO_IP, IP_PKTINFO, &is_on, &size) == 0 && is_on != 0)
		return true;
	size = sizeof(is_on);
	return getsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &is_on, &size) == 0 && is_on != 0;
}

int udp_new(uv_loop_t *loop, const int *fds, size_t fd_count, const struct responder *responder,
	    struct udp **ret_udp)
{
	struct udp *udp = calloc(1, sizeof(*udp));
	if (udp == NULL)
		return -ENOMEM;
	udp->responder = *responder;
	*ret_udp = udp;
	udp->sockets = calloc(fd_count, sizeof(*udp->sockets));
	if (udp->sockets == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < fd_count; i++) {
		struct udp_socket *socket = &udp->sockets[i];
		socket->udp = udp;
		socket->fd = fds[i];
		socket->has_control = has_control(fds[i]);
		int ret = uv_poll_init(loop, &socket->poll, socket->fd);
		if (ret != 0)
			return ret;
		uv_idle_init(loop, &socket->busy);
		socket->poll.data = socket;
		socket->busy.data = socket;
		udp->socket_count++;
	}
	return 0;
}

int udp_start(struct udp *udp)
{
	for (size_t i = 0; i < udp->socket_count; i++) {
		int ret = uv_poll_start(&udp->sockets[i].poll, UV_READABLE, udp_on_readable);
		if (ret != 0)
			return ret;
	}
	return 0;
}

void udp_drain(struct udp *udp)
{
	for (size_t i = 0; i < udp->socket_count; i++) {
		struct udp_socket *socket = &udp->sockets[i];
		bool was_started = uv_is_active((uv_handle_t *)&socket->poll) != 0 ||
				   uv_is_active((uv_handle_t *)&socket->busy) != 0;
		uv_close((uv_handle_t *)&socket->poll, NULL);
		uv_close((uv_handle_t *)&socket->busy, NULL);
		if (was_started)
			serve_rounds(socket, DRAIN_ROUNDS_MAX);
	}
}

void udp_free(struct udp *udp)
{
	if (udp == NULL)
		return;
	free(udp->sockets);
	free(udp);
}
