/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/scan-milter/scanservice.h"

#include <uv.h>

#include "integration/common/program.h"
#include "integration/common/milterloop.h"
#include "lib/common/log.h"
#include "lib/common/version.h"

#define REFRESH_MS 60000

static const char context[] = "mail-scan-milter";

static const struct counts_label labels[] = { SCANCOUNTS_MAP(COUNTS_LABEL) };

struct service {
	const struct scansetup *setup;
	struct scansession_shared *sessions;
	uv_timer_t refresh;
};

static void refresh_on_timer(uv_timer_t *timer)
{
	struct service *service = timer->data;
	scanwork_refresh(&service->sessions->work);
}

static int open_handles(void *data, uv_loop_t *loop)
{
	struct service *service = data;
	uv_timer_init(loop, &service->refresh);
	service->refresh.data = service;
	return uv_timer_start(&service->refresh, refresh_on_timer, REFRESH_MS, REFRESH_MS);
}

static void reload(void *data)
{
	const struct service *service = data;
	scanwork_refresh(&service->sessions->work);
}

static void ready(void *data)
{
	const struct service *service = data;
	log_info(context, "ready, version=%s socket=%s", DNSBLV6_VERSION,
		 service->setup->place.connection);
	program_tell_ready(context);
}

int scanservice_run(const struct scansetup *setup, struct scansession_shared *sessions)
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
		.counters = sessions->counts,
		.counter_count = SCANCOUNTS_COUNT,
		.reload = reload,
		.open_handles = open_handles,
		.ready = ready,
	};
	return milterloop_run(&milter);
}
