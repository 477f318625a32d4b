/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-cached - asks DNS blacklists for all processes of a machine.
 *
 * main() in order: options, configuration, the directory (which may need root),
 * privileges away, then the cache, the socket and the loop. dnsblv6-cached(8) is the manual.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/cached/service.h"
#include "lib/common/log.h"
#include "lib/common/options.h"

static const char context[] = "dnsblv6-cached";

/* Sockets of the library's resolver, 512 at most, and some files. */
#define OWN_DESCRIPTORS 544

enum { ROW_CONFIG, ROW_CHECK };

static const struct options_row rows[] = {
	[ROW_CONFIG] = { 'c', "config", "FILE", "read FILE instead of " DNSBLV6_CACHED_CONF },
	[ROW_CHECK] = { 'n', "check", NULL, "check the configuration and exit" },
};

static const struct options_table table = {
	.program = "dnsblv6-cached",
	.libraries = DNSBLV6_CACHED_LIBRARIES,
	.usage = "[--config FILE] [--check]",
	.summary = "Asks DNS blacklists for all processes of a machine that link libdnsblv6.",
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
};

struct command {
	const char *config_path;
	bool is_check;
};

static struct command read_command(int argc, char **argv)
{
	struct command command = { .config_path = DNSBLV6_CACHED_CONF };
	const char *argument = NULL;
	int row = 0;
	while ((row = options_next(&table, argc, argv, &argument)) != OPTIONS_END) {
		if (row == ROW_CONFIG)
			command.config_path = argument;
		if (row == ROW_CHECK)
			command.is_check = true;
	}
	if (optind < argc)
		options_fail(&table, "'%s' is not expected", argv[optind]);
	return command;
}

/* Levels are those of syslog(3). */
static void log_on_line(void *context_of_library, int level, const char *line)
{
	(void)context_of_library;
	static const enum log_level levels[] = { LOG_LEVEL_ERROR,   LOG_LEVEL_ERROR,
						 LOG_LEVEL_ERROR,   LOG_LEVEL_ERROR,
						 LOG_LEVEL_WARNING, LOG_LEVEL_INFO,
						 LOG_LEVEL_INFO };
	bool is_known = level >= 0 && (size_t)level < sizeof(levels) / sizeof(levels[0]);
	log_line(is_known ? levels[level] : LOG_LEVEL_DEBUG, context, "%s", line);
}

/* The user's from the beginning; one that is there stays as it is. */
static int make_directory(const struct setup *setup)
{
	if (mkdir(setup->directory, 0755) != 0) {
		if (errno == EEXIST)
			return EX_OK;
	} else if (geteuid() != 0 || setup->user[0] == '\0' ||
		   chown(setup->directory, setup->uid, setup->gid) == 0) {
		return EX_OK;
	}
	log_error(context, "directory not made, path=%s (%s)", setup->directory, strerror(errno));
	return EX_NOPERM;
}

/* With the socket's group, so that the socket can be given to it later. */
static int drop_privileges(const struct setup *setup)
{
	if (setup->user[0] == '\0')
		return EX_OK;
	if (geteuid() != 0) {
		if (geteuid() != setup->uid)
			log_warning(context, "user not changed, not started as root, user=%s",
				    setup->user);
		return EX_OK;
	}
	gid_t groups[] = { setup->gid, setup->socket_gid };
	if (setgroups(setup->group[0] != '\0' ? 2 : 1, groups) != 0 || setgid(setup->gid) != 0 ||
	    setuid(setup->uid) != 0) {
		log_error(context, "user not changed, user=%s (%s)", setup->user, strerror(errno));
		return EX_NOPERM;
	}
	/* Not a way back: what looks dropped must be dropped. */
	if (setup->uid != 0 && setuid(0) == 0) {
		log_error(context, "privileges not dropped, user=%s", setup->user);
		return EX_SOFTWARE;
	}
	return EX_OK;
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
	dnsblv6_set_log(setup->client, log_on_line, NULL);
	int status = make_directory(setup);
	if (status == EX_OK)
		status = drop_privileges(setup);
	return status == EX_OK ? service_run(setup) : status;
}

int main(int argc, char **argv)
{
	struct command command = read_command(argc, argv);
	static struct setup setup; /* some 30 kB */
	struct conf_error error;
	if (setup_read(command.config_path, &setup, &error) != 0) {
		setup_log_error(command.config_path, &error);
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
