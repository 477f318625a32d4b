/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/cached/service.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <uv.h>

#include "integration/asking.h"
#include "integration/cached/callers.h"
#include "integration/cached/metrics.h"
#include "lib/common/log.h"
#include "lib/common/systemd.h"
#include "lib/common/version.h"

#define METRICS_INTERVAL_MS 15000

static const char context[] = "dnsblv6-cached";

static const int signal_numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };

#define SIGNAL_COUNT (sizeof(signal_numbers) / sizeof(signal_numbers[0]))

struct service {
	const struct setup *setup;
	uv_loop_t loop;
	struct callers *callers;
	struct asking asking;
	uv_timer_t interval; /* of the metrics */
	uv_signal_t signals[SIGNAL_COUNT];
	uint64_t started_s;
	bool has_metrics_failed;
	bool is_stopping;
};

/* ---- metrics ---- */

static void write_metrics(struct service *service)
{
	int ret = metrics_write(service->setup, service->callers, service->started_s);
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

/* ---- signals ---- */

static void stop(struct service *service, int number)
{
	if (service->is_stopping)
		return;
	log_info(context, "stopping, signal=%d", number);
	systemd_notify("STOPPING=1");
	service->is_stopping = true;
	callers_close(service->callers);
	asking_close(&service->asking);
	uv_close((uv_handle_t *)&service->interval, NULL);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		uv_close((uv_handle_t *)&service->signals[i], NULL);
}

static void signal_on_raise(uv_signal_t *raised, int number)
{
	struct service *service = raised->data;
	if (number == SIGUSR1)
		metrics_log(service->setup, service->callers);
	else if (number == SIGHUP)
		log_warning(context, "configuration not reloaded, a restart does that and "
				     "keeps the cache");
	else
		stop(service, number);
}

/* ---- begin and end ---- */

static int start_handles(struct service *service)
{
	const struct setup *setup = service->setup;
	int ret = asking_open(&service->asking, &service->loop, setup->handle.client);
	if (ret != 0)
		return ret;
	uv_timer_init(&service->loop, &service->interval);
	service->interval.data = service;
	if (setup->metrics[0] != '\0')
		uv_timer_start(&service->interval, interval_on_timer, 0, METRICS_INTERVAL_MS);
	for (size_t i = 0; i < SIGNAL_COUNT; i++) {
		uv_signal_init(&service->loop, &service->signals[i]);
		service->signals[i].data = service;
		if (ret == 0)
			ret = uv_signal_start(&service->signals[i], signal_on_raise,
					      signal_numbers[i]);
	}
	return ret;
}

static int open_callers(struct service *service)
{
	int ret = callers_open(&service->loop, service->setup, &service->callers);
	if (ret == 0)
		return EX_OK;
	log_error(context, "socket not opened, directory=%s (%s)", service->setup->directory,
		  strerror(-ret));
	return ret == -EACCES || ret == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

static void log_ready(const struct service *service)
{
	log_info(context, "ready, version=%s zones=%u directory=%s", DNSBLV6_VERSION,
		 service->setup->zone_count, service->setup->directory);
	int ret = systemd_notify("READY=1");
	/* It asked to be told: it waits for READY=1, and stops us when it hears nothing. */
	if (ret != 0)
		log_warning(context, "service manager not told (%s)", strerror(-ret));
}

static int serve(struct service *service)
{
	int status = open_callers(service);
	if (status != EX_OK)
		return status;
	int ret = start_handles(service);
	if (ret != 0) {
		log_error(context, "loop not started (%s)", uv_strerror(ret));
		return EX_OSERR;
	}
	service->started_s = (uint64_t)time(NULL);
	log_ready(service);
	/* Sends the first probes; what comes back is the loop's. */
	dnsblv6_probe(service->setup->handle.client, 1);
	uv_run(&service->loop, UV_RUN_DEFAULT);
	/* What zones were like to the end. */
	if (service->setup->metrics[0] != '\0')
		write_metrics(service);
	return EX_OK;
}

/* What the library says of options, or of the directory. */
static int refuse_start(const struct setup *setup, int ret)
{
	log_error(context, "cache not opened, directory=%s (%s)", setup->directory,
		  ret == -EINVAL ? dnsblv6_error(setup->handle.client) : dnsblv6_strerror(ret));
	if (ret == -EINVAL)
		return EX_CONFIG;
	return ret == -EACCES || ret == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

int service_run(const struct setup *setup)
{
	struct service service = { .setup = setup };
	/* Of a log whose reader has ended. */
	signal(SIGPIPE, SIG_IGN);
	int ret = dnsblv6_start(setup->handle.client);
	if (ret != 0)
		return refuse_start(setup, ret);
	ret = uv_loop_init(&service.loop);
	if (ret != 0) {
		log_error(context, "loop not started (%s)", uv_strerror(ret));
		return EX_OSERR;
	}
	int status = serve(&service);
	callers_free(service.callers);
	/* With something in it only when the start has failed; then the process ends anyway. */
	uv_loop_close(&service.loop);
	return status;
}
