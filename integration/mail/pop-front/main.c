/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pop-front - has POP3 sessions, and gives a process to those whose login was right.
 *
 * main() in order: options, configuration, then the nanny, which is the parent of all other
 * processes. pop-front(8) is the manual.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "integration/common/program.h"
#include "integration/mail/pop-front/nanny/pop.h"
#include "lib/common/log.h"

static const char context[] = "pop-front";

static const struct options_row rows[] = DAEMON_ROWS(POP_FRONT_CONF);

static const struct options_table table = {
	.program = "pop-front",
	.libraries = POP_FRONT_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Has POP3 sessions, and gives a process to those whose login was right.",
	.rows = rows,
	.row_count = DAEMON_ROW_COUNT,
};

static int check(struct popsetup *setup)
{
	int status = pop_check(setup);
	if (status == EX_OK) {
		puts("configuration OK");
		status = fflush(stdout) == 0 ? EX_OK : EX_IOERR;
	}
	popsetup_deinit(setup);
	free(setup);
	return status;
}

int main(int argc, char **argv)
{
	struct daemon_command command = daemon_read_command(&table, argc, argv, POP_FRONT_CONF);
	/* Of the heap: the nanny ends it with its generation. */
	struct popsetup *setup = calloc(1, sizeof(*setup));
	struct conf_error error;
	if (setup == NULL) {
		log_error(context, "configuration not read (%s)", strerror(ENOMEM));
		return EX_OSERR;
	}
	if (program_read(command.config_path, popsetup_parse, setup, &error) != 0) {
		conf_log_error(command.config_path, &error);
		popsetup_deinit(setup);
		free(setup);
		return EX_CONFIG;
	}
	tzset(); /* before any root directory is changed */
	if (command.is_check)
		return check(setup);
	program_begin(context, setup->pop.log_level, setup->handle.client);
	return pop_run(setup, command.config_path);
}
