/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/upkeep.h"

#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "lib/common/log.h"

#define INTERVAL_MS 15000

static const int signal_numbers[UPKEEP_SIGNALS] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };

void upkeep_add_signals(sigset_t *set)
{
	for (size_t i = 0; i < UPKEEP_SIGNALS; i++)
		sigaddset(set, signal_numbers[i]);
}

static struct report take_report(struct upkeep *upkeep)
{
	struct report report;
	upkeep->work->measure(upkeep->service, &report);
	report.program = upkeep->program;
	report.started_s = upkeep->started_s;
	return report;
}

void upkeep_write_metrics(struct upkeep *upkeep)
{
	const char *path = upkeep->metrics_path;
	if (path[0] == '\0')
		return;
	struct report report = take_report(upkeep);
	int ret = report_write(&report, path);
	if (ret != 0 && !upkeep->has_failed)
		log_warning(upkeep->program, "metrics not written, path=%s (%s)", path,
			    strerror(-ret));
	if (ret == 0 && upkeep->has_failed)
		log_info(upkeep->program, "metrics written again, path=%s", path);
	upkeep->has_failed = ret != 0;
}

static void interval_on_timer(uv_timer_t *timer)
{
	upkeep_write_metrics(timer->data);
}

static void log_report(struct upkeep *upkeep)
{
	struct report report = take_report(upkeep);
	report_log(&report);
}

static void signal_on_raise(uv_signal_t *raised, int number)
{
	struct upkeep *upkeep = raised->data;
	if (number == SIGUSR1) {
		log_report(upkeep);
	} else if (number == SIGHUP) {
		if (upkeep->work->reload != NULL)
			upkeep->work->reload(upkeep->service);
	} else if (!upkeep->is_stopping) {
		upkeep->is_stopping = true;
		upkeep->work->stop(upkeep->service, number);
	}
}

int upkeep_open(struct upkeep *ret_upkeep, uv_loop_t *loop, struct dnsblv6 *client,
		const char *program, const char *metrics_path, const struct upkeep_work *work,
		void *service)
{
	struct upkeep *upkeep = ret_upkeep;
	memset(upkeep, 0, sizeof(*upkeep));
	int ret = client != NULL ? uvhandle_open(&upkeep->uvhandle, loop, client) : 0;
	upkeep->work = work;
	upkeep->service = service;
	upkeep->program = program;
	upkeep->metrics_path = metrics_path;
	upkeep->started_s = (uint64_t)time(NULL);
	uv_timer_init(loop, &upkeep->interval);
	upkeep->interval.data = upkeep;
	if (metrics_path[0] != '\0')
		uv_timer_start(&upkeep->interval, interval_on_timer, 0, INTERVAL_MS);
	for (size_t i = 0; i < UPKEEP_SIGNALS && ret == 0; i++) {
		ret = uv_signal_init(loop, &upkeep->signals[i]);
		upkeep->signals[i].data = upkeep;
		if (ret == 0)
			ret = uv_signal_start(&upkeep->signals[i], signal_on_raise,
					      signal_numbers[i]);
	}
	return ret;
}

void upkeep_run(struct upkeep *upkeep)
{
	/* Sends the first probes; what comes back is the loop's. */
	if (upkeep->uvhandle.client != NULL)
		dnsblv6_probe(upkeep->uvhandle.client, 1);
	uv_run(upkeep->interval.loop, UV_RUN_DEFAULT);
	/* What zones were like to the end. */
	upkeep_write_metrics(upkeep);
}

void upkeep_close(struct upkeep *upkeep)
{
	uvhandle_close(&upkeep->uvhandle);
	uv_close((uv_handle_t *)&upkeep->interval, NULL);
	for (size_t i = 0; i < UPKEEP_SIGNALS; i++)
		uv_close((uv_handle_t *)&upkeep->signals[i], NULL);
}

int upkeep_refuse_loop(const char *program, int ret)
{
	log_error(program, "loop not started (%s)", uv_strerror(ret));
	return EX_OSERR;
}
