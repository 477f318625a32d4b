/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rbldnsd_reader.h - the state of a reader: for rbldnsd.c, rbldnsd_special.c,
 *                    rbldnsd_name.c and rbldnsd_acl.c alone.
 *
 * A reader has at most one dataset open. A combined list opens one at each
 * $DATASET; every other list has one from its first line to its last.
 */

#include "lib/format/ascii.h"
#include "zone-tools/lists/rbldnsd_address.h"
#include "zone-tools/lists/rbldnsd_value.h"
#include "zone-tools/lists/reading.h"

#include <string.h>

/* The prefixes of a trie, to know the ones that come twice. */
struct prefix_table {
	uint32_t *slots; /* entry numbers + 1 */
	size_t slot_count;
	size_t count;
};

struct rbldnsd_set {
	enum rbldnsd_type type;
	size_t dataset; /* index in the listing */
	struct rbldnsd_scope scope;
	/*
	 * Values as they stand in the file, without TTL. The entries hold their
	 * numbers until the end, because variables and TTL count for entries
	 * before them as well.
	 */
	struct value_pool raw;
	uint32_t default_number; /* in raw */
	uint32_t action_number;	 /* of an acl: what an entry without value does */
	bool has_default_line;	 /* for tsets, where only the first counts */
	struct prefix_table prefixes;
};

struct rbldnsd {
	struct reading *reading;
	enum rbldnsd_type type;
	struct rbldnsd_scope scope; /* of a combined list, copied to each dataset */
	struct rbldnsd_set set;
	bool has_set;
	bool is_lost;	    /* entries belong to no dataset, which has been said */
	bool is_detached;   /* combined: a new file, and no line with a dollar sign yet */
	uint32_t range_max; /* $MAXRANGE4; 0: none */
};

/* ---- words of a line ---- */

/* Is it the end of a line, or begins a comment? */
static inline bool rbldnsd_is_end(char c)
{
	return c == '\0' || c == '#' || c == ';';
}

/* May it stand behind an address? A colon begins a value. */
static inline bool rbldnsd_is_behind_address(char c)
{
	return rbldnsd_is_end(c) || ascii_is_blank(c) || c == ':';
}

static inline const char *rbldnsd_skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

static inline size_t rbldnsd_word_size(const char *at)
{
	return strcspn(at, " \t");
}

void rbldnsd_lower(struct dnsblv6_labels *name);

/* ---- datasets ---- */

/* Opens a dataset; the one before is ended. It has no origin yet. */
int rbldnsd_set_begin(struct rbldnsd *reader, enum rbldnsd_type type);

/* ---- entries: what is wrong with a line goes to *ret_fault, or is a finding already ---- */

/* The value of entries that give none. Borrowed text. */
struct dnsblv6_value rbldnsd_default(const struct rbldnsd *reader);
/* What stands behind an entry, as the number of a raw value; the default when that is nothing. */
int rbldnsd_read_value(struct rbldnsd *reader, const char *at, uint32_t *ret_number,
		       const char **ret_fault);
/* The value in text, with what it does not say from fallback. */
int rbldnsd_keep_value(struct rbldnsd *reader, const char *text,
		       const struct dnsblv6_value *fallback, uint32_t *ret_number,
		       const char **ret_fault);
/* An entry of a trie, where the first of equal prefixes counts. */
int rbldnsd_add_once(struct rbldnsd *reader, struct dnsblv6_prefix prefix, uint32_t value);

/* An entry of a dnset, a line of a generic dataset, a line of an acl. */
int rbldnsd_name_read(struct rbldnsd *reader, const char *line);
int rbldnsd_record_read(struct rbldnsd *reader, const char *line);
int rbldnsd_acl_read(struct rbldnsd *reader, const char *line);
int rbldnsd_acl_begin_file(struct rbldnsd *reader);

/* A time or TTL at *at: seconds, or with s, m, h, d or w behind the number. False: it is none. */
bool rbldnsd_take_ttl(const char **at, uint32_t fallback, uint32_t *ret_ttl);

/* line is what stands behind the dollar sign; marked: "#$", ";$" or ":$". */
int rbldnsd_special_read(struct rbldnsd *reader, const char *line, bool is_marked);
