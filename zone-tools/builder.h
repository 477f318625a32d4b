/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * builder.h - writes a plan into a store, as one transaction.
 *
 * Flow: build.c -> builder_write() -> lib/store/writer.h. What every record
 *       means is FORMAT.md's.
 */

#include "zone-tools/plan.h"
#include "zone-tools/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

struct progress;

/* What was written. */
struct builder_result {
	uint64_t record_count;
	uint32_t serial;
};

#define BUILDER_EZONE	 (-2200) /* the store holds another zone */
#define BUILDER_ESERIAL	 (-2201) /* the serial is not newer than the store's, RFC 1982 */
#define BUILDER_EVALUES	 (-2202) /* more than DNSBLV6_SET_VALUES_MAX values for one address */
#define BUILDER_ERECORDS (-2203) /* more records than allowed */

/* Text for these, for lib/store's and for -errno values. Never NULL. */
const char *builder_strerror(int status);

/*
 * Replaces what path holds. Serial: spec->serial, or the greater of now_s and
 * the store's plus one. Returns DNSBLV6_OK with *ret_result, a status above or
 * one of writer_run(); then the store is as it was.
 */
int builder_write(const char *path, const struct plan *plan, const struct listing *listing,
		  const struct spec *spec, uint64_t now_s, uint64_t max_records,
		  struct progress *progress, struct builder_result *ret_result);

#ifdef __cplusplus
}
#endif
