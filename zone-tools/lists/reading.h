/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * reading.h - what the readers of all formats share while one LIST is read.
 *
 * Flow: sources.c fills a struct reading and hands it to plain.c or rbldnsd.c ->
 *       these say by it what is wrong with a line -> findings.h.
 *
 * Everything in it is borrowed until the LIST has been read.
 */

#include "zone-tools/base/findings.h"
#include "zone-tools/base/listing.h"

#ifdef __cplusplus
extern "C" {
#endif

struct progress;

#define SOURCES_EXCEPT_MAX 16 /* files of --except */

struct sources_options {
	bool ignore_columns;	 /* plain lists: only the first column counts */
	bool cut_host_bits;	 /* 192.0.2.1/24 is 192.0.2.0/24 instead of an error */
	bool allow_reserved;	 /* entries inside 0/8, 10/8, 127/8 and the like are fine */
	bool skip_reserved;	 /* or else they are left out, with a warning each */
	bool allow_empty;	 /* a list without an entry is fine */
	bool allow_unterminated; /* the last line of a file may lack its line feed */
	bool is_removal;	 /* what is read is not to be listed: then all of it is fine */
	const char *
		value; /* of plain lists, in rbldnsd's words (rbldnsd_value.h); NULL: the default */
	const char *except[SOURCES_EXCEPT_MAX]; /* files of what is never listed */
	size_t except_count;
	uint64_t now_s; /* for $TIMESTAMP, and of what comes from no file */
};

/* What reading one LIST needs at every line. */
struct reading {
	struct listing *listing;
	const struct sources_options *options;
	struct findings *findings;
	struct progress *progress;
	struct findings_place place; /* of the line below */
	const char *line;
	size_t line_size;
	uint64_t listed_count; /* entries of this LIST that are no exclusions */
	uint64_t said_count;   /* lines of it that are neither blank nor comments */
	bool excludes_point;   /* this LIST does: a test point that must be clear */
	bool has_named_point;  /* listing->clear_point is of this LIST */
};

/* What is read was written then; a clock ahead of ours cannot make a list newer than now. path is NULL of no file. */
void reading_note_time(struct reading *reading, const char *path, uint64_t written_s);
/* The line cannot be read: a refusal, or a warning while --max-bad-lines lasts. DNSBLV6_OK. */
int reading_refuse_line(struct reading *reading, const char *reason);
/* What --max-bad-lines does not excuse. */
void reading_refuse(struct reading *reading, const char *what, const char *reason);
/* The line was ignored, or understood in a way worth saying. DNSBLV6_OK. */
int reading_warn(struct reading *reading, const char *what, const char *reason);
/*
 * False, after a finding, when guard.h has something against this range; then
 * it is not to be added.
 */
bool reading_accepts(struct reading *reading, struct dnsblv6_addr first, struct dnsblv6_addr last,
		     bool is_exclusion);

#ifdef __cplusplus
}
#endif
