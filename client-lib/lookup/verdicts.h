/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * verdicts.h - dnsblv6-lookup itself: addresses in, verdict lines out.
 *
 * Flow: input.c -> verdicts_run() -> dnsblv6_check_batch(), or with --trace one
 *       dnsblv6_check() each, and what it did -> print.c
 */

#include "client-lib/lookup/input.h"

/* The exit status. Lines are flushed before it waits for more addresses. */
int verdicts_run(struct lookup *lookup, struct input *input);

/* The same of names, or of hashes, all of which are there. */
int verdicts_run_names(struct lookup *lookup, char *const *names, size_t count);

/* A dnsblv6_log_fn for --trace: lines of the library on standard error. */
void verdicts_trace_line(void *context, int level, const char *line);
