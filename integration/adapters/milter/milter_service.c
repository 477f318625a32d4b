/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/milter/milter_service.h"

#include <sysexits.h>

#include "integration/common/milterloop.h"
#include "integration/common/program.h"
#include "lib/common/log.h"
#include "lib/process/systemd.h"
#include "lib/common/version.h"

#define PROBE_MS 1 /* only sends: answers come later */

static const char context[] = "dnsblv6-milter";

static const struct counts_label labels[COUNTERS_COUNT] = {
#define X(number, text, sentence) [number] = { text, sentence },
	COUNTERS_MAP(X)
#undef X
};

struct service {
	const struct milter_setup *setup;
	struct session_shared *sessions;
	uint64_t values[COUNTERS_COUNT]; /* of labels, for a report */
};

static uint32_t count(void *data)
{
	const struct service *service = data;
	return session_shared_count(service->sessions);
}

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

static void ready(void *data)
{
	const struct service *service = data;
	log_info(context, "ready, version=%s socket=%s action=%s", DNSBLV6_VERSION,
		 service->setup->place.connection, judge_action_name(service->setup->judge.action));
	program_tell_ready(context);
	dnsblv6_probe(service->setup->handle.client, PROBE_MS);
}

int milter_service_run(const struct milter_setup *setup, struct session_shared *sessions)
{
	static struct service service;
	service.setup = setup;
	service.sessions = sessions;
	const struct milterloop milter = {
		.context = context,
		.place = &setup->place,
		.metrics = setup->metrics,
		.data = &service,
		.measure = measure,
		.reload = reload,
		.count = count,
		.ready = ready,
	};
	const int status = program_start_library(context, setup->handle.client);
	return status == EX_OK ? milterloop_run(&milter) : status;
}
