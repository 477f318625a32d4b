/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * layout.h - what the program in the network driver and the process that fills its maps agree on.
 *
 * Flow: fill.c writes a version of a zone as lines -> tables.c switches to it -> the program
 *       (answer.bpf.c) finds a name in them and makes the answer.
 *
 * All maps but one are arrays that the filler has mapped, so that it needs no system call to change them:
 *
 *     config    one struct xdp_config
 *     zones     XDP_ZONES_MAX of struct xdp_zone
 *     lines     as many of struct xdp_line as the configuration permits; a version has a run of them
 *     counts    for each processor XDP_ZONES_MAX + 1 of struct xdp_counts
 *     buckets   networks and what is left of their rate limit: the program's alone
 *
 * A run of lines, from first_line of its version:
 *
 *     buckets    bucket_count, a power of two, of struct xdp_bucket: where a name is, by its hash
 *     links      link_count x the stride: all names with data in canonical order, so each is linked
 *                to the next, and the last to the first, which is the apex
 *     empties    empty_count: names without data that have something below them, in any order
 *     orders     of a signed version, whose links are searched by halves: the first word of the key
 *                of each link, XDP_ORDER_LINKS to a line
 *     hosts      hosts_count: names of IPv4 blocks once more, by their number; four bytes for each
 *                listed host, so that a core keeps them all in its cache
 *
 * A version is never changed while it is current. The program remembers changes of the zone and of
 * the config when it begins; an answer for which they have moved when it is made is dropped, not
 * sent: so none is of a mixture, however long a processor stood still. For that the filler writes
 * in this order, with a full barrier between each two: the lines and the version that is not
 * current, then current, then changes; only then may lines of the version before be written again.
 * To take everything away it sets until_ns to 0, and then moves changes.
 *
 * Numbers are in the order of the machine, and bytes of DNS in that of the network. This file is
 * compiled for BPF too: no pointers, no padding that is not named. Whatever the filler writes, the
 * program stays within its own memory; what it answers is as good as what is written.
 */

#include <stdint.h>

#define XDP_ZONES_MAX	    32
#define XDP_FACES_MAX	    32
#define XDP_ADDRESSES_MAX   32
#define XDP_LINKS_MAX	    8 /* network interfaces */
#define XDP_PREFIXES_MAX    16
#define XDP_SECRETS_MAX	    4
#define XDP_APEX_MAX	    64 /* with the root label */
#define XDP_KEY_WORDS	    5
#define XDP_KEY_MAX	    40 /* bytes of a key: as many are kept and compared */
#define XDP_ASKED_KEY_MAX   39 /* so that what a longer key begins with decides its order */
#define XDP_NAME_MAX	    34 /* labels of a name that can be put into an answer, without the root */
#define XDP_TYPES_MAX	    10 /* of the type bit maps of an NSEC */
#define XDP_SOA_MAX	    384
#define XDP_SOA_POINTERS    4
#define XDP_BUCKET_SLOTS    8
#define XDP_PROBES_MAX	    4 /* buckets that a name may be in, one behind the other */
#define XDP_UNSIGNED_STRIDE 1
#define XDP_SIGNED_STRIDE   4
#define XDP_LINE_SIZE	    64
#define XDP_ORDER_LINKS	    8
#define XDP_HOSTS_SLOTS	    16
#define XDP_HOSTS_TAKEN	    9	/* of these on average: one line in forty or so is full */
#define XDP_HOSTS_OF_NAME   4	/* slots of a name at most */
#define XDP_HOSTS_MIN	    8	/* lines, so that a tag says which of a line's names it is */
#define XDP_HOSTS_ELSEWHERE 128 /* for a host, of which there are 128 */
#define XDP_HOSTS_MANY	    129 /* the next slot is XDP_HOSTS_WHERE and the line of a bitmap */
#define XDP_HOSTS_WHERE	    0xc0000000U /* more than any tag, and than a line of a version */
#define XDP_HOSTS_FULL	    UINT32_MAX	/* the last slot of a line from which names are missing */

/* ---- lines ---- */

enum xdp_kind {
	XDP_KIND_BITMAP = 1,
	XDP_KIND_OTHER, /* data that is no bitmap: questions for it go on to the sockets */
	XDP_KIND_EMPTY, /* no data; of empties alone */
};

/* What cannot be said of a name here: a question that needs it goes on. */
enum {
	XDP_NAME_LONG = 1,  /* name is not kept */
	XDP_NSEC_OTHER = 2, /* signatures or types of its NSEC are not as expected */
};

/*
 * The first line of a link, and the only one of an empty. The key is that of key.h, its first byte
 * the most significant of a word, zeros behind it; that of the apex is 0, of no size. A name whose
 * key is longer than XDP_ASKED_KEY_MAX has no slot in the buckets: no question is for it.
 */
struct xdp_name {
	uint64_t key[XDP_KEY_WORDS];
	union {
		uint8_t bitmap[16];
		uint32_t before; /* of an empty of a signed zone: which link is before it */
	} u;
	uint16_t key_size; /* of all of the key */
	uint8_t kind;
	uint8_t flags;
	uint8_t rrsig_labels; /* RFC 4034 section 3.1.3: with the apex's, without a leading "*" */
	uint8_t name_size;    /* of the labels, relative to the apex, without the root */
	uint8_t types_size;
	uint8_t pad;
};

struct xdp_signature {
	uint8_t bytes[64];
};

/*
 * The last line of a signed link. Times are expiration, inception and key tag, as on the wire. The
 * name is as it is on the wire, without the apex and the root.
 */
struct xdp_signed {
	uint8_t aaaa_times[10];
	uint8_t nsec_times[10];
	uint8_t name[XDP_NAME_MAX];
	uint8_t types[XDP_TYPES_MAX]; /* as the NSEC has them, behind the next name */
};

/* Lines of a signed link, by their place in it. */
enum { XDP_LINE_NAME, XDP_LINE_AAAA, XDP_LINE_NSEC, XDP_LINE_SIGNED };

/*
 * A name in a bucket, which is filled from its first slot on: behind a free one is nothing, and nothing
 * in the next bucket for this hash. Behind the last bucket is the first.
 */
struct xdp_slot {
	uint32_t tag;	/* the upper half of xdp_hash() */
	uint32_t where; /* a line behind first_line; 0, where a bucket is: the slot is free */
};

struct xdp_bucket {
	struct xdp_slot slots[XDP_BUCKET_SLOTS];
};

/*
 * Of a name of an IPv4 block each listed host; of one with many of them where its line is; of one that is no
 * bitmap, or may be below a wildcard, XDP_HOSTS_ELSEWHERE. 0: free.
 */
struct xdp_hosts {
	uint32_t slots[XDP_HOSTS_SLOTS]; /* xdp_hosts_tag() and a host */
};

/* A search reads a few of these, and the links themselves only where words are the same. */
struct xdp_order {
	uint64_t first[XDP_ORDER_LINKS];
};

struct xdp_line {
	union {
		struct xdp_name name;
		struct xdp_signature signature;
		struct xdp_signed rest;
		struct xdp_bucket bucket;
		struct xdp_order order;
		struct xdp_hosts hosts;
		uint64_t words[XDP_LINE_SIZE / 8];
	} u;
};

/* Of a key of XDP_KEY_WORDS. The bucket to begin at is hash & (bucket_count - 1). */
static inline uint64_t xdp_hash(const uint64_t *key)
{
	uint64_t hash = 0x9e3779b97f4a7c15;
	for (int i = 0; i < XDP_KEY_WORDS; i++) {
		hash = (hash ^ key[i]) * 0xff51afd7ed558ccd;
		hash ^= hash >> 32;
	}
	return hash;
}

/* ---- hosts ---- */

#define XDP_HOSTS_BITS 26
#define XDP_HOSTS_HALF 2 /* between the numbers of two halves */

/* Of a dotted or flat name of IPv4: the /24, in the order of the machine, and which half of it. */
static inline uint32_t xdp_hosts_number(uint32_t network, uint32_t half, int is_flat)
{
	return network << 2 | half * XDP_HOSTS_HALF | (uint32_t)(is_flat != 0);
}

/* Another number for each number, far apart for neighbours. */
static inline uint32_t xdp_hosts_mix(uint32_t number)
{
	return number * 0x9e3779b1U & ((1U << XDP_HOSTS_BITS) - 1);
}

static inline uint32_t xdp_hosts_line(uint32_t mixed, uint32_t line_count)
{
	return (uint32_t)((uint64_t)mixed * line_count >> XDP_HOSTS_BITS);
}

/* No other name of the same line has it. Never 0. */
static inline uint32_t xdp_hosts_tag(uint32_t mixed)
{
	return ((mixed & ((1U << (XDP_HOSTS_BITS - 3)) - 1)) + 1) << 8;
}

/* ---- zones ---- */

enum {
	XDP_ZONE_SIGNED = 1,
	XDP_ZONE_WILDCARDS = 2, /* there are some, so an encloser has to be asked for its own */
	/* Denials with DO may have more in them: they go on to the sockets. */
	XDP_ZONE_NEIGHBOURS = 4,
	XDP_ZONE_WIDE = 8, /* names without hosts may be below a wildcard wider than a /24 */
};

struct xdp_version {
	uint32_t first_line;
	uint32_t bucket_count;
	uint32_t link_count;
	uint32_t empty_count;
	uint32_t ttl;
	uint32_t negative_ttl;
	uint32_t flags;
	uint32_t first_hosts; /* the first of hosts_count lines, behind first_line */
	uint32_t hosts_count;
	uint16_t soa_size;	  /* of the SOA alone, with its owner, a pointer */
	uint16_t soa_signed_size; /* with its RRSIG behind it; soa_size when it has none */
	/* Where in soa pointers to the apex belong; 0xffff: none. */
	uint16_t soa_pointers[XDP_SOA_POINTERS];
	uint8_t algorithm;
	uint8_t apex_size;
	uint8_t pad;
	uint8_t wildcard_depths;    /* a bit for each count of their labels; the last: 8 and more */
	uint8_t apex[XDP_APEX_MAX]; /* lower case, with the root label */
	uint8_t soa[XDP_SOA_MAX];   /* the RRs as answers have them */
};

struct xdp_zone {
	uint64_t changes; /* moves when current does, and when what is current is taken away */
	/* Of CLOCK_MONOTONIC: from then on questions go on; 0: nothing is here. */
	uint64_t until_ns;
	uint32_t current; /* 0 or 1 */
	uint32_t pad;
	struct xdp_version versions[2];
};

/* ---- config ---- */

/* Of all names that the server answers under, the longest first. */
struct xdp_face {
	uint8_t apex[XDP_APEX_MAX]; /* lower case, with the root label, zeros behind */
	uint16_t zone;		    /* XDP_ZONES_MAX: questions go on to the sockets */
	uint8_t apex_size;
	uint8_t pad[5];
};

struct xdp_address {
	uint8_t bytes[16]; /* IPv4: the last four, behind ::ffff:0:0/96 */
	uint16_t port;	   /* big-endian */
	uint8_t pad[6];
};

struct xdp_link {
	uint32_t index; /* of the network interface */
	uint32_t mtu;
	uint8_t mac[6];
	uint8_t pad[2];
};

struct xdp_prefix {
	uint64_t bits[2]; /* of the address, IPv4 as above, most significant first */
	uint64_t mask[2];
};

struct xdp_config {
	uint64_t changes;  /* moves when anything here does, but the next two */
	uint64_t until_ns; /* as a zone's: the lease that the filler renews */
	uint32_t now_s;	   /* Unix time, for cookies */
	uint16_t payload;  /* ours, for the OPT, and the largest answer */
	uint8_t has_cookies;
	uint8_t pad;
	uint32_t slip; /* every so many of those over the limit gets a truncated answer; 0: none */
	uint32_t face_count;
	uint64_t interval_ns; /* between two answers to a network at the rate; 0: no limit */
	uint64_t burst_ns;    /* what of it may come at once */
	uint32_t address_count;
	uint32_t link_count;
	uint32_t prefix_count; /* more than XDP_PREFIXES_MAX: what is over the limit goes on */
	uint32_t secret_count;
	uint8_t secrets[XDP_SECRETS_MAX][16];
	struct xdp_face faces[XDP_FACES_MAX];
	struct xdp_address addresses[XDP_ADDRESSES_MAX];
	struct xdp_link links[XDP_LINKS_MAX];
	struct xdp_prefix prefixes[XDP_PREFIXES_MAX]; /* of clients without a limit */
};

/* ---- counts ---- */

/* One line for each zone, and a last one for what has no zone. */
struct xdp_counts {
	uint64_t queries; /* answered: what is over the limit is in the last line alone */
	uint64_t noerror;
	uint64_t nodata;
	uint64_t nxdomain;
	uint64_t truncated;
	uint64_t dnssec;  /* answers with signatures */
	uint64_t cookies; /* answers to good ones */
	uint64_t bytes;
};

/* The same line behind the last zone. */
struct xdp_other_counts {
	uint64_t passed; /* to the sockets, of packets to our addresses */
	uint64_t limited_truncated;
	uint64_t limited_dropped;
	uint64_t changed; /* dropped, because a version was switched meanwhile */
	uint64_t no_room; /* passed, because the packet could not grow */
	uint64_t cookies_bad;
	uint64_t limited_badcookie; /* told to come back with the cookie in there */
	uint64_t pad;
};

/* Of the map buckets, whose key is the number of a network (lib/dns/peer.h). */
struct xdp_bucket_value {
	uint64_t until_ns; /* when the network will have paid for all it got */
	uint64_t limited;  /* how many were over the limit in a row */
};
