/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-policy - says Postfix and Exim which clients DNS blacklists have.
 *
 * main() in order: options, configuration, sockets (which may need root), privileges away,
 * then the library and the loop. dnsblv6-policy(8) is the manual.
 */
#include <string.h>
#include <sysexits.h>

#include "integration/adapters/postfix/policy_service.h"
#include "integration/common/program.h"
#include "lib/common/log.h"

static const char context[] = "dnsblv6-policy";

/* Sockets of the library's resolver, 512 at most, our own, and some files. */
#define OWN_DESCRIPTORS 560

static const struct options_bound rows[] = DAEMON_ROWS(DNSBLV6_POLICY_CONF);

static const struct options_table table = {
	.program = "dnsblv6-policy",
	.libraries = DNSBLV6_POLICY_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Tells Postfix and Exim which clients DNS blacklists have, and what to do.",
	.bound = rows,
	.row_count = DAEMON_ROW_COUNT,
};

static int open_sockets(const struct policy_setup *setup, struct sockets *ret_sockets)
{
	const struct place *place = NULL;
	int ret = sockets_open(setup, ret_sockets, &place);
	if (ret == 0)
		return EX_OK;
	log_error(context, "socket not opened, place=%s (%s)", place->text, strerror(-ret));
	return program_refused_status(ret);
}

static int run(void *data)
{
	struct policy_setup *setup = data;
	struct sockets sockets = { .count = 0 };
	program_begin(context, setup->log_level, setup->handle.client);
	setup->clients_max = daemon_share_descriptors(context, OWN_DESCRIPTORS, setup->clients_max);
	int status = open_sockets(setup, &sockets);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	if (status == EX_OK)
		status = policy_service_run(setup, &sockets);
	sockets_close(setup, &sockets);
	return status;
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, DNSBLV6_POLICY_CONF, policy_setup_parse,
						run,	policy_setup_deinit, NULL };
	static struct policy_setup setup; /* some 70 kB */
	return program_main(&program, argc, argv, &setup);
}
