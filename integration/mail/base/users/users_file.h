/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_file.h - what is in a database of recipients: keys, values, and facts about the list.
 *
 * Flow: users_list.c makes keys of lines -> users_build.c writes them -> users.c looks them up.
 *
 * A store of lib/lmdb with one table. A key begins with the letter of its kind.
 *
 *     KEY                        MEANING
 *     "a" local "@" domain       this address is valid
 *     "apostmaster"              the one without a domain, which is valid without it, too; it has tag 6
 *     "c" domain                 every address of this domain is (catch-all)
 *     "d" domain                 this domain is ours; each that occurs above has one of these
 *     "m"                        facts, in version 2:
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      4   version, big-endian as all below
 *        4      1   0x01: local parts were made lower case
 *        5      1   the character that begins an extension, such as "+"; 0 when there is none
 *        6      2   zero
 *        8      8   number of addresses
 *       16      8   number of catch-all domains
 *       24      8   number of domains
 *       32      8   when it was built, seconds since 1970
 *       40      8   checksum over keys and values
 *
 * The value of "a" and of "c" is about the mailbox, that of "d" is empty. It has any number of
 * these items, in ascending order of their tags, each tag once:
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   tag, see below; others are free
 *        1      2   size of what follows
 *        3      .   what the tag says
 *
 *     TAG  SIZE      ITEM
 *       1  8         messages: a number, not 0
 *       2  8         octets: the same
 *       3  8         keep: the same, in seconds
 *       4  1 to 255  password: text, a hash of crypt(3); of "a" alone
 *       5  1 to 255  scram: text, keys as lib/pop3/scram_text.h prints them; of "a" alone
 *       6  3 on      to: targets, each a size of 2 bytes and what is behind the letter of its key,
 *                    which is there, as "a", and has no tag 6 itself; no other tag is beside it
 *       7  8         node: a number, 1 to 255
 *
 * A setting that is 0 is not there, so that a mailbox without any has an empty value. A file that
 * has a password or keys is readable by its owner alone, see users_build.h. A reader
 * passes over tags that it does not know, so that processes go on that were started before an
 * upgrade; one that no reader may pass over would come with another version.
 *
 * In version 1 all values but that of "m" were empty, and the checksum was over the keys alone; it is
 * refused.
 *
 * Domains are in lower case (ASCII; nothing is converted between U-labels and A-labels), local
 * parts as they mean and not as they are quoted: "john doe"@example.org is john doe@example.org. That of
 * postmaster@ is in lower case in any list, an extension with it.
 *
 * Values are plain; no function here keeps a pointer, logs or exits.
 */

#include "lib/lmdb/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the list was built with, and from. */
struct users_facts {
	bool folds_case; /* local parts are compared in lower case (ASCII) */
	char extension;	 /* user+x@ is user@ when it is '+'; 0: no such thing */
	uint64_t address_count;
	uint64_t catchall_count;
	uint64_t domain_count;
	int64_t built_at_s; /* seconds since 1970 */
};

#define USERS_FILE_FACTS_KEY  "m"
#define USERS_FILE_FACTS_SIZE 48

/* Of a whole one verify.h reports struct users_facts. */
extern const struct store_kind users_store;

/* ret_bytes has USERS_FILE_FACTS_SIZE; version and checksum are put there by writer.h. */
void users_file_encode(const struct users_facts *facts, uint8_t *ret_bytes);
int users_file_decode(struct store_bytes value, struct users_facts *ret_facts);
/* Those of a list, between reader_begin() and reader_end(). */
int users_file_facts(struct reader *reader, struct users_facts *ret_facts);

enum users_kind { USERS_ADDRESS = 'a', USERS_CATCHALL = 'c', USERS_DOMAIN = 'd' };

/* RFC 5321 4.5.3.1: 64 octets, "@" and 255, and the letter. */
#define USERS_KEY_MAX 321

struct users_key {
	size_t size; /* 0: none */
	char bytes[USERS_KEY_MAX];
};

/*
 * The key of an address, or of a domain for the other kinds: unquoted and in lower case, as the
 * facts say. false when it is no address, or too long for one.
 */
bool users_file_key(enum users_kind kind, const struct users_facts *facts, const char *text,
		    size_t size, struct users_key *ret_key);
/* The key of the same domain and another kind, but that of addresses. ret_key may be key. */
void users_file_domain_key(const struct users_key *key, enum users_kind kind,
			   struct users_key *ret_key);

/* <postmaster> without a domain, which every server has (RFC 5321, 4.5.1), in any case. */
#define USERS_POSTMASTER "postmaster"
bool users_file_is_postmaster(const char *address, size_t size);
void users_file_postmaster_key(struct users_key *ret_key);
bool users_file_is_postmaster_key(const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
