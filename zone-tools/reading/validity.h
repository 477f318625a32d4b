/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * validity.h - are the signatures of a store valid now, and for how long yet?
 *
 * Flow: check.c -> validity_check() reads every signature of a reader's version and
 *       adds findings. That they verify is for others to say.
 */

#include "zone-tools/base/findings.h"

#include "lib/lmdb/reader.h"

/* Findings begin so long before the first signature ends, as the warnings of servers do. */
#define VALIDITY_SOON_S (3 * 86400)

/*
 * Between reader_begin() and reader_end(): adds a refusal when signatures are not valid yet, or
 * have ended, and a warning when they end soon. store names the place. Statuses of lib/store and
 * lib/format; records that cannot be read are passed over.
 */
int validity_check(struct reader *reader, const char *store, uint64_t now_s,
		   struct findings *findings);
