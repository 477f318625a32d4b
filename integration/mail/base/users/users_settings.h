/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_settings.h - the limits of one mailbox: words behind an address, items of a value.
 *
 * Flow: users_value.c has the words -> here -> users_build.c writes the bytes -> users.c finds
 *       them -> here -> a program that keeps mailboxes.
 * This file alone knows these words. users_file.h describes the bytes.
 *
 *     messages=10000    at most so many mails
 *     octets=500M       at most so many octets, as POP3 counts them: K, M or G
 *     keep=90d          mails that are older are deleted: s, m, h or d
 *     node=3            where it is, in a cluster without Ceph: the number of a node
 *
 * 0 is as good as no word. A time has its unit, unlike one of a configuration: keep=90 that was
 * meant to be days would delete all mail but that of a minute and a half.
 *
 * Values are plain; no function here allocates, keeps a pointer or logs.
 */

#include "integration/mail/base/users/users_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0 is no limit of its own. */
struct users_settings {
	uint64_t messages_max;
	uint64_t octets_max;
	uint64_t keep_s;
	uint64_t node; /* 0: that of its name */
};

/* The largest that a list may say; the texts of users_status.h have them too. */
#define USERS_SETTINGS_MESSAGES 1000000000
#define USERS_SETTINGS_OCTETS	((int64_t)1 << 50)
#define USERS_SETTINGS_KEEP_S	((int64_t)36500 * 86400)
#define USERS_SETTINGS_NODE	255

/* 0 for a word of another kind; else that of one here, for users_value.h: a bit of *seen. */
unsigned users_settings_bit(const char *word, size_t size);
/* That word into its member. STORE_OK or one of users_status.h, with which nothing has changed. */
int users_settings_parse(const char *word, size_t size, struct users_settings *settings);

/*
 * As words with a blank between them, and a NUL: USERS_SETTINGS_PRINT_MAX bytes at most. Returns
 * the size without the NUL, which is 0 when all are 0.
 */
#define USERS_SETTINGS_PRINT_MAX 128
size_t users_settings_print(const struct users_settings *settings, char *ret_text);

bool users_settings_is_any(const struct users_settings *settings);

/* As items. Returns their size, USERS_SETTINGS_SIZE at most. */
#define USERS_SETTINGS_SIZE 44
size_t users_settings_encode(const struct users_settings *settings, uint8_t *ret_bytes);
/* The same for tags that stand behind those of secrets and aliases. */
size_t users_settings_encode_last(const struct users_settings *settings, uint8_t *ret_bytes);
/* Those of a whole value; items of another kind are passed over. STORE_OK or STORE_ECORRUPT. */
int users_settings_decode(struct store_bytes value, struct users_settings *ret_settings);

#ifdef __cplusplus
}
#endif
