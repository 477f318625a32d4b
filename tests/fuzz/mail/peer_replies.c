/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What clamd, rspamd and a milter say, and the header of a mail as a milter has it: the result does not
 * depend on where the input is cut, and no text is longer than it may be or has a byte that is not
 * printable.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   what it is: targets
 *        1      1   where it is cut: size of the pieces
 *        2      .   its bytes
 */

#include "integration/mail/base/peers/peer_fields.h"
#include "integration/mail/base/peers/peer_replies.h"
#include "integration/mail/base/peers/rspamd_reply.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All that came out, by FNV-1a. */
struct seen {
	uint64_t hash;
	unsigned events;
};

static void see(struct seen *seen, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < size; i++)
		seen->hash = (seen->hash ^ at[i]) * UINT64_C(0x100000001b3);
	seen->hash = (seen->hash ^ size) * UINT64_C(0x100000001b3);
	seen->events++;
}

static void see_number(struct seen *seen, unsigned number)
{
	see(seen, &number, sizeof(number));
}

static void see_text(struct seen *seen, const char *text)
{
	const size_t size = strnlen(text, REPLY_TEXT_MAX);
	require(size < REPLY_TEXT_MAX, "a text that ends");
	for (size_t i = 0; i < size; i++)
		require(text[i] >= ' ' && text[i] <= '~', "printable text");
	see(seen, text, size);
}

static size_t least(size_t one, size_t other)
{
	return one < other ? one : other;
}

static void try_clamd(const uint8_t *bytes, size_t size, size_t piece, struct seen *seen)
{
	struct clamd_reply reply = { 0 };
	enum reply_status status = REPLY_MORE;
	for (size_t at = 0; status == REPLY_MORE && at < size; at += piece)
		status = clamd_reply_push(&reply, bytes + at, least(piece, size - at));
	see_number(seen, status);
	enum clamd_word word;
	char text[REPLY_TEXT_MAX];
	if (status == REPLY_WHOLE && clamd_reply_read(&reply, &word, text)) {
		see_number(seen, word);
		see_text(seen, text);
	}
}

static void try_rspamd(const uint8_t *bytes, size_t size, size_t piece, struct seen *seen)
{
	static struct rspamd_reply reply;
	enum reply_status status = REPLY_MORE;
	memset(&reply, 0, sizeof(reply));
	for (size_t at = 0; status == REPLY_MORE && at < size; at += piece)
		status = rspamd_reply_push(&reply, bytes + at, least(piece, size - at));
	see_number(seen, status);
	if (status == REPLY_MORE)
		status = rspamd_reply_close(&reply);
	see_number(seen, status);
	see_number(seen, reply.code);
	require(status != REPLY_WHOLE || (reply.code == 200 && reply.action[0] != '\0'),
		"an action");
	if (status == REPLY_WHOLE) {
		see_text(seen, reply.action);
		see_text(seen, reply.message);
	}
}

static void see_milter(const struct milter_reply *reply, struct seen *seen)
{
	char text[REPLY_TEXT_MAX];
	unsigned code;
	uint32_t numbers[3];
	require(milter_reply_kept(reply) <= MILTER_DATA_MAX, "data that is kept");
	see(seen, &reply->letter, 1);
	see(seen, reply->data, milter_reply_kept(reply));
	if (milter_reply_code(reply, &code, text)) {
		require(code >= 400 && code < 600, "a code");
		see_text(seen, text);
	}
	if (milter_reply_options(reply, numbers))
		see(seen, numbers, sizeof(numbers));
}

static void try_milter(const uint8_t *bytes, size_t size, size_t piece, struct seen *seen)
{
	struct milter_reply reply = { 0 };
	for (size_t at = 0; at < size;) {
		size_t used = 0;
		const enum reply_status status =
			milter_reply_push(&reply, bytes + at, least(piece, size - at), &used);
		require(used > 0, "bytes that are used");
		at += used;
		if (status == REPLY_WHOLE)
			see_milter(&reply, seen);
		if (status == REPLY_BAD) {
			see_number(seen, status);
			return;
		}
	}
}

static void see_field(const struct peer_fields *fields, struct seen *seen)
{
	require(fields->name_size > 0 && fields->name_size < fields->value_from &&
			fields->value_from <= fields->size && fields->size <= FIELDS_TEXT_MAX,
		"a field within its text");
	require(memchr(fields->text, '\0', fields->size) == NULL, "no NUL");
	see(seen, fields->text, fields->name_size);
	see(seen, fields->text + fields->value_from, fields->size - fields->value_from);
}

/* Bytes of the body may come in any pieces. */
static void try_fields(const uint8_t *bytes, size_t size, size_t piece, struct seen *seen)
{
	static struct peer_fields fields;
	enum fields_step step = FIELDS_MORE;
	size_t at = 0;
	memset(&fields, 0, offsetof(struct peer_fields, text));
	while (step != FIELDS_BODY && at < size) {
		size_t used = 0;
		const size_t count = least(piece, size - at);
		step = peer_fields_push(&fields, bytes + at, count, &used);
		require(used <= count && (used == count || step != FIELDS_MORE), "used bytes");
		at += used;
		if (step == FIELDS_FIELD)
			see_field(&fields, seen);
	}
	while (step != FIELDS_BODY) {
		step = peer_fields_end(&fields);
		if (step == FIELDS_FIELD)
			see_field(&fields, seen);
	}
	see(seen, fields.text, fields.size);
	see(seen, bytes + at, size - at);
}

typedef void (*try_fn)(const uint8_t *bytes, size_t size, size_t piece, struct seen *seen);

static const try_fn targets[] = { try_clamd, try_rspamd, try_milter, try_fields };

#define TARGET_COUNT (sizeof(targets) / sizeof(targets[0]))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	const try_fn attempt = targets[data[0] % TARGET_COUNT];
	const size_t pieces[] = { SIZE_MAX / 2, 1, data[1] + (size_t)1 };
	struct seen seen[3] = { { 0, 0 } };
	for (size_t i = 0; i < 3; i++) {
		attempt(data + 2, size - 2, pieces[i], &seen[i]);
		require(seen[i].hash == seen[0].hash && seen[i].events == seen[0].events,
			"the same result wherever it is cut");
	}
	return 0;
}
