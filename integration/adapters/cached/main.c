/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-cached - asks DNS blacklists for all processes of a machine.
 *
 * main() in order: options, configuration, the directory (which may need root),
 * privileges away, then the cache, the socket and the loop. dnsblv6-cached(8) is the manual.
 *
 * The order of a round: what clients ask is given to the library, the library processes,
 * and what it calls back is said to clients. SIGTERM and SIGINT end it, SIGUSR1 logs counters.
 */
#include <errno.h>
#include <string.h>
#include <sysexits.h>
#include <uv.h>

#include "integration/adapters/cached/cached_setup.h"
#include "integration/adapters/cached/callers.h"
#include "integration/common/program.h"
#include "integration/common/upkeep.h"
#include "lib/common/log.h"
#include "lib/common/version.h"

static const char context[] = "dnsblv6-cached";

/* Sockets of the library's resolver, 512 at most, and some files. */
#define OWN_DESCRIPTORS 544

static const struct options_bound rows[] = DAEMON_ROWS(DNSBLV6_CACHED_CONF);
static const struct options_table table =
	DAEMON_TABLE(rows, "dnsblv6-cached", DNSBLV6_CACHED_LIBRARIES,
		     "Asks DNS blacklists for all processes of a machine that link libdnsblv6.");

static const struct counts_label labels[] = { CALLERS_COUNTER_MAP(COUNTS_LABEL) };

struct service {
	const struct cached_setup *setup;
	uv_loop_t loop;
	struct callers *callers;
	struct upkeep upkeep;
};

/* ---- upkeep ---- */

static void measure(void *data, struct report *ret_report)
{
	const struct service *service = data;
	*ret_report = (struct report){
		.gauge = { "clients", "Clients that are connected." },
		.gauge_value = callers_count(service->callers),
		.labels = labels,
		.values = callers_counters(service->callers),
		.count = CALLERS_COUNTER_COUNT,
		.client = service->setup->handle.client,
	};
}

static void reload(void *data)
{
	(void)data;
	log_warning(context, "configuration not reloaded, a restart does that and keeps the cache");
}

static void stop(void *data, int number)
{
	struct service *service = data;
	program_tell_stopping(context, number);
	callers_close(service->callers);
	upkeep_close(&service->upkeep);
}

static const struct upkeep_work work = { measure, reload, stop };

/* ---- begin and end ---- */

static int open_callers(struct service *service)
{
	int ret = callers_open(&service->loop, service->setup, &service->callers);
	if (ret == 0)
		return EX_OK;
	log_error(context, "socket not opened, directory=%s (%s)", service->setup->directory,
		  strerror(-ret));
	return program_refused_status(ret);
}

static void log_ready(const struct service *service)
{
	log_info(context, "ready, version=%s zones=%u directory=%s", DNSBLV6_VERSION,
		 service->setup->zone_count, service->setup->directory);
	program_tell_ready(context);
}

static int serve(struct service *service)
{
	int status = open_callers(service);
	if (status != EX_OK)
		return status;
	int ret = upkeep_open(&service->upkeep, &service->loop, service->setup->handle.client,
			      context, service->setup->metrics, &work, service);
	if (ret != 0)
		return upkeep_refuse_loop(context, ret);
	log_ready(service);
	upkeep_run(&service->upkeep);
	return EX_OK;
}

/* What the library says of options, or of the directory. */
static int refuse_start(const struct cached_setup *setup, int ret)
{
	log_error(context, "cache not opened, directory=%s (%s)", setup->directory,
		  ret == -EINVAL ? dnsblv6_error(setup->handle.client) : dnsblv6_strerror(ret));
	return ret == -EINVAL ? EX_CONFIG : program_refused_status(ret);
}

static int run_loop(const struct cached_setup *setup)
{
	struct service service = { .setup = setup };
	int ret = dnsblv6_start(setup->handle.client);
	if (ret != 0)
		return refuse_start(setup, ret);
	ret = uv_loop_init(&service.loop);
	if (ret != 0)
		return upkeep_refuse_loop(context, ret);
	int status = serve(&service);
	callers_free(service.callers);
	/* With something in it only when the start has failed; then the process ends anyway. */
	uv_loop_close(&service.loop);
	return status;
}

/* ---- the order of a start ---- */

static int run(void *data)
{
	struct cached_setup *setup = data;
	program_begin(context, setup->log_level, setup->handle.client);
	setup->clients_max = daemon_share_descriptors(context, OWN_DESCRIPTORS, setup->clients_max);
	int status = owner_make_directory(&setup->owner, setup->directory, 0755, context);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	return status == EX_OK ? run_loop(setup) : status;
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, cached_setup_parse, run,
						cached_setup_deinit, NULL };
	static struct cached_setup setup; /* some 30 kB */
	return program_main(&program, argc, argv, &setup);
}
