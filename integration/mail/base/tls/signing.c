/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/tls/signing.h"

#include "lib/format/bytes.h"

#include <errno.h>
#include <string.h>

static const uint8_t request_magic[4] = { 'S', 'K', 'Q', '1' };
static const uint8_t answer_magic[4] = { 'S', 'K', 'A', '1' };

/* ---- what both have: magic, number, a word, a size ---- */

static void put_head(const uint8_t *magic, uint64_t number, unsigned word, size_t size,
		     uint8_t *ret_bytes)
{
	bytes_put_string(&ret_bytes, magic, sizeof(request_magic));
	bytes_put(&ret_bytes, number, 8);
	bytes_put(&ret_bytes, word, 1);
	bytes_put(&ret_bytes, 0, 1);
	bytes_put(&ret_bytes, size, 2);
}

/* The size is that of what is behind head_size, to the last byte of the message. */
static int get_head(const uint8_t *bytes, size_t size, const uint8_t *magic, size_t head_size,
		    uint64_t *ret_number, size_t *ret_body_size)
{
	if (size < head_size || memcmp(bytes, magic, sizeof(request_magic)) != 0 || bytes[13] != 0)
		return -EBADMSG;
	size_t body_size = bytes_get16(bytes + 14);
	if (body_size > KEYS_SIGNATURE_MAX || body_size != size - head_size)
		return -EBADMSG;
	*ret_number = bytes_get(bytes + 4, 8);
	*ret_body_size = body_size;
	return 0;
}

/* ---- requests ---- */

size_t signing_encode_request(const struct signing_request *request, uint8_t *ret_bytes)
{
	put_head(request_magic, request->number, request->operation, request->input_size,
		 ret_bytes);
	memcpy(ret_bytes + 16, request->fingerprint, KEYS_FINGERPRINT_SIZE);
	memcpy(ret_bytes + SIGNING_REQUEST_HEAD, request->input, request->input_size);
	return SIGNING_REQUEST_HEAD + request->input_size;
}

int signing_decode_request(const uint8_t *bytes, size_t size, struct signing_request *ret_request)
{
	uint64_t number = 0;
	size_t input_size = 0;
	int ret = get_head(bytes, size, request_magic, SIGNING_REQUEST_HEAD, &number, &input_size);
	if (ret != 0)
		return ret;
	if (input_size == 0 || bytes[12] < SIGNING_RSA_PKCS1 || bytes[12] > SIGNING_ECDSA)
		return -EBADMSG;
	ret_request->number = number;
	ret_request->operation = (enum signing_operation)bytes[12];
	memcpy(ret_request->fingerprint, bytes + 16, KEYS_FINGERPRINT_SIZE);
	ret_request->input = bytes + SIGNING_REQUEST_HEAD;
	ret_request->input_size = input_size;
	return 0;
}

/* ---- answers ---- */

size_t signing_encode_answer(const struct signing_answer *answer, uint8_t *ret_bytes)
{
	put_head(answer_magic, answer->number, answer->result, answer->signature_size, ret_bytes);
	if (answer->signature_size > 0)
		memcpy(ret_bytes + SIGNING_ANSWER_HEAD, answer->signature, answer->signature_size);
	return SIGNING_ANSWER_HEAD + answer->signature_size;
}

int signing_decode_answer(const uint8_t *bytes, size_t size, struct signing_answer *ret_answer)
{
	uint64_t number = 0;
	size_t signature_size = 0;
	int ret =
		get_head(bytes, size, answer_magic, SIGNING_ANSWER_HEAD, &number, &signature_size);
	if (ret != 0)
		return ret;
	if (bytes[12] > SIGNING_FAILED || (bytes[12] == SIGNING_SIGNED) != (signature_size > 0))
		return -EBADMSG;
	ret_answer->number = number;
	ret_answer->result = (enum signing_result)bytes[12];
	ret_answer->signature = bytes + SIGNING_ANSWER_HEAD;
	ret_answer->signature_size = signature_size;
	return 0;
}
