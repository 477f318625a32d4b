/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/login/logincache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define SUM_SIZE 32

struct entry {
	uint8_t sum[SUM_SIZE];
	uint64_t end_ms; /* 0: none */
};

struct logincache {
	uint8_t key[SUM_SIZE];
	uint64_t keep_ms;
	struct entry entries[LOGINCACHE_SETS][LOGINCACHE_WAYS];
};

int logincache_new(uint64_t keep_ms, struct logincache **ret_cache)
{
	struct logincache *cache = calloc(1, sizeof(*cache));
	if (cache == NULL)
		return -ENOMEM;
	cache->keep_ms = keep_ms;
	if (getentropy(cache->key, sizeof(cache->key)) != 0) {
		free(cache);
		return -EIO;
	}
	*ret_cache = cache;
	return 0;
}

void logincache_free(struct logincache *cache)
{
	if (cache == NULL)
		return;
	OPENSSL_cleanse(cache->key, sizeof(cache->key));
	free(cache);
}

/* Texts with their NULs, so that none runs into the next. */
static bool sum_of(const struct logincache *cache, const struct logincache_login *login,
		   uint8_t *ret_sum)
{
	uint8_t bytes[1024];
	const char *const texts[] = { login->mailbox, login->hash, login->password };
	size_t size = 0;
	unsigned sum_size = 0;
	bool is_whole = true;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const size_t part = strlen(texts[i]) + 1;
		is_whole = is_whole && part <= sizeof(bytes) - size;
		if (is_whole) {
			memcpy(bytes + size, texts[i], part);
			size += part;
		}
	}
	is_whole = is_whole && HMAC(EVP_sha256(), cache->key, SUM_SIZE, bytes, size, ret_sum,
				    &sum_size) != NULL;
	OPENSSL_cleanse(bytes, sizeof(bytes));
	return is_whole;
}

static size_t set_of(const uint8_t *sum)
{
	return ((size_t)sum[0] << 8 | sum[1]) % LOGINCACHE_SETS;
}

bool logincache_has(const struct logincache *cache, const struct logincache_login *login,
		    uint64_t now_ms)
{
	uint8_t sum[SUM_SIZE];
	if (cache->keep_ms == 0 || !sum_of(cache, login, sum))
		return false;
	const struct entry *set = cache->entries[set_of(sum)];
	for (unsigned i = 0; i < LOGINCACHE_WAYS; i++) {
		if (set[i].end_ms > now_ms && CRYPTO_memcmp(set[i].sum, sum, SUM_SIZE) == 0)
			return true;
	}
	return false;
}

void logincache_put(struct logincache *cache, const struct logincache_login *login, uint64_t now_ms)
{
	uint8_t sum[SUM_SIZE];
	if (cache->keep_ms == 0 || !sum_of(cache, login, sum))
		return;
	struct entry *set = cache->entries[set_of(sum)];
	struct entry *oldest = &set[0];
	for (unsigned i = 1; i < LOGINCACHE_WAYS; i++) {
		if (set[i].end_ms < oldest->end_ms)
			oldest = &set[i];
	}
	memcpy(oldest->sum, sum, SUM_SIZE);
	oldest->end_ms = now_ms + cache->keep_ms;
}
