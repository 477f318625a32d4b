/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rehearse.h - would the stores of a configuration be served? Asked without serving.
 *
 * Flow: main.c, --check -> rehearse_stores() -> lib/lmdb/verify.h, one child for each store.
 *
 * Each store is read as a worker has it read before it is served, as the user that would
 * serve it where this process may become that user: a lock file that is missing is made, and
 * would else belong to root.
 */

#include "server/settings/settings.h"

/*
 * Logs each zone whose store cannot be opened. EX_OK when all can, EX_NOINPUT when one cannot, or
 * why the user cannot be changed. What only the configured user may open is a warning where this
 * process is another's, and cannot be told.
 */
int rehearse_stores(const struct settings *settings);
