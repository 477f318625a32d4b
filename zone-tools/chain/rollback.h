/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rollback.h - a new version of a store with the content of an earlier one.
 *
 * Flow: rollback.c of commands has read the earlier version (versions.h) -> rollback_run() ->
 *       chain.h signs and writes what differs, recorder.h records it.
 *
 * One transaction, as builder.h; its cost depends on what has changed since. The serial rises, and
 * secondaries get it as any other change. Keys stay those that the store publishes now.
 */

#include "zone-tools/keys/keyset.h"
#include "zone-tools/reading/versions.h"

#ifdef __cplusplus
extern "C" {
#endif

struct findings;

/* Everything is borrowed. */
struct rollback_job {
	const char *path;
	const struct version *version; /* VERSION_WHOLE */
	struct keyset *keyset;	       /* as in builder.h */
	uint32_t lifetime_s; /* of signatures; 0: what the store remembers, or the default */
	uint64_t now_s;
	bool trusts_clock; /* also when the store was changed later than now_s */
	bool is_dry_run;   /* do all of it but the commit */
	struct findings *findings;
};

struct rollback_result {
	struct dnsblv6_labels zone;
	uint64_t ipv4_count; /* listed now, as in the facts */
	uint64_t ipv6_count;
	uint64_t changed_count;	  /* names */
	uint64_t signature_count; /* made */
	uint32_t serial;
};

/*
 * DNSBLV6_OK with *ret_result; CHAIN_EUNCHANGED when nothing has changed since, CHAIN_EMOVED when
 * the store is not the one that the version was read from any more; a status of chain.h, before.h,
 * keyset.h, key.h or lib/store: then the store is as it was.
 */
int rollback_run(const struct rollback_job *job, struct rollback_result *ret_result);

#ifdef __cplusplus
}
#endif
