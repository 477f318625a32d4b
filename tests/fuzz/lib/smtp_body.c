/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any stream behind DATA, in one piece, in pieces and in place: it ends where CR LF . CR LF is and
 * nowhere else, it is refused when it has a lone CR, LF or a NUL, and what comes out is what the
 * sender had. The same bytes as chunks, and all of it where lone LFs are taken for CR LF.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   bytes in a piece, less one
 *        1      1   the largest mail, without its 0x80; 0 is no limit
 *        2      .   the stream
 */

#include "lib/smtp/body.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static bool is_malformed(struct stream stream, bool takes_lf)
{
	for (size_t i = 0; i < stream.size; i++) {
		uint8_t byte = stream.bytes[i];
		bool is_cr_before = i > 0 && stream.bytes[i - 1] == '\r';
		bool is_lf_behind = i + 1 < stream.size && stream.bytes[i + 1] == '\n';
		if (byte == '\0' || (byte == '\n' && !is_cr_before && !takes_lf) ||
		    (byte == '\r' && !is_lf_behind))
			return true;
	}
	return false;
}

/* Each part has its room behind what has come out before. */
static uint8_t *make_room(struct stream stream)
{
	uint8_t *room = malloc(BODY_ROOM(stream.size) + BODY_END_MAX);
	require(room != NULL, "memory");
	return room;
}

/* piece 0: all of it, and in place. */
static struct mail read_mail(struct stream stream, size_t piece, uint8_t limit, bool takes_lf)
{
	struct mail mail = { .status = BODY_MORE };
	struct body body;
	body_init(&body, limit & 0x7fU);
	body.takes_lf = takes_lf;
	mail.text = make_room(stream);
	if (piece == 0)
		memcpy(mail.text, stream.bytes, stream.size);
	while (mail.used < stream.size && mail.status == BODY_MORE) {
		size_t left = stream.size - mail.used;
		size_t part = piece != 0 && piece < left ? piece : left;
		const uint8_t *in = piece == 0 ? mail.text : stream.bytes + mail.used;
		size_t used = 0;
		size_t out_size = 0;
		mail.status = body_take(&body, in, part, &used, mail.text + mail.size, &out_size);
		require(out_size <= (takes_lf ? BODY_ROOM(used) : used) && used <= part,
			"not more comes out than goes in");
		require(mail.status != BODY_MORE || used == part, "all is taken");
		mail.used += used;
		mail.size += out_size;
	}
	mail.refusal = body.refusal;
	if (mail.refusal != BODY_FINE)
		mail.size = 0;
	return mail;
}

static struct mail read_chunks(struct stream stream, size_t piece, bool takes_lf)
{
	struct mail mail = { .status = BODY_MORE };
	struct body body;
	size_t out_size = 0;
	body_init(&body, 0);
	body.takes_lf = takes_lf;
	mail.text = make_room(stream);
	while (mail.used < stream.size) {
		size_t left = stream.size - mail.used;
		size_t part = piece != 0 && piece < left ? piece : left;
		body_take_chunk(&body, stream.bytes + mail.used, part, mail.text + mail.size,
				&out_size);
		require(out_size <= (takes_lf ? BODY_ROOM(part) : part),
			"not more comes out than goes in");
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

/* How many bytes of what came out are the line of size bytes, its LF among them. */
static size_t find_line(const uint8_t *line, size_t size, bool undoes_dots, struct stream out)
{
	bool has_lf = line[size - 1] == '\n';
	size -= has_lf ? 1 : 0;
	size -= has_lf && size > 0 && line[size - 1] == '\r' ? 1 : 0;
	if (undoes_dots && size > 1 && *line == '.') {
		line++;
		size--;
	}
	require(out.size >= size + 2 && memcmp(out.bytes, line, size) == 0 &&
			memcmp(out.bytes + size, "\r\n", 2) == 0,
		"the line with CR LF");
	return size + 2;
}

/* What came out are the sender's lines, each with CR LF. */
static void check_lines(struct stream stream, bool undoes_dots, const struct mail *mail)
{
	struct stream out = { mail->text, mail->size };
	for (size_t at = 0; at < stream.size;) {
		const uint8_t *line = stream.bytes + at;
		const uint8_t *lf = memchr(line, '\n', stream.size - at);
		size_t size = lf != NULL ? (size_t)(lf - line) + 1 : stream.size - at;
		size_t found = find_line(line, size, undoes_dots, out);
		out = (struct stream){ out.bytes + found, out.size - found };
		at += size;
	}
	require(out.size == 0, "no other line");
}

static void check_data(struct stream stream, const struct mail *mail, bool has_limits,
		       bool takes_lf)
{
	size_t end = find_end(stream);
	require((mail->status == BODY_MORE) == (end == 0), "the end is CR LF . CR LF");
	require(mail->used == (end == 0 ? stream.size : end), "up to the end");
	if (end == 0)
		return;
	struct stream whole = { stream.bytes, end };
	bool is_bad = is_malformed(whole, takes_lf);
	require(!is_bad || mail->status == BODY_REFUSED, "malformed is refused");
	require(is_bad || has_limits || mail->status == BODY_END, "good is not");
	whole.size -= 3;
	if (mail->status == BODY_END)
		check_lines(whole, true, mail);
}

static void check_chunks(struct stream stream, const struct mail *mail, bool takes_lf)
{
	require((mail->status == BODY_REFUSED) == is_malformed(stream, takes_lf),
		"malformed is refused");
	if (mail->status != BODY_REFUSED)
		check_lines(stream, false, mail);
}

static void check(struct stream stream, size_t piece, uint8_t limit, bool takes_lf)
{
	struct mail whole = read_mail(stream, stream.size, limit, takes_lf);
	struct mail cut = read_mail(stream, piece, limit, takes_lf);
	struct mail chunk = read_chunks(stream, 0, takes_lf);
	struct mail chunks = read_chunks(stream, piece, takes_lf);
	check_data(stream, &whole, (limit & 0x7fU) != 0, takes_lf);
	require_same(&whole, &cut);
	check_chunks(stream, &chunk, takes_lf);
	require_same(&chunk, &chunks);
	if (!takes_lf) {
		struct mail in_place = read_mail(stream, 0, limit, false);
		require_same(&whole, &in_place);
		free(in_place.text);
	}
	free(whole.text);
	free(cut.text);
	free(chunk.text);
	free(chunks.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct stream stream = { data + 2, size - 2 };
	check(stream, data[0] + 1U, data[1], false);
	check(stream, data[0] + 1U, data[1], true);
	return 0;
}
