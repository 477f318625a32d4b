/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * translate_service.h - the loop of dnsblv6-translate: questions, the library's descriptor, signals.
 *
 * Flow: main.c, with sockets bound and everything that root is for behind it -> translate_service_run()
 *       -> lib/dns has a query -> answer.h, out of the cache or later -> lib/dns sends.
 *
 * The order of a round: batches of questions are answered or given to the library, the
 * library processes, and what it calls back is sent. Nothing waits: a question that the library
 * does not take, as too many are open, is answered as one whose lists have failed.
 *
 * SIGTERM and SIGINT end it, SIGUSR1 logs counters.
 */

#include "integration/adapters/dns-translator/translate_setup.h"

/* Counters of so many workers, in memory that they will share; never freed. NULL: none. */
uint64_t *service_map_counters(unsigned workers);

/*
 * Serves on the sockets of worker until a signal; the handle of setup is started, and counters
 * are those of all workers, whose sums the first one tells. Returns an exit status.
 */
int translate_service_run(const struct translate_setup *setup, const struct listener *listener,
			  size_t worker, uint64_t *counters);

/* What SIGHUP is answered with. */
void service_log_no_reload(void);
