/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * migrate_notes.h - what becomes of options of rbldnsd that no setting stands for.
 *
 * Flow: migrate.c has written its files -> one line for each such option of the command line.
 */

#include "zone-tools/zones/rbldnsdline.h"

void migrate_notes_tell(const struct rbldnsdline *line);
