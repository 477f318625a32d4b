/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * signing.h - the messages between an edge and the keyholder.
 *
 * Flow: remotekey.c: signing_encode_request() -> a SOCK_SEQPACKET socket -> keyholder.c:
 *       signing_decode_request() -> signing_encode_answer() -> remotekey.c:
 *       signing_decode_answer().
 *
 *     OFFSET  SIZE  REQUEST                        OFFSET  SIZE  ANSWER
 *        0      4   "SKQ1"                            0      4   "SKA1"
 *        4      8   number, big endian                4      8   number of the request
 *       12      1   operation                        12      1   result
 *       13      1   0                                13      1   0
 *       14      2   size of the input, big endian    14      2   size of the signature
 *       16     32   fingerprint of the key           16      n   signature, when it is SIGNED
 *       48      n   input
 *
 * A key has no index but the SHA-256 of its public half: when a keyholder that was made again has
 * read files that are newer than the certificates of its edges, it does not know the key, instead
 * of signing with another. The number is for an edge that has given up waiting: the answer to an
 * earlier request is not taken for that to a later one.
 *
 * The two processes are of one program and one generation; no other reads this. Nothing here
 * allocates, logs or keeps a pointer; inputs are borrowed from the message.
 */

#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/tls/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

enum signing_operation {
	SIGNING_RSA_PKCS1 = 1, /* input is a DigestInfo, which has the digest's name */
	SIGNING_RSA_PSS = 2,   /* input is a block of the modulus' size that PSS has made */
	SIGNING_ECDSA = 3,     /* input is a digest */
};

enum signing_result {
	SIGNING_SIGNED = 0,
	SIGNING_UNKNOWN_KEY = 1,
	SIGNING_REFUSED = 2, /* operation not of this key, or input that is none of it */
	SIGNING_FAILED = 3,  /* OpenSSL failed */
};

#define SIGNING_REQUEST_HEAD 48
#define SIGNING_ANSWER_HEAD  16
#define SIGNING_REQUEST_MAX  (SIGNING_REQUEST_HEAD + KEYS_SIGNATURE_MAX)
#define SIGNING_ANSWER_MAX   (SIGNING_ANSWER_HEAD + KEYS_SIGNATURE_MAX)

struct signing_request {
	uint64_t number;
	enum signing_operation operation;
	uint8_t fingerprint[KEYS_FINGERPRINT_SIZE];
	const uint8_t *input;
	size_t input_size; /* 1 to KEYS_SIGNATURE_MAX */
};

struct signing_answer {
	uint64_t number;
	enum signing_result result;
	const uint8_t *signature;
	size_t signature_size; /* 0 unless signed */
};

/* ret_bytes has SIGNING_REQUEST_MAX. Returns the size. */
size_t signing_encode_request(const struct signing_request *request, uint8_t *ret_bytes);
/* 0, or -EBADMSG for anything that the other has not made. */
int signing_decode_request(const uint8_t *bytes, size_t size, struct signing_request *ret_request);

/* ret_bytes has SIGNING_ANSWER_MAX. Returns the size. */
size_t signing_encode_answer(const struct signing_answer *answer, uint8_t *ret_bytes);
int signing_decode_answer(const uint8_t *bytes, size_t size, struct signing_answer *ret_answer);

#ifdef __cplusplus
}
#endif
