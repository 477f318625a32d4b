/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * zonemd.h - the digest over a whole zone (RFC 8976), for zones that have one.
 *
 * Flow: build --zonemd -> apex.h puts a placeholder at the apex -> when all
 *       names are written, zonemd_write() puts the digest in its place.
 *
 * Scheme SIMPLE, SHA-384. Every RR of the zone is hashed again whenever anything
 * changes: that is why it is there on request only.
 */

#include "zone-tools/records/recorder.h"
#include "zone-tools/keys/signer.h"

#include "lib/lmdb/writer.h"

/* ret_rdata has ZONEMD_RDATA_SIZE bytes: a digest of zeros. */
#define ZONEMD_RDATA_SIZE 54
void zonemd_make_placeholder(uint8_t *ret_rdata);

/*
 * Nothing when the apex has no ZONEMD record. facts are those of the new version; signer
 * is NULL for an unsigned zone; recorder may be NULL. DNSBLV6_OK, -ENOMEM,
 * KEY_ECRYPTO, or a status of lib/store.
 */
int zonemd_write(struct writer *writer, const struct dnsblv6_facts *facts, struct signer *signer,
		 struct recorder *recorder);
