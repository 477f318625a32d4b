/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popfound.h - the mails that were cut off, so that the next time their users get a notice at once.
 *
 * Flow: mailproxy.c makes the table before fork() -> poppair.c of each process: popfound_key() ->
 *       popfound_put() when a mail is cut off, popfound_look() when one is asked for.
 *
 * The table is memory that all processes share, of POPFOUND_ENTRIES, which take a page when they are
 * used. A key has its place in one of four entries, of which the oldest goes when there are more. An
 * entry is forgotten after POPFOUND_LIFE_S: then the mail is scanned again, as the signature may
 * have been taken back; and with the table, when a configuration is read again.
 *
 * No process waits for another. An entry that is being written is not seen; one whose process has
 * died meanwhile is lost, and is not used again.
 *
 * A key is a digest of user, server and mail, so that the table has no names of users.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POPFOUND_ENTRIES  4096
#define POPFOUND_LIFE_S	  86400
#define POPFOUND_KEY_SIZE 16
#define POPFOUND_NAME_MAX 200 /* with its NUL; more is left away */

struct popfound; /* opaque */

/* 0 or -ENOMEM. */
int popfound_new(struct popfound **ret_found);
/* Takes NULL. */
void popfound_free(struct popfound *found);

/*
 * uid: the mail's, or NULL, then its first bytes are first. hop is the server, as an address. False: OpenSSL
 * has failed, and there is no key.
 */
bool popfound_key(const char *hop, const char *user, const char *uid, const uint8_t *first,
		  size_t first_size, uint8_t *ret_key);
/* now_s: seconds since 1970. Without a table, which is NULL, nothing is known. */
void popfound_put(struct popfound *found, const uint8_t *key, uint64_t now_s, const char *name);
/* ret_name has POPFOUND_NAME_MAX bytes, and is written on success only. */
bool popfound_look(const struct popfound *found, const uint8_t *key, uint64_t now_s,
		   char *ret_name);

#ifdef __cplusplus
}
#endif
