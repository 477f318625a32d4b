/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * workers.h - several processes that answer, and the one that looks after them.
 *
 * Flow: main.c, with the handle started -> workers_run() -> child_fork() -> translate_service_run() in each.
 *
 * Workers have the cache and what is known of lists in common, since the handle was started
 * before. Each has sockets of its own for every address. One that ends is begun again, at
 * once or, when it dies at once again, a second later; when the parent is killed they end by
 * themselves.
 *
 * SIGTERM and SIGINT end all of them, SIGUSR1 is the first worker's.
 */

#include "integration/adapters/dns-translator/translate_service.h"

/* Returns an exit status when all have ended; workers exit by themselves. */
int workers_run(const struct translate_setup *setup, const struct listener *listener);
