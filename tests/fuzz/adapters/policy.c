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
	struct question last;
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
	seen->last = is_line ? line->question : request->question;
	seen->count++;
	check_question(&seen->last);
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
		require(whole.count == 0 ||
				(whole.last.has_ip == cut.last.has_ip &&
				 whole.last.is_malformed == cut.last.is_malformed &&
				 strcmp(whole.last.state, cut.last.state) == 0 &&
				 memcmp(&whole.last.ip, &cut.last.ip, sizeof(cut.last.ip)) == 0),
			"the same question comes out");
	}
	return 0;
}
