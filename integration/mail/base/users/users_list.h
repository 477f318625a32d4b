/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_list.h - lists of recipients, line by line, in memory.
 *
 * Flow: users_read.c reads files -> here -> users_build.c writes what is here.
 *
 * A list has one entry in each line; blank lines and what follows a "#" at the beginning of a
 * word are skipped:
 *
 *     john@example.org            this address
 *     "john doe"@example.org      quoted as in RCPT
 *     @example.com                every address of example.com
 *     domain example.net          ours, though it has no address here
 *
 * and a file like passwd has a name in front of the first colon, whose domain is said beside, and
 * a user id behind the second: those of a system's own accounts are low, and no recipients.
 *
 *     struct users_list *list = NULL;
 *     int ret = users_list_new(&facts, &list);
 *     if (ret == 0)
 *             ret = users_list_add(list, "john@example.org", 16);
 *     // users_list_strerror(ret) says what is wrong with a line
 *     users_list_sort(list);
 *     users_list_free(list);
 *
 * Memory is about what the lists have, and 16 bytes for each line. No function logs.
 */

#include "integration/mail/base/users/users.h"

#ifdef __cplusplus
extern "C" {
#endif

#define USERS_LIST_STATUS_MAP(X)                                                                   \
	X(USERS_LIST_EWORDS, -2220, "more than one word in the line")                              \
	X(USERS_LIST_EADDRESS, -2221, "no \"@\" in the address")                                   \
	X(USERS_LIST_ELOCAL, -2222, "not a local part")                                            \
	X(USERS_LIST_ELOCALSIZE, -2223, "local part of more than 64 bytes")                        \
	X(USERS_LIST_EDOMAIN, -2224, "not a domain")                                               \
	X(USERS_LIST_EDOMAINSIZE, -2225,                                                           \
	  "domain of more than 255 bytes, or label of more than 63")                               \
	X(USERS_LIST_EUTF8, -2226, "not UTF-8")                                                    \
	X(USERS_LIST_ENAME, -2227, "not a user's name")                                            \
	X(USERS_LIST_ELINE, -2228, "line of more than 1000 bytes")                                 \
	X(USERS_LIST_EUID, -2229, "not a user id")

enum users_list_status {
	USERS_LIST_OK = 0,
#define X(name, code, text) name = code,
	USERS_LIST_STATUS_MAP(X)
#undef X
};

/* Text for these and for those of users.h. Never NULL. */
const char *users_list_strerror(int status);

#define USERS_LIST_LINE_MAX 1000 /* twice what the longest address takes, in quotes */

struct users_list;

/* Of facts only folds_case and extension are used. *ret_list on success, or -ENOMEM. */
int users_list_new(const struct users_facts *facts, struct users_list **ret_list);
/* Takes NULL. */
void users_list_free(struct users_list *list);

/*
 * A line without its line feed, of any bytes. 0, a status above, after which the list is as it was
 * before, or -ENOMEM, after which it is only to be freed.
 */
int users_list_add(struct users_list *list, const char *line, size_t size);
/* About a file like passwd. */
struct users_passwd {
	const char *domain;
	uint32_t uid_min; /* 0: user ids are not looked at */
};

/*
 * The same for a line like those of passwd. An account with a user id below uid_min, or with that
 * of the user "nobody", is left out; a line without a user id is not.
 */
int users_list_add_passwd(struct users_list *list, const char *line, size_t size,
			  const struct users_passwd *passwd);
/* How many were. */
uint64_t users_list_left_out(const struct users_list *list);
/* Is it a domain? For what is said on a command line. */
int users_list_check_domain(const char *domain);

/* Orders the entries for users_build() and drops what is said twice. */
void users_list_sort(struct users_list *list);
size_t users_list_count(const struct users_list *list);
/* A key of users_file.h, borrowed until the list changes. index is less than the count. */
const char *users_list_key(const struct users_list *list, size_t index, size_t *ret_size);
/* What was given to users_list_new(), with the counts and the sum as the list stands. */
void users_list_facts(const struct users_list *list, struct users_facts *ret_facts);

#ifdef __cplusplus
}
#endif
