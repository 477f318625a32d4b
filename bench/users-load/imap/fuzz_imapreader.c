/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes of a server of IMAP: the responses, and where the first thing is that is none, do not depend on
 * where the bytes are cut; texts end, and a mail's Message-ID begins with the name of the field.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   bytes in a piece, less one
 *        1      .   what is said
 */

#include "bench/users-load/imap/imapreader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LITERAL_MAX 1000

struct heard {
	uint64_t hash;
	size_t count;
	size_t size; /* up to what was no response */
	uint8_t error;
};

static void require(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "imapreader: %s\n", what);
	abort();
}

static void add(struct heard *heard, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		heard->hash = (heard->hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211U;
}

static void check_response(const struct imapreader *reader)
{
	const struct imapreader_response *response = &reader->response;
	require(memchr(reader->text, '\0', sizeof(reader->text)) != NULL, "a text ends");
	require(memchr(reader->token.text, '\0', sizeof(reader->token.text)) != NULL,
		"so do words");
	require(response->kind <= IMAPREADER_OTHER, "a response has a kind");
	require(response->kind != IMAPREADER_TAGGED || response->word <= IMAPREADER_BAD,
		"a command ends with OK, NO or BAD");
	require(response->kind != IMAPREADER_FETCH || reader->text[0] == '\0' ||
			strncasecmp(reader->text, "message-id:", 11) == 0,
		"a Message-ID has its name");
	require(!response->has_body || response->body_bytes <= LITERAL_MAX ||
			response->body_bytes <= IMAPTOKEN_WORD_MAX,
		"a literal has a limit");
}

static struct heard hear(const char *said, size_t size, size_t piece)
{
	struct heard heard = { .hash = 14695981039346656037U };
	enum imapreader_status status = IMAPREADER_MORE;
	struct imapreader reader;
	imapreader_init(&reader, LITERAL_MAX);
	while (heard.size < size && status != IMAPREADER_BROKEN) {
		size_t taken = 0;
		const size_t left = size - heard.size;
		const size_t part = left < piece ? left : piece;
		status = imapreader_feed(&reader, said + heard.size, part, &taken);
		require(taken <= part, "it takes what there is");
		require(taken == part || status != IMAPREADER_MORE,
			"it takes all when it wants more");
		heard.size += taken;
		if (status != IMAPREADER_RESPONSE)
			continue;
		check_response(&reader);
		heard.count++;
		add(&heard, &reader.response, sizeof(reader.response));
		add(&heard, reader.text, strlen(reader.text));
	}
	heard.error = reader.error;
	return heard;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	const char *said = (const char *)data + 1;
	const struct heard whole = hear(said, size - 1, SIZE_MAX);
	const struct heard pieces = hear(said, size - 1, data[0] + 1U);
	require(whole.hash == pieces.hash && whole.count == pieces.count, "pieces do not matter");
	require(whole.error == pieces.error && whole.size == pieces.size,
		"it breaks at the same place");
	return 0;
}
