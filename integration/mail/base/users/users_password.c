/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_password.h"

#include "lib/pop3/base64.h"
#include "lib/pop3/scram_text.h"

#include <crypt.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#define RANDOM_BYTES 18 /* whose base64 has no padding */

struct users_password {
	char mock[CRYPT_OUTPUT_SIZE]; /* the hash of a password that no client has */
	struct crypt_data crypt;      /* 32 KiB */
};

/* ---- checking ---- */

/* In about the same time for all hashes of one kind. */
static bool has_hash(struct users_password *password, const char *text, const char *hash)
{
	const char *found = crypt_r(text, hash, &password->crypt);
	const bool is_right = found != NULL && strlen(found) == strlen(hash) &&
			      CRYPTO_memcmp(found, hash, strlen(hash)) == 0;
	OPENSSL_cleanse(password->crypt.input, sizeof(password->crypt.input));
	return is_right;
}

static bool has_keys(const char *password, const char *text)
{
	struct scram_keys keys;
	const bool is_right = scram_text_parse(text, strlen(text), &keys) == NULL &&
			      scram_is_password(&keys, password) == SASL_FINE;
	OPENSSL_cleanse(&keys, sizeof(keys));
	return is_right;
}

bool users_password_is(struct users_password *password, const struct users_secret *secret,
		       const char *text)
{
	if (secret != NULL && secret->password[0] != '\0')
		return has_hash(password, text, secret->password);
	if (secret != NULL && secret->scram[0] != '\0' && has_keys(text, secret->scram))
		return true;
	/* Keys are tried much sooner than a hash: a name that has no more would be told by it. */
	(void)has_hash(password, text, password->mock);
	return false;
}

/* ---- begin and end ---- */

/* Of a password that is drawn, with the cost that new hashes have. */
static bool make_mock(struct users_password *password)
{
	char text[BASE64_SIZE(RANDOM_BYTES) + 1];
	char setting[CRYPT_GENSALT_OUTPUT_SIZE];
	uint8_t random[RANDOM_BYTES];
	if (getentropy(random, sizeof(random)) != 0 ||
	    crypt_gensalt_rn("$y$", 0, NULL, 0, setting, (int)sizeof(setting)) == NULL)
		return false;
	(void)base64_encode(random, sizeof(random), text);
	const char *hash = crypt_r(text, setting, &password->crypt);
	if (hash == NULL || strlen(hash) >= sizeof(password->mock))
		return false;
	memcpy(password->mock, hash, strlen(hash) + 1);
	return true;
}

int users_password_new(struct users_password **ret_password)
{
	struct users_password *password = calloc(1, sizeof(*password));
	if (password == NULL)
		return -ENOMEM;
	if (!make_mock(password)) {
		users_password_free(password);
		return -EIO;
	}
	*ret_password = password;
	return 0;
}

void users_password_free(struct users_password *password)
{
	if (password != NULL)
		OPENSSL_cleanse(password, sizeof(*password));
	free(password);
}
