/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * accounts.h - what all generations of workers have counted and are doing.
 *
 * Flow: dnsblv6ctl -> control.c -> parent.c -> accounts_write_report() -> report.c;
 *       SIGUSR1 -> accounts_log(); a generation that ends leaves what it counted
 *       to the parent's past.
 *
 * Nothing here changes a worker, and only accounts_keep_talkers() changes the parent.
 */

#include "server/process/parent_parts.h"
#include "server/control/request.h"

#include <stdio.h>

/* Adds the networks that a generation has counted to those of the past. 0 or -ENOMEM. */
int accounts_keep_talkers(const struct parent *parent, const struct generation *generation);

/* A line for the server and one for each zone. */
void accounts_log(const struct parent *parent);

/* The answer to request, one of those that ask, into out. 0, -ENOMEM, or as report_print(). */
int accounts_write_report(const struct parent *parent, const struct request *request, FILE *out);
