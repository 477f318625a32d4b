/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/milter/milter_service.h"

#include <sysexits.h>

#include "integration/common/milterloop.h"
#include "integration/common/program.h"
#include "lib/common/log.h"
#include "lib/common/version.h"

#define PROBE_MS 1 /* only sends: answers come later */

static const char context[] = "dnsblv6-milter";

static const struct counts_label labels[] = { COUNTERS_MAP(COUNTS_LABEL) };

struct service {
	const struct milter_setup *setup;
	struct session_shared *sessions;
};

static void reload(void *data)
{
	struct service *service = data;
	struct networks_error error;
	int ret = session_shared_reload(service->sessions, &error);
	judge_log_reload(service->sessions->judge, context, ret, &error);
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
		.open = &sessions->open,
		.labels = labels,
		.counters = sessions->counters,
		.counter_count = COUNTERS_COUNT,
		.client = setup->handle.client,
		.reload = reload,
		.ready = ready,
	};
	const int status = program_start_library(context, setup->handle.client);
	return status == EX_OK ? milterloop_run(&milter) : status;
}
