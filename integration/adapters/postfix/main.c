/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-policy - says Postfix and Exim which clients DNS blacklists have.
 *
 * main() in order: options, configuration, sockets (which may need root), privileges away,
 * then the library and the loop. dnsblv6-policy(8) is the manual.
 *
 * The order of a round: what mail servers ask is given to the library, the library processes,
 * and what it calls back is said to them. SIGTERM and SIGINT end it when all questions have
 * their replies, SIGHUP reads the allow list again, SIGUSR1 logs counters.
 */
#include <string.h>
#include <sysexits.h>
#include <uv.h>

#include "integration/adapters/postfix/peers.h"
#include "integration/adapters/postfix/policy_setup.h"
#include "integration/adapters/postfix/sockets.h"
#include "integration/common/program.h"
#include "integration/common/upkeep.h"
#include "lib/common/log.h"
#include "lib/common/version.h"
#include "lib/process/systemd.h"

static const char context[] = "dnsblv6-policy";

/* Sockets of the library's resolver, 512 at most, our own, and some files. */
#define OWN_DESCRIPTORS 560

static const struct options_bound rows[] = DAEMON_ROWS(DNSBLV6_POLICY_CONF);
static const struct options_table table =
	DAEMON_TABLE(rows, "dnsblv6-policy", DNSBLV6_POLICY_LIBRARIES,
		     "Tells Postfix and Exim which clients DNS blacklists have, and what to do.");

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

static int run_loop(struct policy_setup *setup, struct sockets *sockets)
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

/* ---- the order of a start ---- */

static int open_sockets(const struct policy_setup *setup, struct sockets *ret_sockets)
{
	const struct place *place = NULL;
	int ret = sockets_open(setup, ret_sockets, &place);
	if (ret == 0)
		return EX_OK;
	log_error(context, "socket not opened, place=%s (%s)", place->text,
		  place->text[0] == '/' ? owner_explain(&setup->owner, ret) : strerror(-ret));
	return program_refused_status(ret);
}

static int run(void *data)
{
	struct policy_setup *setup = data;
	struct sockets sockets = { .count = 0 };
	program_begin(context, setup->log_level, setup->handle.client);
	setup->clients_max = daemon_share_descriptors(context, OWN_DESCRIPTORS, setup->clients_max);
	int status = open_sockets(setup, &sockets);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	if (status == EX_OK) {
		judge_warn_of_reload(&setup->judge);
		status = run_loop(setup, &sockets);
	}
	sockets_close(setup, &sockets);
	return status;
}

static int check(void *data)
{
	const struct policy_setup *setup = data;
	return judge_check_as(&setup->judge, &setup->owner, context);
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, policy_setup_parse, run,
						policy_setup_deinit, check };
	static struct policy_setup setup; /* some 70 kB */
	return program_main(&program, argc, argv, &setup);
}
