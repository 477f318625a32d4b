/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_office.h - hashes and ciphers of encrypted documents, with the password that Excel knows.
 *
 * Flow: unpack_package.c, unpack_workbook.c: what a document says of its encryption -> office_password()
 *       and office_hash(): its key -> office_decrypt() or office_rc4(): its bytes. pdf/unpack_lock.c has
 *       the same of PDFs, without the password.
 *
 *     office_password(OFFICE_SHA512, salt, salt_size, rounds, hash);
 *     office_hash(OFFICE_SHA512, hash, office_hash_size(OFFICE_SHA512), purpose, sizeof(purpose), key);
 *     office_decrypt(OFFICE_CBC, key, 32, iv, bytes, size, plain);
 *
 * Excel opens workbooks with the password VelvetSweatshop and asks for none: it was made for those that are
 * protected but to be read by all, and hides what is in them from others. This file alone knows the password, and
 * libcrypto. All is of MS-OFFCRYPTO, whose sections the files name. Functions return false when libcrypto fails.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OFFICE_HASH_MAX 64
#define OFFICE_BLOCK	16 /* of AES */

enum office_hash { OFFICE_MD5, OFFICE_SHA1, OFFICE_SHA256, OFFICE_SHA384, OFFICE_SHA512 };
enum office_mode { OFFICE_ECB, OFFICE_CBC, OFFICE_CFB };

/* What stands before the key in documents of 2003 and 2007 (2.3.2, 2.3.3); borrowed from the bytes. */
struct office_header {
	uint32_t algorithm;
	uint32_t key_bits;
	const uint8_t *salt;	 /* 16 bytes */
	const uint8_t *verifier; /* 16 */
	const uint8_t *hash;
	size_t hash_size;
};

/* The first call reads libcrypto's configuration: once, before a process gives up its rights. */
void office_prepare(void);
size_t office_hash_size(enum office_hash hash);
/* Of the two, one behind the other. ret_hash has OFFICE_HASH_MAX bytes, also below. */
bool office_hash(enum office_hash hash, const void *first, size_t first_size, const void *second,
		 size_t second_size, uint8_t *ret_hash);
/* Of the salt and the password, and then rounds times of a number and the hash before (2.3.4.7, 2.3.4.11). */
bool office_password(enum office_hash hash, const uint8_t *salt, size_t salt_size, uint32_t rounds,
		     uint8_t *ret_hash);
/* AES, of whole blocks; key_size is 16, 24 or 32. iv has a block, NULL for OFFICE_ECB. */
bool office_decrypt(enum office_mode mode, const uint8_t *key, size_t key_size, const uint8_t *iv,
		    const uint8_t *bytes, size_t size, uint8_t *ret_bytes);
/* The other way, with AES-128 in OFFICE_CBC. */
bool office_encrypt(const uint8_t *key, const uint8_t *iv, const uint8_t *bytes, size_t size,
		    uint8_t *ret_bytes);
/* In place, either way, from the begin of what RC4 has for a key. */
void office_rc4(const uint8_t *key, size_t key_size, uint8_t *bytes, size_t size);
/* Of text that has no blanks in it; returns how many bytes, 0 when it is none or has more than room. */
size_t office_base64(const char *text, size_t text_size, uint8_t *ret_bytes, size_t room);
/* bytes: 4 flags, 4 size of the header, the header, and the verifier. */
bool office_header(const uint8_t *bytes, size_t size, struct office_header *ret_header);

#ifdef __cplusplus
}
#endif
