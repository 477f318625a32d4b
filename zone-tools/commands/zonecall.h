/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * zonecall.h - a command that is called by the name of a zone, with what zones.conf says of it.
 *
 * Flow: dnsblv6-zone COMMAND ZONE [options] -> zonecall_run() finds the zone and makes the command line
 *       that the operator would have to give -> the command reads that, as any other.
 *
 * What is on the command line goes before what is in the file: a setting whose option is given is
 * left out. Called with --store, or build and ds with --zone, a command reads no file.
 */

#include "zone-tools/zones/zonesconf.h"

/* Whether operands behind the ZONE, or in its place, are lists. */
enum zonecall_lists {
	ZONECALL_NO_LISTS,
	ZONECALL_LISTS,	     /* those behind it, or else those of the file */
	ZONECALL_MAYBE_ZONE, /* the same; a first operand that is no zone's name is a list, too */
};

/*
 * Runs a command with the command line of the zone, whose settings are those of build.h, or with the one that
 * was given. Returns what run() does, or EX_CONFIG after an error line.
 */
int zonecall_run(const struct options_table *table, const struct zonesconf_command *settings,
		 enum zonecall_lists lists, int argc, char **argv,
		 int (*run)(int argc, char **argv));

/*
 * The same of a zone that has been found, without any other word, and without its secondaries: the caller waits
 * for them (build.h). The table has a row for them.
 */
int zonecall_run_zone(const struct options_table *table, const struct zonesconf_zone *zone,
		      enum zonecall_lists lists, int (*run)(int argc, char **argv));

/* The row of --config, which zonecall_run() has read then. */
#define ZONECALL_ROW                                                                               \
	{                                                                                          \
		0, "config", "FILE", "that says what the ZONE is (" DNSBLV6_ZONES_CONF ")"         \
	}
const char *zonecall_take_config(void *member, const char *argument);
#define ROWS_CONFIG                                                                                \
	{                                                                                          \
		ZONECALL_ROW, .take = zonecall_take_config, .is_once = true                        \
	}
