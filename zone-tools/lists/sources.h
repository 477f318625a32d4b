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

#include "zone-tools/lists/reading.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why options->value is none; NULL when it is, or there is none. Static text. */
const char *sources_check_value(const char *value);
/*
 * The value that plain lists have; its text is written to ret_text, which has RBLDNSD_TEXT_MAX bytes, and
 * borrowed from there.
 */
struct dnsblv6_value sources_value(const struct sources_options *options, uint8_t *ret_text);
/* One file of --except more; false when there are too many. */
bool sources_add_except(struct sources_options *options, const char *path);
/*
 * Reads these files, which are plain lists each for itself, into listing->excepted, which has no
 * exclusions then. What is listed is rounded out to whole units, because a bit cannot except a part
 * of one. As sources_read().
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

#ifdef __cplusplus
}
#endif
