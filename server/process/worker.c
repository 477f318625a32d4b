/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sysexits.h>
#include <unistd.h>
#include <uv.h>

#include "lib/common/log.h"
#include "lib/dns/tcp.h"
#include "lib/dns/udp.h"
#include "lib/process/child.h"
#include "server/answer/answer.h"
#include "server/zone/catalog.h"
#include "server/confine/confine.h"
#include "server/transfer/forks.h"
#include "server/transfer/inquiry.h"
#include "server/transfer/notify.h"
#include "server/askers/frequent.h"
#include "server/askers/ratelimit.h"
#include "server/zone/scrub.h"
#include "server/process/serving.h"
#include "server/querylog/tap.h"
#include "server/zone/watch.h"

struct worker {
	const struct worker_start *start;
	uv_loop_t loop;
	uv_signal_t sigterm;
	uv_timer_t drain_timer;
	uv_tcp_t reserve; /* never a connection */
	struct counters counters;
	struct catalog catalog;
	struct ratelimit *limit; /* NULL: none, as the next */
	struct frequent *frequent;
	struct answer *answer;
	struct tap tap; /* meaningful with start->tap_fd */
	struct serving serving;
	struct udp *udp;
	struct forks forks;
	struct tcp *tcp;
	struct watch watch;
	struct notify notify; /* of worker 0, as the next */
	struct scrub scrub;
	struct inquiry inquiry;
	bool is_notifying;
	bool is_inquiring;
	bool is_scrubbing;
	bool is_draining;
};

static void say(const struct worker *worker, enum worker_word word)
{
	const struct worker_message message = { .pid = getpid(), .word = word };
	if (write(worker->start->word_fd, &message, sizeof(message)) != sizeof(message))
		log_debug("dnsblv6d", "the parent does not wait for this worker, worker=%zu",
			  worker->start->index);
}

/* ---- ending ---- */

/* Time is up, or nothing is left to wait for. */
static void finish(struct worker *worker)
{
	if (uv_is_closing((uv_handle_t *)&worker->drain_timer))
		return;
	tcp_stop(worker->tcp);
	forks_stop(&worker->forks);
	serving_close(&worker->serving);
	uv_close((uv_handle_t *)&worker->drain_timer, NULL);
	uv_close((uv_handle_t *)&worker->reserve, NULL);
}

static void drain_on_timeout(uv_timer_t *timer)
{
	finish(timer->data);
}

/*
 * What waits in the sockets is answered; TCP clients and transfers may finish; then the loop is
 * empty.
 */
static void drain(struct worker *worker)
{
	if (worker->is_draining)
		return;
	worker->is_draining = true;
	if (worker->start->settings->has_pinned_workers)
		cores_share(worker->start->cores);
	uv_close((uv_handle_t *)&worker->sigterm, NULL);
	watch_close(&worker->watch);
	if (worker->is_notifying)
		notify_close(&worker->notify);
	if (worker->is_inquiring)
		inquiry_close(&worker->inquiry);
	if (worker->is_scrubbing)
		scrub_close(&worker->scrub);
	udp_drain(worker->udp);
	tcp_drain(worker->tcp);
	say(worker, WORKER_DRAINS);
	uv_timer_start(&worker->drain_timer, drain_on_timeout,
		       worker->start->settings->drain_timeout_s * (uint64_t)1000, 0);
	/* It ends waiting, it is not waited for. */
	uv_unref((uv_handle_t *)&worker->drain_timer);
}

static void sigterm_on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	drain(handle->data);
}

/* ---- beginning ---- */

static const struct cores *child_cores; /* for a callback that is given nothing */

/* What a worker forks - verifiers, transfers - can wait. */
static void move_child(void)
{
	cores_share(child_cores);
}

/*
 * Only now: what went before takes milliseconds, which the worker that answers on that core would
 * miss.
 */
static void pin(const struct worker_start *start)
{
	child_cores = start->cores;
	int ret = -pthread_atfork(NULL, NULL, move_child);
	if (ret == 0)
		ret = cores_take(start->cores, start->index);
	if (ret != 0)
		log_warning("dnsblv6d", "worker not pinned, worker=%zu (%s)", start->index,
			    strerror(-ret));
}

/* As long as others answer: a worker that is asked at once indexes behind its answers. */
static void prepare(struct worker *worker)
{
	for (size_t i = 0; i < worker->catalog.zone_count; i++)
		zone_prepare(&worker->catalog.zones[i]);
}

/* One for all: secondaries need to be told once, and a file is the same for each worker. */
static int serve_others(struct worker *worker)
{
	const struct settings *settings = worker->start->settings;
	int ret = notify_open(&worker->notify, &worker->loop, &worker->catalog, settings,
			      worker->start->zonestatus, &worker->counters);
	worker->is_notifying = ret == 0;
	if (ret == 0)
		ret = inquiry_open(&worker->inquiry, &worker->loop, &worker->catalog, settings,
				   worker->start->followstatus);
	worker->is_inquiring = ret == 0;
	if (ret == 0)
		ret = scrub_open(&worker->scrub, &worker->loop, &worker->catalog, settings);
	worker->is_scrubbing = ret == 0;
	return ret;
}

static int serve(struct worker *worker)
{
	if (worker->start->before != NULL)
		prepare(worker);
	if (worker->start->settings->has_pinned_workers)
		pin(worker->start);
	cores_take_short_turns();
	int ret = udp_start(worker->udp);
	if (ret == 0)
		ret = tcp_start(worker->tcp);
	if (ret == 0 && worker->start->index == 0)
		ret = serve_others(worker);
	return ret;
}

static bool would_lose(const struct worker *worker)
{
	const struct worker_start *start = worker->start;
	const struct takeover_side after = { start->settings, start->zonestatus };
	struct takeover_loss loss;
	return start->before != NULL && takeover_find_loss(start->before, &after, &loss);
}

static void watch_on_decided(void *context)
{
	struct worker *worker = context;
	if (worker->is_draining)
		return;
	/* Its sockets are those of the worker before, which answers on. */
	if (would_lose(worker)) {
		say(worker, WORKER_WOULD_LOSE);
		return;
	}
	int ret = serve(worker);
	if (ret == 0) {
		say(worker, WORKER_SERVES);
		return;
	}
	log_error("dnsblv6d", "worker cannot serve, worker=%zu (%s)", worker->start->index,
		  uv_strerror(ret));
	_exit(EX_OSERR);
}

static int open_loop(struct worker *worker)
{
	int ret = uv_loop_init(&worker->loop);
	if (ret == 0)
		ret = uv_signal_init(&worker->loop, &worker->sigterm);
	if (ret == 0) {
		worker->sigterm.data = worker;
		ret = uv_signal_start(&worker->sigterm, sigterm_on_signal, SIGTERM);
	}
	if (ret == 0)
		ret = uv_timer_init(&worker->loop, &worker->drain_timer);
	/* With the first stream libuv opens a spare descriptor, for when there are no more. */
	if (ret == 0)
		ret = uv_tcp_init(&worker->loop, &worker->reserve);
	worker->drain_timer.data = worker;
	return ret;
}

static int open_limit(struct worker *worker)
{
	const struct settings *settings = worker->start->settings;
	struct ratelimit_options options = { .rate = settings->rate_limit,
					     .slip = settings->rate_limit_slip,
					     .network_count = settings->rate_limit_networks };
	if (options.rate == 0)
		return 0;
	if (getentropy(&options.seed, sizeof(options.seed)) != 0)
		return -errno;
	int ret = ratelimit_new(&options, &worker->limit);
	if (ret == 0)
		answer_set_limit(worker->answer, worker->limit);
	return ret;
}

/* NULL: there is no query log. */
static struct tap *open_tap(struct worker *worker)
{
	const struct worker_start *start = worker->start;
	uint64_t seed = 0;
	if (start->tap_fd < 0)
		return NULL;
	/* Not a secret worth waiting for: which questions are taken. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = (uint64_t)getpid();
	tap_init(&worker->tap, start->tap_fd, start->settings->dnstap.every, seed,
		 &worker->counters);
	return &worker->tap;
}

static int open_engines(struct worker *worker)
{
	const struct worker_start *start = worker->start;
	const struct settings *settings = start->settings;
	struct tcp_limits limits = { .client_max = settings->tcp_max_clients,
				     .network_max = settings->tcp_max_clients_per_network,
				     .idle_timeout_s = settings->tcp_idle_timeout_s,
				     .query_timeout_s = settings->tcp_query_timeout_s };
	size_t fd_count = start->listener->address_count;
	worker->serving = (struct serving){ .answer = worker->answer,
					    .forks = &worker->forks,
					    .counters = worker->counters,
					    .tap = open_tap(worker) };
	serving_open(&worker->serving, &worker->loop);
	const struct responder responder = serving_responder(&worker->serving);
	int ret = udp_new(&worker->loop, listener_udp(start->listener, start->index), fd_count,
			  &responder, &worker->udp);
	if (ret == 0)
		ret = tcp_new(&worker->loop, listener_tcp(start->listener, start->index), fd_count,
			      &limits, &responder, &worker->tcp);
	worker->serving.tcp = worker->tcp;
	worker->forks.tcp = worker->tcp;
	return ret;
}

static int open_services(struct worker *worker)
{
	const struct worker_start *start = worker->start;
	const struct settings *settings = start->settings;
	worker->counters = counters_of_worker(start->bank, start->index);
	int ret = catalog_init(&worker->catalog, settings);
	if (ret == 0)
		ret = answer_new(&worker->catalog, &worker->counters,
				 (uint16_t)settings->udp_max_payload, &worker->answer);
	if (ret == 0)
		answer_set_settings(worker->answer, settings);
	struct talkers talkers = talkers_of_worker(start->talkers, start->index);
	if (ret == 0)
		answer_set_talkers(worker->answer, &talkers);
	if (ret == 0)
		ret = open_limit(worker);
	if (ret == 0)
		ret = frequent_new(start->frequent, &worker->frequent);
	if (ret == 0)
		answer_set_frequent(worker->answer, worker->frequent);
	if (ret == 0)
		ret = forks_open(&worker->forks, &worker->loop, settings, &worker->counters);
	if (ret == 0)
		ret = open_engines(worker);
	if (ret == 0)
		ret = watch_open(&worker->watch, &worker->loop, &worker->catalog, settings,
				 start->bank, watch_on_decided, worker);
	if (ret == 0)
		watch_set_zonestatus(&worker->watch, start->zonestatus, start->index);
	return ret;
}

/* Before anything is looked at that others have written. */
static bool confine(const struct worker_start *start)
{
	const char *step = NULL;
	int ret = confine_worker(start->settings, start->filter, &step);
	if (ret != 0)
		log_error("dnsblv6d", "worker not confined, worker=%zu step=%s (%s)", start->index,
			  step, strerror(-ret));
	return ret == 0;
}

int worker_serve(const struct worker_start *start)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	if (worker == NULL)
		return EX_OSERR;
	worker->start = start;
	int ret = open_loop(worker);
	child_ignore_signals();
	child_unblock_signals();
	if (ret == 0 && !confine(start))
		return EX_OSERR;
	if (ret == 0)
		ret = open_services(worker);
	if (ret != 0) {
		log_error("dnsblv6d", "worker not started, worker=%zu (%s)", start->index,
			  uv_strerror(ret));
		return EX_OSERR;
	}

	uv_run(&worker->loop, UV_RUN_DEFAULT);
	finish(worker);
	uv_run(&worker->loop, UV_RUN_DEFAULT); /* the close callbacks */
	uv_loop_close(&worker->loop);

	watch_free(&worker->watch);
	notify_free(&worker->notify);
	inquiry_free(&worker->inquiry);
	scrub_free(&worker->scrub);
	udp_free(worker->udp);
	tcp_free(worker->tcp);
	forks_free(&worker->forks);
	answer_free(worker->answer);
	ratelimit_free(worker->limit);
	frequent_free(worker->frequent);
	catalog_deinit(&worker->catalog);
	free(worker);
	return EX_OK;
}
