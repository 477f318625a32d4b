/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_secret.h - what one mailbox has to check a login: words behind an address, items of a value.
 *
 * Flow: users_value.c has the words -> here -> users_build.c writes the bytes -> users_find_secret()
 *       of users.h -> here -> a process that logs users in, and none else.
 * This file alone knows these words and what forms a secret may have. users_file.h describes the bytes.
 *
 *     password=$y$j9T$...           a hash of crypt(3)
 *     scram=SCRAM-SHA-256$4096:...  keys, as lib/pop3/scram_text.h reads them
 *
 * Of crypt(3) are taken, by their form: $y$ and $gy$ (yescrypt), $7$ (scrypt), $2a$, $2b$ and $2y$
 * (bcrypt), $6$ and $5$ (SHA-2). DES, MD5 and what else is older are tried out too quickly.
 *
 * Values are plain; the caller wipes them. No function here allocates, keeps a pointer, hashes or
 * logs.
 */

#include "integration/mail/base/users/users_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define USERS_SECRET_MAX 255 /* octets of each */

/* "" is none. All of it may be had by reading a file that is readable by its owner alone. */
struct users_secret {
	char password[USERS_SECRET_MAX + 1];
	char scram[USERS_SECRET_MAX + 1];
};

/* 0 for a word of another kind; else that of one here, for users_value.h: a bit of *seen. */
unsigned users_secret_bit(const char *word, size_t size);
/* That word into its member. STORE_OK or one of users_status.h, with which nothing has changed. */
int users_secret_parse(const char *word, size_t size, struct users_secret *secret);

/*
 * As words with a blank between them, and a NUL: USERS_SECRET_PRINT_MAX bytes at most. Returns the
 * size without the NUL, which is 0 when there is none.
 */
#define USERS_SECRET_PRINT_MAX (2 * USERS_SECRET_MAX + 20)
size_t users_secret_print(const struct users_secret *secret, char *ret_text);

bool users_secret_is_any(const struct users_secret *secret);

/* As items. Returns their size, USERS_SECRET_SIZE at most. */
#define USERS_SECRET_SIZE (2 * (3 + USERS_SECRET_MAX))
size_t users_secret_encode(const struct users_secret *secret, uint8_t *ret_bytes);
/* Those of a whole value. STORE_OK or STORE_ECORRUPT, also of one that no list could have. */
int users_secret_decode(struct store_bytes value, struct users_secret *ret_secret);

#ifdef __cplusplus
}
#endif
