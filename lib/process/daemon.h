/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * daemon.h - what main() of every daemon does alike: its command line, and the
 *            end of being root.
 *
 * Flow: main() -> daemon_read_command() -> the configuration, and what only root
 *       may do -> daemon_drop_privileges() -> the daemon's own work.
 *
 *     static const struct options_bound rows[] = DAEMON_ROWS("/etc/dnsblv6/dnsblv6d.conf");
 *     static const struct options_table table =
 *             DAEMON_TABLE(rows, "dnsblv6d", DNSBLV6D_LIBRARIES, "Serves DNS blacklists ...");
 *
 * For one thread, before there are others.
 */

#include "lib/common/options.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct daemon_command {
	const char *config_path; /* borrowed from argv, or the default */
	bool is_check;
};

/* -c, --config FILE and -n, --check; default_path is a string literal. */
#define DAEMON_ROWS(default_path)                                                                  \
	{                                                                                          \
		{ { 'c', "config", "FILE", "read FILE instead of " default_path },                 \
		  OPTIONS_AT(struct daemon_command, config_path),                                  \
		  .standard = default_path },                                                      \
		{                                                                                  \
			{ 'n', "check", NULL, "check the configuration and exit" },                \
				OPTIONS_AT(struct daemon_command, is_check)                        \
		}                                                                                  \
	}

/* A struct options_table of these rows; the texts are its members of that name. */
#define DAEMON_TABLE(daemon_rows, program_text, libraries_text, summary_text)                      \
	{                                                                                          \
		.program = program_text, .libraries = libraries_text,                              \
		.usage = "[--config FILE] [--check]", .summary = summary_text,                     \
		.bound = daemon_rows, .row_count = sizeof(daemon_rows) / sizeof((daemon_rows)[0])  \
	}

/* Exits on wrong use, --help and --version, as options_next() does. table has DAEMON_ROWS. */
struct daemon_command daemon_read_command(const struct options_table *table, int argc, char **argv);

struct daemon_user {
	const char *name; /* for the log; "" keeps the one that started us */
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* supplementary ones, borrowed; setgroups(2) */
	size_t group_count;
};

/*
 * As many descriptors as are permitted; the soft limit is often 1024. Their number, or
 * RLIM_INFINITY when that is unknown.
 */
rlim_t daemon_raise_descriptors(void);
/*
 * The same for a program with a descriptor for each client. Clients get what is left of own_count,
 * which the program needs for itself, so that they cannot keep it from its work. How many clients
 * there may be: client_max, or fewer with a warning under context; at least one.
 */
unsigned daemon_share_descriptors(const char *context, unsigned own_count, unsigned client_max);

/*
 * Becomes user, for good: that there is no way back is tried. Only root can; a process of any
 * other user keeps that one, with a warning when it is not user. EX_OK, or EX_NOPERM or
 * EX_SOFTWARE, which is logged under context; the process is of no use then.
 */
int daemon_drop_privileges(const struct daemon_user *user, const char *context);

#ifdef __cplusplus
}
#endif
