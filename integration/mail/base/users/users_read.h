/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_read.h - files of recipients into a list.
 *
 * Flow: users_main.c has names of files -> here, line by line -> users_list.h.
 *
 * "-" is standard input. Lines end in a line feed, with or without a carriage return; a UTF-8
 * byte-order mark is skipped. A line may have any bytes and any length: memory is one buffer.
 *
 * Logs nothing: what is refused is told to a function.
 */

#include "integration/mail/base/users/users_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A line that is no entry, cut at USERS_LIST_LINE_MAX bytes, and the status that says why. */
typedef void (*users_read_fn)(void *context, const char *path, uint64_t line_number,
			      const char *line, size_t size, int status);

/*
 * Adds path to list: as a file like passwd, or as a list when passwd is NULL. refused is called
 * for each line that is no entry, and reading goes on. -errno when the file cannot be opened or
 * read to its end, -EISDIR for a directory, or -ENOMEM.
 */
int users_read(const char *path, const struct users_passwd *passwd, struct users_list *list,
	       users_read_fn refused, void *context);

#ifdef __cplusplus
}
#endif
