/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-milter - judges SMTP clients by DNS blacklists, for Postfix and sendmail.
 *
 * main() in order: options, configuration, the socket (which may need root), privileges away,
 * then the loop and libmilter's threads. dnsblv6-milter(8) is the manual.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/milter/milter.h"
#include "integration/milter/service.h"
#include "lib/common/daemon.h"
#include "lib/common/log.h"

static const char context[] = "dnsblv6-milter";

static const struct options_row rows[] = DAEMON_ROWS(DNSBLV6_MILTER_CONF);

static const struct options_table table = {
	.program = "dnsblv6-milter",
	.libraries = DNSBLV6_MILTER_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Judges SMTP clients by DNS blacklists, for Postfix and sendmail.",
	.rows = rows,
	.row_count = DAEMON_ROW_COUNT,
};

/* One for each connection of the mail server; the soft limit is often 1024. */
static void raise_descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_socket(const struct setup *setup, struct sessions *sessions)
{
	int ret = milter_open(setup, sessions);
	if (ret == 0)
		return EX_OK;
	log_error(context, "socket not opened, socket=%s (%s)", setup->connection, strerror(-ret));
	return ret == -EACCES || ret == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

static int run(struct setup *setup)
{
	/* Threads of libmilter may see it to the end of the process. */
	static struct sessions sessions;
	int ret = sessions_init(&sessions, &setup->judge, setup->is_quarantine);
	if (ret != 0) {
		log_error(context, "not started (%s)", strerror(-ret));
		return EX_OSERR;
	}
	raise_descriptors();
	dnsblv6_set_log(setup->handle.client, handle_log, (void *)(uintptr_t)context);
	int status = open_socket(setup, &sessions);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	if (status != EX_OK)
		return status;
	/* Not exit(), in which libmilter takes away what its threads still use. */
	_exit(service_run(setup, &sessions));
}

int main(int argc, char **argv)
{
	struct daemon_command command =
		daemon_read_command(&table, argc, argv, DNSBLV6_MILTER_CONF);
	static struct setup setup; /* some 60 kB, and not freed: see run() */
	struct conf_error error;
	if (setup_read(command.config_path, &setup, &error) != 0) {
		conf_log_error(command.config_path, &error);
		return EX_CONFIG;
	}
	if (command.is_check) {
		puts("configuration OK");
		setup_deinit(&setup);
		return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
	}
	log_set_level((enum log_level)setup.log_level);
	return run(&setup);
}
