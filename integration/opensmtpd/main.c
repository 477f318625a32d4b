/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-filter - refuses clients that DNS blacklists list, as a filter of OpenSMTPD.
 *
 * main() in order: options, configuration, then the guard, whose child has the library and
 * the loop. OpenSMTPD has dropped privileges before. dnsblv6-filter(8) is the manual.
 */
#include <stdint.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/opensmtpd/guard.h"
#include "integration/opensmtpd/service.h"
#include "lib/common/daemon.h"
#include "lib/common/log.h"

static const char context[] = "dnsblv6-filter";

static const struct options_row rows[] = DAEMON_ROWS(DNSBLV6_FILTER_CONF);

static const struct options_table table = {
	.program = "dnsblv6-filter",
	.libraries = DNSBLV6_FILTER_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Refuses clients of OpenSMTPD that DNS blacklists list; smtpd starts it.",
	.rows = rows,
	.row_count = DAEMON_ROW_COUNT,
};

static int work(void *data)
{
	return service_run(data, STDIN_FILENO, STDOUT_FILENO);
}

int main(int argc, char **argv)
{
	struct daemon_command command =
		daemon_read_command(&table, argc, argv, DNSBLV6_FILTER_CONF);
	static struct setup setup; /* some 60 kB */
	struct conf_error error;
	if (setup_read(command.config_path, &setup, &error) != 0) {
		conf_log_error(command.config_path, &error);
		return EX_CONFIG;
	}
	int status = EX_OK;
	if (command.is_check) {
		puts("configuration OK");
		status = fflush(stdout) == 0 ? EX_OK : EX_IOERR;
	} else {
		log_set_level((enum log_level)setup.log_level);
		dnsblv6_set_log(setup.handle.client, handle_log, (void *)(uintptr_t)context);
		status = guard_run(work, &setup, setup.judge.deadline_ms);
	}
	setup_deinit(&setup);
	return status;
}
