/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rbldnsdline.h - what a command line of rbldnsd says.
 *
 * Flow: migrate.c has the line as one text -> rbldnsdline_parse() -> zones.conf and dnsblv6d.conf are
 *       written from it, and options without a counterpart are named.
 *
 * Words are divided as a shell does: blanks, both kinds of quotes, backslashes; variables are not put in.
 * Options stand together or apart, "-nf -b127.0.0.1/53", as getopt(3) has it. A rbldnsdline owns its
 * memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RBLDNSDLINE_ZONES_MAX  1000 /* as zones.conf has */
#define RBLDNSDLINE_LISTS_MAX  4096
#define RBLDNSDLINE_LISTEN_MAX 16
#define RBLDNSDLINE_REASON_MAX 200

#define RBLDNSDLINE_ALL_ZONES SIZE_MAX /* an acl without the name of a zone */

struct rbldnsdline_list {
	size_t zone; /* its index, or all */
	char *list;  /* TYPE:FILE[,FILE...] with absolute names; ours */
};

struct rbldnsdline {
	const char *zones[RBLDNSDLINE_ZONES_MAX]; /* each once; of words */
	size_t zone_count;
	struct rbldnsdline_list lists[RBLDNSDLINE_LISTS_MAX];
	size_t list_count;
	const char *listen[RBLDNSDLINE_LISTEN_MAX]; /* as given: ADDRESS or ADDRESS/PORT */
	size_t listen_count;
	const char *root; /* NULL: not given, as all below */
	const char *directory;
	bool has_ttl;
	uint32_t ttl;
	bool has_ttl_limits;
	bool has_option[128]; /* by its letter */
	char *words;	      /* ours */
};

/*
 * here is the directory that relative names are in, without -r and -w. NULL, or what is wrong:
 * ret_reason or static text. ret_line is zeroed before; end it with rbldnsdline_deinit() either way.
 */
const char *rbldnsdline_parse(const char *text, const char *here, struct rbldnsdline *ret_line,
			      char *ret_reason);
void rbldnsdline_deinit(struct rbldnsdline *line);

/* Is it a list of the zone with that index? */
static inline bool rbldnsdline_has(const struct rbldnsdline_list *list, size_t zone)
{
	return list->zone == zone || list->zone == RBLDNSDLINE_ALL_ZONES;
}

/*
 * "bl6.example." for "bl.example", or "bl-6.example." where the line has a zone bl6.example: what the zone
 * of bitmaps is called. False when neither is a name, or free.
 */
bool rbldnsdline_make_name(const struct rbldnsdline *line, size_t zone, char *ret_name,
			   size_t name_max);

/* ADDRESS@PORT of what -b has; false when that is the name of a host or of a service. */
bool rbldnsdline_make_listen(const char *text, char *ret_listen, size_t listen_max);
