/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unchanged.h - is what a build has written the version before once more?
 *
 * Flow: builder.c has written all names and tables with a new serial -> unchanged_compare() ->
 *       it throws the transaction away when nothing is to be published.
 *
 * Every version has an SOA of its own, with its signature, and a digest of its own: of the apex
 * these are not compared. Names beside the apex are chain.h's to count.
 */

#include "zone-tools/keys/signer.h"

#include "lib/lmdb/writer.h"

/*
 * Compares the apex, segments, value sets, origins and settings. False also when signatures of
 * the SOA or of the digest are due; signer is NULL in an unsigned zone.
 */
int unchanged_compare(struct writer *writer, const struct signer *signer, bool *ret_is_same);
