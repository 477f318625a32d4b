/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mail-scan-milter - scans mails as they flow, for Postfix and sendmail.
 *
 * main() in order: options, configuration, the keeper of decoder processes, the socket (which may
 * need root), privileges away, the signatures, then the loop and libmilter's threads.
 * mail-scan-milter(8) is the manual.
 */
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/common/program.h"
#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/scan-milter/scankeeper.h"
#include "integration/mail/scan-milter/scanmilter.h"
#include "integration/mail/scan-milter/scanservice.h"
#include "lib/common/log.h"

static const char context[] = "mail-scan-milter";

static const struct options_bound rows[] = DAEMON_ROWS(MAIL_SCAN_MILTER_CONF);

static const struct options_table table = {
	.program = "mail-scan-milter",
	.libraries = MAIL_SCAN_MILTER_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Scans mails as they flow, for Postfix and sendmail.",
	.bound = rows,
	.row_count = DAEMON_ROW_COUNT,
};

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
	_exit(scanservice_run(setup, &sessions));
}

/* As the user who opens them. */
static int check(void *data)
{
	struct scansetup *setup = data;
	const int status = geteuid() == 0 ? owner_drop(&setup->owner, context) : EX_OK;
	return status == EX_OK ? scanner_check(&setup->scan, context) : status;
}

int main(int argc, char **argv)
{
	static const struct program program = {
		&table, MAIL_SCAN_MILTER_CONF, scansetup_parse, run, NULL, check
	};
	static struct scansetup setup;
	return program_main(&program, argc, argv, &setup);
}
