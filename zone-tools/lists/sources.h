/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sources.h - the LIST arguments of dnsblv6-zone, read into one listing.
 *
 * Flow: build.c and check.c hand over argv -> listfile.c gives lines -> plain.c or
 *       rbldnsd.c reads them -> listing.h holds what they said.
 *
 * A LIST is "FILE" (one address, CIDR or range a line), "-" for standard input, or
 * "TYPE:FILE[,FILE...]" where TYPE is plain, ip4set, ip4trie, ip4tset, ip6trie, ip6tset, dnset,
 * generic, acl or combined: rbldnsd's own notation, several files read as if they were one. What
 * stands before a colon is a TYPE unless it has a slash or a dot in it, so "./odd:name" is a file.
 */

#include "zone-tools/base/findings.h"
#include "zone-tools/base/listing.h"

#ifdef __cplusplus
extern "C" {
#endif

struct progress;

#define SOURCES_EXCEPT_MAX 16 /* files of --except */

struct sources_options {
	bool ignore_columns; /* plain lists: only the first column counts */
	bool cut_host_bits;  /* 192.0.2.1/24 is 192.0.2.0/24 instead of an error */
	bool allow_reserved; /* entries inside 0/8, 10/8, 127/8 and the like are fine */
	bool skip_reserved;  /* or else they are left out, with a warning each */
	bool allow_empty;    /* a list without an entry is fine */
	bool is_removal;     /* what is read is not to be listed: then all of it is fine */
	const char *except[SOURCES_EXCEPT_MAX]; /* files of what is never listed */
	size_t except_count;
	uint64_t now_s; /* for $TIMESTAMP */
};

/* One file of --except more; false when there are too many. */
bool sources_add_except(struct sources_options *options, const char *path);
/*
 * Reads these files, which are plain lists, into listing->excepted. A prefix is rounded out to
 * whole units, because a bit cannot except a part of one. As sources_read().
 */
int sources_read_except(struct listing *listing, const struct sources_options *options,
			struct findings *findings);

/*
 * Reads one LIST argument into listing. What is wrong with its content goes
 * to findings and reading goes on. Returns DNSBLV6_OK, or -errno when
 * a file cannot be opened or read, after a finding that names it; or
 * -EINVAL for an unknown TYPE, also after a finding.
 */
int sources_read(struct listing *listing, const char *list, const struct sources_options *options,
		 struct findings *findings, struct progress *progress);

/* A plain list whatever it is called, read into a dataset of its own. As sources_read(). */
int sources_read_plain(struct listing *listing, const char *path,
		       const struct sources_options *options, struct findings *findings);
/*
 * One line of a plain list, from the command line, as a dataset of its own. where is what
 * findings name as the place. DNSBLV6_OK or -ENOMEM.
 */
int sources_read_entry(struct listing *listing, const char *text, const char *where,
		       const struct sources_options *options, struct findings *findings);

/* ---- for plain.c and rbldnsd.c: what reading one LIST needs at every line ---- */

struct reading {
	struct listing *listing;
	const struct sources_options *options;
	struct findings *findings;
	struct progress *progress;
	struct place place; /* of the line below */
	const char *line;
	size_t line_size;
	uint64_t listed_count; /* entries of this LIST that are no exclusions */
};

/* The line cannot be read: a refusal, or a warning while --max-bad-lines lasts. */
void reading_refuse_line(struct reading *reading, const char *reason);
/* The line was ignored, or understood in a way worth saying. */
void reading_warn(struct reading *reading, const char *what, const char *reason);
/*
 * False, after a finding, when guard.h has something against this range; then
 * it is not to be added.
 */
bool reading_accepts(struct reading *reading, struct dnsblv6_addr first, struct dnsblv6_addr last,
		     bool is_exclusion);

#ifdef __cplusplus
}
#endif
