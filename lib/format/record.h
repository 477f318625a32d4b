/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * record.h - the bytes of a store: records, segments, value sets, zone facts.
 *
 * Flow: zone-tools/chain/builder.c encodes -> lib/store keeps the bytes -> server/
 *       decodes. This file alone knows the layouts; FORMAT.md part 4 has them
 *       as tables. Integers are big-endian and unaligned: everything is read
 *       and written with memcpy, never by a cast of a mapped page.
 *
 * A store has five tables:
 *
 *     records   key of an owner name (key.h)  -> a bitmap, or RRsets
 *     segments  origin, last address          -> first address, value set
 *     sets      value set number              -> values: TTL, A, text
 *     facts     a fixed name                  -> facts about the zone
 *     journal   number of a change            -> what it changed (journal.h)
 *
 * The bitmap zone needs records alone. Segments say what the classic zone of
 * the same list answers where that differs from "bit set: the origin's default
 * values": other values, or not listed (set 0) inside a unit whose bit is set.
 * Segments of one origin never overlap.
 *
 * Decoders take any bytes: they return DNSBLV6_ERECORD and never read outside
 * what they were given. Views they return are borrowed from the encoded bytes.
 * No function here allocates, locks or logs.
 */

#include "lib/format/bitmap.h"
#include "lib/format/key.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DNSBLV6_SCHEMA 3 /* raised whenever a byte below changes its meaning */

/* ---- records ---- */

enum dnsblv6_record_kind {
	DNSBLV6_RECORD_BITMAP = 1,
	DNSBLV6_RECORD_RRSETS = 2,
};

/*
 * A signature of a zone's key, RFC 4034 section 3.1, without what follows from
 * the name and the zone. Both algorithms in use (dnssec.h) make 64 bytes.
 */
#define DNSBLV6_SIGNATURE_BYTES 64
struct dnsblv6_signature {
	uint32_t inception; /* Unix time modulo 2^32 */
	uint32_t expiration;
	uint16_t key_tag;
	uint8_t bytes[DNSBLV6_SIGNATURE_BYTES];
};

/* The signatures at a name: of its AAAA and of its NSEC. */
struct dnsblv6_signatures {
	struct dnsblv6_signature aaaa;
	struct dnsblv6_signature nsec;
};

#define DNSBLV6_BITMAP_RECORD_SIZE	  17
#define DNSBLV6_SIGNED_BITMAP_RECORD_SIZE (17 + 2 * (10 + DNSBLV6_SIGNATURE_BYTES))
/* With the signatures of two algorithms, while one follows the other. */
#define DNSBLV6_TWICE_SIGNED_BITMAP_RECORD_SIZE (17 + 4 * (10 + DNSBLV6_SIGNATURE_BYTES))

/* Every record begins with its kind. DNSBLV6_ERECORD for an unknown one. */
int dnsblv6_record_kind(const uint8_t *data, size_t size);

/* ret_data has DNSBLV6_BITMAP_RECORD_SIZE bytes. */
void dnsblv6_record_encode_bitmap(const struct dnsblv6_bitmap *map, uint8_t *ret_data);
/* Of a signed or an unsigned record. */
int dnsblv6_record_decode_bitmap(const uint8_t *data, size_t size, struct dnsblv6_bitmap *ret_map);

/* ret_data has DNSBLV6_SIGNED_BITMAP_RECORD_SIZE bytes. */
void dnsblv6_record_encode_signed_bitmap(const struct dnsblv6_bitmap *map,
					 const struct dnsblv6_signatures *signatures,
					 uint8_t *ret_data);
/*
 * By two algorithms, that of the lesser number first. ret_data has
 * DNSBLV6_TWICE_SIGNED_BITMAP_RECORD_SIZE bytes.
 */
void dnsblv6_record_encode_twice_signed_bitmap(const struct dnsblv6_bitmap *map,
					       const struct dnsblv6_signatures signatures[2],
					       uint8_t *ret_data);
/* The first ones. DNSBLV6_ENOTFOUND when the record is a bitmap without signatures. */
int dnsblv6_record_decode_signatures(const uint8_t *data, size_t size,
				     struct dnsblv6_signatures *ret_signatures);
/* Those of the other algorithm. DNSBLV6_ENOTFOUND when there are none. */
int dnsblv6_record_decode_other_signatures(const uint8_t *data, size_t size,
					   struct dnsblv6_signatures *ret_signatures);

/* One RR of a static name (SOA, NS, DNSKEY, TXT, glue, and their RRSIGs). RDATA is uncompressed
 * wire form. */
struct dnsblv6_rr {
	uint16_t type;
	uint16_t rdata_size;
	uint32_t ttl; /* seconds; equal in all RRs of one type */
	const uint8_t *rdata;
};

/*
 * RRs of one name, those of one type next to each other. ret_data has data_max
 * bytes; DNSBLV6_ESPACE when that is too little.
 */
int dnsblv6_record_encode_rrs(const struct dnsblv6_rr *rrs, size_t rr_count, uint8_t *ret_data,
			      size_t data_max, size_t *ret_size);
/*
 * Step through them: *offset is 0 before the first call. DNSBLV6_OK with
 * *ret_rr, DNSBLV6_ENOTFOUND behind the last one.
 */
int dnsblv6_record_next_rr(const uint8_t *data, size_t size, size_t *offset,
			   struct dnsblv6_rr *ret_rr);

/* ---- segments ---- */

#define DNSBLV6_SEGMENT_KEY_MAX 19
#define DNSBLV6_SEGMENT_MAX	20
#define DNSBLV6_SET_NONE	0 /* this range is not listed */

struct dnsblv6_segment {
	struct dnsblv6_addr first;
	struct dnsblv6_addr last; /* of the same family as first */
	uint32_t set;		  /* a value set, or DNSBLV6_SET_NONE */
};

/*
 * The key under which the segment that ends at last is kept. The segment that
 * holds an address is the first one at or behind the key made from that
 * address, if it begins at or before the address and is of the same origin
 * and family. Returns the size of the key.
 */
size_t dnsblv6_segment_make_key(uint16_t origin, struct dnsblv6_addr last, uint8_t *ret_key);
/*
 * The origin number of segments that say not what is listed but which clients a store
 * answers: the addresses are those of clients, and a value whose A is 0.0.0.0 has an
 * action as its TTL. Any other value is what the client gets for an answer.
 */
#define DNSBLV6_ORIGIN_ACL 0xffff
enum dnsblv6_acl_action {
	DNSBLV6_ACL_IGNORE = 1,
	DNSBLV6_ACL_REFUSE = 2,
	DNSBLV6_ACL_EMPTY = 3,
	DNSBLV6_ACL_PASS = 4,
};

/* Returns the size of the encoded value. */
size_t dnsblv6_segment_encode(const struct dnsblv6_segment *segment, uint8_t *ret_data);
int dnsblv6_segment_decode(const uint8_t *key, size_t key_size, const uint8_t *data, size_t size,
			   uint16_t *ret_origin, struct dnsblv6_segment *ret_segment);

/* ---- value sets ---- */

#define DNSBLV6_TEXT_MAX       254  /* what rbldnsd puts into a character-string, which holds 255 */
#define DNSBLV6_TEXT_ADDRESS   0x00 /* this byte in a text stands for the listed address */
#define DNSBLV6_SET_KEY_SIZE   4
#define DNSBLV6_SET_VALUES_MAX 255

/* What a classic zone answers for a listed address. */
struct dnsblv6_value {
	uint32_t a;	   /* the A record, host order */
	uint32_t ttl;	   /* seconds */
	uint8_t text_size; /* 0: no TXT record */
	const uint8_t *text;
};

void dnsblv6_set_make_key(uint32_t set, uint8_t *ret_key);
int dnsblv6_set_encode(const struct dnsblv6_value *values, size_t value_count, uint8_t *ret_data,
		       size_t data_max, size_t *ret_size);
/* Step through them as dnsblv6_record_next_rr() does. */
int dnsblv6_set_next(const uint8_t *data, size_t size, size_t *offset,
		     struct dnsblv6_value *ret_value);

/*
 * The text of value for addr, cut at DNSBLV6_TEXT_MAX bytes as rbldnsd does.
 * ret_text has that many bytes and gets no NUL. Returns the size, 0 for no TXT.
 */
size_t dnsblv6_value_expand(const struct dnsblv6_value *value, struct dnsblv6_addr addr,
			    uint8_t *ret_text);

/* ---- facts ---- */

#define DNSBLV6_FACT_SCHEMA	"schema"   /* 4 bytes; the only fact that every version reads */
#define DNSBLV6_FACT_ZONE	"zone"	   /* struct dnsblv6_facts */
#define DNSBLV6_FACT_ORIGIN	"origin"   /* prefix of the keys of struct dnsblv6_origin */
#define DNSBLV6_FACT_SIGNING	"signing"  /* struct dnsblv6_signing, of a signed zone alone */
#define DNSBLV6_FACT_SETTINGS	"settings" /* a row of struct dnsblv6_setting */
#define DNSBLV6_FACT_KEYS	"keys"	   /* zone-tools' text about keys; no server needs it */
#define DNSBLV6_FACT_LISTS	"lists"	   /* when they were written; not in every store */
#define DNSBLV6_FACT_FILES	"files" /* the same of each file, a row of struct dnsblv6_list_file */
#define DNSBLV6_FACTS_MAX	512
#define DNSBLV6_ORIGIN_KEY_SIZE (sizeof(DNSBLV6_FACT_ORIGIN) - 1 + 2)
#define DNSBLV6_ORIGIN_MAX	264

struct dnsblv6_facts {
	struct dnsblv6_labels zone; /* the apex, without the root label */
	uint8_t style;		    /* enum dnsblv6_style */
	uint32_t ttl;		    /* of every bitmap, seconds */
	uint32_t serial;	    /* as in the SOA */
	uint64_t built_s;	    /* Unix time of the last change */
	uint64_t expires_s;	    /* from then on the data must not be served; 0: never */
	uint64_t record_count;	    /* in the records table */
	uint64_t block_count;	    /* /25s and /57s with a listed unit, test points apart */
	uint64_t ipv4_count;	    /* listed IPv4 addresses, test points apart */
	uint64_t ipv6_count;	    /* listed /64s, test points apart */
	uint64_t name_count; /* domain names of lists in the records table, test points apart */
};

/* How the zone is signed. */
struct dnsblv6_signing {
	uint8_t algorithm;	 /* DNSSEC algorithm number */
	uint64_t expires_s;	 /* when the first signature ends, Unix time */
	uint8_t other_algorithm; /* with a greater number, which signs everything as well; 0: none */
};

/* An option of dnsblv6-zone that the store remembers, such as "ttl" and "600". No server needs it.
 */
#define DNSBLV6_SETTING_HEAD_SIZE 3 /* sizes of name and value */
struct dnsblv6_setting {
	uint8_t name_size;
	uint16_t value_size;
	const uint8_t *name;
	const uint8_t *value;
};

/* A list inside the zone: origin 0 is the apex, others are sub-zones. */
struct dnsblv6_origin {
	struct dnsblv6_labels name; /* relative to the apex */
	uint32_t default_set;	    /* values of a set bit outside every segment */
};

/* Returns the size of the encoded value; ret_data has DNSBLV6_FACTS_MAX bytes. */
size_t dnsblv6_facts_encode(const struct dnsblv6_facts *facts, uint8_t *ret_data);
int dnsblv6_facts_decode(const uint8_t *data, size_t size, struct dnsblv6_facts *ret_facts);

/* Returns the size of the encoded value; ret_data has DNSBLV6_SIGNING_MAX bytes. */
#define DNSBLV6_SIGNING_MAX 10
size_t dnsblv6_signing_encode(const struct dnsblv6_signing *signing, uint8_t *ret_data);
int dnsblv6_signing_decode(const uint8_t *data, size_t size, struct dnsblv6_signing *ret_signing);

/* The Unix time, which is not 0, at which the newest file of the lists was written. */
#define DNSBLV6_LISTS_SIZE 8
void dnsblv6_lists_encode(uint64_t written_s, uint8_t *ret_data);
int dnsblv6_lists_decode(const uint8_t *data, size_t size, uint64_t *ret_written_s);

/* A file of the lists. The oldest is the first of the row, which has DNSBLV6_LIST_FILES_MAX bytes at most. */
#define DNSBLV6_LIST_FILES_MAX	    2048
#define DNSBLV6_LIST_FILE_HEAD_SIZE 9 /* time, and size of the name */
struct dnsblv6_list_file {
	uint64_t written_s;  /* Unix time, not 0 */
	uint8_t name_size;   /* not 0 */
	const uint8_t *name; /* without a directory; blanks and visible characters of ASCII */
};

/* Returns the size; ret_data has DNSBLV6_LIST_FILE_HEAD_SIZE bytes more than the name. */
size_t dnsblv6_list_file_encode(const struct dnsblv6_list_file *file, uint8_t *ret_data);
/* Step through them as dnsblv6_record_next_rr() does. */
int dnsblv6_list_file_next(const uint8_t *data, size_t size, size_t *offset,
			   struct dnsblv6_list_file *ret_file);

/* Returns the size; ret_data has DNSBLV6_SETTING_HEAD_SIZE bytes more than name and value. */
size_t dnsblv6_setting_encode(const struct dnsblv6_setting *setting, uint8_t *ret_data);
/* Step through them as dnsblv6_record_next_rr() does. */
int dnsblv6_setting_next(const uint8_t *data, size_t size, size_t *offset,
			 struct dnsblv6_setting *ret_setting);

void dnsblv6_origin_make_key(uint16_t origin, uint8_t *ret_key);
int dnsblv6_origin_parse_key(const uint8_t *key, size_t key_size, uint16_t *ret_origin);
/* Returns the size of the encoded value; ret_data has DNSBLV6_ORIGIN_MAX bytes. */
size_t dnsblv6_origin_encode(const struct dnsblv6_origin *origin, uint8_t *ret_data);
int dnsblv6_origin_decode(const uint8_t *data, size_t size, struct dnsblv6_origin *ret_origin);

#ifdef __cplusplus
}
#endif
