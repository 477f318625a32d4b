/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_settings.h - what one mailbox has for itself: words behind an address, bytes of a value.
 *
 * Flow: users_list.c finds the words -> here -> users_build.c writes the bytes -> users.c finds
 *       them -> here -> a program that keeps mailboxes.
 * This file alone knows the words. users_file.h describes the bytes.
 *
 *     messages=10000    at most so many mails
 *     octets=500M       at most so many octets, as POP3 counts them: K, M or G
 *     keep=90d          mails that are older are deleted: s, m, h or d
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
};

/* The largest that a list may say; the texts of users_status.h have them too. */
#define USERS_SETTINGS_MESSAGES 1000000000
#define USERS_SETTINGS_OCTETS	((int64_t)1 << 50)
#define USERS_SETTINGS_KEEP_S	((int64_t)36500 * 86400)

/*
 * One word of a line into its member. *seen, 0 before the first word of a line, has a bit for each
 * word that was there. STORE_OK or one of users_status.h, with which nothing has changed.
 */
int users_settings_parse(const char *word, size_t size, unsigned *seen,
			 struct users_settings *settings);

/*
 * As words with a blank between them, and a NUL: USERS_SETTINGS_PRINT_MAX bytes at most. Returns
 * the size without the NUL, which is 0 when all are 0.
 */
#define USERS_SETTINGS_PRINT_MAX 128
size_t users_settings_print(const struct users_settings *settings, char *ret_text);

/* As a value. Returns its size, USERS_SETTINGS_SIZE at most. */
#define USERS_SETTINGS_SIZE 33
size_t users_settings_encode(const struct users_settings *settings, uint8_t *ret_bytes);
/*
 * STORE_OK or STORE_ECORRUPT. What has a tag of a later program is passed over; *ret_has_others
 * says whether there is any.
 */
int users_settings_decode(struct store_bytes value, struct users_settings *ret_settings,
			  bool *ret_has_others);

#ifdef __cplusplus
}
#endif
