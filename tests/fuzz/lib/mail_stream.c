/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any mail, in one piece and in pieces: its parts are the same, and what is odd about it.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   what the sizes of pieces are made of
 *        1      .   the mail
 */

#include "lib/mstream/mstream.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

#define ODDITIES_MAX 1000 /* as mstream.h has it */
#define PARTS_MAX    512  /* that are compared: more are not made */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A part, and a number that is made of all that was said of it. */
struct part {
	uint64_t digest;
	bool is_ended;
};

struct log {
	size_t piece;
	unsigned count;
	bool has_too_many;
	unsigned odd_count;
	unsigned odd[MSTREAM_ODDITY_COUNT];
	struct part parts[PARTS_MAX];
};

/* FNV-1a. */
static uint64_t digest(uint64_t sum, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3ULL;
	return sum;
}

static uint64_t digest_text(uint64_t sum, const char *text)
{
	return digest(sum, text, strlen(text) + 1);
}

static void *begin(void *context, const struct mstream_part *part)
{
	struct log *log = context;
	require(part->view < MSTREAM_VIEWS && part->coding < MSTREAM_CODING_COUNT,
		"a part is in its bounds");
	require(strlen(part->name) < MSTREAM_NAME_SIZE && strlen(part->type) < MSTREAM_TYPE_SIZE,
		"its words are in theirs");
	if (log->count == PARTS_MAX)
		return NULL;
	struct part *made = &log->parts[log->count++];
	const struct part *before = part->before;
	made->is_ended = false;
	made->digest = before != NULL ? before->digest : 0xcbf29ce484222325ULL;
	/* So that a copy begins with the bytes of what it is a copy of, words are added in another way. */
	made->digest += digest_text(
		digest_text(digest_text(part->view, part->position), part->type), part->name);
	made->digest += part->coding;
	return made;
}

static void data_of(void *context, void *part, const uint8_t *bytes, size_t size)
{
	const struct log *log = context;
	struct part *made = part;
	require(!made->is_ended, "no data behind the end");
	require(size > 0 && (size <= log->piece || size <= MSTREAM_PENDING),
		"data has the size it may have");
	made->digest = digest(made->digest, bytes, size);
}

static void end(void *context, void *part, bool is_whole)
{
	struct part *made = part;
	(void)context;
	require(!made->is_ended, "one end");
	made->is_ended = true;
	made->digest = digest(made->digest, &is_whole, sizeof(is_whole));
}

static void odd(void *context, enum mstream_oddity oddity, const char *position)
{
	struct log *log = context;
	require(strlen(position) > 0, "an oddity has its place");
	log->odd[oddity]++;
	/* Which part is left out when there is room for one more depends on the order of views. */
	log->odd_count++;
	log->has_too_many =
		log->has_too_many || oddity == MSTREAM_TOO_MANY || log->odd_count == ODDITIES_MAX;
}

static const struct mstream_events events = { begin, data_of, end, odd };

static int order(const void *a, const void *b)
{
	const struct part *one = a;
	const struct part *other = b;
	return one->digest < other->digest ? -1 : one->digest > other->digest;
}

static void read_mail(const uint8_t *bytes, size_t size, unsigned seed, bool is_whole,
		      struct log *ret_log)
{
	struct mstream *mail = malloc(mstream_size());
	require(mail != NULL, "memory");
	memset(ret_log, 0, sizeof(*ret_log));
	mail = mstream_begin(mail, &events, ret_log);
	for (size_t at = 0; at < size;) {
		/* 0: one piece. */
		size_t some = seed == 0 ? size : 1 + (seed >> 8) % (seed % 2 == 0 ? 3 : 100);
		if (some > size - at)
			some = size - at;
		seed = seed == 0 ? 0 : seed * 1103515245U + 12345U;
		uint8_t *copy = malloc(some);
		require(copy != NULL, "memory");
		memcpy(copy, bytes + at, some);
		ret_log->piece = some;
		mstream_push(mail, copy, some);
		free(copy);
		at += some;
	}
	mstream_end(mail, is_whole);
	free(mail);
	for (unsigned i = 0; i < ret_log->count; i++)
		require(ret_log->parts[i].is_ended, "each part has its end");
	qsort(ret_log->parts, ret_log->count, sizeof(struct part), order);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct log whole;
	static struct log pieces;
	if (size < 1)
		return 0;
	const bool is_whole = data[0] % 16 != 0;
	read_mail(data + 1, size - 1, 0, is_whole, &whole);
	read_mail(data + 1, size - 1, data[0] + 1U, is_whole, &pieces);
	require(whole.has_too_many == pieces.has_too_many, "too many are too many");
	if (whole.has_too_many || whole.count == PARTS_MAX)
		return 0;
	require(whole.count == pieces.count, "as many parts");
	for (unsigned i = 0; i < whole.count; i++)
		require(whole.parts[i].digest == pieces.parts[i].digest, "the same parts");
	require(memcmp(whole.odd, pieces.odd, sizeof(whole.odd)) == 0, "as odd");
	return 0;
}
