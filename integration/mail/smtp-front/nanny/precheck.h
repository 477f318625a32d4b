/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * precheck.h - would processes with this configuration find what they need?
 *
 * Flow: main.c for --check, nanny.c before each generation -> precheck_run() -> keyholder.h for
 *       private keys, users.h for the database of recipients, confine.h for the user of a worker.
 *
 * Each is looked at in a child process: a key never comes into the nanny's memory, a damaged
 * database ends the child, and what a maildir permits is tried as the worker's user, which is not
 * root. What is found is only true for now: the processes themselves look again.
 */

#include "integration/mail/smtp-front/setup/setup.h"

#include <stdbool.h>

/* An exit status; what is not EX_OK is logged under context. is_start as of checkup_directory(). */
int precheck_run(const struct setup *setup, const char *context, bool is_start);
