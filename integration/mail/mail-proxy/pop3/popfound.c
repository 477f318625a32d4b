/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/pop3/popfound.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/mman.h>

#define WAYS	   4
#define NAME_WORDS (POPFOUND_NAME_MAX / sizeof(uint64_t))

/* Words, as they are read while others may write: what was torn is seen by the round, and not used. */
struct entry {
	uint64_t round; /* odd while it is being written; 0: never was */
	uint64_t until_s;
	uint64_t key[2];
	uint64_t name[NAME_WORDS];
};

struct popfound {
	struct entry entries[POPFOUND_ENTRIES];
};

int popfound_new(struct popfound **ret_found)
{
	void *bytes = mmap(NULL, sizeof(struct popfound), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED)
		return -ENOMEM;
	*ret_found = bytes;
	return 0;
}

void popfound_free(struct popfound *found)
{
	if (found != NULL)
		munmap(found, sizeof(*found));
}

/* ---- keys ---- */

static bool digest_text(EVP_MD_CTX *digest, const char *text)
{
	/* With its NUL, so that two words are no other two. */
	return EVP_DigestUpdate(digest, text, strlen(text) + 1) == 1;
}

bool popfound_key(const char *hop, const char *user, const char *uid, const uint8_t *first,
		  size_t first_size, uint8_t *ret_key)
{
	uint8_t bytes[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *digest = EVP_MD_CTX_new();
	bool is_fine = digest != NULL && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 &&
		       digest_text(digest, hop) && digest_text(digest, user) &&
		       digest_text(digest, uid != NULL ? "uid" : "first");
	if (is_fine && uid != NULL)
		is_fine = digest_text(digest, uid);
	else if (is_fine && first_size > 0)
		is_fine = EVP_DigestUpdate(digest, first, first_size) == 1;
	is_fine = is_fine && EVP_DigestFinal_ex(digest, bytes, NULL) == 1;
	EVP_MD_CTX_free(digest);
	if (is_fine)
		memcpy(ret_key, bytes, POPFOUND_KEY_SIZE);
	return is_fine;
}

/* ---- entries ---- */

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* A copy during which nothing was written. */
static bool copy_entry(const struct entry *entry, struct entry *ret_copy)
{
	ret_copy->round = __atomic_load_n(&entry->round, __ATOMIC_ACQUIRE);
	if (ret_copy->round == 0 || ret_copy->round % 2 == 1)
		return false;
	ret_copy->until_s = load(&entry->until_s);
	for (size_t i = 0; i < 2; i++)
		ret_copy->key[i] = load(&entry->key[i]);
	for (size_t i = 0; i < NAME_WORDS; i++)
		ret_copy->name[i] = load(&entry->name[i]);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return load(&entry->round) == ret_copy->round;
}

static size_t first_way(const uint64_t *key)
{
	return key[0] % (POPFOUND_ENTRIES / WAYS) * WAYS;
}

static bool is_of(const struct entry *copy, const uint64_t *key)
{
	return copy->key[0] == key[0] && copy->key[1] == key[1];
}

/* That of the key, one that is free, or the oldest. NULL: all are being written. */
static struct entry *choose(struct popfound *found, const uint64_t *key, uint64_t *ret_round)
{
	struct entry *best = NULL;
	uint64_t best_until_s = UINT64_MAX;
	for (size_t i = 0; i < WAYS; i++) {
		struct entry copy;
		struct entry *entry = &found->entries[first_way(key) + i];
		const bool is_whole = copy_entry(entry, &copy);
		if (!is_whole && copy.round != 0)
			continue;
		const uint64_t until_s = is_whole && !is_of(&copy, key) ? copy.until_s : 0;
		if (until_s >= best_until_s)
			continue;
		best = entry;
		best_until_s = until_s;
		*ret_round = copy.round;
		if (is_whole && is_of(&copy, key))
			break;
	}
	return best;
}

void popfound_put(struct popfound *found, const uint8_t *key, uint64_t now_s, const char *name)
{
	uint64_t words[2];
	uint64_t name_words[NAME_WORDS] = { 0 };
	uint64_t round = 0;
	if (found == NULL)
		return;
	memcpy(words, key, sizeof(words));
	const size_t size = strlen(name);
	memcpy(name_words, name, size < POPFOUND_NAME_MAX ? size : POPFOUND_NAME_MAX - 1);
	struct entry *entry = choose(found, words, &round);
	/* Another has it: what one forgets costs a mail that is cut off once more. */
	if (entry == NULL || !__atomic_compare_exchange_n(&entry->round, &round, round + 1, false,
							  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store(&entry->until_s, now_s + POPFOUND_LIFE_S);
	for (size_t i = 0; i < 2; i++)
		store(&entry->key[i], words[i]);
	for (size_t i = 0; i < NAME_WORDS; i++)
		store(&entry->name[i], name_words[i]);
	__atomic_store_n(&entry->round, round + 2, __ATOMIC_RELEASE);
}

bool popfound_look(const struct popfound *found, const uint8_t *key, uint64_t now_s, char *ret_name)
{
	uint64_t words[2];
	memcpy(words, key, sizeof(words));
	for (size_t i = 0; found != NULL && i < WAYS; i++) {
		struct entry copy;
		if (!copy_entry(&found->entries[first_way(words) + i], &copy) ||
		    !is_of(&copy, words) || now_s >= copy.until_s)
			continue;
		memcpy(ret_name, copy.name, POPFOUND_NAME_MAX);
		ret_name[POPFOUND_NAME_MAX - 1] = '\0';
		return true;
	}
	return false;
}
