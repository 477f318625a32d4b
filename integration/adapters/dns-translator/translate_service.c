/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/dns-translator/translate_service.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sysexits.h>
#include <uv.h>

#include "integration/adapters/dns-translator/answer.h"
#include "integration/common/upkeep.h"
#include "lib/common/log.h"
#include "lib/dns/tcp.h"
#include "lib/dns/udp.h"
#include "lib/process/sharedmem.h"

#define TCP_QUERY_TIMEOUT_S 3
/* Resolvers put all that they ask into one connection: nothing may wait for what is slow. */
#define TCP_LATER_MAX 256

static const char context[] = "dnsblv6-translate";

/* Those of enum answer_outcome come first. */
#define COUNTER_MAP(X)                                                                             \
	X(ANSWER_LISTED, "answers-listed", "About addresses that are listed.")                     \
	X(ANSWER_NODATA, "answers-nodata", "About names with nothing but names below them.")       \
	X(ANSWER_NXDOMAIN, "answers-nxdomain", "About what is not listed, or no address.")         \
	X(ANSWER_FAILED, "answers-failed", "About addresses for which a list gave no answer.")     \
	X(ANSWER_REFUSED, "answers-refused", "About zones that are not ours, or another class.")   \
	X(ANSWER_ERROR, "answers-error", "FORMERR, NOTIMP and BADVERS.")                           \
	X(ANSWER_APEX, "answers-apex", "About the names of our zones themselves.")                 \
	X(COUNTER_QUERIES, "queries", "Questions.")                                                \
	X(COUNTER_CACHED, "queries-cached", "About addresses, answered out of the cache.")         \
	X(COUNTER_LATE, "queries-late", "About addresses, given to the library.")                  \
	X(COUNTER_BUSY, "queries-busy", "About addresses, which the library did not take.")        \
	X(COUNTER_IGNORED, "queries-ignored", "Responses, and less than a header.")                \
	X(COUNTER_DROPPED, "responses-dropped", "Answers that the kernel did not take.")           \
	X(COUNTER_TCP_CLIENTS, "tcp-clients", "Clients over TCP.")                                 \
	X(COUNTER_TCP_CLOSED, "tcp-closed",                                                        \
	  "Of them: closed for silence, nonsense or want of room.")

enum {
	COUNTER_QUERIES = ANSWER_OUTCOMES,
	COUNTER_CACHED,
	COUNTER_LATE,
	COUNTER_BUSY,
	COUNTER_IGNORED,
	COUNTER_DROPPED,
	COUNTER_TCP_CLIENTS,
	COUNTER_TCP_CLOSED,
	COUNTER_COUNT
};

/* Of one worker: whole lines of a cache. */
#define COUNTER_STRIDE ((size_t)16)
_Static_assert(COUNTER_COUNT <= COUNTER_STRIDE, "the counters of a worker fit");

static const struct counts_label labels[COUNTER_COUNT] = {
#define X(number, text, sentence) [number] = { text, sentence },
	COUNTER_MAP(X)
#undef X
};

struct service;

/* A question that is answered later. */
struct request {
	struct service *service;
	TAILQ_ENTRY(request) link;
	struct answer_question question;
	uint8_t head[ANSWER_HEAD_MAX];
	bool is_tcp;
	struct udp_asker udp_asker;
	struct tcp_asker tcp_asker;
};

struct service {
	const struct translate_setup *setup;
	uv_loop_t loop;
	struct udp *udp;
	struct tcp *tcp;
	struct upkeep upkeep;
	TAILQ_HEAD(, request) requests;
	size_t worker;
	uint64_t *counters;		      /* of this worker */
	uint64_t *all_counters;		      /* of all of them */
	uint64_t sums[COUNTER_COUNT];	      /* of all workers, for a report */
	uint8_t wire[RESPONDER_RESPONSE_MAX]; /* of a late answer */
};

/* ---- answers that come later ---- */

static void end_request(struct request *request)
{
	TAILQ_REMOVE(&request->service->requests, request, link);
	free(request);
}

static void on_result(void *opaque, const struct dnsblv6_result *result)
{
	struct request *request = opaque;
	struct service *service = request->service;
	enum answer_outcome outcome = ANSWER_FAILED;
	size_t size = answer_finish(service->setup, &request->question, result, service->wire,
				    sizeof(service->wire), &outcome);
	service->counters[outcome]++;
	if (request->is_tcp)
		tcp_send(service->tcp, &request->tcp_asker, service->wire, size);
	else
		udp_send(service->udp, &request->udp_asker, service->wire, size);
	end_request(request);
}

/* False: the library takes no more, or there is no memory. */
static bool ask_later(struct service *service, const struct answer_question *question,
		      const struct responder_query *query)
{
	struct request *request = malloc(sizeof(*request));
	if (request == NULL)
		return false;
	request->service = service;
	request->question = *question;
	request->question.head = request->head;
	request->is_tcp = query->is_tcp;
	memcpy(request->head, question->head, question->head_size);
	if (dnsblv6_submit(service->setup->handle.client, &question->ip, question->zone->entries,
			   (int)service->setup->timeout_ms, on_result, request, NULL) != 0) {
		free(request);
		return false;
	}
	TAILQ_INSERT_TAIL(&service->requests, request, link);
	if (query->is_tcp)
		tcp_defer(service->tcp, &request->tcp_asker);
	else
		udp_defer(service->udp, &request->udp_asker);
	return true;
}

/* ---- answers at once ---- */

static void on_refreshed(void *opaque, const struct dnsblv6_result *result)
{
	(void)opaque;
	(void)result;
}

/* An answer gets old, or a probe is due. A failure is of no account: the answer is there. */
static void refresh(struct service *service, const struct answer_question *question)
{
	dnsblv6_submit(service->setup->handle.client, &question->ip, question->zone->entries,
		       (int)service->setup->timeout_ms, on_refreshed, NULL, NULL);
}

static size_t answer_address(struct service *service, const struct answer_question *question,
			     const struct responder_query *query, uint8_t *ret_wire,
			     size_t wire_max)
{
	struct dnsblv6_result result;
	enum answer_outcome outcome = ANSWER_FAILED;
	dnsblv6_peek_zones(service->setup->handle.client, &question->ip, question->zone->entries,
			   &result);
	if (answer_is_good(question, &result)) {
		service->counters[COUNTER_CACHED]++;
		if (result.is_due != 0)
			refresh(service, question);
	} else if (ask_later(service, question, query)) {
		service->counters[COUNTER_LATE]++;
		return 0;
	} else {
		service->counters[COUNTER_BUSY]++;
	}
	size_t size =
		answer_finish(service->setup, question, &result, ret_wire, wire_max, &outcome);
	service->counters[outcome]++;
	return size;
}

static size_t on_query(void *opaque, const struct responder_query *query, uint8_t *ret_wire,
		       size_t wire_max)
{
	struct service *service = opaque;
	struct answer_question question;
	enum answer_outcome outcome = ANSWER_ERROR;
	size_t size = 0;
	service->counters[COUNTER_QUERIES]++;
	switch (answer_begin(service->setup, query->wire, query->size, query->is_tcp, &question,
			     ret_wire, wire_max, &size, &outcome)) {
	case ANSWER_READY:
		service->counters[outcome]++;
		return size;
	case ANSWER_ASK:
		return answer_address(service, &question, query, ret_wire, wire_max);
	default:
		service->counters[COUNTER_IGNORED]++;
		return 0;
	}
}

static void on_count(void *opaque, enum responder_event event)
{
	static const unsigned counters[] = { [RESPONDER_DROPPED] = COUNTER_DROPPED,
					     [RESPONDER_TCP_CLIENT] = COUNTER_TCP_CLIENTS,
					     [RESPONDER_TCP_CLOSED] = COUNTER_TCP_CLOSED };
	struct service *service = opaque;
	/* No network has a limit of its own. */
	if (event != RESPONDER_TCP_NETWORK)
		service->counters[counters[event]]++;
}

/* ---- upkeep ---- */

uint64_t *service_map_counters(unsigned workers)
{
	return sharedmem_new(workers * COUNTER_STRIDE * sizeof(uint64_t));
}

static void measure(void *data, struct report *ret_report)
{
	struct service *service = data;
	memset(service->sums, 0, sizeof(service->sums));
	for (size_t i = 0; i < service->setup->workers * COUNTER_STRIDE; i++) {
		if (i % COUNTER_STRIDE < COUNTER_COUNT)
			service->sums[i % COUNTER_STRIDE] += service->all_counters[i];
	}
	*ret_report = (struct report){
		.gauge = { "zones", NULL },
		.gauge_value = service->setup->zone_count,
		.labels = labels,
		.values = service->sums,
		.count = COUNTER_COUNT,
		.client = service->setup->handle.client,
	};
}

static void stop(void *data, int number)
{
	struct service *service = data;
	(void)number;
	upkeep_close(&service->upkeep);
	udp_drain(service->udp);
	tcp_drain(service->tcp);
	tcp_stop(service->tcp);
}

void service_log_no_reload(void)
{
	log_warning(context, "configuration not reloaded, a restart does that");
}

static void reload(void *data)
{
	(void)data;
	service_log_no_reload();
}

static const struct upkeep_work work = { measure, reload, stop };

/* ---- begin and end ---- */

static int start_engines(struct service *service, const struct listener *listener, size_t worker)
{
	const struct responder responder = { .context = service,
					     .answer = on_query,
					     .count = on_count };
	const struct tcp_limits limits = { .client_max = service->setup->tcp_clients_max,
					   .idle_timeout_s = service->setup->tcp_idle_timeout_s,
					   .query_timeout_s = TCP_QUERY_TIMEOUT_S,
					   .later_max = TCP_LATER_MAX };
	size_t count = listener->address_count;
	int ret = udp_new(&service->loop, listener_udp(listener, worker), count, &responder,
			  &service->udp);
	if (ret == 0)
		ret = tcp_new(&service->loop, listener_tcp(listener, worker), count, &limits,
			      &responder, &service->tcp);
	if (ret == 0)
		ret = udp_start(service->udp);
	return ret == 0 ? tcp_start(service->tcp) : ret;
}

static int start(struct service *service, const struct listener *listener, size_t worker)
{
	const struct translate_setup *setup = service->setup;
	int ret = uv_loop_init(&service->loop);
	if (ret == 0)
		ret = upkeep_open(&service->upkeep, &service->loop, setup->handle.client, context,
				  service->worker == 0 ? setup->metrics : "", &work, service);
	return ret == 0 ? start_engines(service, listener, worker) : ret;
}

static void deinit(struct service *service)
{
	struct request *next = NULL;
	for (struct request *request = TAILQ_FIRST(&service->requests); request != NULL;
	     request = next) {
		next = TAILQ_NEXT(request, link);
		free(request);
	}
	uv_loop_close(&service->loop);
	udp_free(service->udp);
	tcp_free(service->tcp);
	free(service);
}

int translate_service_run(const struct translate_setup *setup, const struct listener *listener,
			  size_t worker, uint64_t *counters)
{
	struct service *service = counters != NULL ? calloc(1, sizeof(*service)) : NULL;
	int ret = service != NULL ? 0 : UV_ENOMEM;
	if (ret == 0) {
		service->setup = setup;
		service->worker = worker;
		service->all_counters = counters;
		service->counters = counters + worker * COUNTER_STRIDE;
		TAILQ_INIT(&service->requests);
		ret = start(service, listener, worker);
	}
	/* Handles in a loop cannot be freed: the process ends with them. */
	if (ret != 0)
		return upkeep_refuse_loop(context, ret);
	upkeep_run(&service->upkeep);
	/* No callback comes any more, and the library forgets what it was asked. */
	deinit(service);
	return EX_OK;
}
