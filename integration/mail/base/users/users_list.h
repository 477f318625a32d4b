/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_list.h - one line of a list of recipients, to a key and back.
 *
 * Flow: users_build.c parses what smtp-front-users reads; users.c prints what is there.
 *
 * A list has one entry in each line; blank lines and what follows a "#" at the beginning of a
 * word are skipped:
 *
 *     john@example.org            this address
 *     "john doe"@example.org      quoted as in RCPT
 *     @example.com                every address of example.com
 *     domain example.net          ours, though it has no address here
 *
 * No function here allocates, keeps a pointer or logs.
 */

#include "integration/mail/base/users/users_file.h"

#ifdef __cplusplus
extern "C" {
#endif

#define USERS_STATUS_MAP(X)                                                                        \
	X(USERS_ESHRINK, -2500, "list would shrink too much")                                      \
	X(USERS_EREFUSED, -2501, "lines were refused")                                             \
	X(USERS_EEMPTY, -2502, "no recipient in the lists")                                        \
	X(USERS_EWORDS, -2520, "more than one word in the line")                                   \
	X(USERS_EADDRESS, -2521, "no \"@\" in the address")                                        \
	X(USERS_ELOCAL, -2522, "not a local part")                                                 \
	X(USERS_ELOCALSIZE, -2523, "local part of more than 64 bytes")                             \
	X(USERS_EDOMAIN, -2524, "not a domain")                                                    \
	X(USERS_EDOMAINSIZE, -2525, "domain of more than 255 bytes, or label of more than 63")     \
	X(USERS_EUTF8, -2526, "not UTF-8")                                                         \
	X(USERS_ELINE, -2527, "line of more than 1000 bytes")

enum users_status {
#define X(name, code, text) name = code,
	USERS_STATUS_MAP(X)
#undef X
};

/* Text for these and for those of lib/lmdb. Never NULL. */
const char *users_strerror(int status);

#define USERS_LIST_LINE_MAX 1000 /* twice what the longest address takes, in quotes */

/*
 * A line without its line feed, of any bytes. STORE_OK, with a key of size 0 for a line that has
 * no entry, or a status above.
 */
int users_list_parse(const char *line, size_t size, const struct users_facts *facts,
		     struct users_key *ret_key);

/*
 * A key as a line of a list, in quotes where the list needs them: USERS_LIST_PRINT_MAX bytes at
 * most, without a NUL. Returns its size; 0 when it is no key of an entry.
 */
#define USERS_LIST_PRINT_MAX (2 * USERS_KEY_MAX + 8)
size_t users_list_print(struct store_bytes key, char *ret_line);

#ifdef __cplusplus
}
#endif
