/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-milter - judges SMTP clients by DNS blacklists, for Postfix and sendmail.
 *
 * main() in order: options, configuration, the socket (which may need root), privileges away,
 * then the loop and libmilter's threads. dnsblv6-milter(8) is the manual.
 */
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/adapters/milter/milter.h"
#include "integration/adapters/milter/milter_service.h"
#include "integration/common/program.h"
#include "lib/common/log.h"

static const char context[] = "dnsblv6-milter";

static const struct options_bound rows[] = DAEMON_ROWS(DNSBLV6_MILTER_CONF);

static const struct options_table table = {
	.program = "dnsblv6-milter",
	.libraries = DNSBLV6_MILTER_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Judges SMTP clients by DNS blacklists, for Postfix and sendmail.",
	.bound = rows,
	.row_count = DAEMON_ROW_COUNT,
};

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
	/* Not exit(), in which libmilter takes away what its threads still use. */
	_exit(milter_service_run(setup, &sessions));
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, DNSBLV6_MILTER_CONF, milter_setup_parse,
						run,	milter_setup_deinit, NULL };
	static struct milter_setup setup; /* some 60 kB */
	return program_main(&program, argc, argv, &setup);
}
