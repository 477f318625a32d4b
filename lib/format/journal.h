/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * journal.h - the bytes of a store's journal: what each change did to the names.
 *
 * Flow: zone-tools/records/recorder.c encodes while a change is made -> lib/store ->
 *       lib/store/history.h decodes for server/ (IXFR) and dnsblv6-zone log.
 *
 * A change is one step from one serial to the next. It has a number, one more
 * than the change before it, and is kept as a header (part 0) and the parts 1, 2, ...,
 * which hold the names that differ, part 1 the apex alone: each with its record (record.h) before
 * and after, and with the name that was and is behind it, because the NSEC at a name follows from
 * that. FORMAT.md part 4.9 has the layouts.
 *
 * Decoders take any bytes: they return DNSBLV6_ERECORD and never read outside
 * what they were given. Views they return are borrowed from the encoded bytes.
 * No function here allocates, locks or logs.
 */

#include "lib/format/key.h"
#include "lib/format/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- keys ---- */

#define DNSBLV6_JOURNAL_KEY_SIZE 12
/* Keys are in the order of numbers, and of the parts of each. Part 0 is the header. */
void dnsblv6_journal_make_key(uint64_t number, uint32_t part, uint8_t *ret_key);
int dnsblv6_journal_parse_key(const uint8_t *key, size_t size, uint64_t *ret_number,
			      uint32_t *ret_part);

/* ---- the header of a change ---- */

enum dnsblv6_change_verb {
	DNSBLV6_CHANGE_BUILD = 1, /* a new version of the lists */
	DNSBLV6_CHANGE_UPDATE = 2,
	DNSBLV6_CHANGE_SIGN = 3,
	DNSBLV6_CHANGE_ROLLBACK = 4, /* to an earlier version */
};

#define DNSBLV6_CHANGE_SIZE 70
struct dnsblv6_change {
	uint32_t from_serial; /* of the version before */
	uint32_t to_serial;
	uint64_t made_s; /* Unix time */
	uint8_t verb;	 /* enum dnsblv6_change_verb */
	/* False: the names are not kept, because they were too many or it is too long ago. */
	bool has_names;
	bool has_undo;		/* there is what undoes it, beside the names; see below */
	uint32_t part_count;	/* parts that follow; 0 without names */
	uint64_t size;		/* bytes of those parts, and of those that undo */
	uint64_t added_count;	/* names */
	uint64_t changed_count; /* names with another record, or another name behind them */
	uint64_t removed_count;
	uint64_t ipv4_count; /* listed addresses in the version after, as in the facts */
	uint64_t ipv6_count;
};

void dnsblv6_change_encode(const struct dnsblv6_change *change, uint8_t *ret_data);
int dnsblv6_change_decode(const uint8_t *data, size_t size, struct dnsblv6_change *ret_change);

/* ---- names ---- */

/* What stands at a name. In a signed zone next is the key of the name behind it, or the apex's. */
struct dnsblv6_name_state {
	const uint8_t *record; /* as in the records table, signatures included */
	uint16_t record_size;  /* 0: there is no such name */
	const uint8_t *next;
	uint16_t next_size; /* 0 without a record, and in an unsigned zone */
};

struct dnsblv6_name_change {
	const uint8_t *key;
	uint16_t key_size;
	struct dnsblv6_name_state before;
	struct dnsblv6_name_state after;
};

/* ret_data has data_max bytes; DNSBLV6_ESPACE when that is too little. */
int dnsblv6_name_change_encode(const struct dnsblv6_name_change *change, uint8_t *ret_data,
			       size_t data_max, size_t *ret_size);
/* Step through the names of a part, as dnsblv6_record_next_rr() does. */
int dnsblv6_name_change_next(const uint8_t *data, size_t size, size_t *offset,
			     struct dnsblv6_name_change *ret_change);

/* ---- what undoes a change ---- */

/*
 * Parts from this one on, without gaps: entries of other tables than the records that the change
 * has written, as they were before. An entry may stand there twice, and is the same then.
 */
#define DNSBLV6_JOURNAL_UNDO_PART 0x80000000u

struct dnsblv6_undo {
	uint8_t table; /* 1: segments, 2: sets, 3: facts */
	bool is_there; /* false: the change has added it, and there is no value */
	const uint8_t *key;
	uint16_t key_size;
	const uint8_t *value;
	uint32_t value_size;
};

/* As those of names. An entry takes the head, its key and its value. */
#define DNSBLV6_UNDO_HEAD_SIZE 8
int dnsblv6_undo_encode(const struct dnsblv6_undo *undo, uint8_t *ret_data, size_t data_max,
			size_t *ret_size);
int dnsblv6_undo_next(const uint8_t *data, size_t size, size_t *offset,
		      struct dnsblv6_undo *ret_undo);

#ifdef __cplusplus
}
#endif
