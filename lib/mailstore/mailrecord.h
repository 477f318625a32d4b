/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * mailrecord.h - the bytes of the log: segments, records, the store's identity.
 *
 * Flow: maillog.c writes and finds them, mailindex.c reads what they say. MAILSTORE.md parts 2 to 4
 *       have the layouts.
 *
 * Decoders take any bytes, and never read outside what they were given. What they return is borrowed
 * from it. No function here allocates or does I/O; safe from any thread.
 */

#include "lib/format/bytes.h"
#include "lib/mailstore/mailid.h"
#include "lib/mailstore/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAILSTORE_SCHEMA 1

#define MAILBOX_NAME_MAX    255
#define MAIL_RECIPIENTS_MAX 10000
#define MAIL_SENDER_MAX	    65535
#define MAIL_GENERATIONS    3

/* CRC-32C (RFC 3720, 12.1) of bytes behind others whose CRC is crc; 0 to begin with. */
uint32_t mailrecord_crc(uint32_t crc, const void *bytes, size_t size);

/* ---- the identity of a store: object 0 ---- */

#define MAILIDENTITY_OBJECT 0
#define MAILIDENTITY_SIZE   64
struct mailidentity {
	uint8_t store[16]; /* random: index and segments name it */
	uint8_t key[MAILID_KEY_SIZE];
	uint64_t segment_size; /* a segment that is longer gets no further record */
};
/* out has MAILIDENTITY_SIZE bytes. */
void mailidentity_encode(const struct mailidentity *identity, uint8_t *out);
/* MAILSTORE_ENOTSTORE, MAILSTORE_ESCHEMA. */
int mailidentity_decode(const uint8_t *bytes, size_t size, struct mailidentity *ret_identity);

/* ---- the head of a segment ---- */

#define MAILSEGMENT_HEAD_SIZE 64
struct mailsegment_head {
	uint8_t store[16];
	uint64_t number;
	uint64_t
		id; /* random, so that another one with this number is told; 0 of one made before there were any */
	uint8_t generation;
};
void mailsegment_encode(const struct mailsegment_head *head, uint8_t *out);
/* MAILSTORE_EDAMAGED, MAILSTORE_ESCHEMA. */
int mailsegment_decode(const uint8_t *bytes, size_t size, struct mailsegment_head *ret_head);

/* ---- records ---- */

#define MAILRECORD_HEAD_SIZE 104
#define MAILRECORD_ALIGN     8
#define MAILRECORD_META_MAX  (8U << 20)
/* Behind each body, so that one sendfile() is a whole answer to RETR. */
#define MAILRECORD_END	    ".\r\n"
#define MAILRECORD_END_SIZE 3

enum mailrecord_type {
	MAILRECORD_MAIL = 1,
	MAILRECORD_COPY = 2,   /* of a mail, for those that still have it: made by collection */
	MAILRECORD_DELETE = 3, /* mails that one mailbox has no more */
};

struct mailrecord {
	uint8_t type;  /* enum mailrecord_type */
	uint8_t lines; /* of mailbody.h */
	uint64_t size; /* all of it, a multiple of MAILRECORD_ALIGN */
	uint64_t lsn;  /* its place in the order of all records: one more than the one before */
	uint64_t
		mail; /* the mail's number: the lsn of its MAILRECORD_MAIL; 0 of MAILRECORD_DELETE */
	/* All bytes of its segment before this place were on disk when it was written. */
	uint64_t synced;
	uint64_t time_us; /* when it was delivered or deleted: microseconds of Unix time */
	struct mailid id;
	uint64_t wire_size; /* the body's, without MAILRECORD_END */
	uint64_t octets;    /* the same without the dots that were added */
	uint64_t text_size; /* as it was delivered */
	uint32_t meta_size;
	uint32_t body_crc;
};

/* Where in a record the body begins, which comes behind the meta. */
uint64_t mailrecord_body_at(const struct mailrecord *record);
/* The size of a record with that meta and body; of MAILRECORD_DELETE, which has none, too. */
uint64_t mailrecord_size(uint8_t type, size_t meta_size, uint64_t wire_size);

/*
 * What the checksum of a record begins with: the store's key and the record's place. A record that
 * stands elsewhere is none, and a mail whose text has the bytes of a record neither.
 */
uint32_t mailrecord_seed(const struct mailidentity *identity, uint64_t segment, uint64_t at);

/* out has MAILRECORD_HEAD_SIZE bytes. The checksum is over head and meta. */
void mailrecord_encode(const struct mailrecord *record, const uint8_t *meta, uint32_t seed,
		       uint8_t *out);
/* MAILSTORE_EDAMAGED when it is no head, or says what cannot be. The checksum is not looked at. */
int mailrecord_decode(const uint8_t *head, struct mailrecord *ret_record);
/* MAILSTORE_EDAMAGED when head and meta, as they were read, do not have their checksum. */
int mailrecord_check(const uint8_t *head, const uint8_t *meta, size_t meta_size, uint32_t seed);

/* ---- the meta of a mail: envelope, recipients, how its lines ended ---- */

struct mailname {
	const uint8_t *bytes;
	size_t size;
};

/* Is it a mailbox's name: 1 to MAILBOX_NAME_MAX bytes, none of them NUL? */
bool mailname_is_valid(struct mailname name);
/* Of two struct mailname, for qsort() and bsearch(): in the order of their bytes, a shorter one first. */
int mailname_compare(const void *one, const void *other);
/* Puts them in that order, each once; how many are left. */
size_t mailname_sort(struct mailname *names, size_t count);

struct mailmeta {
	struct mailname sender; /* the reverse-path, without brackets; empty of a bounce */
	uint32_t recipient_count;
	struct bytes_input recipients; /* for mailmeta_next() */
	struct bytes_input exceptions; /* of mailbody.h */
};

/* Size of what mailmeta_encode() writes. */
size_t mailmeta_size(struct mailname sender, const struct mailname *recipients, size_t count,
		     size_t exceptions_size);
void mailmeta_encode(struct mailname sender, const struct mailname *recipients, size_t count,
		     const uint8_t *exceptions, size_t exceptions_size, uint8_t *out);
/* Checks all of it. MAILSTORE_EDAMAGED. */
int mailmeta_decode(const uint8_t *meta, size_t size, struct mailmeta *ret_meta);
/* The next recipient; false behind the last. */
bool mailmeta_next(struct mailmeta *meta, struct mailname *ret_name);

/* ---- the meta of a deletion ---- */

struct maildeletion {
	struct mailname mailbox;
	uint32_t count;
	const uint8_t *mails; /* count numbers, 8 bytes each: maildeletion_mail() */
};

size_t maildeletion_size(struct mailname mailbox, size_t count);
void maildeletion_encode(struct mailname mailbox, const uint64_t *mails, size_t count,
			 uint8_t *out);
int maildeletion_decode(const uint8_t *meta, size_t size, struct maildeletion *ret_deletion);
uint64_t maildeletion_mail(const struct maildeletion *deletion, size_t at);

#ifdef __cplusplus
}
#endif
