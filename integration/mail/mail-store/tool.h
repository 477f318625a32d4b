/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tool.h - the subcommands of mail-store, and what they share.
 *
 * Flow: main.c finds the row and calls it with argv[0] being the subcommand. Each returns the exit
 *       status: 0, 1 (fsck found something) or one of sysexits.
 */

#include "lib/mailstore/mailstore.h"

#include "lib/common/options.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

int deliver_command(int argc, char **argv);
int ls_command(int argc, char **argv);
int cat_command(int argc, char **argv);
int rm_command(int argc, char **argv);
int stat_command(int argc, char **argv);
int collect_command(int argc, char **argv);
int import_command(int argc, char **argv);
int export_command(int argc, char **argv);
int fsck_command(int argc, char **argv);

/* The files of a store. */
struct store_paths {
	char log[4096];
	char index[4096];
	char scratch[4096]; /* of fsck */
};

/* EX_OK, or EX_USAGE with a line of the log. */
int tool_paths(const char *store, struct store_paths *ret_paths);
/*
 * Opens the store, and makes it when creates. EX_OK, or an exit status with a line of the log that
 * names the store; damage that opening has found is a warning.
 */
int tool_open(const char *store, bool creates, struct mailstore **ret_store);
/* Logs "what" of store with the text of status; returns the exit status for it. */
int tool_fail(const char *store, const char *what, int status);
/* The same of one mail, whose id stands as it was written. */
int tool_fail_mail(const char *store, const char *what, const char *id, int status);
/* The end of standard output: EX_OK, or EX_IOERR with a line of the log. */
int tool_end_output(void);
/* NULL and a line of the log when it is no mailbox name. */
struct mailname tool_mailbox(const char *text);
/* Microseconds of Unix time. */
uint64_t tool_now_us(void);

/*
 * Writes the text of a mail, as it was delivered. 0 or a status; -EIO when out takes no more;
 * MAILSTORE_EDAMAGED when all is written, and does not have its checksum.
 */
int tool_write_text(struct mailstore *store, const struct mailentry *entry, FILE *out);

#ifdef __cplusplus
}
#endif
