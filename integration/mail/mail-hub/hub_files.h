/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hub_files.h - the directory that mail-hub has its files in, and the programs that read them.
 *
 * Flow: hub.c: hub_files_open() -> hub_files_write() for each program -> hub_files_run() in its
 *       process. A reload writes other files first, and hub_files_check() has the programs look at them.
 *       main.c: hub_files_try() for --check.
 *
 *     RUN                     root's, as are the files in it: what a program reads as root
 *     RUN/NAME.conf           a program's configuration
 *     RUN/NAME.conf.new       one that is tried
 *     RUN/NAME.notify         where it says that it is ready (hub_ready.h)
 *     RUN/store               the socket of mail-stored
 *     RUN/metrics             files of metrics; programs may write here
 *     RUN/empty               the root directory of processes that speak with clients
 *
 * What fails is logged here, as it is in files that an operator looks at.
 */

#include "integration/mail/mail-hub/hub_programs.h"

extern const char hub_context[]; /* in the log */

#define HUB_FILE_MAX (HUB_PATH_MAX + 64)

enum hub_file { HUB_FILE_CONF, HUB_FILE_NEW, HUB_FILE_NOTIFY };

/* The path, into HUB_FILE_MAX bytes, which is returned. */
const char *hub_files_path(const struct hub_setup *setup, unsigned program, enum hub_file file,
			   char *ret_path);

/*
 * Makes the directories, and locks RUN as long as *ret_lock_fd is open. An exit status: EX_TEMPFAIL
 * when another mail-hub has it. *ret_lock_fd is -1 then.
 */
int hub_files_open(const struct hub_setup *setup, int *ret_lock_fd);

/* An exit status. text is the whole file, at once or not at all. */
int hub_files_write(const struct hub_setup *setup, unsigned program, enum hub_file file,
		    const char *text);

/* What was tried is the program's configuration, or goes. Returns whether it is. */
bool hub_files_end_trial(const struct hub_setup *setup, unsigned program, bool is_good);

/*
 * The program with --check of that file, in a process that is waited for: an exit status. EX_TEMPFAIL, which is not
 * logged: the hub has been told to end meanwhile.
 */
int hub_files_check(const struct hub_setup *setup, unsigned program, enum hub_file file);

/* All programs with --check of what they would get, in a directory of its own: an exit status. */
int hub_files_try(const struct hub_setup *setup);

/* This process becomes the program. Does not return. */
__attribute__((noreturn)) void hub_files_run(const struct hub_setup *setup, unsigned program,
					     enum hub_file file, bool is_check);
