/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_alias.h - an address that is no mailbox but stands for some: a word behind it, an item.
 *
 * Flow: users_value.c has the word -> here -> users_build.c writes the item, and looks whether each
 *       target is a mailbox of the same list -> users_find_mailboxes() of users.h -> here.
 * This file alone knows the word. users_file.h describes the bytes.
 *
 *     to=john@example.org,"mary m"@example.org
 *
 * Targets are 1 to 64 addresses, each once. One that is there twice is dropped. They are kept as
 * entries are: without quotes, in the case of the list.
 *
 * Values are plain; no function here allocates, keeps a pointer or logs.
 */

#include "integration/mail/base/users/users_file.h"
#include "integration/mail/base/users/users_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define USERS_ALIAS_TARGETS_MAX	 64
#define USERS_ALIAS_TARGETS_SIZE (USERS_ALIAS_TARGETS_MAX * (2 + USERS_KEY_MAX - 1))

struct users_alias {
	size_t count; /* 0: it is none */
	size_t size;
	uint8_t targets[USERS_ALIAS_TARGETS_SIZE]; /* as the item has them */
};

/* 0 for a word of another kind; else that of one here, for users_value.h: a bit of *seen. */
unsigned users_alias_bit(const char *word, size_t size);
/*
 * That word. STORE_OK, with which *ret_alias is written, or one of users_status.h; the alias has a
 * size then that is not to be looked at.
 */
int users_alias_parse(const char *word, size_t size, const struct users_facts *facts,
		      struct users_alias *ret_alias);
/* As a word, without a NUL: USERS_ALIAS_PRINT_MAX bytes at most. Its size; 0 when it is none. */
#define USERS_ALIAS_PRINT_MAX 26000
size_t users_alias_print(const struct users_alias *alias, char *ret_text);

/* As an item. Returns its size, USERS_ALIAS_SIZE at most. */
#define USERS_ALIAS_SIZE (3 + USERS_ALIAS_TARGETS_SIZE)
size_t users_alias_encode(const struct users_alias *alias, uint8_t *ret_bytes);
/*
 * That of a whole value, of count 0 if it has none. STORE_OK, with which *ret_alias is written, or
 * STORE_ECORRUPT, also for targets that no list could have.
 */
int users_alias_decode(struct store_bytes value, struct users_alias *ret_alias);

/*
 * The same without a copy, for a question: the targets of a whole value, of size 0 if it has none,
 * and one after the other. false: there is none, or what is left is damaged.
 */
int users_alias_find(struct store_bytes value, struct store_bytes *ret_targets);
bool users_alias_next(struct store_bytes *targets, struct store_bytes *ret_target);

#ifdef __cplusplus
}
#endif
