/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_list.h - one line of a list of recipients, to a key and a value and back.
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
 *     postmaster to=...           <postmaster> without a domain, which is an alias
 *
 * Behind an address may be words about its mailbox, in any order: users_value.h.
 *
 *     john@example.org messages=10000 octets=500M keep=90d password=$y$j9T$...
 *     sales@example.org to=john@example.org,mary@example.org
 *
 * No function here allocates, keeps a pointer or logs.
 */

#include "integration/mail/base/users/users_file.h"
#include "integration/mail/base/users/users_value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* More than what the longest address takes in quotes, with all words. */
#define USERS_LIST_LINE_MAX 32768

/*
 * A line without its line feed, of any bytes. STORE_OK, with a key of size 0 for a line that has
 * no entry, or one of users_status.h.
 */
int users_list_parse(const char *line, size_t size, const struct users_facts *facts,
		     struct users_key *ret_key, struct users_value *ret_value);

/*
 * What a log may have of a line that is refused, without a NUL: its address, and of each word behind it the
 * name, if it is one of users_value.h, and the number of a setting. A "*" stands for all else, which may be
 * a secret. Returns its size, USERS_LIST_SHOWN_MAX bytes at most.
 */
#define USERS_LIST_SHOWN_MAX 256
size_t users_list_show(const char *line, size_t size, const struct users_facts *facts,
		       char *ret_text);

/*
 * A key and its value as a line of a list, in quotes where the list needs them:
 * USERS_LIST_PRINT_MAX bytes at most, without a NUL. Returns its size; 0 when it is no key of an
 * entry, or one of a domain with a value.
 */
#define USERS_LIST_PRINT_MAX (2 * USERS_KEY_MAX + 8 + USERS_VALUE_PRINT_MAX)
size_t users_list_print(struct store_bytes key, const struct users_value *value, char *ret_line);

#ifdef __cplusplus
}
#endif
