/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-filter - refuses clients that DNS blacklists list, as a filter of OpenSMTPD.
 *
 * main() in order: options, configuration, then the guard, whose child has the library and
 * the loop. OpenSMTPD has dropped privileges before. dnsblv6-filter(8) is the manual.
 */

#include "integration/adapters/opensmtpd/guard.h"
#include "integration/adapters/opensmtpd/filter_service.h"
#include "integration/common/program.h"

static const char context[] = "dnsblv6-filter";

static const struct options_bound rows[] = DAEMON_ROWS(DNSBLV6_FILTER_CONF);

static const struct options_table table = {
	.program = "dnsblv6-filter",
	.libraries = DNSBLV6_FILTER_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Refuses clients of OpenSMTPD that DNS blacklists list; smtpd starts it.",
	.bound = rows,
	.row_count = DAEMON_ROW_COUNT,
};

static int run(void *data)
{
	struct filter_setup *setup = data;
	program_begin(context, setup->log_level, setup->handle.client);
	return guard_run(filter_service_run, setup, setup->judge.deadline_ms);
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, DNSBLV6_FILTER_CONF, filter_setup_parse,
						run,	filter_setup_deinit, NULL };
	static struct filter_setup setup; /* some 60 kB */
	return program_main(&program, argc, argv, &setup);
}
