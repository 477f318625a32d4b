/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * commands.h - the subcommands of dnsblv6-zone.
 *
 * Flow: main.c finds the row and calls it with argv[0] being the subcommand.
 *       Each returns the exit status: 0, 1 (check or diff found something) or one of
 *       sysexits.
 */

int build_command(int argc, char **argv);
int check_command(int argc, char **argv);
int update_command(int argc, char **argv);
int history_command(int argc, char **argv);
int diff_command(int argc, char **argv);
int rollback_command(int argc, char **argv);
int dump_command(int argc, char **argv);
int sign_command(int argc, char **argv);
int confcheck_command(int argc, char **argv);
int migrate_command(int argc, char **argv);
int watch_command(int argc, char **argv);
int keygen_command(int argc, char **argv);
int ds_command(int argc, char **argv);
int roll_command(int argc, char **argv);

/* The same of a zone of zones.conf, without any option. */
struct zonesconf_zone;
int build_zone(const struct zonesconf_zone *zone);
int sign_zone(const struct zonesconf_zone *zone);

/*
 * What run() returns, which reads a store or writes to it. It has a process of its own, and what it
 * leaves in memory is lost: LMDB trusts the pages inside a file, and not all that is wrong with them
 * is found by reading all of it before. Where it crashes over them, its transaction ends with it, and
 * there is a line "store not done", such as "read", and EX_DATAERR.
 */
int commands_fence(const char *store, const char *done, int (*run)(void *context), void *context);

/* The sysexits value for a status of lib/store, builder.h, key.h or -errno. */
int commands_exit_status(int status);
/* The same, and, where it is not EX_OK, a line that says of place what has failed, and why. */
int commands_end(const char *place, const char *what, int status);
