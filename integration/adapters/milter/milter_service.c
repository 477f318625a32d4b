/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/milter/milter_service.h"

#include <signal.h>
#include <sysexits.h>
#include <uv.h>

#include "integration/adapters/milter/milter.h"
#include "integration/common/program.h"
#include "integration/common/upkeep.h"
#include "lib/common/log.h"
#include "lib/process/systemd.h"
#include "lib/common/version.h"

#define PROBE_MS 1 /* only sends: answers come later */

/* When asked to end: how long sessions may go on, and how often it is looked whether they do. */
#define GRACE_MS      5000
#define GRACE_LOOK_MS 20

static const char context[] = "dnsblv6-milter";

static const struct counts_label labels[COUNTERS_COUNT] = {
#define X(number, text, sentence) [number] = { text, sentence },
	COUNTERS_MAP(X)
#undef X
};

struct service {
	const struct milter_setup *setup;
	struct session_shared *sessions;
	uv_loop_t loop;
	uv_thread_t thread; /* libmilter's first */
	uv_async_t ended;   /* it has */
	uv_timer_t grace;
	uint64_t grace_end_ms;
	struct upkeep upkeep;
	uint64_t values[COUNTERS_COUNT]; /* of labels, for a report */
	int status;
};

/* ---- the end ---- */

static void grace_on_timer(uv_timer_t *timer)
{
	struct service *service = timer->data;
	uint32_t open = session_shared_count(service->sessions);
	bool is_late = uv_now(&service->loop) >= service->grace_end_ms;
	if (open > 0 && !is_late)
		return;
	if (open > 0)
		log_warning(context, "sessions left to the mail server, sessions=%u", open);
	uv_stop(&service->loop);
}

static void stop(void *data, int number)
{
	struct service *service = data;
	program_tell_stopping(context, number);
	milter_hide(service->setup);
	service->grace_end_ms = uv_now(&service->loop) + GRACE_MS;
	uv_timer_start(&service->grace, grace_on_timer, 0, GRACE_LOOK_MS);
}

/* Asked to or not. */
static void ended_on_async(uv_async_t *async)
{
	struct service *service = async->data;
	if (service->upkeep.is_stopping)
		return;
	log_error(context, "libmilter has ended (see the system's log of mail)");
	service->status = EX_OSERR;
	uv_stop(&service->loop);
}

/* ---- upkeep ---- */

static void measure(void *data, struct report *ret_report)
{
	struct service *service = data;
	for (unsigned i = 0; i < COUNTERS_COUNT; i++)
		service->values[i] =
			counters_get(&service->sessions->counters, (enum counters_number)i);
	*ret_report = (struct report){
		.gauge = { "sessions", "SMTP sessions that are open." },
		.gauge_value = session_shared_count(service->sessions),
		.labels = labels,
		.values = service->values,
		.count = COUNTERS_COUNT,
		.client = service->setup->handle.client,
	};
}

static void reload(void *data)
{
	struct service *service = data;
	struct networks_error error;
	systemd_notify_reloading();
	int ret = session_shared_reload(service->sessions, &error);
	judge_log_reload(service->sessions->judge, context, ret, &error);
	systemd_notify("READY=1");
}

static const struct upkeep_work work = { measure, reload, stop };

/* ---- the beginning ---- */

static void run_libmilter(void *data)
{
	struct service *service = data;
	milter_run();
	uv_async_send(&service->ended);
}

/* Its threads have its mask: a signal is for the loop (and see sigwait() in milter.c). */
static int start_libmilter(struct service *service)
{
	sigset_t ours;
	sigset_t before;
	sigemptyset(&ours);
	upkeep_add_signals(&ours);
	pthread_sigmask(SIG_BLOCK, &ours, &before);
	int ret = uv_thread_create(&service->thread, run_libmilter, service);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

static int start_handles(struct service *service)
{
	int ret = uv_async_init(&service->loop, &service->ended, ended_on_async);
	service->ended.data = service;
	if (ret != 0)
		return ret;
	uv_timer_init(&service->loop, &service->grace);
	service->grace.data = service;
	return upkeep_open(&service->upkeep, &service->loop, context, service->setup->metrics,
			   &work, service);
}

static void log_ready(const struct service *service)
{
	log_info(context, "ready, version=%s socket=%s action=%s", DNSBLV6_VERSION,
		 service->setup->place.connection, judge_action_name(service->setup->judge.action));
	program_tell_ready(context);
}

static int serve(struct service *service)
{
	int ret = uv_loop_init(&service->loop);
	if (ret == 0)
		ret = start_handles(service);
	if (ret == 0)
		ret = start_libmilter(service);
	if (ret != 0) {
		log_error(context, "loop not started (%s)", uv_strerror(ret));
		return EX_OSERR;
	}
	log_ready(service);
	dnsblv6_probe(service->setup->handle.client, PROBE_MS);
	uv_run(&service->loop, UV_RUN_DEFAULT);
	upkeep_write_metrics(&service->upkeep);
	return service->status;
}

int milter_service_run(const struct milter_setup *setup, struct session_shared *sessions)
{
	/* libmilter's thread may outlive this function. */
	static struct service service;
	service.setup = setup;
	service.sessions = sessions;
	int status = program_start_library(context, setup->handle.client);
	if (status != EX_OK)
		return status;
	return serve(&service);
}
