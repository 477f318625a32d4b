/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What an edge in foreign hands sends to the keyholder, and what a keyholder would answer. What is
 * read of a message is the message: written again it is the same, byte for byte. Keyholder and
 * keys are another test's, signing with OpenSSL a thousand times a second would find nothing here.
 */

#include "integration/mail/base/tls/signing.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const uint8_t *data, size_t size)
{
	struct signing_request request;
	uint8_t again[SIGNING_REQUEST_MAX];
	if (signing_decode_request(data, size, &request) != 0)
		return;
	require(request.input_size >= 1 && request.input_size <= KEYS_SIGNATURE_MAX,
		"an input has a size");
	require(request.input == data + SIGNING_REQUEST_HEAD &&
			request.input_size == size - SIGNING_REQUEST_HEAD,
		"an input is the rest of the message");
	require(signing_encode_request(&request, again) == size && memcmp(again, data, size) == 0,
		"a request is written as it was read");
}

static void check_answer(const uint8_t *data, size_t size)
{
	struct signing_answer answer;
	uint8_t again[SIGNING_ANSWER_MAX];
	if (signing_decode_answer(data, size, &answer) != 0)
		return;
	require((answer.result == SIGNING_SIGNED) == (answer.signature_size > 0),
		"an answer has a signature when it says so");
	require(signing_encode_answer(&answer, again) == size && memcmp(again, data, size) == 0,
		"an answer is written as it was read");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_request(data, size);
	check_answer(data, size);
	return 0;
}
