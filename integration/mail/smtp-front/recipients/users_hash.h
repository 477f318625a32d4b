/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_hash.h - a password becomes a word of a list: smtp-front-users hash.
 *
 * Flow: users_main.c -> users_hash_read() from standard input -> users_hash_make() -> the word, which
 *       users_secret.h of integration/mail/base/users takes.
 * This file alone calls crypt(3).
 *
 * Nothing is kept; the caller wipes the password. A terminal does not show what is typed, and shows
 * it again whatever ends the program but SIGKILL.
 */

#include <stdbool.h>
#include <stdint.h>

enum users_hash_method { USERS_HASH_YESCRYPT, USERS_HASH_SHA512, USERS_HASH_BCRYPT };

/* yescrypt, sha512 or bcrypt. false: none of them. */
bool users_hash_find(const char *name, enum users_hash_method *ret_method);

/* Octets of a password, as PLAIN may have them, with a NUL. */
#define USERS_HASH_PASSWORD_SIZE 256

/*
 * One line, which a terminal is asked for twice. NULL, or why it is no password: what is read has 1
 * to 255 octets of UTF-8 without control characters. *ret_errno is that of a read that has failed,
 * else 0.
 */
const char *users_hash_read(char *ret_password, int *ret_errno);

/* "password=$y$..." or "scram=SCRAM-SHA-256$...", with a NUL. */
#define USERS_HASH_WORD_SIZE 300

/* NULL, or why there is no hash. */
const char *users_hash_make(enum users_hash_method method, const char *password, char *ret_word);
const char *users_hash_make_scram(uint32_t iterations, const char *password, char *ret_word);
