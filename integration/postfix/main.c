/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-policy - says Postfix and Exim which clients DNS blacklists have.
 *
 * main() in order: options, configuration, sockets (which may need root), privileges away,
 * then the library and the loop. dnsblv6-policy(8) is the manual.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>

#include "integration/postfix/service.h"
#include "lib/common/daemon.h"
#include "lib/common/log.h"

static const char context[] = "dnsblv6-policy";

/* Sockets of the library's resolver, 512 at most, our own, and some files. */
#define OWN_DESCRIPTORS 560

static const struct options_row rows[] = DAEMON_ROWS(DNSBLV6_POLICY_CONF);

static const struct options_table table = {
	.program = "dnsblv6-policy",
	.libraries = DNSBLV6_POLICY_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Tells Postfix and Exim which clients DNS blacklists have, and what to do.",
	.rows = rows,
	.row_count = DAEMON_ROW_COUNT,
};

/*
 * A descriptor for each connection and question; the soft limit is often 1024. Connections get
 * what the library does not need, so that they cannot keep it from asking.
 */
static void share_descriptors(struct setup *setup)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return;
	rlim_t left = limit.rlim_cur > OWN_DESCRIPTORS ? limit.rlim_cur - OWN_DESCRIPTORS : 1;
	if (setup->clients_max <= left)
		return;
	setup->clients_max = (unsigned)left;
	log_warning(context, "fewer clients than configured, clients=%u descriptors=%llu",
		    setup->clients_max, (unsigned long long)limit.rlim_cur);
}

static int open_sockets(const struct setup *setup, struct sockets *ret_sockets)
{
	const struct setup_place *place = NULL;
	int ret = sockets_open(setup, ret_sockets, &place);
	if (ret == 0)
		return EX_OK;
	log_error(context, "socket not opened, place=%s (%s)", place->text, strerror(-ret));
	return ret == -EACCES || ret == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

static int run(struct setup *setup)
{
	struct sockets sockets = { .count = 0 };
	share_descriptors(setup);
	dnsblv6_set_log(setup->handle.client, handle_log, (void *)(uintptr_t)context);
	int status = open_sockets(setup, &sockets);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	if (status == EX_OK)
		status = service_run(setup, &sockets);
	sockets_close(setup, &sockets);
	return status;
}

int main(int argc, char **argv)
{
	struct daemon_command command =
		daemon_read_command(&table, argc, argv, DNSBLV6_POLICY_CONF);
	static struct setup setup; /* some 70 kB */
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
		status = run(&setup);
	}
	setup_deinit(&setup);
	return status;
}
