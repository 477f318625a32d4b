/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * logincache.h - logins that were right a short while ago, so that a client that looks for mail each
 *                minute costs a hash an hour, of each checker.
 *
 * Flow: checker.c: logincache_has() -> else crypt_r() or scram.h -> logincache_put().
 *
 * It knows no password: an entry is HMAC-SHA-256, under a key that this process has drawn and never
 * shows, of the user's entry, its hash as the users database has it, and the password. A user whose
 * hash changes is not found any more. Times are parameters.
 *
 * A fixed table of LOGINCACHE_SETS sets of LOGINCACHE_WAYS places; the oldest of a set makes room. A
 * handle with memory of its own, for one thread. Nothing here logs.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOGINCACHE_WAYS 4
#define LOGINCACHE_SETS 16384 /* 65,536 users, 2.6 MB */

struct logincache; /* opaque */

/* One login; borrowed. */
struct logincache_login {
	const char *mailbox;
	const char *hash; /* what the database has */
	const char *password;
};

/* 0 or -errno. */
int logincache_new(uint64_t keep_ms, struct logincache **ret_cache);
/* Takes NULL. */
void logincache_free(struct logincache *cache);

/* False also when libcrypto has no memory. */
bool logincache_has(const struct logincache *cache, const struct logincache_login *login,
		    uint64_t now_ms);
void logincache_put(struct logincache *cache, const struct logincache_login *login,
		    uint64_t now_ms);

#ifdef __cplusplus
}
#endif
