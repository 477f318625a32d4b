/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/stream/match_digest.h"

#include <errno.h>

/* Constant once OpenSSL has it, so that contexts are used again without memory. */
static const EVP_MD *algorithm(unsigned kind)
{
	return kind == 0 ? EVP_md5() : kind == 1 ? EVP_sha1() : EVP_sha256();
}

int match_digest_new(struct match_digest *ret_digest, const struct match_db *db,
		     enum match_digest_of of)
{
	memset(ret_digest, 0, sizeof(*ret_digest));
	ret_digest->db = db;
	ret_digest->of = of;
	for (unsigned i = 0; i < MATCH_DIGESTS; i++) {
		if (!db->has_hashes[of][i])
			continue;
		ret_digest->contexts[i] = EVP_MD_CTX_new();
		if (ret_digest->contexts[i] == NULL ||
		    EVP_DigestInit_ex(ret_digest->contexts[i], algorithm(i), NULL) != 1)
			return -ENOMEM;
	}
	return 0;
}

void match_digest_free(struct match_digest *digest)
{
	for (unsigned i = 0; i < MATCH_DIGESTS; i++)
		EVP_MD_CTX_free(digest->contexts[i]);
	memset(digest, 0, sizeof(*digest));
}

void match_digest_begin(struct match_digest *digest)
{
	digest->size = 0;
	for (unsigned i = 0; i < MATCH_DIGESTS; i++)
		digest->is_running[i] = digest->contexts[i] != NULL &&
					EVP_DigestInit_ex(digest->contexts[i], NULL, NULL) == 1;
}

void match_digest_copy(struct match_digest *digest, const struct match_digest *from)
{
	digest->size = from->size;
	for (unsigned i = 0; i < MATCH_DIGESTS; i++)
		digest->is_running[i] =
			from->is_running[i] && digest->contexts[i] != NULL &&
			EVP_MD_CTX_copy_ex(digest->contexts[i], from->contexts[i]) == 1;
}

void match_digest_push(struct match_digest *digest, const uint8_t *bytes, size_t size)
{
	digest->size += size;
	for (unsigned i = 0; i < MATCH_DIGESTS; i++) {
		if (!digest->is_running[i])
			continue;
		const uint32_t largest = digest->db->largest[digest->of][i];
		if (largest != IMAGE_NONE && digest->size > largest)
			digest->is_running[i] = false;
		else
			EVP_DigestUpdate(digest->contexts[i], bytes, size);
	}
}

/* The first record that is not less than digest. */
static uint32_t lower_bound(const struct match_db *db, unsigned section, const uint8_t *digest,
			    size_t digest_size)
{
	uint32_t low = 0;
	uint32_t high = db->counts[section];
	const size_t record = match_db_record_size(section);
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (memcmp(db->sections[section] + middle * record, digest, digest_size) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void look_up(const struct match_digest *digest, unsigned kind, const uint8_t *bytes,
		    match_digest_found_fn *found, void *context)
{
	const struct match_db *db = digest->db;
	const unsigned section =
		(digest->of == MATCH_DIGEST_OBJECT ? IMAGE_MD5 : IMAGE_SECTION_MD5) + kind;
	const size_t digest_size = match_db_digest_size(kind);
	const size_t record = match_db_record_size(section);
	for (uint32_t i = lower_bound(db, section, bytes, digest_size); i < db->counts[section];
	     i++) {
		const uint8_t *at = db->sections[section] + i * record;
		if (memcmp(at, bytes, digest_size) != 0)
			return;
		const uint32_t size = image_word(at + digest_size);
		if (size == IMAGE_NONE || size == digest->size)
			found(context, image_word(at + digest_size + 4), digest->size);
	}
}

void match_digest_end(struct match_digest *digest, match_digest_found_fn *found, void *context)
{
	for (unsigned i = 0; i < MATCH_DIGESTS; i++) {
		uint8_t bytes[EVP_MAX_MD_SIZE];
		unsigned size = 0;
		if (digest->is_running[i] &&
		    EVP_DigestFinal_ex(digest->contexts[i], bytes, &size) == 1 &&
		    size == match_db_digest_size(i))
			look_up(digest, i, bytes, found, context);
		digest->is_running[i] = false;
	}
}
