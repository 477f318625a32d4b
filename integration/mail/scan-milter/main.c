/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mail-scan-milter - scans mails as they flow, for Postfix and sendmail.
 *
 * main() in order: options, configuration, the keeper of decoder processes, the socket (which may
 * need root), privileges away, the signatures, then the loop and libmilter's threads.
 * mail-scan-milter(8) is the manual.
 *
 * libmilter keeps the thread that calls it until the end, and would take SIGHUP for the end, so
 * it has a thread, and signals are this loop's. SIGTERM and SIGINT end it: the socket is taken
 * away at once, and sessions that are open have some seconds. SIGHUP looks whether there are other
 * signatures, as the loop does every minute by itself; SIGUSR1 logs counters.
 */
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>
#include <uv.h>

#include "integration/common/milterloop.h"
#include "integration/common/program.h"
#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/scan-milter/scankeeper.h"
#include "integration/mail/scan-milter/scanmilter.h"
#include "integration/mail/scan-milter/scansession.h"
#include "integration/mail/scan-milter/scansetup.h"
#include "lib/common/log.h"
#include "lib/common/version.h"

static const char context[] = "mail-scan-milter";

static const struct options_bound rows[] = DAEMON_ROWS(MAIL_SCAN_MILTER_CONF);
static const struct options_table table =
	DAEMON_TABLE(rows, "mail-scan-milter", MAIL_SCAN_MILTER_LIBRARIES,
		     "Scans mails as they flow, for Postfix and sendmail.");

#define REFRESH_MS 60000

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

static int run_loop(const struct scansetup *setup, struct scansession_shared *sessions)
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

/* ---- the order of a start ---- */

static int open_sessions(const struct scansetup *setup, int ask_fd,
			 struct scansession_shared *ret_sessions)
{
	struct scanner *scanner = NULL;
	const int status = scanner_open(&setup->scan, context, ask_fd, &scanner);
	if (status != EX_OK)
		return status;
	const int ret = scansession_shared_init(ret_sessions, scanner, &setup->scan);
	if (ret == 0)
		return EX_OK;
	log_error(context, "not started (%s)", strerror(-ret));
	return EX_OSERR;
}

static int run(void *data)
{
	struct scansetup *setup = data;
	/* Threads of libmilter may see it to the end of the process. */
	static struct scansession_shared sessions;
	int ask_fd = -1;
	log_set_level((enum log_level)setup->log_level);
	/* Of a log whose reader has ended, and of peers. */
	signal(SIGPIPE, SIG_IGN);
	daemon_raise_descriptors();
	int status = scankeeper_begin(&setup->scan, &setup->owner, context, &ask_fd);
	if (status == EX_OK)
		status = scanmilter_open(setup, &sessions);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	if (status == EX_OK)
		status = open_sessions(setup, ask_fd, &sessions);
	if (status != EX_OK)
		return status;
	/* Not exit(), in which libmilter takes away what its threads still use. */
	_exit(run_loop(setup, &sessions));
}

/* As the user who opens them. */
static int check(void *data)
{
	struct scansetup *setup = data;
	const int status = geteuid() == 0 ? owner_drop_bare(&setup->owner, context) : EX_OK;
	return status == EX_OK ? scanner_check(&setup->scan, context) : status;
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, scansetup_parse, run, NULL, check };
	static struct scansetup setup;
	return program_main(&program, argc, argv, &setup);
}
