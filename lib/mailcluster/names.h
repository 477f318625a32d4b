/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * names.h - what objects and rows of a cluster's store are called.
 *
 * Flow: every other file here -> here -> objects.h.
 *
 * A mailbox's name is the key of a row as it is; in the name of an object each byte but letters, digits
 * and "@._+-" is "%" and two hexadecimal digits. What the parse functions take is exactly what the
 * others make. Pure functions on plain values.
 */

#include "lib/mailcluster/objects.h"
#include "lib/mailstore/mailrecord.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAMES_OBJECT_SIZE (2 + 3 * MAILBOX_NAME_MAX + 1)
#define NAMES_KEY_SIZE	  (2 + MAILBOX_NAME_MAX + 1)
#define NAMES_NUMBER_SIZE 19 /* "m.", 16 digits, a NUL: "b.NUMBER", "m.NUMBER", "t.NUMBER" */
#define NAMES_HASH_SIZE	  16
#define NAMES_DIRECTORIES 16
#define NAMES_JOURNALS	  4

/* What a name stands for, of names_parse(). */
enum names_kind {
	NAMES_OTHER,
	NAMES_STORE,
	NAMES_NODES,
	NAMES_MAIL,
	NAMES_BOX,
	NAMES_DIRECTORY,
	NAMES_JOURNAL,
	NAMES_ID,
	NAMES_USERS,
	NAMES_USERS_BYTES,
};
struct names_parsed {
	enum names_kind kind;
	uint64_t number;	       /* of NAMES_MAIL, NAMES_USERS_BYTES */
	struct mailid id;	       /* of NAMES_ID */
	uint8_t box[MAILBOX_NAME_MAX]; /* of NAMES_BOX */
	size_t box_size;
};
/* Any text may be given. */
void names_parse(const char *name, struct names_parsed *ret_parsed);

/* "K.NUMBER", for objects and for rows: out has NAMES_NUMBER_SIZE bytes. */
void names_number(char kind, uint64_t number, char *ret_name);
/* The number behind "K."; false when it is none. */
bool names_parse_number(char kind, const char *name, uint64_t *ret_number);
/* 16 digits and a NUL, for rows of journals. */
void names_digits(uint64_t number, char *ret_digits);
bool names_parse_digits(const char *digits, uint64_t *ret_number);

/* "x.MAILBOX": out has NAMES_OBJECT_SIZE bytes, as for the next three. The name is a valid one. */
void names_box(struct mailname box, char *ret_name);
/* "d.H" by the hash of the mailbox's name. */
void names_directory(const uint8_t *hash, char *ret_name);
void names_journal(const char *node, unsigned at, char *ret_name);
void names_id(const struct mailid *id, char *ret_name);

/* The row of a mailbox in a directory: NAMES_KEY_SIZE bytes, as for the next. */
void names_box_key(struct mailname box, char *ret_key);
/* "x.MAILBOX": its row in a mail. */
void names_owner_key(struct mailname box, char *ret_key);

/* ret_hash has NAMES_HASH_SIZE bytes. 0 or -ENOMEM. */
int names_hash(struct mailname box, uint8_t *ret_hash);

/* 1 to MAILCLUSTER_NODE_MAX of a-z, 0-9 and "-". */
bool names_is_node(const char *node);

#ifdef __cplusplus
}
#endif
