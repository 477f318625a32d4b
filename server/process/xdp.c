/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/xdp.h"

#include <errno.h>
#include <libknot/error.h>
#include <libknot/xdp/eth.h>
#include <libknot/xdp/xdp.h>
#include <net/if.h>
#include <stdlib.h>
#include <time.h>

#include "lib/common/log.h"

static const char context[] = "dnsblv6d";

#define BATCH 64 /* as over ordinary sockets */
/* Then timers and TCP get their turn. */
#define ROUNDS_MAX 16
/* A ring that gave so many at once is read in every round of the loop instead of polled. */
#define BUSY_MIN 16
/* Enough for a whole ring (libknot: 2048 packets), few enough to end under a flood. */
#define DRAIN_ROUNDS_MAX 64
#define QUEUES_MAX	 64 /* of one worker */
#define RETRY_MS	 20

struct xdp_queue {
	struct xdp *xdp;
	knot_xdp_socket_t *socket; /* NULL: given back */
	uv_poll_t poll;
	uv_idle_t busy; /* active instead of poll */
};

struct xdp {
	struct responder responder;
	bool is_started;
	size_t queue_count;
	struct xdp_queue queues[QUEUES_MAX];
	knot_xdp_msg_t in[BATCH];
	knot_xdp_msg_t out[BATCH];
};

/* ---- opening ---- */

static void wait_ms(long ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000 };
	nanosleep(&time, NULL);
}

/* Another process has the queue, or the worker of queue 0 has not yet loaded the filter. */
static bool is_temporary(int error, int queue)
{
	return error == -EBUSY || (queue != 0 && error != -EPERM && error != -EACCES);
}

/* 0 or what libknot says, after its patience. */
static int open_queue(const struct settings_xdp *from, int queue, knot_xdp_socket_t **ret_socket)
{
	knot_xdp_load_bpf_t load = queue == 0 ? KNOT_XDP_LOAD_BPF_MAYBE : KNOT_XDP_LOAD_BPF_NEVER;
	int ret = 0;
	for (int waited_ms = 0; waited_ms <= XDP_PATIENCE_MS; waited_ms += RETRY_MS) {
		ret = knot_xdp_init(ret_socket, from->interface, queue,
				    KNOT_XDP_FILTER_ON | KNOT_XDP_FILTER_UDP, from->port, 0, load,
				    NULL);
		if (ret == KNOT_EOK || !is_temporary(ret, queue))
			return ret;
		wait_ms(RETRY_MS);
	}
	return ret;
}

static const char *mode_name(const char *interface)
{
	return knot_eth_xdp_mode((int)if_nametoindex(interface)) == KNOT_XDP_MODE_FULL ? "native"
										       : "emulated";
}

static void add_queue(struct xdp *xdp, const struct settings_xdp *from, int number, size_t worker)
{
	struct xdp_queue *queue = &xdp->queues[xdp->queue_count];
	int ret = open_queue(from, number, &queue->socket);
	if (ret != KNOT_EOK) {
		queue->socket = NULL;
		log_warning(context,
			    "no xdp, ordinary sockets answer, interface=%s queue=%d port=%u (%s)",
			    from->interface, number, from->port, knot_strerror(ret));
		return;
	}
	log_info(context, "xdp, interface=%s queue=%d port=%u mode=%s worker=%zu", from->interface,
		 number, from->port, mode_name(from->interface), worker);
	queue->xdp = xdp;
	xdp->queue_count++;
}

int xdp_open(const struct settings *settings, size_t worker, struct xdp **ret_xdp)
{
	*ret_xdp = NULL;
	if (settings->xdp_count == 0)
		return 0;
	struct xdp *xdp = calloc(1, sizeof(*xdp));
	if (xdp == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < settings->xdp_count; i++) {
		const struct settings_xdp *from = &settings->xdp[i];
		int count = knot_eth_queues(from->interface);
		/* No such interface is told by the first queue. */
		for (int queue = (int)worker; queue < (count < 1 ? 1 : count);
		     queue += (int)settings->workers) {
			if (xdp->queue_count < QUEUES_MAX)
				add_queue(xdp, from, queue, worker);
		}
	}
	if (xdp->queue_count == 0) {
		free(xdp);
		return 0;
	}
	*ret_xdp = xdp;
	return 0;
}

/* ---- answering ---- */

/* Returns how many frames there are in out. */
static unsigned answer_batch(struct xdp *xdp, const struct xdp_queue *queue, unsigned count)
{
	struct timespec now;
	struct timespec steady;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &steady);
	uint64_t now_ms = (uint64_t)steady.tv_sec * 1000 + (uint64_t)steady.tv_nsec / 1000000;
	unsigned out = 0;
	const struct responder *responder = &xdp->responder;
	for (unsigned i = 0; i < count; i++) {
		knot_xdp_msg_t *response = &xdp->out[out];
		struct responder_query query = {
			.wire = xdp->in[i].payload.iov_base,
			.size = xdp->in[i].payload.iov_len,
			.client = (const struct sockaddr *)&xdp->in[i].ip_from,
			.fd = -1,
			.now_s = (uint64_t)now.tv_sec,
			.now_ms = now_ms
		};
		if (query.size == 0 ||
		    knot_xdp_reply_alloc(queue->socket, &xdp->in[i], response) != KNOT_EOK) {
			responder->count(responder->context, RESPONDER_DROPPED);
			continue;
		}
		size_t max = response->payload.iov_len < SETTINGS_PAYLOAD_MAX
				     ? response->payload.iov_len
				     : SETTINGS_PAYLOAD_MAX;
		/* A frame of size 0 is not sent, and free again. */
		response->payload.iov_len = responder->answer(responder->context, &query,
							      response->payload.iov_base, max);
		out++;
	}
	return out;
}

/* One batch. Returns how many packets it had. */
static unsigned serve_batch(struct xdp *xdp, const struct xdp_queue *queue)
{
	uint32_t count = 0;
	if (knot_xdp_recv(queue->socket, xdp->in, BATCH, &count, NULL) != KNOT_EOK || count == 0)
		return 0;
	knot_xdp_send_prepare(queue->socket);
	uint32_t sent = 0;
	unsigned out = answer_batch(xdp, queue, count);
	if (out > 0) {
		knot_xdp_send(queue->socket, xdp->out, out, &sent);
		knot_xdp_send_finish(queue->socket);
	}
	knot_xdp_recv_finish(queue->socket, xdp->in, count);
	xdp->responder.end(xdp->responder.context);
	return count;
}

/* Some batches. Returns how many packets they had. */
static unsigned serve_rounds(const struct xdp_queue *queue, unsigned round_max)
{
	unsigned sum = 0;
	for (unsigned round = 0; round < round_max; round++) {
		unsigned count = serve_batch(queue->xdp, queue);
		sum += count;
		if (count < BATCH)
			break;
	}
	return sum;
}

static void xdp_on_busy(uv_idle_t *busy);

static void xdp_on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	struct xdp_queue *queue = poll->data;
	if (serve_rounds(queue, ROUNDS_MAX) < BUSY_MIN)
		return;
	uv_poll_stop(&queue->poll);
	uv_idle_start(&queue->busy, xdp_on_busy);
}

static void xdp_on_busy(uv_idle_t *busy)
{
	struct xdp_queue *queue = busy->data;
	if (serve_rounds(queue, ROUNDS_MAX) == 0 &&
	    uv_poll_start(&queue->poll, UV_READABLE, xdp_on_readable) == 0)
		uv_idle_stop(&queue->busy);
}

int xdp_start(struct xdp *xdp, uv_loop_t *loop, const struct responder *responder)
{
	if (xdp == NULL)
		return 0;
	xdp->responder = *responder;
	xdp->is_started = true;
	for (size_t i = 0; i < xdp->queue_count; i++) {
		struct xdp_queue *queue = &xdp->queues[i];
		int ret = uv_poll_init(loop, &queue->poll, knot_xdp_socket_fd(queue->socket));
		if (ret != 0)
			return ret;
		uv_idle_init(loop, &queue->busy);
		queue->poll.data = queue;
		queue->busy.data = queue;
		ret = uv_poll_start(&queue->poll, UV_READABLE, xdp_on_readable);
		if (ret != 0)
			return ret;
	}
	return 0;
}

/* ---- ending ---- */

void xdp_release(struct xdp *xdp)
{
	for (size_t i = 0; xdp != NULL && i < xdp->queue_count; i++) {
		struct xdp_queue *queue = &xdp->queues[i];
		if (queue->socket == NULL)
			continue;
		if (xdp->is_started) {
			uv_close((uv_handle_t *)&queue->poll, NULL);
			uv_close((uv_handle_t *)&queue->busy, NULL);
			serve_rounds(queue, DRAIN_ROUNDS_MAX);
		}
		knot_xdp_deinit(queue->socket);
		queue->socket = NULL;
	}
}

void xdp_free(struct xdp *xdp)
{
	free(xdp);
}
