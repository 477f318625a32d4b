/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_value.h - all that stands behind an address: words of a line, and the value of its entry.
 *
 * Flow: users_list.c finds the words -> here -> users_build.c writes the value; users_walk() of
 *       users.c has a value -> here -> words again. Others ask for one part of it: users_settings.h,
 *       users_secret.h, users_alias.h.
 *
 * Values are plain; no function here allocates, keeps a pointer or logs.
 */

#include "integration/mail/base/users/users_alias.h"
#include "integration/mail/base/users/users_secret.h"
#include "integration/mail/base/users/users_settings.h"

#ifdef __cplusplus
extern "C" {
#endif

struct users_value {
	struct users_settings settings;
	struct users_secret secret;
	struct users_alias alias;
};

/* Nothing behind an address. A list has many: what is beyond a size is not touched. */
void users_value_clear(struct users_value *ret_value);

/*
 * One word of a line into its place. *seen, 0 before the first word of a line, has a bit for each
 * word that was there. STORE_OK or one of users_status.h, with which no setting and no
 * secret has changed, and an alias is none.
 */
int users_value_parse(const char *word, size_t size, const struct users_facts *facts,
		      unsigned *seen, struct users_value *value);
/* STORE_OK, or USERS_EALONE of words that do not go together. */
int users_value_check(const struct users_value *value);
/* As words, without a NUL: USERS_VALUE_PRINT_MAX bytes at most. Their size. */
#define USERS_VALUE_PRINT_MAX                                                                      \
	(USERS_SETTINGS_PRINT_MAX + USERS_SECRET_PRINT_MAX + USERS_ALIAS_PRINT_MAX)
size_t users_value_print(const struct users_value *value, char *ret_text);

/* Its size, USERS_VALUE_SIZE at most. */
#define USERS_VALUE_SIZE (USERS_SETTINGS_SIZE + USERS_SECRET_SIZE + USERS_ALIAS_SIZE)
size_t users_value_encode(const struct users_value *value, uint8_t *ret_bytes);
/*
 * STORE_OK or STORE_ECORRUPT. What has a tag of a later program is passed over; *ret_has_others
 * says whether there is any. *ret_value is of no use unless it is STORE_OK.
 */
int users_value_decode(struct store_bytes bytes, struct users_value *ret_value,
		       bool *ret_has_others);

#ifdef __cplusplus
}
#endif
