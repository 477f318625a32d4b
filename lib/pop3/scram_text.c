/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/scram_text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lib/format/ascii.h"
#include "lib/pop3/base64.h"

#define SCHEME "SCRAM-SHA-256$"

_Static_assert(SCRAM_TEXT_SIZE > sizeof(SCHEME) + sizeof("1000000:") + BASE64_SIZE(SCRAM_SALT_MAX) +
					 sizeof("$:") + 2 * BASE64_SIZE(SCRAM_KEY_SIZE),
	       "the longest word has room");

struct text {
	const char *at;
	size_t size;
};

/* What is before the next mark, which has to be there. */
static bool take_until(struct text *rest, char mark, struct text *ret_part)
{
	const char *end = rest->size > 0 ? memchr(rest->at, mark, rest->size) : NULL;
	if (end == NULL)
		return false;
	*ret_part = (struct text){ rest->at, (size_t)(end - rest->at) };
	rest->size -= ret_part->size + 1;
	rest->at = end + 1;
	return true;
}

static bool parse_iterations(struct text text, uint32_t *ret_iterations)
{
	const int64_t number = ascii_number(text.at, text.size, SCRAM_ITERATIONS_MAX);
	if (number <= 0 || text.at[0] == '0')
		return false;
	*ret_iterations = (uint32_t)number;
	return true;
}

static bool parse_key(struct text text, uint8_t *ret_key)
{
	size_t size = 0;
	return base64_decode(text.at, text.size, SCRAM_KEY_SIZE, ret_key, &size) &&
	       size == SCRAM_KEY_SIZE;
}

const char *scram_text_parse(const char *text, size_t text_size, struct scram_keys *ret_keys)
{
	const size_t scheme_size = strlen(SCHEME);
	struct scram_keys keys = { .is_mock = false };
	struct text iterations;
	struct text salt;
	struct text stored;
	if (text_size < scheme_size || memcmp(text, SCHEME, scheme_size) != 0)
		return "does not begin with " SCHEME;
	struct text rest = { text + scheme_size, text_size - scheme_size };
	if (!take_until(&rest, ':', &iterations) || !take_until(&rest, '$', &salt) ||
	    !take_until(&rest, ':', &stored))
		return "is not " SCHEME "ITERATIONS:SALT$STOREDKEY:SERVERKEY";
	if (!parse_iterations(iterations, &keys.iterations))
		return "iterations: permitted are 1 to 1000000";
	if (!base64_decode(salt.at, salt.size, SCRAM_SALT_MAX, keys.salt, &keys.salt_size) ||
	    keys.salt_size == 0)
		return "the salt is not base64 of 1 to 64 bytes";
	if (!parse_key(stored, keys.stored_key) || !parse_key(rest, keys.server_key))
		return "a key is not base64 of 32 bytes";
	*ret_keys = keys;
	return NULL;
}

size_t scram_text_print(const struct scram_keys *keys, char *ret_text)
{
	char salt[BASE64_SIZE(SCRAM_SALT_MAX) + 1];
	char stored[BASE64_SIZE(SCRAM_KEY_SIZE) + 1];
	char server[BASE64_SIZE(SCRAM_KEY_SIZE) + 1];
	assert(!keys->is_mock && keys->salt_size > 0 && keys->salt_size <= SCRAM_SALT_MAX &&
	       keys->iterations > 0 && keys->iterations <= SCRAM_ITERATIONS_MAX);
	base64_encode(keys->salt, keys->salt_size, salt);
	base64_encode(keys->stored_key, SCRAM_KEY_SIZE, stored);
	base64_encode(keys->server_key, SCRAM_KEY_SIZE, server);
	const int size = snprintf(ret_text, SCRAM_TEXT_SIZE, SCHEME "%u:%s$%s:%s",
				  (unsigned)keys->iterations, salt, stored, server);
	assert(size > 0 && size < SCRAM_TEXT_SIZE);
	return (size_t)size;
}
