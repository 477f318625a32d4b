/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_copy.h - a database of users as text, and the same database made of it on another machine.
 *
 * Flow: mail-cluster users put -> users_copy_make() -> the cluster's store -> mail-stored of each
 *       machine -> users_copy_build() -> users.h.
 *
 * The file itself is not what goes: processes have it open, and it must not be replaced under them. The
 * text is a list that smtp-front-users build would take, in the order of the database, behind a line
 * of its options:
 *
 *     # users 1 fold=yes extension=+ built=1790000000
 *     anna@example.org scram=SCRAM-SHA-256$4096:...
 *     domain example.org
 *
 *     WORD        MEANING
 *     fold        are local parts compared in lower case? yes or no
 *     extension   the character that begins an extension; "none": there is none
 *     built       when the list was made, seconds since 1970
 *
 * It has passwords and keys when the database has them. No function here keeps a pointer or logs. LMDB
 * must not have one file open twice in a process: neither path may be open in the calling one.
 */

#include "integration/mail/base/users/users_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads a database that users_verify() has found whole. The caller wipes and frees *ret_text. 0, or a
 * status of users_status.h.
 */
int users_copy_make(const char *path, uint8_t **ret_text, size_t *ret_size);

/* The first line: 0 with the size of it and its line end, or USERS_ECOPY. Any bytes may be given. */
int users_copy_parse(const uint8_t *text, size_t size, struct users_facts *ret_facts,
		     size_t *ret_used);

/*
 * Makes users_path of a text, without passwords and keys, and before it, unless it is NULL, logins_path
 * with them. Each is one transaction, as of users_build(), and takes any list: how much one may shrink
 * was asked where it was made. One that is not there yet is made as PATH.new, and gets its name with its
 * list in it: what waits for it may open it at once. One process at a time may call this. 0, or a status of
 * users_status.h, with *ret_path the database that is as it was before; logins_path may be new then.
 */
int users_copy_build(const uint8_t *text, size_t size, const char *users_path,
		     const char *logins_path, const char **ret_path);

#ifdef __cplusplus
}
#endif
