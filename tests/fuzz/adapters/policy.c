/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a mail server sends, to both services: in one piece and in pieces of a size that
 * the first byte says, the same questions have to come out, and each has an end.
 */

#include "integration/adapters/postfix/line.h"
#include "integration/adapters/postfix/request.h"

#include <stdint.h>
#include <string.h>

#include "tests/fuzz/require.h"

struct seen {
	uint64_t digest; /* of all questions */
	unsigned count;
	bool is_endless;
};

static void check_question(const struct question *question)
{
	for (const char *c = question->state; *c != '\0'; c++)
		require(*c > ' ' && *c <= '~', "a state is a word");
	for (const char *c = question->instance; *c != '\0'; c++)
		require(*c > ' ' && *c <= '~', "an instance is a word");
}

/* FNV-1a. */
static uint64_t digest(uint64_t sum, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static uint64_t digest_question(uint64_t sum, const struct question *question)
{
	const uint8_t flags[] = { question->has_ip, question->is_authenticated,
				  question->is_malformed };
	sum = digest(sum, flags, sizeof(flags));
	if (question->has_ip)
		sum = digest(sum, &question->ip, sizeof(question->ip));
	sum = digest(sum, question->state, strlen(question->state) + 1);
	return digest(sum, question->instance, strlen(question->instance) + 1);
}

/* A step of either parser. Returns how much it has taken. */
static size_t step(struct request *request, struct line *line, bool is_line, const char *bytes,
		   size_t size, struct seen *seen)
{
	size_t taken = size + 1;
	enum question_status status = is_line ? line_feed(line, bytes, size, &taken)
					      : request_feed(request, bytes, size, &taken);
	require(taken <= size, "not more is taken than there is");
	require(status != QUESTION_MORE || taken == size, "more is wanted of nothing else");
	seen->is_endless = status == QUESTION_ENDLESS;
	if (status != QUESTION_READY)
		return taken;
	require(taken > 0 && bytes[taken - 1] == '\n', "a question ends with its line");
	const struct question *question = is_line ? &line->question : &request->question;
	seen->digest = digest_question(seen->digest, question);
	seen->count++;
	check_question(question);
	if (is_line)
		line_begin(line);
	else
		request_begin(request);
	return taken;
}

static struct seen feed(const char *bytes, size_t size, size_t piece, bool is_line)
{
	struct seen seen = { .count = 0 };
	struct request request;
	struct line line;
	request_begin(&request);
	line_begin(&line);
	for (size_t fed = 0; fed < size && !seen.is_endless;) {
		size_t left = size - fed < piece ? size - fed : piece;
		fed += step(&request, &line, is_line, bytes + fed, left, &seen);
	}
	return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	const char *bytes = (const char *)data + 1;
	size_t piece = data[0] % 64U + 1;
	for (int is_line = 0; is_line <= 1; is_line++) {
		struct seen whole = feed(bytes, size - 1, size, is_line != 0);
		struct seen cut = feed(bytes, size - 1, piece, is_line != 0);
		require(whole.count == cut.count && whole.is_endless == cut.is_endless,
			"pieces do not matter");
		require(whole.digest == cut.digest, "the same questions come out");
	}
	return 0;
}
