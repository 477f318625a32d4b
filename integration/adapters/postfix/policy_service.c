/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/postfix/policy_service.h"

#include <sysexits.h>
#include <uv.h>

#include "integration/adapters/postfix/peers.h"
#include "integration/common/program.h"
#include "integration/common/upkeep.h"
#include "lib/common/log.h"
#include "lib/process/systemd.h"
#include "lib/common/version.h"

static const char context[] = "dnsblv6-policy";

static const struct counts_label labels[] = { PEERS_COUNTER_MAP(COUNTS_LABEL) };

struct service {
	struct policy_setup *setup;
	struct sockets *sockets;
	uv_loop_t loop;
	struct peers *peers;
	struct upkeep upkeep;
};

/* ---- upkeep ---- */

static void measure(void *data, struct report *ret_report)
{
	const struct service *service = data;
	*ret_report = (struct report){
		.gauge = { "connected", "Processes that are connected." },
		.gauge_value = peers_count(service->peers),
		.labels = labels,
		.values = peers_counters(service->peers),
		.count = PEERS_COUNTER_COUNT,
		.client = service->setup->handle.client,
	};
}

static void reload(void *data)
{
	const struct service *service = data;
	struct judge *judge = &service->setup->judge;
	struct networks_error error;
	systemd_notify_reloading();
	int ret = judge_reload(judge, &error);
	judge_log_reload(judge, context, ret, &error);
	systemd_notify("READY=1");
}

/* All connections are closed. */
static void peers_on_done(void *service_data)
{
	struct service *service = service_data;
	upkeep_close(&service->upkeep);
}

static void stop(void *data, int number)
{
	struct service *service = data;
	program_tell_stopping(context, number);
	peers_stop(service->peers, peers_on_done, service);
	/* So that no client waits for a reply that will not come. */
	sockets_close(service->setup, service->sockets);
}

static const struct upkeep_work work = { measure, reload, stop };

/* ---- begin and end ---- */

static int start_handles(struct service *service)
{
	const struct policy_setup *setup = service->setup;
	int ret = peers_open(&service->loop, setup, service->sockets, &service->peers);
	if (ret != 0)
		return ret;
	return upkeep_open(&service->upkeep, &service->loop, setup->handle.client, context,
			   setup->metrics, &work, service);
}

static void log_ready(const struct service *service)
{
	const struct policy_setup *setup = service->setup;
	log_info(context, "ready, version=%s sockets=%u action=%s exempt=%zu allowed=%zu",
		 DNSBLV6_VERSION, setup->place_count, judge_action_name(setup->judge.action),
		 setup->judge.exempt.count, setup->judge.allowed.count);
	program_tell_ready(context);
}

static int serve(struct service *service)
{
	int ret = start_handles(service);
	if (ret != 0)
		return upkeep_refuse_loop(context, ret);
	log_ready(service);
	upkeep_run(&service->upkeep);
	log_info(context, "stopped");
	return EX_OK;
}

int policy_service_run(struct policy_setup *setup, struct sockets *sockets)
{
	struct service service = { .setup = setup, .sockets = sockets };
	int status = program_start_library(context, setup->handle.client);
	if (status != EX_OK)
		return status;
	int ret = uv_loop_init(&service.loop);
	if (ret != 0)
		return upkeep_refuse_loop(context, ret);
	status = serve(&service);
	/* With something in it only when the start has failed; then the process ends anyway. */
	uv_loop_close(&service.loop);
	peers_free(service.peers);
	return status;
}
