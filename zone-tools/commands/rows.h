/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rows.h - the rows of options that several commands have.
 *
 * Flow: the tables of build.c, update.c, sign.c and check.c. type is the command's own struct,
 *       and the last word the member that the row writes to.
 */

#include "zone-tools/commands/keydir.h"
#include "zone-tools/commands/keyfiles.h"
#include "zone-tools/keys/signer.h"
#include "zone-tools/lists/sources.h"
#include "zone-tools/plan/guard.h"

#include "lib/common/options.h"

#include <stdint.h>

/* A domain name but the root, to a struct dnsblv6_labels in lower case. */
const char *rows_take_name(void *member, const char *argument);
/* --all, to the uint64_t that says how many lines of a difference are printed. */
const char *rows_take_all(void *member, const char *argument);
/* A file of --except, to a struct sources_options. */
const char *rows_take_except(void *member, const char *argument);
/* Into a const char *: what addresses of plain lists are answered with. */
const char *rows_take_value(void *member, const char *argument);

#define ROWS_KEY(type, member, help)                                                               \
	{                                                                                          \
		{ 'k', "key", "FILE", help }, OPTIONS_AT(type, member),                            \
			.take = keyfiles_set_active                                                \
	}
#define ROWS_PUBLISH(type, member, help)                                                           \
	{                                                                                          \
		{ 0, "publish", "FILE", help }, OPTIONS_AT(type, member), .take = keyfiles_add,    \
									  .is_repeated = true      \
	}
#define ROWS_WITHDRAW(type, member)                                                                \
	{                                                                                          \
		{ 0, "withdraw", "KEYTAG", "take this key out of the zone; may be repeated" },     \
			OPTIONS_AT(type, member), .take = keyfiles_withdraw, .is_once = true       \
	}
#define ROWS_LIFETIME(type, member)                                                                \
	{                                                                                          \
		{ 0, "lifetime", "SECONDS", "of signatures (1209600)" }, OPTIONS_AT(type, member), \
			.min = SIGNER_LIFETIME_MIN_S, .max = SIGNER_LIFETIME_MAX_S,                \
			.is_remembered = true                                                      \
	}
#define ROWS_TRUST_CLOCK(type, member)                                                             \
	{                                                                                          \
		{ 0, "trust-clock", NULL, "sign though the store was changed later than now" },    \
			OPTIONS_AT(type, member), .is_once = true                                  \
	}

/* How lists are read; sources is a struct sources_options. */
#define ROWS_SOURCES(type, sources)                                                                \
	{ { 0, "cut-host-bits", NULL, "read 192.0.2.1/24 as 192.0.2.0/24" },                       \
	  OPTIONS_AT(type, sources.cut_host_bits) },                                               \
		{ { 0, "allow-reserved", NULL, "list 0/8, 10/8, 127/8 and the like" },             \
		  OPTIONS_AT(type, sources.allow_reserved) },                                      \
		{ { 0, "skip-reserved", NULL, "leave such entries out instead" },                  \
		  OPTIONS_AT(type, sources.skip_reserved) },                                       \
		{ { 0, "except", "FILE", "never list what this file has; may be repeated" },       \
		  OPTIONS_AT(type, sources),                                                       \
		  .take = rows_take_except,                                                        \
		  .is_repeated = true },                                                           \
		{ { 0, "allow-empty", NULL, "a list may be empty" },                               \
		  OPTIONS_AT(type, sources.allow_empty) },                                         \
	{                                                                                          \
		{ 0, "allow-unterminated", NULL, "a list's last line may have no line feed" },     \
			OPTIONS_AT(type, sources.allow_unterminated)                               \
	}
#define ROWS_IGNORE_COLUMNS(type, sources)                                                         \
	{                                                                                          \
		{ 0, "ignore-columns", NULL, "plain lists: read the first column only" },          \
			OPTIONS_AT(type, sources.ignore_columns)                                   \
	}

/* How large a zone may be; limits is a struct guard_limits. */
#define ROWS_MAX_LISTED(type, limits)                                                              \
	{ { 0, "max-listed", "PERCENT", "of IPv4 may be listed (20)" },                            \
	  OPTIONS_AT(type, limits.max_listed_percent),                                             \
	  .max = 100 },                                                                            \
	{                                                                                          \
		{ 0, "max-listed6", "COUNT", "of IPv6 /32s may be listed (50000)" },               \
			OPTIONS_AT(type, limits.max_listed6), .max = UINT32_MAX                    \
	}
#define ROWS_MAX_CHANGE(type, limits)                                                              \
	{ { 0, "max-shrink", "PERCENT", "the zone may shrink by (50)" },                           \
	  OPTIONS_AT(type, limits.max_shrink_percent),                                             \
	  .max = 100 },                                                                            \
	{                                                                                          \
		{ 0, "max-grow", "PERCENT", "the zone may grow by (200)" },                        \
			OPTIONS_AT(type, limits.max_grow_percent), .max = 1000000                  \
	}
#define ROWS_MAX_RECORDS(type, member)                                                             \
	{                                                                                          \
		{ 0, "max-records", "COUNT", "the zone may have (16000000)" },                     \
			OPTIONS_AT(type, member), .min = 1, .max = UINT32_MAX                      \
	}

#define ROWS_DRY_RUN(type, member)                                                                 \
	{                                                                                          \
		{ 0, "dry-run", NULL, "do all of it but publish it, and say what would change" },  \
			OPTIONS_AT(type, member), .is_once = true                                  \
	}
/* How many lines of a difference; the member is a uint64_t. */
#define ROWS_ALL(type, member)                                                                     \
	{                                                                                          \
		{ 0, "all", NULL, "print the whole difference, not the first 20 lines" },          \
			OPTIONS_AT(type, member), .take = rows_take_all, .is_once = true           \
	}
