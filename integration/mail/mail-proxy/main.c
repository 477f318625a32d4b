/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mail-proxy - stands between mail clients and any mail server, and scans mails as they flow.
 *
 * main() in order: options, configuration, then the nanny, which is the parent of all other
 * processes. mail-proxy(8) is the manual.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "integration/common/program.h"
#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/mail-proxy/process/mailproxy.h"
#include "lib/common/log.h"

static const char context[] = "mail-proxy";

static const struct options_row rows[] = DAEMON_ROWS(MAIL_PROXY_CONF);

static const struct options_table table = {
	.program = "mail-proxy",
	.libraries = MAIL_PROXY_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Stands between mail clients and any mail server, and scans mails as they flow.",
	.rows = rows,
	.row_count = DAEMON_ROW_COUNT,
};

static int check(struct proxysetup *setup)
{
	int status = mailproxy_check(setup);
	if (status == EX_OK)
		status = scanner_check(&setup->scan, context);
	if (status == EX_OK) {
		puts("configuration OK");
		status = fflush(stdout) == 0 ? EX_OK : EX_IOERR;
	}
	proxysetup_deinit(setup);
	free(setup);
	return status;
}

int main(int argc, char **argv)
{
	struct daemon_command command = daemon_read_command(&table, argc, argv, MAIL_PROXY_CONF);
	/* Of the heap: the nanny ends it with its generation. */
	struct proxysetup *setup = calloc(1, sizeof(*setup));
	struct conf_error error;
	if (setup == NULL) {
		log_error(context, "configuration not read (%s)", strerror(ENOMEM));
		return EX_OSERR;
	}
	if (program_read(command.config_path, proxysetup_parse, setup, &error) != 0) {
		conf_log_error(command.config_path, &error);
		proxysetup_deinit(setup);
		free(setup);
		return EX_CONFIG;
	}
	tzset(); /* before any root directory is changed */
	if (command.is_check)
		return check(setup);
	log_set_level((enum log_level)setup->proxy.log_level);
	signal(SIGPIPE, SIG_IGN); /* of a log whose reader has ended */
	return mailproxy_run(setup, command.config_path);
}
