/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_address.h - which addresses a list may have, as text and as the key of an entry.
 *
 * Flow: users_list.c and users_alias.c find words -> here -> keys of users_file.h, and back.
 * This file alone knows what an address may look like. A question for one is not looked at so
 * closely: what no list may have is not found.
 *
 * No function here allocates, keeps a pointer or logs.
 */

#include "integration/mail/base/users/users_file.h"
#include "integration/mail/base/users/users_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* RFC 3629. */
bool users_address_is_utf8(const char *text, size_t size);
/* STORE_OK, USERS_EDOMAIN or USERS_EDOMAINSIZE. It is UTF-8 already. */
int users_address_check_domain(const char *text, size_t size);
/* The same; the key of an address, or of "@domain" that of a catch-all. */
int users_address_parse(const char *text, size_t size, const struct users_facts *facts,
			struct users_key *ret_key);
/*
 * What is behind the letter of the key of an address, in quotes where it needs them, without a NUL:
 * USERS_ADDRESS_PRINT_MAX bytes at most. A "#" that begins a word of a list needs them, too. Returns
 * its size, 0 when it is no address.
 */
#define USERS_ADDRESS_PRINT_MAX (2 * USERS_KEY_MAX)
size_t users_address_print(const uint8_t *address, size_t size, bool begins_word, char *ret_text);

#ifdef __cplusplus
}
#endif
