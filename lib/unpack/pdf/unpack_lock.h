/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_lock.h - the keys of an encrypted PDF that opens without a password (ISO 32000-1, 7.6; ISO 32000-2, 7.6.4).
 *
 * Flow: unpack_sealed.c: what a dictionary of the standard handler says -> pdf_lock_open() -> pdf_lock_key() of each
 *       object -> office_decrypt(), office_rc4().
 *
 *     if (pdf_lock_open(&lock, id, id_size))
 *             key_size = pdf_lock_key(&lock, PDF_CIPHER_AES, number, generation, key);
 *
 * Versions 1, 2, 4 and 5, revisions 2 to 6, with the user's password that is empty: viewers try it before they ask.
 * A plain value. Only for lib/unpack.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PDF_LOCK_NAME	 32
#define PDF_LOCK_FILTERS 4
#define PDF_LOCK_ID	 64 /* bytes that count; all writers have 16 */
#define PDF_LOCK_KEY	 32

enum pdf_cipher {
	PDF_CIPHER_NONE,
	PDF_CIPHER_RC4,
	PDF_CIPHER_AES,
	PDF_CIPHER_UNKNOWN,
};

struct pdf_lock_filter {
	char name[PDF_LOCK_NAME];
	enum pdf_cipher cipher;
};

struct pdf_lock {
	unsigned version;
	unsigned revision;
	unsigned bits;
	uint32_t permissions;
	bool has_plain_metadata;
	size_t user_size;
	uint8_t owner[48];
	uint8_t user[48];
	uint8_t user_key[PDF_LOCK_KEY];
	/* Of version 4 and later: crypt filters, and the names of those for all streams, strings and embedded files. */
	unsigned filter_count;
	struct pdf_lock_filter filters[PDF_LOCK_FILTERS];
	char streams[PDF_LOCK_NAME];
	char strings[PDF_LOCK_NAME];
	char files[PDF_LOCK_NAME];
	size_t key_size; /* of pdf_lock_open() */
	uint8_t key[PDF_LOCK_KEY];
};

/* Does the empty password open it? Then it has its key. */
bool pdf_lock_open(struct pdf_lock *lock, const uint8_t *id, size_t id_size);
/* name: of a crypt filter; "": none. */
enum pdf_cipher pdf_lock_cipher(const struct pdf_lock *lock, const char *name);
/* For what is in an object. ret_key has PDF_LOCK_KEY bytes; returns how many count; 0: libcrypto failed. */
size_t pdf_lock_key(const struct pdf_lock *lock, enum pdf_cipher cipher, uint32_t number,
		    uint32_t generation, uint8_t *ret_key);

#ifdef __cplusplus
}
#endif
