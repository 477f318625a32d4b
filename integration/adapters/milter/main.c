/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-milter - judges SMTP clients by DNS blacklists, for Postfix and sendmail.
 *
 * main() in order: options, configuration, the socket (which may need root), privileges away,
 * then the loop and libmilter's threads. dnsblv6-milter(8) is the manual.
 *
 * libmilter keeps the thread that calls it until the end, and would take SIGHUP for the end, so
 * it has a thread, and signals are this loop's. SIGTERM and SIGINT end it: the socket is taken
 * away at once, and sessions that are open have some seconds. SIGHUP reads the allow list
 * again, SIGUSR1 logs counters.
 */
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/adapters/milter/milter.h"
#include "integration/adapters/milter/milter_setup.h"
#include "integration/adapters/milter/session.h"
#include "integration/common/milterloop.h"
#include "integration/common/program.h"
#include "lib/common/log.h"
#include "lib/common/version.h"

static const char context[] = "dnsblv6-milter";

static const struct options_bound rows[] = DAEMON_ROWS(DNSBLV6_MILTER_CONF);
static const struct options_table table =
	DAEMON_TABLE(rows, "dnsblv6-milter", DNSBLV6_MILTER_LIBRARIES,
		     "Judges SMTP clients by DNS blacklists, for Postfix and sendmail.");

#define PROBE_MS 1 /* only sends: answers come later */

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

static int run_loop(const struct milter_setup *setup, struct session_shared *sessions)
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

/* ---- the order of a start ---- */

static int run(void *data)
{
	struct milter_setup *setup = data;
	/* Threads of libmilter may see it to the end of the process. */
	static struct session_shared sessions;
	program_begin(context, setup->log_level, setup->handle.client);
	int ret = session_shared_init(&sessions, &setup->judge, setup->is_quarantine);
	if (ret != 0) {
		log_error(context, "not started (%s)", strerror(-ret));
		return EX_OSERR;
	}
	/* One for each connection of the mail server. */
	daemon_raise_descriptors();
	int status = milter_open(setup, &sessions);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	if (status != EX_OK)
		return status;
	judge_warn_of_reload(&setup->judge);
	/* Not exit(), in which libmilter takes away what its threads still use. */
	_exit(run_loop(setup, &sessions));
}

static int check(void *data)
{
	const struct milter_setup *setup = data;
	return judge_check_as(&setup->judge, &setup->owner, context);
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, milter_setup_parse, run,
						milter_setup_deinit, check };
	static struct milter_setup setup; /* some 60 kB */
	return program_main(&program, argc, argv, &setup);
}
