/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-cached - asks DNS blacklists for all processes of a machine.
 *
 * main() in order: options, configuration, the directory (which may need root),
 * privileges away, then the cache, the socket and the loop. dnsblv6-cached(8) is the manual.
 */
#include <sysexits.h>

#include "integration/adapters/cached/cached_service.h"
#include "integration/common/program.h"

static const char context[] = "dnsblv6-cached";

/* Sockets of the library's resolver, 512 at most, and some files. */
#define OWN_DESCRIPTORS 544

static const struct options_bound rows[] = DAEMON_ROWS(DNSBLV6_CACHED_CONF);

static const struct options_table table = {
	.program = "dnsblv6-cached",
	.libraries = DNSBLV6_CACHED_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Asks DNS blacklists for all processes of a machine that link libdnsblv6.",
	.bound = rows,
	.row_count = DAEMON_ROW_COUNT,
};

static int run(void *data)
{
	struct cached_setup *setup = data;
	program_begin(context, setup->log_level, setup->handle.client);
	setup->clients_max = daemon_share_descriptors(context, OWN_DESCRIPTORS, setup->clients_max);
	int status = owner_make_directory(&setup->owner, setup->directory, 0755, context);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	return status == EX_OK ? cached_service_run(setup) : status;
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, DNSBLV6_CACHED_CONF, cached_setup_parse,
						run,	cached_setup_deinit, NULL };
	static struct cached_setup setup; /* some 30 kB */
	return program_main(&program, argc, argv, &setup);
}
