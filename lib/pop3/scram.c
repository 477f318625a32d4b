/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/scram.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "lib/format/ascii.h"
#include "lib/pop3/base64.h"

/* The client's last message without its proof, and the two before. */
#define AUTH_MESSAGE_MAX (2 * SASL_MESSAGE_MAX + SCRAM_ANSWER_MAX)

/* ---- hashes ---- */

static bool hmac(const uint8_t *key, size_t key_size, const void *text, size_t text_size,
		 uint8_t *ret_hash)
{
	unsigned hash_size = SCRAM_KEY_SIZE;
	return HMAC(EVP_sha256(), key, (int)key_size, text, text_size, ret_hash, &hash_size) !=
	       NULL;
}

static bool hash(const uint8_t *bytes, size_t size, uint8_t *ret_hash)
{
	return EVP_Digest(bytes, size, ret_hash, NULL, EVP_sha256(), NULL) == 1;
}

bool scram_derive(const char *password, struct scram_keys *keys)
{
	uint8_t salted[SCRAM_KEY_SIZE];
	uint8_t client_key[SCRAM_KEY_SIZE];
	assert(keys->salt_size > 0 && keys->salt_size <= SCRAM_SALT_MAX && keys->iterations > 0 &&
	       keys->iterations <= SCRAM_ITERATIONS_MAX);
	bool is_done = PKCS5_PBKDF2_HMAC(password, (int)strlen(password), keys->salt,
					 (int)keys->salt_size, (int)keys->iterations, EVP_sha256(),
					 SCRAM_KEY_SIZE, salted) == 1 &&
		       hmac(salted, sizeof(salted), "Client Key", 10, client_key) &&
		       hash(client_key, sizeof(client_key), keys->stored_key) &&
		       hmac(salted, sizeof(salted), "Server Key", 10, keys->server_key);
	OPENSSL_cleanse(salted, sizeof(salted));
	OPENSSL_cleanse(client_key, sizeof(client_key));
	return is_done;
}

enum sasl_status scram_is_password(const struct scram_keys *keys, const char *password)
{
	struct scram_keys made = *keys;
	if (!scram_derive(password, &made))
		return SASL_FAILED;
	bool is_same = CRYPTO_memcmp(made.stored_key, keys->stored_key, SCRAM_KEY_SIZE) == 0;
	OPENSSL_cleanse(&made, sizeof(made));
	return is_same && !keys->is_mock ? SASL_FINE : SASL_WRONG;
}

bool scram_mock(const uint8_t *secret, size_t secret_size, const char *user, uint32_t iterations,
		struct scram_keys *ret_keys)
{
	uint8_t salt[SCRAM_KEY_SIZE];
	if (!hmac(secret, secret_size, user, strlen(user), salt))
		return false;
	memset(ret_keys, 0, sizeof(*ret_keys));
	memcpy(ret_keys->salt, salt, SCRAM_MOCK_SALT_SIZE);
	ret_keys->salt_size = SCRAM_MOCK_SALT_SIZE;
	ret_keys->iterations = iterations;
	ret_keys->is_mock = true;
	return true;
}

/* ---- attributes ---- */

/* What is still to be read of a message: attributes with commas between them. */
struct rest {
	const char *at;
	size_t size;
	bool is_begun; /* a comma is due before the next one */
};

static bool is_printable(char c)
{
	return c > ' ' && c <= '~' && c != ',';
}

/* The value of "name=value", which has to come next, up to a comma or the end. */
static bool take_attribute(struct rest *rest, char name, struct rest *ret_value)
{
	const size_t skipped = rest->is_begun ? 1 : 0;
	if (rest->size < skipped + 2 || (rest->is_begun && rest->at[0] != ',') ||
	    rest->at[skipped] != name || rest->at[skipped + 1] != '=')
		return false;
	const char *at = rest->at + skipped + 2;
	const size_t left = rest->size - skipped - 2;
	const char *comma = left > 0 ? memchr(at, ',', left) : NULL;
	const size_t size = comma != NULL ? (size_t)(comma - at) : left;
	*ret_value = (struct rest){ at, size, false };
	*rest = (struct rest){ at + size, left - size, true };
	return true;
}

static bool is_nonce(struct rest value)
{
	for (size_t i = 0; i < value.size; i++)
		if (!is_printable(value.at[i]))
			return false;
	return value.size > 0 && value.size <= SCRAM_NONCE_MAX;
}

/*
 * Extensions at the end, each a letter with a value (RFC 5802, part 7). None is known; one that is
 * mandatory (m=) may not be passed over.
 */
static bool skip_extensions(struct rest *rest)
{
	struct rest value;
	while (rest->size > 2 && rest->at[0] == ',') {
		const char name = rest->at[1];
		if (name == 'p')
			return true;
		if (!ascii_is_letter(name) || name == 'm' || !take_attribute(rest, name, &value) ||
		    value.size == 0 || memchr(value.at, '\0', value.size) != NULL)
			return false;
	}
	return rest->size == 0;
}

/* A name with "=2C" for a comma and "=3D" for "=". ret_name has SASL_TEXT_MAX + 1 bytes. */
static bool take_name(struct rest value, char *ret_name)
{
	size_t size = 0;
	memset(ret_name, 0, SASL_TEXT_MAX + 1);
	for (size_t i = 0; i < value.size; i++) {
		char c = value.at[i];
		if (c == '=') {
			const bool is_whole = i + 2 < value.size;
			const bool is_comma = is_whole && memcmp(value.at + i, "=2C", 3) == 0;
			if (!is_comma && !(is_whole && memcmp(value.at + i, "=3D", 3) == 0))
				return false;
			c = is_comma ? ',' : '=';
			i += 2;
		}
		if (size == SASL_TEXT_MAX)
			return false;
		ret_name[size++] = c;
	}
	return sasl_is_text(ret_name, size);
}

/* ---- the exchange ---- */

void scram_init(struct scram *ret_scram)
{
	memset(ret_scram, 0, sizeof(*ret_scram));
}

/* "n,," or "y,a=name,": its size is written, and the name if there is one. */
static enum sasl_status parse_header(struct scram *scram, char *ret_acting_for)
{
	const char *first = scram->first;
	const size_t size = scram->first_size;
	ret_acting_for[0] = '\0';
	if (size > 1 && first[0] == 'p' && first[1] == '=')
		return SASL_BINDING;
	if (size < 3 || (first[0] != 'n' && first[0] != 'y') || first[1] != ',')
		return SASL_MALFORMED;
	struct rest rest = { first + 2, size - 2, false };
	struct rest value = { NULL, 0, false };
	if (rest.at[0] != ',' &&
	    (!take_attribute(&rest, 'a', &value) || !take_name(value, ret_acting_for)))
		return SASL_MALFORMED;
	if (rest.size == 0 || rest.at[0] != ',')
		return SASL_MALFORMED;
	scram->header_size = (size_t)(rest.at + 1 - first);
	return SASL_FINE;
}

static enum sasl_status parse_first(struct scram *scram)
{
	char acting_for[SASL_TEXT_MAX + 1];
	struct rest name;
	struct rest nonce;
	enum sasl_status status = parse_header(scram, acting_for);
	if (status != SASL_FINE)
		return status;
	struct rest rest = { scram->first + scram->header_size,
			     scram->first_size - scram->header_size, false };
	if (!take_attribute(&rest, 'n', &name) || !take_name(name, scram->user) ||
	    !take_attribute(&rest, 'r', &nonce) || !is_nonce(nonce) || !skip_extensions(&rest) ||
	    rest.size > 0)
		return SASL_MALFORMED;
	memcpy(scram->nonce, nonce.at, nonce.size);
	if (acting_for[0] != '\0' && strcmp(acting_for, scram->user) != 0)
		return SASL_FOREIGN;
	return SASL_FINE;
}

enum sasl_status scram_first(struct scram *scram, const uint8_t *message, size_t size)
{
	assert(scram->state == SCRAM_AT_FIRST);
	scram->state = SCRAM_AT_END;
	if (size == 0 || size > SASL_MESSAGE_MAX)
		return SASL_MALFORMED;
	memcpy(scram->first, message, size);
	scram->first_size = size;
	enum sasl_status status = parse_first(scram);
	if (status == SASL_FINE)
		scram->state = SCRAM_AT_KEYS;
	return status;
}

size_t scram_challenge(struct scram *scram, const struct scram_keys *keys, const char *server_nonce,
		       char *ret_answer)
{
	char salt[BASE64_SIZE(SCRAM_SALT_MAX) + 1];
	const struct rest nonce = { server_nonce, strlen(server_nonce), false };
	const size_t client_size = strlen(scram->nonce);
	assert(scram->state == SCRAM_AT_KEYS && is_nonce(nonce));
	assert(keys->salt_size > 0 && keys->salt_size <= SCRAM_SALT_MAX);
	scram->keys = *keys;
	memcpy(scram->nonce + client_size, server_nonce, nonce.size + 1);
	base64_encode(keys->salt, keys->salt_size, salt);
	int size = snprintf(scram->answer, sizeof(scram->answer), "r=%s,s=%s,i=%u", scram->nonce,
			    salt, (unsigned)keys->iterations);
	assert(size > 0 && (size_t)size < sizeof(scram->answer));
	memcpy(ret_answer, scram->answer, (size_t)size + 1);
	scram->state = SCRAM_AT_FINAL;
	return (size_t)size;
}

/* The proof, and how much of the message is before it. */
static bool parse_final(const struct scram *scram, const char *message, size_t size,
			uint8_t *ret_proof, size_t *ret_before_size)
{
	char header[BASE64_SIZE(SASL_MESSAGE_MAX) + 1];
	struct rest rest = { message, size, false };
	struct rest binding;
	struct rest nonce;
	struct rest proof;
	size_t proof_size = 0;
	if (!take_attribute(&rest, 'c', &binding) || !take_attribute(&rest, 'r', &nonce) ||
	    !skip_extensions(&rest))
		return false;
	*ret_before_size = (size_t)(rest.at - message);
	if (!take_attribute(&rest, 'p', &proof) || rest.size > 0 ||
	    !base64_decode(proof.at, proof.size, SCRAM_KEY_SIZE, ret_proof, &proof_size) ||
	    proof_size != SCRAM_KEY_SIZE)
		return false;
	const size_t header_size =
		base64_encode((const uint8_t *)scram->first, scram->header_size, header);
	return binding.size == header_size && memcmp(binding.at, header, header_size) == 0 &&
	       nonce.size == strlen(scram->nonce) &&
	       memcmp(nonce.at, scram->nonce, nonce.size) == 0;
}

/* What both sides sign. Returns its size. */
static size_t make_signed(const struct scram *scram, const char *before, size_t before_size,
			  char *ret_text)
{
	const size_t bare_size = scram->first_size - scram->header_size;
	const size_t answer_size = strlen(scram->answer);
	char *at = ret_text;
	memcpy(at, scram->first + scram->header_size, bare_size);
	at += bare_size;
	*at++ = ',';
	memcpy(at, scram->answer, answer_size);
	at += answer_size;
	*at++ = ',';
	memcpy(at, before, before_size);
	return (size_t)(at + before_size - ret_text);
}

static enum sasl_status check_proof(const struct scram *scram, const char *text, size_t text_size,
				    const uint8_t *proof, uint8_t *ret_signature)
{
	uint8_t client_key[SCRAM_KEY_SIZE];
	uint8_t stored_key[SCRAM_KEY_SIZE];
	const struct scram_keys *keys = &scram->keys;
	if (!hmac(keys->stored_key, SCRAM_KEY_SIZE, text, text_size, client_key) ||
	    !hmac(keys->server_key, SCRAM_KEY_SIZE, text, text_size, ret_signature))
		return SASL_FAILED;
	for (size_t i = 0; i < SCRAM_KEY_SIZE; i++)
		client_key[i] ^= proof[i];
	const bool is_hashed = hash(client_key, SCRAM_KEY_SIZE, stored_key);
	OPENSSL_cleanse(client_key, sizeof(client_key));
	if (!is_hashed)
		return SASL_FAILED;
	const bool is_same = CRYPTO_memcmp(stored_key, keys->stored_key, SCRAM_KEY_SIZE) == 0;
	return is_same && !keys->is_mock ? SASL_FINE : SASL_WRONG;
}

enum sasl_status scram_final(struct scram *scram, const uint8_t *message, size_t size,
			     char *ret_answer, size_t *ret_size)
{
	char text[AUTH_MESSAGE_MAX];
	uint8_t proof[SCRAM_KEY_SIZE];
	uint8_t signature[SCRAM_KEY_SIZE];
	size_t before_size = 0;
	enum sasl_status status = SASL_MALFORMED;
	assert(scram->state == SCRAM_AT_FINAL);
	scram->state = SCRAM_AT_END;
	if (size <= SASL_MESSAGE_MAX &&
	    parse_final(scram, (const char *)message, size, proof, &before_size)) {
		const size_t text_size =
			make_signed(scram, (const char *)message, before_size, text);
		status = check_proof(scram, text, text_size, proof, signature);
	}
	OPENSSL_cleanse(&scram->keys, sizeof(scram->keys));
	if (status != SASL_FINE)
		return status;
	ret_answer[0] = 'v';
	ret_answer[1] = '=';
	*ret_size = 2 + base64_encode(signature, sizeof(signature), ret_answer + 2);
	scram->state = SCRAM_AT_EMPTY;
	return SASL_FINE;
}
