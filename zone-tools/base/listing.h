/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * listing.h - what list files say, before it is resolved.
 *
 * Flow: plain.c and rbldnsd.c add entries -> resolve.c cuts them into
 *       pieces -> plan.c -> builder.c writes the store.
 *
 * A listing is a set of datasets and of origins (the apex and sub-zones). A
 * dataset is what one "type:file,file" of the command line, one plain file,
 * or one $DATASET of a combined file gave; an address gets the values of every
 * dataset connected to its origin. Inside a dataset the longest prefix that
 * holds an address decides (resolve.h). A dataset may list domain names instead
 * (names.h). That of origin DNSBLV6_ORIGIN_ACL lists clients.
 *
 * Memory: a listing owns everything it is given; listing_deinit() takes a
 * zeroed or half-filled one. Functions return DNSBLV6_OK or -ENOMEM.
 */

#include "zone-tools/base/findings.h"
#include "zone-tools/base/listages.h"
#include "zone-tools/base/prefixes.h"

#include "lib/format/record.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values: what a listed address is answered with ---- */

#define LISTING_A_DEFAULT   0x7f000002u /* 127.0.0.2, as rbldnsd and RFC 5782 */
#define LISTING_TTL_DEFAULT 2100u	/* 35 minutes, as rbldnsd */

struct text_chunk; /* memory of texts and names, in few pieces */

/* Distinct values, numbered from 0 in the order they came. */
struct value_pool {
	struct dnsblv6_value *values; /* text points into memory of the pool */
	size_t count;
	size_t capacity;
	uint32_t *slots; /* hash table of value numbers + 1 */
	size_t slot_count;
	struct text_chunk *chunks;
};

/*
 * Finds or adds; text is copied and stays where it is until deinit.
 * value->text as dnsblv6_value_expand() reads it.
 */
int value_pool_add(struct value_pool *pool, const struct dnsblv6_value *value,
		   uint32_t *ret_number);
void value_pool_deinit(struct value_pool *pool);

/* ---- datasets ---- */

#define ENTRY_EXCLUDED UINT32_MAX /* as value: "!prefix" */

struct entry {
	struct dnsblv6_addr first; /* of a prefix, host bits zero */
	uint32_t value;		   /* number in the pool, or ENTRY_EXCLUDED */
	uint8_t prefix_len;	   /* in the mapped space, 0 to 128 */
};

/* What counts when a dataset names the same prefix more than once. */
enum duplicate_policy {
	DUPLICATE_FIRST, /* the first entry; later ones are ignored (tries and tsets) */
	DUPLICATE_ALL,	 /* every value, unless one is an exclusion (ip4set, plain lists) */
};

/* Which names an entry speaks of; ".example" is both. */
enum { NAME_ITSELF = 1, NAME_BELOW = 2 };

/* A domain name of a list, or with is_record an RR at one. */
struct name_entry {
	const uint8_t *key; /* of the name relative to the origin (lib/format/key.h) */
	uint32_t value;	    /* number in the pool, ENTRY_EXCLUDED; or of a record */
	uint16_t key_size;
	uint8_t reach; /* NAME_ITSELF, NAME_BELOW or both */
	bool is_record;
};

struct dataset {
	enum duplicate_policy policy;
	struct name_entry *names; /* in the order of the file */
	size_t name_count;
	size_t name_capacity;
	struct prefixes ipv4;  /* values by prefix */
	struct entry *entries; /* IPv6; of a trie that is being read, all */
	size_t entry_count;
	size_t entry_capacity;
	bool is_sorted; /* the entries: see dataset_sort() */
	bool has_exclusions;
	uint16_t *origins; /* the origins it belongs to */
	size_t origin_count;
	const char *list; /* as the operator named it, borrowed; or NULL */
};

int dataset_add_entry(struct dataset *dataset, struct dnsblv6_prefix prefix, uint32_t value);
/* Whatever its family, among the entries: a trie looks them up. dataset_settle() behind the last. */
int dataset_add_loose(struct dataset *dataset, struct dnsblv6_prefix prefix, uint32_t value);
int dataset_settle(struct dataset *dataset);
/* Value n becomes values[n], but for exclusions. */
void dataset_revalue(struct dataset *dataset, const uint32_t *values);
/* The range as its fewest prefixes. Both ends of one family, first <= last. */
int dataset_add_range(struct dataset *dataset, struct dnsblv6_addr first, struct dnsblv6_addr last,
		      uint32_t value);

/*
 * Sorts what is listed in a part of the address space, a /8 of IPv4 or all of IPv6: by first address, wide
 * before narrow, then as in the file.
 */
enum { DATASET_PART_IPV6 = PREFIXES_PARTS, DATASET_PARTS };
int dataset_sort(struct dataset *dataset, unsigned part);

/* All entries, or those of one part. An IPv4 prefix wider than a part is in all that it reaches. */
struct dataset_walk {
	const struct dataset *dataset;
	struct prefixes_walk ipv4;
	size_t index; /* of the entries */
	unsigned part_end;
};
struct dataset_walk dataset_walk_part(const struct dataset *dataset, unsigned part);
/* Each prefix once: IPv4 by part, in the order of the file, then IPv6. */
struct dataset_walk dataset_walk_all(const struct dataset *dataset);
bool dataset_next(struct dataset_walk *walk, struct entry *ret_entry);

/* Names, RDATA and other bytes, 16384 at most, are copied into memory of the listing. */
struct listing;
int dataset_add_name(struct listing *listing, size_t dataset, const struct dnsblv6_labels *name,
		     uint8_t reach, uint32_t value);
int listing_keep(struct listing *listing, const void *bytes, size_t size,
		 const uint8_t **ret_bytes);
int dataset_add_record(struct listing *listing, size_t dataset, const struct dnsblv6_labels *name,
		       const struct dnsblv6_rr *rr);

/* ---- the whole ---- */

#define LISTING_ORIGINS_MAX 4096 /* sub-zones of one zone; origin numbers are 16 bits */
#define LISTING_NS_MAX	    32	 /* rbldnsd's limit */

/* What rbldnsd files say about the zone itself; the command line overrides it. */
struct zone_lines {
	bool has_soa;
	uint32_t soa_ttl;  /* 0: the zone's TTL */
	char *soa_primary; /* owned, presentation form */
	char *soa_mailbox;
	uint32_t soa_serial; /* 0: choose one */
	uint32_t soa_refresh, soa_retry, soa_expire, soa_minimum;
	uint32_t ns_ttl;	  /* 0: the zone's TTL */
	char *ns[LISTING_NS_MAX]; /* owned */
	size_t ns_count;
	uint64_t expires_s; /* $TIMESTAMP; 0: never */
};

/* Which datasets belong to an origin, by their numbers, in the order of the lists. */
struct connected {
	uint32_t *datasets;
	size_t count;
	size_t capacity;
};

struct listing {
	struct value_pool pool;
	struct dnsblv6_rr *records; /* of names, RDATA in the chunks */
	size_t record_count;
	size_t record_capacity;
	struct text_chunk *chunks; /* of names */
	bool has_acl;		   /* a dataset of origin DNSBLV6_ORIGIN_ACL */
	struct dataset *datasets;
	size_t dataset_count;
	struct dnsblv6_labels *origins; /* [0] is the apex */
	size_t origin_count;
	struct connected *connected; /* of each origin */
	struct connected clients;    /* of DNSBLV6_ORIGIN_ACL */
	struct dataset excepted;     /* what no origin lists, whatever its datasets say */
	struct zone_lines zone;
	uint64_t line_count;   /* lines read from all files */
	uint64_t written_s;    /* when the newest of these was written, Unix time; 0: unknown */
	struct listages ages;  /* each of these files for itself */
	uint64_t empty_files;  /* that were refused: others of their list are not empty */
	bool has_unterminated; /* the last line of a file lacks its line feed */
	/* The first line that lists a test point which must be clear; its list does not exclude it. */
	struct findings_place clear_point;
	char clear_point_file[PATH_MAX];
};

int listing_init(struct listing *listing);
void listing_deinit(struct listing *listing);

/* *ret_dataset is borrowed until the next call; it belongs to no origin yet. */
int listing_add_dataset(struct listing *listing, enum duplicate_policy policy,
			struct dataset **ret_dataset);
/* Finds or adds. name is relative to the apex. -E2BIG above LISTING_ORIGINS_MAX. */
int listing_add_origin(struct listing *listing, const struct dnsblv6_labels *name,
		       uint16_t *ret_origin);
/* The last dataset of the listing belongs to that origin, or does already. */
int listing_connect(struct listing *listing, uint16_t origin);
/* Borrowed until the next call that adds. */
const struct connected *listing_connected(const struct listing *listing, uint16_t origin);

#ifdef __cplusplus
}
#endif
