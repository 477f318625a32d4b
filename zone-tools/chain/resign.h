/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * resign.h - renews the signatures of a store, without its lists.
 *
 * Flow: sign.c -> resign_store() -> chain.h, with every name of the store as it is.
 */

#include "zone-tools/records/before.h"
#include "zone-tools/chain/chain.h"

#ifdef __cplusplus
extern "C" {
#endif

struct findings;
struct progress;

struct resign_job {
	const char *path;
	struct keyset *keyset; /* as in builder.h */
	uint32_t lifetime_s;   /* 0: what the store remembers, or the default */
	uint64_t now_s;
	bool trusts_clock;	   /* also when the store was changed later than now_s */
	struct findings *findings; /* about the clock; NULL: it is trusted */
	struct progress *progress; /* or NULL */
};

struct resign_result {
	struct dnsblv6_labels zone;
	uint64_t record_count;
	uint64_t signature_count; /* made, not those kept */
	uint32_t serial;
	uint64_t expires_s; /* when the first signature ends */
};

/*
 * One transaction: signatures that are due, and those that a change of
 * keys asks for; the serial rises. A status of before.h, key.h or lib/store, or
 * CHAIN_EREFUSED when findings say why.
 */
int resign_store(const struct resign_job *job, struct resign_result *ret_result);

#ifdef __cplusplus
}
#endif
