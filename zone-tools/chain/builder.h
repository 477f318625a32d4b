/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * builder.h - writes a plan into a store, as one transaction.
 *
 * Flow: build.c -> builder_write() -> lib/lmdb/writer.h. What every record
 *       means is FORMAT.md's.
 */

#include "zone-tools/base/findings.h"
#include "zone-tools/plan/guard.h"
#include "zone-tools/keys/keyset.h"
#include "zone-tools/plan/plan.h"
#include "zone-tools/records/store_settings.h"
#include "zone-tools/base/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

struct progress;

/* What to write, and where. Everything is borrowed. */
struct builder_job {
	const char *path;
	const struct plan *plan;
	const struct listing *listing;
	const struct spec *spec;
	const struct store_settings *settings; /* for the store to remember; NULL: nothing */
	bool may_change_style;
	struct keyset *keyset; /* what was given; when all is done, what there was and is */
	uint32_t lifetime_s;   /* of signatures */
	uint64_t now_s;
	bool is_dry_run;   /* do all of it but the commit */
	bool trusts_clock; /* also when the store was changed later than now_s */
	uint64_t max_records;
	struct progress *progress; /* or NULL */
	/* Checked against what the store holds when it is written, also when another process has
	   written it meanwhile; NULL: not checked. */
	const struct guard_limits *limits;
	struct findings *findings;
};

/* What was written. */
struct builder_result {
	uint64_t record_count;
	uint64_t signature_count; /* made, not those kept */
	uint64_t changed_count;	  /* names added, changed or removed; all in a new store */
	uint32_t serial;
	/* The store has all of it, and no signature is due: but for the time of the lists nothing was written. */
	bool is_unchanged;
};

/*
 * Replaces what the store holds, as one transaction that writes and signs only what differs from
 * it, or the time of the lists alone when nothing does. Serial: spec->serial, or the greater of now_s and the store's
 * plus one. Returns DNSBLV6_OK with *ret_result, a status of chain.h, before.h, writer_run() or key.h;
 * then the store is as it was.
 */
int builder_write(const struct builder_job *job, struct builder_result *ret_result);

#ifdef __cplusplus
}
#endif
