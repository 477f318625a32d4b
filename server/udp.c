/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH	     64
#define QUERY_SIZE   2048 /* a longer query is cut, and then refused as malformed */
#define CONTROL_SIZE CMSG_SPACE(sizeof(struct in6_pktinfo))

/* Then timers and TCP get their turn. */
#define ROUNDS_MAX 16
/* Enough to empty any socket buffer, few enough to end under a flood. */
#define DRAIN_ROUNDS_MAX 4096

struct udp_socket {
	struct udp *udp;
	uv_poll_t poll;
	int fd;
};

struct udp {
	struct answer *answer;
	struct catalog *catalog;
	struct counters counters;
	struct udp_socket *sockets;
	size_t socket_count;

	struct mmsghdr in[BATCH];
	struct mmsghdr out[BATCH];
	struct iovec in_vectors[BATCH];
	struct iovec out_vectors[BATCH];
	struct sockaddr_storage peers[BATCH];
	_Alignas(struct cmsghdr) char controls[BATCH][CONTROL_SIZE];
	uint8_t queries[BATCH][QUERY_SIZE];
	uint8_t responses[BATCH][SETTINGS_PAYLOAD_MAX];
};

static void prepare(struct udp *udp)
{
	for (size_t i = 0; i < BATCH; i++) {
		udp->in_vectors[i] = (struct iovec){ udp->queries[i], QUERY_SIZE };
		udp->in[i].msg_hdr = (struct msghdr){ .msg_name = &udp->peers[i],
						      .msg_namelen = sizeof(udp->peers[i]),
						      .msg_iov = &udp->in_vectors[i],
						      .msg_iovlen = 1,
						      .msg_control = udp->controls[i],
						      .msg_controllen = CONTROL_SIZE };
	}
}

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

/* Returns how many responses there are to send. */
static unsigned answer_batch(struct udp *udp, unsigned count)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	unsigned out = 0;
	for (unsigned i = 0; i < count; i++) {
		struct answer_query query = { .wire = udp->queries[i],
					      .size = udp->in[i].msg_len,
					      .now_s = (uint64_t)now.tv_sec,
					      .client = udp->in[i].msg_hdr.msg_name };
		size_t size =
			answer_make(udp->answer, &query, udp->responses[i], SETTINGS_PAYLOAD_MAX);
		if (size == 0)
			continue;
		struct msghdr *header = &udp->out[out].msg_hdr;
		*header = udp->in[i].msg_hdr;
		udp->out_vectors[out] = (struct iovec){ udp->responses[i], size };
		header->msg_iov = &udp->out_vectors[out];
		header->msg_flags = 0;
		clear_interface(header);
		out++;
	}
	catalog_end(udp->catalog);
	return out;
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
		counters_count(&udp->counters.server[COUNTERS_SERVER_DROPPED]);
		done++;
	}
}

/* One batch. False when the socket has no more. */
static bool serve_batch(struct udp *udp, int fd)
{
	prepare(udp);
	int count = recvmmsg(fd, udp->in, BATCH, MSG_DONTWAIT, NULL);
	if (count <= 0)
		return count < 0 && errno == EINTR;
	send_batch(udp, fd, answer_batch(udp, (unsigned)count));
	return count == BATCH;
}

static void udp_on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status; /* an error of the socket is read, and so cleared, by recvmmsg() */
	(void)events;
	struct udp_socket *socket = poll->data;
	for (int round = 0; round < ROUNDS_MAX; round++) {
		if (!serve_batch(socket->udp, socket->fd))
			return;
	}
}

int udp_new(uv_loop_t *loop, const int *fds, size_t fd_count, struct answer *answer,
	    struct catalog *catalog, const struct counters *counters, struct udp **ret_udp)
{
	struct udp *udp = calloc(1, sizeof(*udp));
	if (udp == NULL)
		return -ENOMEM;
	udp->answer = answer;
	udp->catalog = catalog;
	udp->counters = *counters;
	udp->sockets = calloc(fd_count, sizeof(*udp->sockets));
	if (udp->sockets == NULL) {
		udp_free(udp);
		return -ENOMEM;
	}
	for (size_t i = 0; i < fd_count; i++) {
		struct udp_socket *socket = &udp->sockets[i];
		socket->udp = udp;
		socket->fd = fds[i];
		int ret = uv_poll_init(loop, &socket->poll, socket->fd);
		if (ret != 0) {
			/* Handles in a loop cannot be freed: the worker ends with them. */
			return ret;
		}
		socket->poll.data = socket;
		udp->socket_count++;
	}
	*ret_udp = udp;
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
		bool was_started = uv_is_active((uv_handle_t *)&socket->poll) != 0;
		uv_close((uv_handle_t *)&socket->poll, NULL);
		for (int round = 0; was_started && round < DRAIN_ROUNDS_MAX; round++) {
			if (!serve_batch(udp, socket->fd))
				break;
		}
	}
}

void udp_free(struct udp *udp)
{
	if (udp == NULL)
		return;
	free(udp->sockets);
	free(udp);
}
