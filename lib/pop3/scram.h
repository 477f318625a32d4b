/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scram.h - the server's side of SCRAM-SHA-256 (RFC 5802, 7677): a password is proven, not told.
 *
 * Flow: messages of pop3_dialogue.h, out of their base64 -> scram_first() -> the caller looks up
 *       the user's keys -> scram_challenge() -> scram_final() -> pop3_dialogue_challenge() and
 *       pop3_dialogue_accept(), or a refusal.
 *
 *     client  n,,n=user,r=CLIENT                       scram_first(): scram.user
 *     server  r=CLIENTSERVER,s=SALT,i=4096             scram_challenge()
 *     client  c=biws,r=CLIENTSERVER,p=PROOF            scram_final()
 *     server  v=SIGNATURE                              the same
 *     client  an empty line (RFC 5034, part 4)         accept
 *
 * Keys are what a store of users has; they prove a password and do not log in. A user that does
 * not exist gets keys, too, with .is_mock: a salt that the caller derives from the name by a secret
 * of its own, the same each time (scram_mock()), and the usual number of iterations. Then the
 * exchange goes the same way to the same SASL_WRONG, and takes the same time.
 *
 * Channel binding is not offered: "n" and "y" are taken, "p" is refused, and what a client says in
 * c= has to be what it said first. Names are used as they came, see sasl.h. The error messages of
 * RFC 5802 (e=) are not sent: -ERR says it.
 *
 * The state is a plain value; what it has is public but for .keys. The nonce comes from the caller,
 * anew for each exchange. No function here does I/O, keeps a pointer or logs; libcrypto allocates.
 * A function that has not returned SASL_FINE has ended the exchange.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/pop3/sasl.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCRAM_KEY_SIZE	     32 /* of SHA-256 */
#define SCRAM_SALT_MAX	     64
#define SCRAM_MOCK_SALT_SIZE 16
#define SCRAM_NONCE_MAX	     128     /* of each side */
#define SCRAM_ITERATIONS_MAX 1000000 /* more would keep clients busy for a minute */
#define SCRAM_ANSWER_MAX     512     /* of what the server says, with a NUL */

struct scram_keys {
	uint8_t stored_key[SCRAM_KEY_SIZE];
	uint8_t server_key[SCRAM_KEY_SIZE];
	uint8_t salt[SCRAM_SALT_MAX];
	size_t salt_size;    /* at least 1 */
	uint32_t iterations; /* 1 to SCRAM_ITERATIONS_MAX; RFC 7677 wants 4096 at least */
	bool is_mock;
};

enum scram_state {
	SCRAM_AT_FIRST, /* waits for the client's first message */
	SCRAM_AT_KEYS,	/* for the caller's */
	SCRAM_AT_FINAL, /* for the client's proof */
	SCRAM_AT_EMPTY, /* for the empty message behind the signature */
	SCRAM_AT_END,
};

struct scram {
	enum scram_state state;
	char user[SASL_TEXT_MAX + 1];
	char first[SASL_MESSAGE_MAX]; /* the client's, and where its parts are */
	size_t first_size;
	size_t header_size;		     /* "n,," */
	char answer[SCRAM_ANSWER_MAX];	     /* the server's first */
	char nonce[2 * SCRAM_NONCE_MAX + 1]; /* of both */
	struct scram_keys keys;
};

void scram_init(struct scram *ret_scram);
/* SASL_FINE, SASL_MALFORMED, SASL_FOREIGN or SASL_BINDING. Writes scram->user. */
enum sasl_status scram_first(struct scram *scram, const uint8_t *message, size_t size);
/*
 * The server's first message to ret_answer, which has SCRAM_ANSWER_MAX bytes; its size without the
 * NUL. server_nonce has 1 to SCRAM_NONCE_MAX printable characters without commas. Keys are copied.
 */
size_t scram_challenge(struct scram *scram, const struct scram_keys *keys, const char *server_nonce,
		       char *ret_answer);
/*
 * SASL_FINE with the server's final message in ret_answer, as above; SASL_MALFORMED, SASL_WRONG or
 * SASL_FAILED. The keys are wiped in any case.
 */
enum sasl_status scram_final(struct scram *scram, const uint8_t *message, size_t size,
			     char *ret_answer, size_t *ret_size);

/* ---- keys ---- */

/* Those of a password, with ret_keys->salt and .iterations as they are. False: out of memory. */
bool scram_derive(const char *password, struct scram_keys *keys);
/*
 * Whether it is the password of these keys, for USER, PASS and PLAIN: SASL_FINE, SASL_WRONG or
 * SASL_FAILED. It takes as long as the iterations do, also of mock keys, which no password fits.
 */
enum sasl_status scram_is_password(const struct scram_keys *keys, const char *password);
/* Of a user that does not exist. False: out of memory. */
bool scram_mock(const uint8_t *secret, size_t secret_size, const char *user, uint32_t iterations,
		struct scram_keys *ret_keys);

#ifdef __cplusplus
}
#endif
