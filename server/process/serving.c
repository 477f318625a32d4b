/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/serving.h"

#include <string.h>

#include "lib/common/log.h"
#include "lib/dns/peer.h"
#include "lib/dns/tcp.h"
#include "server/transfer/transfer.h"

/* Of one worker in a second. Each secondary of many zones may come at once, so more of those. */
#define REFUSAL_LINES_MAX  10
#define TRANSFER_LINES_MAX 20
#define TELLING_MS	   1000

static void put_sample(const struct serving *serving, uint64_t asked_ns,
		       const struct responder_query *query, const uint8_t *response, size_t size)
{
	struct tap_bytes in = { query->wire, query->size };
	struct tap_bytes out = { response, size };
	tap_put(serving->tap, asked_ns, query->fd, query->is_tcp, query->client, in, out);
}

/* UINT64_MAX: at the end, when no second is awaited. */
static void tell_left_out(struct serving *serving, uint64_t now_ms)
{
	unsigned refusals = ration_settle(&serving->refusals, now_ms);
	unsigned transfers = ration_settle(&serving->transfers, now_ms);
	if (refusals + transfers > 0)
		log_info("dnsblv6d", "lines left out, refusals=%u transfers=%u", refusals,
			 transfers);
}

static void tell_on_timer(uv_timer_t *timer)
{
	struct serving *serving = timer->data;
	tell_left_out(serving, uv_now(timer->loop));
	if (serving->refusals.left_out + serving->transfers.left_out > 0)
		uv_timer_start(timer, tell_on_timer, TELLING_MS, 0);
}

/*
 * A secondary may be whatever has the key, at any address: then all the world could fill the disk
 * by asking without it. And whatever may transfer may do so in a loop.
 */
static bool take_line(struct serving *serving, struct ration *ration, unsigned max, uint64_t now_ms)
{
	tell_left_out(serving, now_ms);
	if (ration_take(ration, now_ms, max))
		return true;
	if (!uv_is_active((uv_handle_t *)&serving->telling))
		uv_timer_start(&serving->telling, tell_on_timer, TELLING_MS, 0);
	return false;
}

static void log_refused(struct serving *serving, const struct transfer *transfer, uint64_t now_ms)
{
	char client[PEER_TEXT_SIZE];
	bool is_stranger =
		transfer->verdict == TRANSFER_ADDRESS || transfer->verdict == TRANSFER_CLASSIC;
	if (!is_stranger && !take_line(serving, &serving->refusals, REFUSAL_LINES_MAX, now_ms))
		return;
	peer_format((const struct sockaddr *)&transfer->client, client);
	log_line(is_stranger ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING, transfer->name->text,
		 "transfer refused, client=%s (%s)", client, transfer_explain(transfer));
}

/* A response of no size may be a transfer that is granted. */
static void look_for_transfer(struct serving *serving, size_t size, uint64_t now_ms)
{
	const struct transfer *transfer = answer_transfer(serving->answer);
	if (transfer == NULL)
		return;
	if (size > 0)
		log_refused(serving, transfer, now_ms);
	else if (transfer->verdict == TRANSFER_GRANTED)
		tcp_hand_over(serving->tcp);
}

static size_t answer(void *context, const struct responder_query *query, uint8_t *ret_wire,
		     size_t wire_max)
{
	struct serving *serving = context;
	const struct answer_query asked = {
		.wire = query->wire,
		.size = query->size,
		.is_tcp = query->is_tcp,
		.now_s = query->now_s,
		.client = query->client,
		.is_busy = query->is_tcp && !forks_has_room(serving->forks, query->client),
		.now_ms = query->now_ms,
		.keepalive = query->keepalive
	};
	bool is_sampled = query->fd >= 0 && tap_is_due(serving->tap);
	uint64_t asked_ns = is_sampled ? tap_now_ns() : 0;
	size_t size = answer_make(serving->answer, &asked, ret_wire, wire_max);
	if (is_sampled)
		put_sample(serving, asked_ns, query, ret_wire, size);
	if (query->is_tcp)
		look_for_transfer(serving, size, query->now_ms);
	return size;
}

static void lookahead(void *context, const struct responder_query *queries, size_t count)
{
	const struct serving *serving = context;
	answer_foresee(serving->answer, queries, count);
}

static void end(void *context)
{
	const struct serving *serving = context;
	answer_end(serving->answer);
}

/* The child writes, until its end. */
static void take_connection(void *context, int fd, const struct tcp_asker *asker)
{
	struct serving *serving = context;
	const struct transfer *transfer = answer_transfer(serving->answer);
	bool is_told = take_line(serving, &serving->transfers, TRANSFER_LINES_MAX,
				 uv_now(serving->telling.loop));
	int ret = forks_start(serving->forks, transfer, fd, asker, is_told);
	if (ret == 0)
		return;
	if (is_told)
		log_warning(transfer->name->text, "transfer not started (%s)", strerror(-ret));
	tcp_give_back(serving->tcp, asker, transfer_refuse(transfer, fd));
}

static void count(void *context, enum responder_event event)
{
	static const enum counters_server items[] = {
		[RESPONDER_DROPPED] = COUNTERS_SERVER_DROPPED,
		[RESPONDER_TCP_CLIENT] = COUNTERS_SERVER_TCP_CLIENTS,
		[RESPONDER_TCP_CLOSED] = COUNTERS_SERVER_TCP_CLOSED,
		[RESPONDER_TCP_NETWORK] = COUNTERS_SERVER_TCP_NETWORK,
	};
	const struct serving *serving = context;
	counters_count(&serving->counters.server[items[event]]);
}

void serving_open(struct serving *serving, uv_loop_t *loop)
{
	uv_timer_init(loop, &serving->telling); /* cannot fail */
	serving->telling.data = serving;
	uv_unref((uv_handle_t *)&serving->telling);
}

void serving_close(struct serving *serving)
{
	tell_left_out(serving, UINT64_MAX);
	uv_close((uv_handle_t *)&serving->telling, NULL);
}

struct responder serving_responder(struct serving *serving)
{
	return (struct responder){ .context = serving,
				   .lookahead = lookahead,
				   .answer = answer,
				   .end = end,
				   .take_connection = take_connection,
				   .count = count };
}
