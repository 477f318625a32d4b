/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/milter/service.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <uv.h>

#include "integration/milter/metrics.h"
#include "integration/milter/milter.h"
#include "lib/common/log.h"
#include "lib/common/systemd.h"
#include "lib/common/version.h"

#define METRICS_INTERVAL_MS 15000
#define PROBE_MS	    1 /* only sends: answers come later */

/* When asked to end: how long sessions may go on, and how often it is looked whether they do. */
#define GRACE_MS      5000
#define GRACE_LOOK_MS 20

static const char context[] = "dnsblv6-milter";

static const int signal_numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };

#define SIGNAL_COUNT (sizeof(signal_numbers) / sizeof(signal_numbers[0]))

struct service {
	const struct setup *setup;
	struct sessions *sessions;
	uv_loop_t loop;
	uv_thread_t thread;  /* libmilter's first */
	uv_async_t ended;    /* it has */
	uv_timer_t interval; /* of the metrics */
	uv_timer_t grace;
	uint64_t grace_end_ms;
	uv_signal_t signals[SIGNAL_COUNT];
	uint64_t started_s;
	bool has_metrics_failed;
	bool is_stopping;
	int status;
};

/* ---- metrics ---- */

static void write_metrics(struct service *service)
{
	int ret = metrics_write(service->setup, service->sessions, service->started_s);
	if (ret != 0 && !service->has_metrics_failed)
		log_warning(context, "metrics not written, path=%s (%s)", service->setup->metrics,
			    strerror(-ret));
	if (ret == 0 && service->has_metrics_failed)
		log_info(context, "metrics written again, path=%s", service->setup->metrics);
	service->has_metrics_failed = ret != 0;
}

static void interval_on_timer(uv_timer_t *timer)
{
	write_metrics(timer->data);
}

/* ---- the end ---- */

static void grace_on_timer(uv_timer_t *timer)
{
	struct service *service = timer->data;
	uint32_t open = sessions_count(service->sessions);
	bool is_late = uv_now(&service->loop) >= service->grace_end_ms;
	if (open > 0 && !is_late)
		return;
	if (open > 0)
		log_warning(context, "sessions left to the mail server, sessions=%u", open);
	uv_stop(&service->loop);
}

static void stop(struct service *service, int number)
{
	if (service->is_stopping)
		return;
	log_info(context, "stopping, signal=%d", number);
	systemd_notify("STOPPING=1");
	service->is_stopping = true;
	milter_hide(service->setup);
	service->grace_end_ms = uv_now(&service->loop) + GRACE_MS;
	uv_timer_start(&service->grace, grace_on_timer, 0, GRACE_LOOK_MS);
}

/* Asked to or not. */
static void ended_on_async(uv_async_t *async)
{
	struct service *service = async->data;
	if (service->is_stopping)
		return;
	log_error(context, "libmilter has ended (see the system's log of mail)");
	service->status = EX_OSERR;
	uv_stop(&service->loop);
}

/* ---- signals ---- */

static void reload(struct service *service)
{
	struct networks_error error;
	systemd_notify_reloading();
	if (sessions_reload(service->sessions, &error) != 0)
		judge_log_error(service->sessions->judge, &error);
	else
		log_info(context, "reloaded, allowed=%zu", service->sessions->judge->allowed.count);
	systemd_notify("READY=1");
}

static void signal_on_raise(uv_signal_t *raised, int number)
{
	struct service *service = raised->data;
	if (number == SIGUSR1)
		metrics_log(service->setup, service->sessions);
	else if (number == SIGHUP)
		reload(service);
	else
		stop(service, number);
}

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
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaddset(&ours, signal_numbers[i]);
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
	uv_timer_init(&service->loop, &service->interval);
	uv_timer_init(&service->loop, &service->grace);
	service->interval.data = service;
	service->grace.data = service;
	if (service->setup->metrics[0] != '\0')
		uv_timer_start(&service->interval, interval_on_timer, 0, METRICS_INTERVAL_MS);
	for (size_t i = 0; i < SIGNAL_COUNT && ret == 0; i++) {
		uv_signal_init(&service->loop, &service->signals[i]);
		service->signals[i].data = service;
		ret = uv_signal_start(&service->signals[i], signal_on_raise, signal_numbers[i]);
	}
	return ret;
}

static void log_ready(const struct service *service)
{
	log_info(context, "ready, version=%s socket=%s action=%s", DNSBLV6_VERSION,
		 service->setup->connection, judge_action_name(service->setup->judge.action));
	int ret = systemd_notify("READY=1");
	/* It asked to be told: it waits for READY=1, and stops us when it hears nothing. */
	if (ret != 0)
		log_warning(context, "service manager not told (%s)", strerror(-ret));
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
	service->started_s = (uint64_t)time(NULL);
	log_ready(service);
	dnsblv6_probe(service->setup->handle.client, PROBE_MS);
	uv_run(&service->loop, UV_RUN_DEFAULT);
	if (service->setup->metrics[0] != '\0')
		write_metrics(service);
	return service->status;
}

int service_run(const struct setup *setup, struct sessions *sessions)
{
	/* libmilter's thread may outlive this function. */
	static struct service service;
	service.setup = setup;
	service.sessions = sessions;
	/* Of a log whose reader has ended, and of mail servers. */
	signal(SIGPIPE, SIG_IGN);
	int ret = dnsblv6_start(setup->handle.client);
	if (ret != 0) {
		log_error(context, "library not started (%s)",
			  ret == -EINVAL ? dnsblv6_error(setup->handle.client)
					 : dnsblv6_strerror(ret));
		return ret == -EINVAL ? EX_CONFIG : EX_OSERR;
	}
	return serve(&service);
}
