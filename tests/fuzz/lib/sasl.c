/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any message for PLAIN, for base64 and for the two of SCRAM: what is taken can be written again as
 * it came, names are text, and no proof fits a key that no password has.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   size of the first message in bytes, at most what there is
 *        1      .   the first message
 *        .      .   the second
 *
 * In the second "@" stands for the nonce that the client cannot know.
 */

#include "lib/pop3/base64.h"
#include "lib/pop3/sasl.h"
#include "lib/pop3/scram.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_MAX 4096

/* Of exactly that size, so that a byte too many is seen. */
static uint8_t *copy(const uint8_t *bytes, size_t size)
{
	uint8_t *made = malloc(size > 0 ? size : 1);
	require(made != NULL, "memory");
	memcpy(made, bytes, size);
	return made;
}

static void try_base64(const uint8_t *text, size_t size)
{
	uint8_t bytes[TEXT_MAX];
	char again[BASE64_SIZE(TEXT_MAX) + 1];
	size_t bytes_size = 0;
	if (!base64_decode((const char *)text, size, sizeof(bytes), bytes, &bytes_size))
		return;
	require(base64_encode(bytes, bytes_size, again) == size && memcmp(again, text, size) == 0,
		"base64 has one spelling");
}

static void try_plain(const uint8_t *message, size_t size)
{
	struct sasl_plain plain;
	if (sasl_parse_plain(message, size, &plain) != SASL_FINE)
		return;
	const size_t user_size = strlen(plain.user);
	const size_t password_size = strlen(plain.password);
	require(sasl_is_text(plain.user, user_size) && sasl_is_text(plain.password, password_size),
		"a name and a password are text");
	require(memcmp(message + size - password_size, plain.password, password_size) == 0 &&
			memcmp(message + size - password_size - user_size - 1, plain.user,
			       user_size) == 0,
		"they are what the message ends with");
}

/* The second message with the nonce of both in the place of each "@". */
static size_t put_nonce(const struct scram *scram, const uint8_t *message, size_t size,
			uint8_t *ret_message)
{
	const size_t nonce_size = strlen(scram->nonce);
	size_t out = 0;
	for (size_t i = 0; i < size; i++) {
		const bool is_nonce = message[i] == '@';
		const size_t part = is_nonce ? nonce_size : 1;
		if (out + part > TEXT_MAX)
			break;
		memcpy(ret_message + out, is_nonce ? (const void *)scram->nonce : message + i,
		       part);
		out += part;
	}
	return out;
}

static void try_scram(const uint8_t *first, size_t first_size, const uint8_t *second,
		      size_t second_size)
{
	static struct scram scram;
	static const struct scram_keys keys = { .salt_size = 16, .iterations = 4096 };
	char answer[SCRAM_ANSWER_MAX];
	uint8_t message[TEXT_MAX];
	size_t size = 0;
	scram_init(&scram);
	if (scram_first(&scram, first, first_size) != SASL_FINE) {
		require(scram.state == SCRAM_AT_END, "what is refused has ended");
		return;
	}
	require(sasl_is_text(scram.user, strlen(scram.user)), "a name is text");
	const size_t answer_size = scram_challenge(&scram, &keys, "server", answer);
	require(answer_size == strlen(answer) && answer_size < sizeof(answer),
		"a challenge is text");
	const size_t message_size = put_nonce(&scram, second, second_size, message);
	uint8_t *exact = copy(message, message_size);
	const enum sasl_status status = scram_final(&scram, exact, message_size, answer, &size);
	free(exact);
	require(status == SASL_MALFORMED || status == SASL_WRONG, "no proof fits");
	require(scram.state == SCRAM_AT_END, "the exchange has ended");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > TEXT_MAX)
		return 0;
	const size_t first_size = data[0] < size - 1 ? data[0] : size - 1;
	const size_t second_size = size - 1 - first_size;
	uint8_t *first = copy(data + 1, first_size);
	uint8_t *second = copy(data + 1 + first_size, second_size);
	try_base64(first, first_size);
	try_base64(second, second_size);
	try_plain(first, first_size);
	try_plain(second, second_size);
	try_scram(first, first_size, second, second_size);
	free(first);
	free(second);
	return 0;
}
