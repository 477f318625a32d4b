/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/pdf/unpack_lock.h"

#include <string.h>

#include "lib/unpack/office/unpack_office.h"

#define PAD_SIZE 32

/* What fills an empty password (algorithm 2). */
static const uint8_t pad[PAD_SIZE] = {
	0x28, 0xbf, 0x4e, 0x5e, 0x4e, 0x75, 0x8a, 0x41, 0x64, 0x00, 0x4e,
	0x56, 0xff, 0xfa, 0x01, 0x08, 0x2e, 0x2e, 0x00, 0xb6, 0xd0, 0x68,
	0x3e, 0x80, 0x2f, 0x0c, 0xa9, 0xfe, 0x64, 0x53, 0x69, 0x7a,
};

/* ---- up to revision 4 ---- */

/* Algorithm 2. */
static bool make_key(const struct pdf_lock *lock, const uint8_t *id, size_t id_size,
		     size_t key_size, uint8_t *ret_key)
{
	uint8_t tail[4 + PDF_LOCK_ID + 4];
	uint8_t head[2 * PAD_SIZE];
	size_t size = 4;
	memcpy(head, pad, PAD_SIZE);
	memcpy(head + PAD_SIZE, lock->owner, PAD_SIZE);
	for (unsigned i = 0; i < 4; i++)
		tail[i] = (uint8_t)(lock->permissions >> (8 * i));
	memcpy(tail + size, id, id_size);
	size += id_size;
	if (lock->revision >= 4 && lock->has_plain_metadata) {
		memset(tail + size, 0xff, 4);
		size += 4;
	}
	bool is_done = office_hash(OFFICE_MD5, head, sizeof(head), tail, size, ret_key);
	for (unsigned i = 0; i < 50 && lock->revision >= 3; i++)
		is_done = is_done && office_hash(OFFICE_MD5, ret_key, key_size, "", 0, ret_key);
	return is_done;
}

/* Algorithms 4 and 5: what stands in /U of a key. */
static bool is_key(const struct pdf_lock *lock, const uint8_t *id, size_t id_size,
		   const uint8_t *key, size_t key_size)
{
	uint8_t user[OFFICE_HASH_MAX];
	uint8_t round_key[PDF_LOCK_KEY];
	if (lock->revision == 2) {
		memcpy(user, pad, PAD_SIZE);
		office_rc4(key, key_size, user, PAD_SIZE);
		return memcmp(user, lock->user, PAD_SIZE) == 0;
	}
	if (!office_hash(OFFICE_MD5, pad, PAD_SIZE, id, id_size, user))
		return false;
	for (unsigned round = 0; round < 20; round++) {
		for (size_t i = 0; i < key_size; i++)
			round_key[i] = (uint8_t)(key[i] ^ round);
		office_rc4(round_key, key_size, user, 16);
	}
	return memcmp(user, lock->user, 16) == 0;
}

/* The size that is said, and those that readers take where it is not. */
static bool open_old(struct pdf_lock *lock, const uint8_t *id, size_t id_size)
{
	const size_t said = lock->bits % 8 == 0 && lock->bits <= 128 ? lock->bits / 8 : 0;
	const size_t sizes[] = { lock->version == 1 ? 5 : said, 5, 16 };
	uint8_t key[OFFICE_HASH_MAX];
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (sizes[i] == 0 || !make_key(lock, id, id_size, sizes[i], key) ||
		    !is_key(lock, id, id_size, key, sizes[i]))
			continue;
		lock->key_size = sizes[i];
		memcpy(lock->key, key, sizes[i]);
		return true;
	}
	return false;
}

/* ---- from revision 5 on ---- */

/* One round of algorithm 2.B, of a hash of *size bytes. Which byte its cipher ends with, or -1. */
static int hash_round(uint8_t *hash, size_t *size)
{
	uint8_t text[64 * OFFICE_HASH_MAX];
	uint8_t cipher[64 * OFFICE_HASH_MAX];
	const size_t text_size = 64 * *size;
	unsigned sum = 0;
	for (unsigned i = 0; i < 64; i++)
		memcpy(text + i * *size, hash, *size);
	if (!office_encrypt(hash, hash + OFFICE_BLOCK, text, text_size, cipher))
		return -1;
	/* 256 is 1 modulo 3, so that a number is what the sum of its bytes is. */
	for (unsigned i = 0; i < OFFICE_BLOCK; i++)
		sum += cipher[i];
	const enum office_hash next = sum % 3 == 0   ? OFFICE_SHA256
				      : sum % 3 == 1 ? OFFICE_SHA384
						     : OFFICE_SHA512;
	*size = office_hash_size(next);
	return office_hash(next, cipher, text_size, "", 0, hash) ? cipher[text_size - 1] : -1;
}

/* Of a salt behind the empty password; rounds end at the 288th at the latest. */
static bool hash_salt(const struct pdf_lock *lock, const uint8_t *salt, uint8_t *ret_hash)
{
	size_t size = PDF_LOCK_KEY;
	int last = 0;
	if (!office_hash(OFFICE_SHA256, salt, 8, "", 0, ret_hash))
		return false;
	for (int round = 1; lock->revision >= 6 && (round <= 64 || last > round - 33); round++) {
		last = hash_round(ret_hash, &size);
		if (last < 0)
			return false;
	}
	return true;
}

/* Algorithm 2.A. */
static bool open_new(struct pdf_lock *lock)
{
	static const uint8_t zeros[OFFICE_BLOCK];
	uint8_t hash[OFFICE_HASH_MAX];
	lock->key_size = PDF_LOCK_KEY;
	return lock->user_size >= sizeof(lock->user) &&
	       hash_salt(lock, lock->user + PDF_LOCK_KEY, hash) &&
	       memcmp(hash, lock->user, PDF_LOCK_KEY) == 0 &&
	       hash_salt(lock, lock->user + PDF_LOCK_KEY + 8, hash) &&
	       office_decrypt(OFFICE_CBC, hash, PDF_LOCK_KEY, zeros, lock->user_key, PDF_LOCK_KEY,
			      lock->key);
}

/* ---- both ---- */

bool pdf_lock_open(struct pdf_lock *lock, const uint8_t *id, size_t id_size)
{
	if (lock->revision >= 5)
		return open_new(lock);
	return lock->revision >= 2 && id_size <= PDF_LOCK_ID && open_old(lock, id, id_size);
}

enum pdf_cipher pdf_lock_cipher(const struct pdf_lock *lock, const char *name)
{
	if (lock->version < 4)
		return PDF_CIPHER_RC4;
	for (unsigned i = 0; i < lock->filter_count; i++) {
		if (strcmp(lock->filters[i].name, name) == 0)
			return lock->filters[i].cipher;
	}
	return name[0] == '\0' || strcmp(name, "Identity") == 0 ? PDF_CIPHER_NONE
								: PDF_CIPHER_UNKNOWN;
}

/* Algorithm 1, and 1.A. */
size_t pdf_lock_key(const struct pdf_lock *lock, enum pdf_cipher cipher, uint32_t number,
		    uint32_t generation, uint8_t *ret_key)
{
	const uint8_t object[] = {
		(uint8_t)number,
		(uint8_t)(number >> 8),
		(uint8_t)(number >> 16),
		(uint8_t)generation,
		(uint8_t)(generation >> 8),
		's',
		'A',
		'l',
		'T',
	};
	const size_t size = cipher == PDF_CIPHER_AES ? sizeof(object) : 5;
	uint8_t hash[OFFICE_HASH_MAX];
	if (lock->revision >= 5) {
		memcpy(ret_key, lock->key, PDF_LOCK_KEY);
		return PDF_LOCK_KEY;
	}
	if (!office_hash(OFFICE_MD5, lock->key, lock->key_size, object, size, hash))
		return 0;
	memcpy(ret_key, hash, 16);
	/* AES has no shorter key. */
	return lock->key_size + 5 < 16 && cipher != PDF_CIPHER_AES ? lock->key_size + 5 : 16;
}
