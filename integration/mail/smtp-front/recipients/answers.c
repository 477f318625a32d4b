/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/recipients/answers.h"

#include "lib/format/fnv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t until_ms; /* 0: free */
	uint64_t hash;
	size_t size;
	struct callforward_answer answer;
	bool is_utf8;
	char address[ENVELOPE_ADDRESS_MAX];
};

struct answers {
	uint64_t seed;
	struct entry entries[ANSWERS_SETS][ANSWERS_WAYS];
};

int answers_new(uint64_t seed, struct answers **ret_answers)
{
	/* Zero pages of the kernel: only what is used becomes resident. */
	struct answers *answers = calloc(1, sizeof(*answers));
	if (answers == NULL)
		return -ENOMEM;
	answers->seed = seed;
	*ret_answers = answers;
	return 0;
}

void answers_free(struct answers *answers)
{
	free(answers);
}

/* FNV-1a, and a last step that spreads it over all bits. */
static uint64_t hash_of(const struct answers *answers, const char *address, size_t size)
{
	uint64_t hash = fnv_add(FNV_START ^ answers->seed, address, size);
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static bool is_it(const struct entry *entry, uint64_t hash, const char *address, size_t size,
		  bool is_utf8)
{
	return entry->hash == hash && entry->size == size && entry->is_utf8 == is_utf8 &&
	       memcmp(entry->address, address, size) == 0;
}

void answers_put(struct answers *answers, const char *address, size_t size, bool is_utf8,
		 const struct callforward_answer *answer, uint64_t now_ms, uint64_t until_ms)
{
	uint64_t hash = hash_of(answers, address, size);
	struct entry *set = answers->entries[hash % ANSWERS_SETS];
	struct entry *place = &set[0];
	if (size > ENVELOPE_ADDRESS_MAX || until_ms <= now_ms)
		return;
	for (unsigned i = 0; i < ANSWERS_WAYS; i++) {
		if (is_it(&set[i], hash, address, size, is_utf8)) {
			place = &set[i];
			break;
		}
		/* A free one, and one whose time is over, end first. */
		if (set[i].until_ms < place->until_ms)
			place = &set[i];
	}
	place->until_ms = until_ms;
	place->hash = hash;
	place->size = size;
	place->is_utf8 = is_utf8;
	place->answer = *answer;
	memcpy(place->address, address, size);
}

bool answers_find(const struct answers *answers, const char *address, size_t size, bool is_utf8,
		  uint64_t now_ms, struct callforward_answer *ret_answer)
{
	uint64_t hash = hash_of(answers, address, size);
	const struct entry *set = answers->entries[hash % ANSWERS_SETS];
	for (unsigned i = 0; i < ANSWERS_WAYS; i++) {
		if (set[i].until_ms > now_ms && is_it(&set[i], hash, address, size, is_utf8)) {
			*ret_answer = set[i].answer;
			return true;
		}
	}
	return false;
}
