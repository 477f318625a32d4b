/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodemodule.h"

#include "integration/common/upkeep.h"
#include "integration/mail/mail-stored/module/nodeanswers.h"
#include "integration/mail/mail-stored/module/nodeclients.h"
#include "integration/mail/mail-stored/nodes/socketmap.h"
#include "integration/mail/mail-stored/store/clients.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "lib/common/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static const char context[] = "mail-stored";

enum gauge { GAUGE_NODES, GAUGE_DOWN, GAUGE_LINKS, GAUGE_WAITING, GAUGE_COUNT };

static const struct counts_label gauges[GAUGE_COUNT] = {
	[GAUGE_NODES] = { "nodes", "Nodes, this one among them." },
	[GAUGE_DOWN] = { "nodes_down", "Nodes that do not answer." },
	[GAUGE_LINKS] = { "links", "Connections to stores of nodes." },
	[GAUGE_WAITING] = { "waiting", "Requests that wait for a connection." },
};

static const struct counts_label labels[] = { NODEWORK_COUNTER_MAP(COUNTS_LABEL) };

struct module {
	const struct nodemodule_start *start;
	struct nodetls *tls;
	struct locate locate;
	struct noderouter *router;
	struct nodework_parts parts;
	uint64_t counters[NODEWORK_COUNTER_COUNT];
	bool has_told[NODE_NUMBER_MAX + 1];
	struct clients *clients;
	uint64_t client_counters[STORED_COUNTER_COUNT];
	struct socketmap *map;
	struct upkeep upkeep;
	uv_loop_t loop;
	uv_timer_t drain;
	char metrics[STORED_PATH_MAX + 16];
	uint64_t gauge_values[GAUGE_COUNT];
	bool is_stopping;
	bool is_over;
};

/* ---- the end ---- */

/* Nothing is under way any more, or it has had its time. */
static void finish(struct module *module)
{
	if (module->is_over)
		return;
	module->is_over = true;
	noderouter_close(module->router);
	uv_close((uv_handle_t *)&module->drain, NULL);
}

static void drain_on_timer(uv_timer_t *timer)
{
	finish(timer->data);
}

static void clients_on_drained(void *owner)
{
	finish(owner);
}

static void on_stop(void *data, int number)
{
	struct module *module = data;
	(void)number;
	if (module->is_stopping)
		return;
	module->is_stopping = true;
	upkeep_close(&module->upkeep);
	socketmap_close(module->map);
	uv_timer_start(&module->drain, drain_on_timer, NODEMODULE_DRAIN_MS, 0);
	clients_close(module->clients);
}

/* ---- upkeep ---- */

static void measure(void *data, struct report *ret_report)
{
	struct module *module = data;
	const struct nodesetup *setup = &module->start->setup->nodes;
	memset(module->gauge_values, 0, sizeof(module->gauge_values));
	module->gauge_values[GAUGE_NODES] = setup->peer_count;
	for (unsigned i = 0; i < setup->peer_count; i++) {
		struct noderouter_facts facts;
		noderouter_describe(module->router, i, &facts);
		module->gauge_values[GAUGE_DOWN] += facts.is_down;
		module->gauge_values[GAUGE_LINKS] += facts.links;
		module->gauge_values[GAUGE_WAITING] += facts.waiting;
	}
	module->counters[NODEWORK_REFUSED] = module->client_counters[STORED_CONNECTIONS_REFUSED];
	*ret_report = (struct report){
		.gauge = { "clients", "Clients that are connected." },
		.gauge_value = clients_measure(module->clients).clients,
		.gauges = gauges,
		.gauge_values = module->gauge_values,
		.gauge_count = GAUGE_COUNT,
		.labels = labels,
		.values = module->counters,
		.count = NODEWORK_COUNTER_COUNT,
	};
}

static const struct upkeep_work work = { .measure = measure, .stop = on_stop };

/* ---- begin ---- */

static int open_outside(struct module *module)
{
	const struct stored_setup *setup = module->start->setup;
	const int status = stored_setup_open_users(setup, &module->locate.users);
	return status == EX_OK ? nodetls_new(&setup->nodes, &module->tls) : status;
}

static int open_handles(struct module *module)
{
	const struct nodemodule_start *start = module->start;
	const struct noderouter_start router_start = {
		.loop = &module->loop,
		.setup = &start->setup->nodes,
		.tls = module->tls,
		.store_path = start->store_path,
		.memory_max = start->setup->size_max + NODEANSWERS_MEMORY_MORE,
		.since_us = start->since_us,
	};
	const struct clients_start clients_start = {
		.way = &clients_nodes,
		.listen_fd = start->listen_fd,
		.clients_max = start->setup->clients_max,
		.login_fd = start->login_fd,
		/* Some node may have quotas, and any may be down: CHECK is worth asking. */
		.has_quotas = true,
		.counters = module->client_counters,
		.nodes = &module->parts,
		.drained = clients_on_drained,
		.owner = module,
	};
	int ret = noderouter_open(&router_start, &module->router);
	if (ret != 0)
		return ret;
	module->locate.setup = &start->setup->nodes;
	module->parts = (struct nodework_parts){
		.router = module->router,
		.locate = &module->locate,
		.setup = &start->setup->nodes,
		.counters = module->counters,
		.has_told = module->has_told,
		.ask = nodeanswers_ask,
	};
	uv_timer_init(&module->loop, &module->drain); /* it cannot fail */
	module->drain.data = module;
	ret = clients_open(&module->loop, &clients_start, &module->clients);
	if (ret == 0 && start->location_fd >= 0)
		ret = socketmap_open(&module->loop, start->location_fd, &module->locate,
				     &module->map);
	if (ret == 0)
		ret = upkeep_open(&module->upkeep, &module->loop, NULL, "mail-stored-nodes",
				  module->metrics, &work, module);
	return ret;
}

/* Beside that of the store process. */
static void name_metrics(struct module *module)
{
	const char *path = module->start->setup->metrics;
	const size_t size = strlen(path);
	const bool has_end = size > 5 && strcmp(path + size - 5, ".prom") == 0;
	if (size > 0)
		snprintf(module->metrics, sizeof(module->metrics), "%.*s-nodes%s",
			 (int)(has_end ? size - 5 : size), path, has_end ? ".prom" : "");
}

static int serve(struct module *module)
{
	const struct nodesetup *nodes = &module->start->setup->nodes;
	int ret = open_handles(module);
	if (ret != 0) {
		log_error(context, "loop not started (%s)", strerror(-ret));
		return EX_OSERR;
	}
	log_info(context, "module ready, node=%s number=%u nodes=%u version=%u copies=%u",
		 nodes->node, nodes->peers[nodes->self].number, nodes->peer_count, nodes->version,
		 nodes->copies);
	uv_run(&module->loop, UV_RUN_DEFAULT);
	return EX_OK;
}

int nodemodule_run(const struct nodemodule_start *start)
{
	struct module *module = calloc(1, sizeof(*module));
	if (module == NULL)
		return EX_OSERR;
	module->start = start;
	name_metrics(module);
	int status = open_outside(module);
	if (status == EX_OK && start->confine != NULL)
		status = start->confine(start->setup);
	if (status == EX_OK && uv_loop_init(&module->loop) != 0)
		status = EX_OSERR;
	if (status == EX_OK) {
		status = serve(module);
		/* With something in it only when the start has failed; then the process ends. */
		uv_loop_close(&module->loop);
	}
	clients_free(module->clients);
	socketmap_free(module->map);
	noderouter_free(module->router);
	nodetls_free(module->tls);
	users_close(module->locate.users);
	free(module);
	return status;
}
