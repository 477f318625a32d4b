/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * smtp-front - takes SMTP sessions, and gives a process to those that have proved themselves.
 *
 * main() in order: options, configuration, then the nanny, which is the parent of all other
 * processes. smtp-front(8) is the manual.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "integration/common/program.h"
#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/smtp-front/nanny/front.h"
#include "integration/mail/smtp-front/nanny/precheck.h"
#include "lib/common/log.h"

static const char context[] = "smtp-front";

static const struct options_row rows[] = DAEMON_ROWS(SMTP_FRONT_CONF);

static const struct options_table table = {
	.program = "smtp-front",
	.libraries = SMTP_FRONT_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Takes SMTP sessions, and gives a process to those that have proved themselves.",
	.rows = rows,
	.row_count = DAEMON_ROW_COUNT,
};

static int check(struct setup *setup)
{
	int status = precheck_run(setup, context);
	if (status == EX_OK)
		status = scanner_check(&setup->scan, context);
	if (status == EX_OK) {
		puts("configuration OK");
		status = fflush(stdout) == 0 ? EX_OK : EX_IOERR;
	}
	setup_deinit(setup);
	free(setup);
	return status;
}

int main(int argc, char **argv)
{
	struct daemon_command command = daemon_read_command(&table, argc, argv, SMTP_FRONT_CONF);
	/* Of the heap: the nanny ends it with its generation. */
	struct setup *setup = calloc(1, sizeof(*setup));
	struct conf_error error;
	if (setup == NULL) {
		log_error(context, "configuration not read (%s)", strerror(ENOMEM));
		return EX_OSERR;
	}
	if (program_read(command.config_path, setup_parse, setup, &error) != 0) {
		conf_log_error(command.config_path, &error);
		setup_deinit(setup);
		free(setup);
		return EX_CONFIG;
	}
	tzset(); /* before any root directory is changed */
	if (command.is_check)
		return check(setup);
	program_begin(context, setup->front.log_level, setup->handle.client);
	return front_run(setup, command.config_path);
}
