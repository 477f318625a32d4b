/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/process/proxyworker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/loop/stall.h"
#include "integration/mail/mail-proxy/pop3/poppair.h"
#include "integration/mail/mail-proxy/side/pair.h"
#include "integration/mail/mail-proxy/smtp/mailpair.h"
#include "lib/common/log.h"
#include "lib/process/daemon.h"
#include "lib/process/doors.h"

static const char context[] = "mail-proxy";

/* Listeners, the loop's own, the scanner's, and some files. */
#define OWN_DESCRIPTORS 128
/* A client, the next hop, and a scan that waits for peers and decoders. */
#define DESCRIPTORS_OF_ONE 8
#define SHORT_PAUSE_MS	   100	 /* when the system lacks descriptors for connections */
#define REFRESH_MS	   10000 /* between looks at the file of signatures */
#define KILL_MS		   1000	 /* behind "drain": sessions that have not ended are cut */

struct proxyworker {
	const struct nanny_child *child;
	const struct proxysetup *setup;
	struct proxyloop loop;
	struct doors *doors;
	uv_timer_t tick;
	struct stall stall;
	uv_timer_t drain;
	uv_timer_t refresh;
	uv_check_t again;
	uv_idle_t hurry; /* while there are pairs that want another turn */
	uv_signal_t term;
};

static const struct pair_protocol *const protocols[] = {
	[PROXY_SMTP] = &mailpair_protocol,
	[PROXY_LMTP] = &mailpair_protocol,
	[PROXY_POP3] = &poppair_protocol,
};

/* ---- clients ---- */

static void log_wait(void *owner, int error)
{
	const struct proxyworker *worker = owner;
	log_warning(context, "connections have to wait, process=%u sessions=%u (%s)",
		    worker->loop.index, worker->loop.pair_count, strerror(error));
}

static void take_client(void *owner, unsigned door, int fd, const struct sockaddr *peer)
{
	struct proxyworker *worker = owner;
	const struct proxysetup_listener *listener =
		&worker->setup->listeners[worker->child->listener_places[door]];
	pair_open(&worker->loop, listener, protocols[listener->speech], fd, peer);
}

static const struct doors_rules doors_rules = { SHORT_PAUSE_MS, NULL, take_client, log_wait };

/* ---- the loop ---- */

static void hurry_on_idle(uv_idle_t *idle)
{
	(void)idle;
}

static void end_if_empty(struct proxyworker *worker)
{
	if (worker->loop.is_draining && worker->loop.pair_count == 0)
		uv_stop(&worker->loop.loop);
}

/* Behind all events of a turn of the loop. */
static void again_on_check(uv_check_t *check)
{
	struct proxyworker *worker = check->data;
	pair_run_again(&worker->loop);
	if (TAILQ_EMPTY(&worker->loop.again))
		uv_idle_stop(&worker->hurry);
	else
		uv_idle_start(&worker->hurry, hurry_on_idle);
	end_if_empty(worker);
}

static void tick_on_timer(uv_timer_t *timer)
{
	struct proxyworker *worker = timer->data;
	if (stall_waives_tick(&worker->stall, proxyloop_now(&worker->loop)))
		return;
	pair_run_timers(&worker->loop);
	proxyloop_tell_left_out(&worker->loop, proxyloop_now(&worker->loop));
}

static void refresh_on_timer(uv_timer_t *timer)
{
	struct proxyworker *worker = timer->data;
	scanner_refresh(worker->loop.scanner);
}

static void drain_on_timer(uv_timer_t *timer)
{
	struct proxyworker *worker = timer->data;
	pair_drain(&worker->loop, true);
	end_if_empty(worker);
}

static void close_doors(struct proxyworker *worker)
{
	doors_close(worker->doors);
	for (unsigned i = 0; i < worker->child->listener_count; i++)
		close(worker->child->listeners[i]);
}

static void term_on_raise(uv_signal_t *raised, int number)
{
	struct proxyworker *worker = raised->data;
	(void)number;
	if (worker->loop.is_draining)
		return;
	doors_take_last(worker->doors);
	log_info(context, "process drains, process=%u sessions=%u", worker->loop.index,
		 worker->loop.pair_count);
	worker->loop.is_draining = true;
	close_doors(worker);
	uv_timer_start(&worker->drain, drain_on_timer, worker->setup->proxy.drain_ms, KILL_MS);
	pair_drain(&worker->loop, false);
	end_if_empty(worker);
}

/* ---- the beginning ---- */

static int open_limits(struct proxyworker *worker)
{
	uint64_t random[2] = { 0, 0 };
	if (getentropy(random, sizeof(random)) != 0)
		return -errno;
	worker->loop.next_id = random[0];
	return limits_new((size_t)worker->loop.pair_max * 4, random[1],
			  &worker->setup->limits.network, &worker->loop.limits);
}

/* What is opened by name: before the process is confined. */
static int open_files(struct proxyworker *worker)
{
	struct keys_error error;
	const struct proxysetup *setup = worker->setup;
	const struct proxyworker_shared *shared = worker->child->shared;
	if (setup->scan.is_on) {
		int status =
			scanner_open(&setup->scan, context, shared->template_ends[TEMPLATE_ASK],
				     &worker->loop.scanner);
		if (status != EX_OK)
			return status;
	}
	if (setup->tls.certificate_count == 0)
		return EX_OK;
	if (tls_context_new(setup->tls.chains, worker->child->keyholder_fd, &worker->loop.tls,
			    &error) == 0)
		return EX_OK;
	log_error(context, "certificate not taken, path=%s (%s)", error.path, error.reason);
	return EX_CONFIG;
}

static void init_timer(struct proxyworker *worker, uv_timer_t *timer)
{
	uv_timer_init(&worker->loop.loop, timer); /* cannot fail */
	timer->data = worker;
}

static int open_handles(struct proxyworker *worker)
{
	uv_loop_t *loop = &worker->loop.loop;
	init_timer(worker, &worker->tick);
	init_timer(worker, &worker->drain);
	init_timer(worker, &worker->refresh);
	uv_check_init(loop, &worker->again);
	uv_idle_init(loop, &worker->hurry);
	uv_signal_init(loop, &worker->term);
	worker->again.data = worker;
	worker->term.data = worker;
	uv_check_start(&worker->again, again_on_check);
	stall_begin_ticks(&worker->stall, uv_now(loop));
	uv_timer_start(&worker->tick, tick_on_timer, WHEEL_TICK_MS, WHEEL_TICK_MS);
	if (worker->loop.scanner != NULL)
		uv_timer_start(&worker->refresh, refresh_on_timer, REFRESH_MS, REFRESH_MS);
	int ret = doors_open(loop, worker->child->listeners, worker->child->listener_count,
			     &doors_rules, worker, &worker->doors);
	return ret == 0 ? uv_signal_start(&worker->term, term_on_raise, SIGTERM) : ret;
}

static void close_handles(struct proxyworker *worker)
{
	uv_close((uv_handle_t *)&worker->tick, NULL);
	uv_close((uv_handle_t *)&worker->drain, NULL);
	uv_close((uv_handle_t *)&worker->refresh, NULL);
	uv_close((uv_handle_t *)&worker->again, NULL);
	uv_close((uv_handle_t *)&worker->hurry, NULL);
	uv_close((uv_handle_t *)&worker->term, NULL);
}

static int serve(struct proxyworker *worker)
{
	const struct nanny_child *child = worker->child;
	int ret = open_handles(worker);
	if (ret != 0) {
		log_error(context, "loop not started (%s)", uv_strerror(ret));
		return EX_OSERR;
	}
	int status = child->confine != NULL ? child->confine(child->context) : EX_OK;
	if (status == EX_OK) {
		log_info(context, "process ready, process=%u sessions=%u session_bytes=%zu",
			 child->index, worker->loop.pair_max, mailpair_protocol.pair_size);
		doors_watch(worker->doors);
		uv_run(&worker->loop.loop, UV_RUN_DEFAULT);
	} else {
		close_doors(worker);
	}
	close_handles(worker);
	uv_run(&worker->loop.loop, UV_RUN_DEFAULT);
	proxyloop_tell_left_out(&worker->loop, UINT64_MAX);
	if (status == EX_OK)
		log_info(context, "process ended, process=%u", child->index);
	return status;
}

static int begin(struct proxyworker *worker)
{
	struct proxyloop *loop = &worker->loop;
	int status = open_files(worker);
	if (status != EX_OK)
		return status;
	int ret = open_limits(worker);
	if (ret == 0)
		ret = uv_loop_init(&loop->loop);
	if (ret != 0) {
		log_error(context, "process not started (%s)", strerror(-ret));
		return EX_OSERR;
	}
	wheel_init(&loop->wheel, uv_now(&loop->loop));
	wheel_init(&loop->scan_wheel, uv_now(&loop->loop));
	status = serve(worker);
	uv_loop_close(&loop->loop);
	return status;
}

int proxyworker_run(const struct nanny_child *child)
{
	const struct proxyworker_shared *shared = child->shared;
	struct proxyworker *worker = calloc(1, sizeof(*worker));
	if (worker == NULL)
		return EX_OSERR;
	worker->child = child;
	worker->setup = child->setup;
	worker->loop.setup = child->setup;
	worker->loop.counters = child->counters;
	worker->loop.shared = shared->found;
	worker->loop.index = child->index;
	TAILQ_INIT(&worker->loop.pairs);
	TAILQ_INIT(&worker->loop.again);
	signal(SIGPIPE, SIG_IGN);
	worker->loop.pair_max =
		daemon_share_descriptors(context, OWN_DESCRIPTORS,
					 worker->setup->proxy.sessions_max * DESCRIPTORS_OF_ONE) /
		DESCRIPTORS_OF_ONE;
	if (worker->loop.pair_max == 0)
		worker->loop.pair_max = 1;
	int status = begin(worker);
	tls_context_free(worker->loop.tls);
	scanner_close(worker->loop.scanner);
	limits_free(worker->loop.limits);
	proxyloop_free_blocks(&worker->loop);
	free(worker);
	return status;
}
