/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * program.h - what an adapter does to begin, whatever it is for: main() and its parts.
 *
 * Flow: main() -> program_main() -> lib/process/daemon.h for the command line, parse() of the
 *       program for its configuration -> run() of the program -> program_begin(), what
 *       root is for, owner_drop(), program_start_library() -> its loop, program_tell_ready().
 *
 *     int main(int argc, char **argv)
 *     {
 *             static const struct program program = { &table, policy_setup_parse, run,
 *                                                     policy_setup_deinit };
 *             static struct policy_setup setup;
 *             return program_main(&program, argc, argv, &setup);
 *     }
 *
 * This is the only file below integration/ that logs a configuration's errors. For one thread,
 * before there are others.
 */

#include <stddef.h>

#include "client-lib/dnsblv6.h"
#include "integration/common/handle.h"
#include "integration/common/judge.h"
#include "lib/common/conf.h"
#include "lib/process/daemon.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * 0, or a negative errno with *reterr_error. ret_setup is the program's own struct, such as
 * struct policy_setup, which can be ended in either case.
 */
typedef int (*program_parse_fn)(const char *text, size_t text_size, void *ret_setup,
				struct conf_error *reterr_error);

struct program {
	const struct options_table *options; /* with DAEMON_ROWS */
	program_parse_fn parse;
	int (*run)(void *setup);     /* an exit status */
	void (*deinit)(void *setup); /* NULL: it has no memory of its own */
	int (*check)(void *setup);   /* of what --check looks at besides; NULL: nothing */
};

/* All of it; setup is all zero. Returns an exit status, or exits on wrong use. */
int program_main(const struct program *program, int argc, char **argv, void *setup);

/* The end of --check, which says of EX_OK that it is. What has another status was logged. */
int program_end_check(int status);

/*
 * parse() for a file; what parse() returns. *ret_setup is all zero before, so that it can be ended
 * also when the file could not be read.
 */
int program_read(const char *path, program_parse_fn parse, void *ret_setup,
		 struct conf_error *reterr_error);

/*
 * What a parse() begins with: handle_init(), judge_init() where there is a judge, and the table.
 * ret_setup is all zero before and has them both; they must not be moved, since the judge borrows the
 * handle's client.
 */
int program_parse_rows(const char *text, size_t text_size, const struct conf_table *table,
		       void *ret_setup, struct handle *handle, struct judge *judge,
		       struct conf_error *reterr_error);
/* The same, and with a judge, which needs a zone, handle_finish() and judge_finish(). */
int program_parse(const char *text, size_t text_size, const struct conf_table *table,
		  void *ret_setup, struct handle *handle, struct judge *judge,
		  struct conf_error *reterr_error);

#define PROGRAM_PATH_MAX 512
/* The row "metrics" of a struct that has the path as a member metrics. */
#define PROGRAM_METRICS(type)                                                                      \
	{                                                                                          \
		"metrics", CONF_PATH, CONF_AT(type, metrics)                                       \
	}

/* ---- in this order, by run() ---- */

/* The log, also the library's, whose client has not been started; and no end by SIGPIPE. */
void program_begin(const char *context, int log_level, struct dnsblv6 *client);

/* The exit status for -errno of a socket or a directory that was not opened. */
int program_refused_status(int ret);

/* dnsblv6_start(). An exit status; what is not EX_OK is logged. */
int program_start_library(const char *context, struct dnsblv6 *client);

/* To the service manager. */
void program_tell_ready(const char *context);
/* To it: a reload was refused. Cleared by program_tell_reloaded(). */
#define PROGRAM_NOT_RELOADED "STATUS=configuration not reloaded, the old one stays"
void program_tell_not_reloaded(void);
void program_tell_reloaded(void);
/* To it and to the log. */
void program_tell_stopping(const char *context, int signal_number);

#ifdef __cplusplus
}
#endif
