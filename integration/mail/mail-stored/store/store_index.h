/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * store_index.h - is the index of a store one that can be opened? Asked before it is.
 *
 * Flow: store_process.c, before it confines itself -> verify.h in a child, as pages that were
 *       overwritten can make LMDB read anywhere -> an index that is damaged is put aside, and
 *       mailstore_open() makes another of the log, which has everything; so is one that it refuses as old.
 */

#include "integration/mail/mail-stored/stored_setup.h"

/* Reads all of it once. What was put aside is logged, as is what keeps it from being looked at. */
void store_index_look(const struct stored_setup *setup);
/* False, with a line of the log: it stays. status is the reason, for that line. */
bool store_index_put_aside(const struct stored_setup *setup, int status);
