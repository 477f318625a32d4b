/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * updater.h - changes a store in place: some addresses more, some less.
 *
 * Flow: update.c has changes -> updater_run() -> region.h finds what they
 *       touch -> chain.h signs and writes it, recorder.h records it.
 *
 * One transaction, as builder.h; its cost depends on the changes alone.
 */

#include "zone-tools/plan/guard.h"
#include "zone-tools/keys/keyset.h"
#include "zone-tools/plan/resolve.h"

#ifdef __cplusplus
extern "C" {
#endif

struct difference;

struct updater_job {
	const char *path;
	const struct pieces *changes;	      /* as pieces_change() takes them */
	const struct dnsblv6_labels *subzone; /* whose list changes; empty: the zone's own */
	const struct dnsblv6_value *value;    /* of what is added; NULL: the list's default */
	struct keyset *keyset;		      /* as in builder.h */
	uint32_t lifetime_s; /* of signatures; 0: what the store remembers, or the default */
	uint32_t serial;     /* 0: chosen as builder.h does */
	uint64_t now_s;
	uint64_t lists_s;	       /* when what changes was written; 0: unknown */
	bool is_dry_run;	       /* do all of it but the commit */
	struct difference *difference; /* prints what changes; NULL: nothing is printed */
	bool trusts_clock;	       /* also when the store was changed later than now_s */
	uint64_t max_records;
	const struct guard_limits *limits;
	struct findings *findings;
};

struct updater_result {
	struct dnsblv6_labels zone;
	uint64_t ipv4_count; /* listed now, as in the facts */
	uint64_t ipv6_count;
	int64_t ipv4_change;
	int64_t ipv6_change;
	uint64_t changed_count;	  /* names */
	uint64_t signature_count; /* made */
	uint32_t serial;
};

/*
 * DNSBLV6_OK with *ret_result; a status of chain.h, before.h, key.h
 * or lib/store: then the store is as it was, but for the time of its lists with CHAIN_EUNCHANGED.
 */
int updater_run(const struct updater_job *job, struct updater_result *ret_result);

#ifdef __cplusplus
}
#endif
