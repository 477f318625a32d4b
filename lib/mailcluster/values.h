/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * values.h - the bytes of rows of a cluster's store.
 *
 * Flow: every other file here -> here. This file alone knows these bytes.
 *
 * Numbers are big-endian; the first byte of each value is VALUES_VERSION. Decoders take any bytes, and
 * accept exactly what the encoders make: false else. Pure functions on plain values.
 *
 *     nodes n.NAME     slot (2), incarnation (8), beat (8), limit (8), time (8), oldest lock (8)
 *     nodes s.NNNN     the node's name
 *     b.N owner        state (1), slot (2), attempt (8): which delivery made the mail, and its fate
 *     b.N x.MAILBOX    nothing else: the mailbox has the mail, or is to get it
 *     x.B m.N          id (16), octets (8), wire size (8), text size (8), time (8), recipients (4)
 *     x.B t.N          why (1), time (8)
 *     x.B lock         slot (2), incarnation (8), number (8)
 *     d.H MAILBOX      nothing else
 *     j.NODE.Q N       incarnation (8), attempt (8)
 *     u now            version (8), number (8), size (8), SHA-256 (32), time (8)
 */

#include "lib/mailstore/mailindex.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VALUES_VERSION	   1
#define VALUES_MAX	   128 /* more than the largest */
#define VALUES_DIGEST_SIZE 32

/* What a mark is that says no more than that its row is there. */
#define VALUES_MARK	 "\1"
#define VALUES_MARK_SIZE 1

struct nodevalue {
	uint16_t slot;
	uint8_t incarnation[8];
	uint64_t beat;
	uint64_t limit;	      /* no number of a mail is above it: microseconds, without the slot */
	uint64_t time_us;     /* the machine's clock at the beat */
	uint64_t oldest_lock; /* locks with smaller numbers are void */
};
#define NODEVALUE_SIZE 43
void nodevalue_encode(const struct nodevalue *value, uint8_t *out);
bool nodevalue_decode(const uint8_t *bytes, size_t size, struct nodevalue *ret_value);

enum ownervalue_state {
	OWNERVALUE_NEW = 1,	/* the delivery that made it may take it back */
	OWNERVALUE_KEPT = 2,	/* it may not any more: the mail is rolled forward */
	OWNERVALUE_REFUSED = 3, /* it is taken back, and its id is never accepted again */
};
struct ownervalue {
	uint8_t state;
	uint16_t slot; /* of the machine with the journal */
	uint64_t attempt;
};
#define OWNERVALUE_SIZE 12
void ownervalue_encode(const struct ownervalue *value, uint8_t *out);
bool ownervalue_decode(const uint8_t *bytes, size_t size, struct ownervalue *ret_value);

/* The mail's number is in the key. */
struct entryvalue {
	struct mailentry entry;
	uint32_t recipients;
};
#define ENTRYVALUE_SIZE 53
void entryvalue_encode(const struct entryvalue *value, uint8_t *out);
bool entryvalue_decode(const uint8_t *bytes, size_t size, struct entryvalue *ret_value);

enum gonevalue_why {
	GONEVALUE_ERASED = 1,
	GONEVALUE_REFUSED = 2, /* the mail was never acknowledged */
};
struct gonevalue {
	uint8_t why;
	uint64_t time_us;
};
#define GONEVALUE_SIZE 10
void gonevalue_encode(const struct gonevalue *value, uint8_t *out);
bool gonevalue_decode(const uint8_t *bytes, size_t size, struct gonevalue *ret_value);

struct lockvalue {
	uint16_t slot;
	uint8_t incarnation[8];
	uint64_t number; /* counts the locks of an incarnation */
};
#define LOCKVALUE_SIZE 19
void lockvalue_encode(const struct lockvalue *value, uint8_t *out);
bool lockvalue_decode(const uint8_t *bytes, size_t size, struct lockvalue *ret_value);

struct journalvalue {
	uint8_t incarnation[8];
	uint64_t attempt;
};
#define JOURNALVALUE_SIZE 17
void journalvalue_encode(const struct journalvalue *value, uint8_t *out);

struct usersvalue {
	uint64_t version;
	uint64_t number; /* of the object with the bytes */
	uint64_t size;
	uint8_t digest[VALUES_DIGEST_SIZE];
	uint64_t time_us;
};
#define USERSVALUE_SIZE 65
void usersvalue_encode(const struct usersvalue *value, uint8_t *out);
bool usersvalue_decode(const uint8_t *bytes, size_t size, struct usersvalue *ret_value);

#ifdef __cplusplus
}
#endif
