/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any stream behind DATA, in one piece, in pieces and in place: it ends where CR LF . CR LF is and
 * nowhere else, it is refused when it has a lone CR, LF or a NUL, and what comes out is what the
 * sender had. The same bytes as chunks.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   bytes in a piece, less one
 *        1      1   the largest mail, and the longest line if its 0x80 is set; 0 is no limit
 *        2      .   the stream
 */

#include "integration/smtp-front/body.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "front_body: %s\n", what);
	abort();
}

struct stream {
	const uint8_t *bytes;
	size_t size;
};

struct mail {
	enum body_status status;
	enum body_refusal refusal;
	size_t used;
	uint8_t *text;
	size_t size;
};

static uint8_t at(struct stream stream, size_t i)
{
	static const uint8_t before[2] = { '\r', '\n' };
	return i < sizeof(before) ? before[i] : stream.bytes[i - sizeof(before)];
}

/* The size of the mail with its end, found by a search; 0: none. */
static size_t find_end(struct stream stream)
{
	static const uint8_t end[5] = { '\r', '\n', '.', '\r', '\n' };
	for (size_t i = 0; i + 3 <= stream.size; i++) {
		size_t same = 0;
		while (same < sizeof(end) && at(stream, i + same) == end[same])
			same++;
		if (same == sizeof(end))
			return i + 3;
	}
	return 0;
}

static bool is_malformed(struct stream stream)
{
	for (size_t i = 0; i < stream.size; i++) {
		uint8_t byte = stream.bytes[i];
		bool is_cr_before = i > 0 && stream.bytes[i - 1] == '\r';
		bool is_lf_behind = i + 1 < stream.size && stream.bytes[i + 1] == '\n';
		if (byte == '\0' || (byte == '\n' && !is_cr_before) ||
		    (byte == '\r' && !is_lf_behind))
			return true;
	}
	return false;
}

/* piece 0: all of it, and in place. */
static struct mail read_mail(struct stream stream, size_t piece, uint8_t limit)
{
	struct mail mail = { .status = BODY_MORE };
	struct body body;
	body_init(&body, limit & 0x7fU, (limit & 0x80U) != 0 ? limit & 0x7fU : 0);
	mail.text = malloc(stream.size + 1);
	require(mail.text != NULL, "memory");
	if (piece == 0)
		memcpy(mail.text, stream.bytes, stream.size);
	while (mail.used < stream.size && mail.status == BODY_MORE) {
		size_t left = stream.size - mail.used;
		size_t part = piece != 0 && piece < left ? piece : left;
		const uint8_t *in = piece == 0 ? mail.text : stream.bytes + mail.used;
		size_t used = 0;
		size_t out_size = 0;
		mail.status = body_take(&body, in, part, &used, mail.text + mail.size, &out_size);
		require(out_size <= used && used <= part, "not more comes out than goes in");
		require(mail.status != BODY_MORE || used == part, "all is taken");
		mail.used += used;
		mail.size += out_size;
	}
	mail.refusal = body.refusal;
	if (mail.refusal != BODY_FINE)
		mail.size = 0;
	return mail;
}

static struct mail read_chunks(struct stream stream, size_t piece)
{
	struct mail mail = { .status = BODY_MORE };
	struct body body;
	size_t out_size = 0;
	body_init(&body, 0, 0);
	mail.text = malloc(stream.size + BODY_END_MAX);
	require(mail.text != NULL, "memory");
	while (mail.used < stream.size) {
		size_t left = stream.size - mail.used;
		size_t part = piece != 0 && piece < left ? piece : left;
		body_take_chunk(&body, stream.bytes + mail.used, part, mail.text + mail.size,
				&out_size);
		require(out_size <= part, "not more comes out than goes in");
		mail.used += part;
		mail.size += out_size;
	}
	mail.status = body_end(&body, mail.text + mail.size, &out_size);
	mail.size += out_size;
	mail.refusal = body.refusal;
	if (mail.refusal != BODY_FINE)
		mail.size = 0;
	return mail;
}

static void require_same(const struct mail *one, const struct mail *other)
{
	require(one->status == other->status && one->refusal == other->refusal &&
			one->used == other->used && one->size == other->size &&
			memcmp(one->text, other->text, one->size) == 0,
		"pieces do not matter");
}

static void check_data(struct stream stream, const struct mail *mail, bool has_limits)
{
	size_t end = find_end(stream);
	require((mail->status == BODY_MORE) == (end == 0), "the end is CR LF . CR LF");
	require(mail->used == (end == 0 ? stream.size : end), "up to the end");
	if (end == 0)
		return;
	struct stream whole = { stream.bytes, end };
	require(!is_malformed(whole) || mail->status == BODY_REFUSED, "malformed is refused");
	require(is_malformed(whole) || has_limits || mail->status == BODY_END, "good is not");
	if (mail->status != BODY_END)
		return;
	/* Dots done again give what came. */
	size_t place = 0;
	for (size_t i = 0; i < mail->size; i++) {
		bool is_begin = i == 0 || mail->text[i - 1] == '\n';
		if (is_begin && stream.bytes[place] == '.')
			place++;
		require(stream.bytes[place++] == mail->text[i], "the sender's bytes");
	}
	require(place + 3 == end, "all of the sender's bytes");
}

static void check_chunks(struct stream stream, const struct mail *mail)
{
	require((mail->status == BODY_REFUSED) == is_malformed(stream), "malformed is refused");
	if (mail->status == BODY_REFUSED)
		return;
	bool is_ended = stream.size == 0 || stream.bytes[stream.size - 1] == '\n';
	require(mail->size == stream.size + (is_ended ? 0 : 2) &&
			memcmp(mail->text, stream.bytes, stream.size) == 0,
		"chunks are taken as they are");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct stream stream = { data + 2, size - 2 };
	size_t piece = data[0] + 1U;
	struct mail whole = read_mail(stream, stream.size, data[1]);
	struct mail cut = read_mail(stream, piece, data[1]);
	struct mail in_place = read_mail(stream, 0, data[1]);
	struct mail chunk = read_chunks(stream, 0);
	struct mail chunks = read_chunks(stream, piece);
	check_data(stream, &whole, (data[1] & 0x7fU) != 0);
	require_same(&whole, &cut);
	require_same(&whole, &in_place);
	check_chunks(stream, &chunk);
	require_same(&chunk, &chunks);
	free(whole.text);
	free(cut.text);
	free(in_place.text);
	free(chunk.text);
	free(chunks.text);
	return 0;
}
