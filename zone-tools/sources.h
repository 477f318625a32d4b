/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sources.h - the LIST arguments of dnsblv6-zone, read into one listing.
 *
 * Flow: main.c hands over argv -> listfile.c gives lines -> plain.c or
 *       rbldnsd.c reads them -> listing.h holds what they said.
 *
 * A LIST is "FILE" or "plain:FILE" (one address, CIDR or range a line), "-"
 * for standard input, or "TYPE:FILE[,FILE...]" where TYPE is ip4set, ip4trie,
 * ip4tset, ip6trie, ip6tset or combined: rbldnsd's own notation, several files
 * read as if they were one.
 */

#include "zone-tools/findings.h"
#include "zone-tools/listing.h"

#ifdef __cplusplus
extern "C" {
#endif

struct progress;

struct sources_options {
	bool ignore_columns;	/* plain lists: only the first column counts */
	bool cut_host_bits;	/* 192.0.2.1/24 is 192.0.2.0/24 instead of an error */
	bool allow_reserved;	/* entries inside 0/8, 10/8, 127/8 and the like are fine */
	uint64_t now_s;		/* for $TIMESTAMP */
};

/*
 * Reads one LIST argument into listing. What is wrong with its content goes
 * to findings and reading goes on. Returns DNSBLV6_OK, or -errno when
 * a file cannot be opened or read, after a finding that names it; or
 * -EINVAL for an unknown TYPE, also after a finding.
 */
int sources_read(struct listing *listing, const char *list, const struct sources_options *options,
		 struct findings *findings, struct progress *progress);

#ifdef __cplusplus
}
#endif
