/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-cached - asks DNS blacklists for all processes of a machine.
 *
 * main() in order: options, configuration, the directory (which may need root),
 * privileges away, then the cache, the socket and the loop. dnsblv6-cached(8) is the manual.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/cached/service.h"
#include "lib/common/daemon.h"
#include "lib/common/log.h"

static const char context[] = "dnsblv6-cached";

/* Sockets of the library's resolver, 512 at most, and some files. */
#define OWN_DESCRIPTORS 544

static const struct options_row rows[] = DAEMON_ROWS(DNSBLV6_CACHED_CONF);

static const struct options_table table = {
	.program = "dnsblv6-cached",
	.libraries = DNSBLV6_CACHED_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Asks DNS blacklists for all processes of a machine that link libdnsblv6.",
	.rows = rows,
	.row_count = DAEMON_ROW_COUNT,
};

/* The user's from the beginning; one that is there stays as it is. */
static int make_directory(const struct setup *setup)
{
	if (mkdir(setup->directory, 0755) != 0) {
		if (errno == EEXIST)
			return EX_OK;
	} else if (geteuid() != 0 || setup->owner.user[0] == '\0' ||
		   chown(setup->directory, setup->owner.uid, setup->owner.gid) == 0) {
		return EX_OK;
	}
	log_error(context, "directory not made, path=%s (%s)", setup->directory, strerror(errno));
	return EX_NOPERM;
}

/*
 * A descriptor for each client and question; the soft limit is often 1024. Clients get what
 * the library does not need, so that they cannot keep it from asking.
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

static int run(struct setup *setup)
{
	share_descriptors(setup);
	dnsblv6_set_log(setup->handle.client, handle_log, (void *)(uintptr_t)context);
	int status = make_directory(setup);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	return status == EX_OK ? service_run(setup) : status;
}

int main(int argc, char **argv)
{
	struct daemon_command command =
		daemon_read_command(&table, argc, argv, DNSBLV6_CACHED_CONF);
	static struct setup setup; /* some 30 kB */
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
