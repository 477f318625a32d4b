/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/mailid.h"

#include "lib/format/hex.h"

#include <errno.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#define HALF (MAILID_SIZE / 2)

static int hash(const uint8_t *key, const uint8_t *bytes, uint8_t *ret_hash)
{
	size_t size = HALF;
	size_t got = 0;
	const OSSL_PARAM parameters[] = {
		OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size),
		OSSL_PARAM_construct_end(),
	};
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "SIPHASH", NULL);
	EVP_MAC_CTX *context = mac != NULL ? EVP_MAC_CTX_new(mac) : NULL;
	bool is_made = context != NULL &&
		       EVP_MAC_init(context, key, MAILID_KEY_SIZE, parameters) == 1 &&
		       EVP_MAC_update(context, bytes, HALF) == 1 &&
		       EVP_MAC_final(context, ret_hash, &got, HALF) == 1 && got == HALF;
	EVP_MAC_CTX_free(context);
	EVP_MAC_free(mac);
	return is_made ? 0 : -ENOMEM;
}

int mailid_make(const uint8_t *key, const uint8_t *random, struct mailid *ret_id)
{
	struct mailid id;
	memcpy(id.bytes, random, HALF);
	int ret = hash(key, random, id.bytes + HALF);
	if (ret == 0)
		*ret_id = id;
	return ret;
}

bool mailid_is_of(const uint8_t *key, const struct mailid *id)
{
	uint8_t expected[HALF];
	return hash(key, id->bytes, expected) == 0 &&
	       CRYPTO_memcmp(expected, id->bytes + HALF, HALF) == 0;
}

void mailid_format(const struct mailid *id, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < MAILID_SIZE; i++) {
		*ret_text++ = digits[id->bytes[i] >> 4];
		*ret_text++ = digits[id->bytes[i] & 15];
	}
	*ret_text = '\0';
}

int mailid_parse(const char *text, struct mailid *ret_id)
{
	struct mailid id;
	if (strlen(text) != MAILID_TEXT_SIZE - 1 || text[strspn(text, "0123456789abcdef")] != '\0')
		return -EINVAL;
	for (size_t i = 0; i < MAILID_SIZE; i++)
		id.bytes[i] = (uint8_t)(hex_value(text[2 * i]) << 4 | hex_value(text[2 * i + 1]));
	*ret_id = id;
	return 0;
}
