/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/office/unpack_office.h"

/* RC4 is in a module of its own but for these functions, and a process without rights loads none. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/rc4.h>
#include <string.h>

#include "lib/content/little.h"

#define BASE64_MAX   128 /* characters: of more than the longest hash */
#define HEADER_FIXED 32	 /* bytes of a header before its provider's name */

/* UTF-16, little end first. */
static const uint8_t password[] = { 'V', 0, 'e', 0, 'l', 0, 'v', 0, 'e', 0, 't', 0, 'S', 0, 'w', 0,
				    'e', 0, 'a', 0, 't', 0, 's', 0, 'h', 0, 'o', 0, 'p', 0 };

static const EVP_MD *algorithm_of(enum office_hash hash)
{
	switch (hash) {
	case OFFICE_MD5:
		return EVP_md5();
	case OFFICE_SHA1:
		return EVP_sha1();
	case OFFICE_SHA256:
		return EVP_sha256();
	case OFFICE_SHA384:
		return EVP_sha384();
	default:
		return EVP_sha512();
	}
}

static const EVP_CIPHER *cipher_of(enum office_mode mode, size_t key_size)
{
	const size_t row = key_size == 16 ? 0 : key_size == 24 ? 1 : 2;
	const EVP_CIPHER *ciphers[][3] = {
		[OFFICE_ECB] = { EVP_aes_128_ecb(), EVP_aes_192_ecb(), EVP_aes_256_ecb() },
		[OFFICE_CBC] = { EVP_aes_128_cbc(), EVP_aes_192_cbc(), EVP_aes_256_cbc() },
		[OFFICE_CFB] = { EVP_aes_128_cfb8(), EVP_aes_192_cfb8(), EVP_aes_256_cfb8() },
	};
	return ciphers[mode][row];
}

void office_prepare(void)
{
	uint8_t hash[OFFICE_HASH_MAX];
	office_hash(OFFICE_SHA1, "", 0, "", 0, hash);
}

size_t office_hash_size(enum office_hash hash)
{
	return (size_t)EVP_MD_get_size(algorithm_of(hash));
}

/* ---- hashes ---- */

static bool hash_pair(EVP_MD_CTX *context, const EVP_MD *algorithm, const void *first,
		      size_t first_size, const void *second, size_t second_size, uint8_t *ret_hash)
{
	return EVP_DigestInit_ex(context, algorithm, NULL) == 1 &&
	       EVP_DigestUpdate(context, first, first_size) == 1 &&
	       EVP_DigestUpdate(context, second, second_size) == 1 &&
	       EVP_DigestFinal_ex(context, ret_hash, NULL) == 1;
}

bool office_hash(enum office_hash hash, const void *first, size_t first_size, const void *second,
		 size_t second_size, uint8_t *ret_hash)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	const bool is_done =
		context != NULL && hash_pair(context, algorithm_of(hash), first, first_size, second,
					     second_size, ret_hash);
	EVP_MD_CTX_free(context);
	return is_done;
}

bool office_password(enum office_hash hash, const uint8_t *salt, size_t salt_size, uint32_t rounds,
		     uint8_t *ret_hash)
{
	const size_t size = office_hash_size(hash);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool is_done = context != NULL && hash_pair(context, algorithm_of(hash), salt, salt_size,
						    password, sizeof(password), ret_hash);
	for (uint32_t i = 0; i < rounds && is_done; i++) {
		const uint8_t number[] = { (uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16),
					   (uint8_t)(i >> 24) };
		is_done =
			hash_pair(context, NULL, number, sizeof(number), ret_hash, size, ret_hash);
	}
	EVP_MD_CTX_free(context);
	return is_done;
}

/* ---- ciphers ---- */

static bool crypt_blocks(const EVP_CIPHER *cipher, int is_encrypting, const uint8_t *key,
			 const uint8_t *iv, const uint8_t *bytes, size_t size, uint8_t *ret_bytes)
{
	int done = 0;
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	const bool is_done =
		context != NULL &&
		EVP_CipherInit_ex(context, cipher, NULL, key, iv, is_encrypting) == 1 &&
		EVP_CIPHER_CTX_set_padding(context, 0) == 1 &&
		EVP_CipherUpdate(context, ret_bytes, &done, bytes, (int)size) == 1 &&
		(size_t)done == size;
	EVP_CIPHER_CTX_free(context);
	return is_done;
}

bool office_decrypt(enum office_mode mode, const uint8_t *key, size_t key_size, const uint8_t *iv,
		    const uint8_t *bytes, size_t size, uint8_t *ret_bytes)
{
	return crypt_blocks(cipher_of(mode, key_size), 0, key, iv, bytes, size, ret_bytes);
}

bool office_encrypt(const uint8_t *key, const uint8_t *iv, const uint8_t *bytes, size_t size,
		    uint8_t *ret_bytes)
{
	return crypt_blocks(EVP_aes_128_cbc(), 1, key, iv, bytes, size, ret_bytes);
}

void office_rc4(const uint8_t *key, size_t key_size, uint8_t *bytes, size_t size)
{
	RC4_KEY state;
	RC4_set_key(&state, (int)key_size, key);
	RC4(&state, size, bytes, bytes);
}

/* ---- what documents say ---- */

size_t office_base64(const char *text, size_t text_size, uint8_t *ret_bytes, size_t room)
{
	uint8_t bytes[BASE64_MAX / 4 * 3];
	if (text_size == 0 || text_size > BASE64_MAX || text_size % 4 != 0)
		return 0;
	const int size = EVP_DecodeBlock(bytes, (const uint8_t *)text, (int)text_size);
	const size_t filled = text[text_size - 1] != '=' ? 0 : text[text_size - 2] != '=' ? 1 : 2;
	if (size < 0 || (size_t)size - filled > room)
		return 0;
	memcpy(ret_bytes, bytes, (size_t)size - filled);
	return (size_t)size - filled;
}

bool office_header(const uint8_t *bytes, size_t size, struct office_header *ret_header)
{
	if (size < 8 || little_get32(bytes + 4) < HEADER_FIXED)
		return false;
	const uint64_t verifier = 8 + (uint64_t)little_get32(bytes + 4);
	if (size < verifier + 40 || little_get32(bytes + verifier) != 16)
		return false;
	ret_header->algorithm = little_get32(bytes + 16);
	ret_header->key_bits = little_get32(bytes + 24);
	ret_header->salt = bytes + verifier + 4;
	ret_header->verifier = bytes + verifier + 20;
	ret_header->hash = bytes + verifier + 40;
	ret_header->hash_size = size - (size_t)verifier - 40;
	return true;
}
