/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * store_settings.h - the options of build that a store remembers, as they were given.
 *
 * Flow: what the command line of build says, and of the store what it does not say ->
 *       store_settings_write(). Later commands read them, or the lifetime of signatures alone.
 *
 * A row of names and values in the order in which they were given; a name may
 * stand in it more than once. A store_settings owns its memory; store_settings_deinit()
 * takes a zeroed one.
 */

#include "lib/lmdb/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct store_setting {
	char *name;
	char *value; /* empty for an option without an argument */
};

struct store_settings {
	struct store_setting *items;
	size_t count;
	size_t capacity;
};

/* What an encoded row may take: 32 name servers with 16 addresses, and all others. */
#define STORE_SETTINGS_SIZE_MAX 65536

/* Both are copied. DNSBLV6_OK or -ENOMEM. */
int store_settings_add(struct store_settings *settings, const char *name, const char *value);
bool store_settings_has(const struct store_settings *settings, const char *name);
/* The last value of that name, borrowed; NULL when it has none. */
const char *store_settings_get(const struct store_settings *settings, const char *name);
void store_settings_deinit(struct store_settings *settings);

/*
 * What the store at path remembers. DNSBLV6_ENOTFOUND when it was built before
 * there were any; a status of lib/store. The caller has looked for damage.
 */
int store_settings_read(const char *path, struct store_settings *ret_settings);
int store_settings_write(struct writer *writer, const struct store_settings *settings);

/*
 * For sign and update, in their transaction: the lifetime of signatures that counts, which is
 * given_s if that is not 0, or what the store remembers, or the default.
 */
int store_settings_recall_lifetime(struct writer *writer, uint32_t given_s,
				   uint32_t *ret_lifetime_s);
/* Has the store remember given_s if that is not 0, beside all else. */
int store_settings_remember_lifetime(struct writer *writer, uint32_t given_s);

#ifdef __cplusplus
}
#endif
