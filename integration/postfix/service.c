/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/postfix/service.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <uv.h>

#include "integration/asking.h"
#include "integration/postfix/metrics.h"
#include "integration/postfix/peers.h"
#include "integration/program.h"
#include "lib/common/log.h"
#include "lib/common/systemd.h"
#include "lib/common/version.h"

#define METRICS_INTERVAL_MS 15000

static const char context[] = "dnsblv6-policy";

static const int signal_numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };

#define SIGNAL_COUNT (sizeof(signal_numbers) / sizeof(signal_numbers[0]))

struct service {
	struct setup *setup;
	struct sockets *sockets;
	uv_loop_t loop;
	struct peers *peers;
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
	int ret = metrics_write(service->setup, service->peers, service->started_s);
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

/* Everybody has a reply. */
static void peers_on_done(void *service_data)
{
	struct service *service = service_data;
	asking_close(&service->asking);
	uv_close((uv_handle_t *)&service->interval, NULL);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		uv_close((uv_handle_t *)&service->signals[i], NULL);
}

static void stop(struct service *service, int number)
{
	if (service->is_stopping)
		return;
	log_info(context, "stopping, signal=%d", number);
	systemd_notify("STOPPING=1");
	service->is_stopping = true;
	peers_stop(service->peers, peers_on_done, service);
	/* So that nobody waits for a reply that will not come. */
	sockets_close(service->setup, service->sockets);
}

static void reload(struct service *service)
{
	struct judge *judge = &service->setup->judge;
	struct networks_error error;
	if (judge->allow_path[0] == '\0') {
		log_warning(context, "nothing reloaded, there is no allow list (a restart reads "
				     "the configuration again)");
		return;
	}
	systemd_notify_reloading();
	if (judge_reload(judge, &error) == 0) {
		log_info(context, "allow list read, networks=%zu", judge->allowed.count);
	} else {
		judge_log_error(judge, &error);
		log_warning(context, "the old allow list holds, networks=%zu",
			    judge->allowed.count);
	}
	systemd_notify("READY=1");
}

static void signal_on_raise(uv_signal_t *raised, int number)
{
	struct service *service = raised->data;
	if (number == SIGUSR1)
		metrics_log(service->setup, service->peers);
	else if (number == SIGHUP)
		reload(service);
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
	ret = peers_open(&service->loop, setup, service->sockets, &service->peers);
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

static void log_ready(const struct service *service)
{
	const struct setup *setup = service->setup;
	log_info(context, "ready, version=%s sockets=%u action=%s exempt=%zu allowed=%zu",
		 DNSBLV6_VERSION, setup->place_count, judge_action_name(setup->judge.action),
		 setup->judge.exempt.count, setup->judge.allowed.count);
	program_tell_ready(context);
}

static int serve(struct service *service)
{
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
	log_info(context, "stopped");
	return EX_OK;
}

int service_run(struct setup *setup, struct sockets *sockets)
{
	struct service service = { .setup = setup, .sockets = sockets };
	int status = program_start_library(context, setup->handle.client);
	if (status != EX_OK)
		return status;
	int ret = uv_loop_init(&service.loop);
	if (ret != 0) {
		log_error(context, "loop not started (%s)", uv_strerror(ret));
		return EX_OSERR;
	}
	status = serve(&service);
	peers_free(service.peers);
	/* With something in it only when the start has failed; then the process ends anyway. */
	uv_loop_close(&service.loop);
	return status;
}
