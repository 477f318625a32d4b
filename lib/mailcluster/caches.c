/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdlib.h>

int caches_init(struct caches *ret_caches)
{
	ret_caches->known = calloc(CACHES_KNOWN_COUNT, sizeof(*ret_caches->known));
	ret_caches->peeks = calloc(CACHES_PEEK_COUNT, sizeof(*ret_caches->peeks));
	return ret_caches->known != NULL && ret_caches->peeks != NULL ? 0 : -ENOMEM;
}

void caches_deinit(struct caches *caches)
{
	free(caches->known);
	free(caches->peeks);
	*caches = (struct caches){ 0 };
}

/* A hash has one place, and another mailbox of the same place takes it. */
static size_t place_of(const uint8_t *hash, size_t count)
{
	return (size_t)(bytes_get(hash + 8, 8) % count);
}

bool caches_is_known(const struct caches *caches, const uint8_t *hash)
{
	return memcmp(caches->known[place_of(hash, CACHES_KNOWN_COUNT)], hash, NAMES_HASH_SIZE) ==
	       0;
}

void caches_know(struct caches *caches, const uint8_t *hash)
{
	memcpy(caches->known[place_of(hash, CACHES_KNOWN_COUNT)], hash, NAMES_HASH_SIZE);
}

static struct peek *find_peek(const struct caches *caches, const uint8_t *hash)
{
	struct peek *peek = &caches->peeks[place_of(hash, CACHES_PEEK_COUNT)];
	return peek->beat != 0 && memcmp(peek->hash, hash, NAMES_HASH_SIZE) == 0 ? peek : NULL;
}

bool caches_peek(const struct caches *caches, const uint8_t *hash, uint64_t beat,
		 struct mailcounts *ret_counts)
{
	const struct peek *peek = find_peek(caches, hash);
	if (peek == NULL || beat - peek->beat > CACHES_PEEK_BEATS)
		return false;
	*ret_counts = peek->counts;
	return true;
}

void caches_put_peek(struct caches *caches, const uint8_t *hash, uint64_t beat,
		     const struct mailcounts *counts)
{
	struct peek *peek = &caches->peeks[place_of(hash, CACHES_PEEK_COUNT)];
	memcpy(peek->hash, hash, NAMES_HASH_SIZE);
	peek->counts = *counts;
	peek->beat = beat;
}

void caches_add_peek(struct caches *caches, const uint8_t *hash, uint64_t octets)
{
	struct peek *peek = find_peek(caches, hash);
	if (peek == NULL)
		return;
	peek->counts.mails++;
	peek->counts.octets += octets;
}

void caches_forget_peek(struct caches *caches, const uint8_t *hash)
{
	struct peek *peek = find_peek(caches, hash);
	if (peek != NULL)
		peek->beat = 0;
}
