/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * lookup.h - what the files of dnsblv6-lookup share: the handle, and how to speak.
 *
 * Flow: main.c reads the command line -> verdicts.c or decode.c asks
 *       through the public interface of libdnsblv6 -> print.c writes lines.
 *
 * Results go to standard output, one record a line; all else to standard error.
 */

#include <dnsblv6.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define LOOKUP_PROGRAM	  "dnsblv6-lookup"
#define LOOKUP_ZONES_MAX  64  /* bits of a set in struct dnsblv6_result */
#define LOOKUP_BATCH_MAX  128 /* addresses that are asked at once: those of one block */
#define LOOKUP_REASON_MAX 512

struct lookup {
	struct dnsblv6 *client; /* NULL for --decode without --zones */
	int timeout_ms;
	bool is_json;
	bool is_trace;
	bool has_reason;
	bool is_terminal; /* standard output is for eyes: columns instead of tabs */
	unsigned zone_count;
	struct dnsblv6_zone_info zones[LOOKUP_ZONES_MAX]; /* as they were at the start */
};

/* Is the entry in a set of struct dnsblv6_result? */
static inline bool lookup_has(uint64_t set, unsigned entry)
{
	return (set >> entry & 1) != 0;
}

/* What the addresses came to; each adds up over all of them. */
struct lookup_tally {
	bool has_listed;
	bool has_unknown;
	bool has_bad;
};

/* "dnsblv6-lookup: ..." on standard error. Returns status. */
int lookup_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit status of a tally; EX_IOERR when standard output was not written. */
int lookup_status(const struct lookup_tally *tally);

/* Names and weights of the entries into lookup->zones. */
void lookup_load_zones(struct lookup *lookup);
