/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * unpack_zlib.c - gzip (RFC 1952) and zlib (RFC 1950), and that behind the head of ActiveMime.
 *
 * What stands in several members of a gzip file one after another is one file to those that open
 * it: so the bytes of all are one member here, with the name of the first.
 */

#include <string.h>

#include "lib/content/little.h"
#include "lib/format/bytes.h"
#include "lib/unpack/unpack_inflate.h"
#include "lib/unpack/unpack_name.h"

enum gzip_flag {
	GZIP_HCRC = 2,
	GZIP_EXTRA = 4,
	GZIP_NAME = 8,
	GZIP_COMMENT = 16,
	GZIP_RESERVED = 0xe0
};

enum zlib_step {
	MSO_HEAD,
	ZLIB_HEAD, /* of zlib */
	GZIP_HEAD,
	GZIP_EXTRA_SIZE,
	GZIP_SKIP,
	GZIP_FILE_NAME,
	GZIP_REMARK,
	GZIP_HEAD_CRC,
	ZLIB_BODY,
	ZLIB_TAIL,
	GZIP_PADDING, /* zeros behind a member, as of a tape */
};

/* Where the head of ActiveMime says how long it is, and how much more than that it is. */
#define MSO_SIZE_AT 30
#define MSO_SIZE_OF 46

struct zlib_state {
	enum zlib_step step;
	bool is_gzip;
	bool has_member;
	uint8_t flags;
	uint8_t head[10];
	unsigned fill;
	unsigned skip;
	uint8_t name[UNPACK_NAME_SIZE];
	unsigned name_size;
	struct unpack_inflate inflate;
};

_Static_assert(sizeof(struct zlib_state) <= UNPACK_HERE_STATE, "it fits");

static int begin(struct unpack *unpack, bool is_gzip)
{
	struct zlib_state *state = unpack->state;
	memset(state, 0, offsetof(struct zlib_state, inflate));
	memset(&state->inflate, 0, offsetof(struct unpack_inflate, out_bytes));
	state->is_gzip = is_gzip;
	state->step = is_gzip ? GZIP_HEAD : ZLIB_HEAD;
	state->inflate.is_adler = !is_gzip;
	return unpack_inflate_init(&state->inflate);
}

int unpack_gzip_begin(struct unpack *unpack)
{
	return begin(unpack, true);
}

int unpack_zlib_begin(struct unpack *unpack)
{
	return begin(unpack, false);
}

int unpack_mso_begin(struct unpack *unpack)
{
	const int ret = begin(unpack, false);
	struct zlib_state *state = unpack->state;
	state->step = MSO_HEAD;
	state->skip = MSO_SIZE_OF;
	return ret;
}

static void begin_body(struct unpack *unpack)
{
	struct zlib_state *state = unpack->state;
	state->step = ZLIB_BODY;
	unpack_inflate_reset(&state->inflate);
	if (state->has_member)
		return;
	state->has_member = true;
	unpack_name(state->name, state->name_size, UNPACK_NAME_LATIN1, unpack->name);
	unpack_open(unpack, unpack->name);
}

/* To the next part of the header that is there. */
static void go_on(struct unpack *unpack, enum zlib_step from)
{
	struct zlib_state *state = unpack->state;
	state->fill = 0;
	if (from < GZIP_EXTRA_SIZE && (state->flags & GZIP_EXTRA) != 0)
		state->step = GZIP_EXTRA_SIZE;
	else if (from < GZIP_FILE_NAME && (state->flags & GZIP_NAME) != 0)
		state->step = GZIP_FILE_NAME;
	else if (from < GZIP_REMARK && (state->flags & GZIP_COMMENT) != 0)
		state->step = GZIP_REMARK;
	else if (from < GZIP_HEAD_CRC && (state->flags & GZIP_HCRC) != 0)
		state->step = GZIP_HEAD_CRC;
	else
		begin_body(unpack);
}

static void take_gzip_head(struct unpack *unpack)
{
	struct zlib_state *state = unpack->state;
	const uint8_t *head = state->head;
	const bool is_gzip = head[0] == 0x1f && (state->fill < 2 || head[1] == 0x8b);
	if (!is_gzip && state->has_member)
		unpack_meet_garbage(unpack);
	else if (!is_gzip)
		unpack_stop(unpack, UNPACK_DAMAGED);
	if (!is_gzip || state->fill < 10)
		return;
	state->flags = head[3];
	if (head[2] != Z_DEFLATED || (head[3] & GZIP_RESERVED) != 0)
		unpack_stop(unpack, UNPACK_UNSUPPORTED);
	else
		go_on(unpack, GZIP_HEAD);
}

static void take_zlib_head(struct unpack *unpack)
{
	struct zlib_state *state = unpack->state;
	const uint8_t *head = state->head;
	if (state->fill < 2)
		return;
	if ((head[0] & 0xf) != Z_DEFLATED || (head[0] * 256 + head[1]) % 31 != 0)
		unpack_stop(unpack, UNPACK_DAMAGED);
	else if ((head[1] & 0x20) != 0) /* a preset dictionary */
		unpack_stop(unpack, UNPACK_UNSUPPORTED);
	else
		begin_body(unpack);
}

static void take_mso_head(struct unpack *unpack, uint8_t byte)
{
	struct zlib_state *state = unpack->state;
	if (unpack->in == MSO_SIZE_AT + 1)
		state->skip += byte;
	else if (unpack->in == MSO_SIZE_AT + 2)
		state->skip += (unsigned)byte << 8;
	if (unpack->in == state->skip)
		state->step = ZLIB_HEAD;
}

/* The checksum, and gzip's size. */
static void take_tail(struct unpack *unpack)
{
	struct zlib_state *state = unpack->state;
	if (state->fill < (state->is_gzip ? 8U : 4U))
		return;
	const uint8_t *tail = state->head;
	bool is_right = false;
	if (state->is_gzip)
		is_right = little_get32(tail) == state->inflate.check &&
			   little_get32(tail + 4) == (uint32_t)state->inflate.out;
	else
		is_right = bytes_get(tail, 4) == state->inflate.check;
	if (!is_right)
		unpack_tell(unpack, UNPACK_DAMAGED);
	state->fill = 0;
	state->step = GZIP_PADDING;
}

static void take_byte(struct unpack *unpack, uint8_t byte)
{
	struct zlib_state *state = unpack->state;
	if (state->step == MSO_HEAD) {
		take_mso_head(unpack, byte);
		return;
	}
	if (state->step == GZIP_PADDING) {
		if (byte == 0)
			return;
		state->step = GZIP_HEAD;
		state->fill = 0;
		if (!state->is_gzip) {
			unpack_meet_garbage(unpack);
			return;
		}
	}
	if (state->step == GZIP_FILE_NAME || state->step == GZIP_REMARK) {
		if (byte == 0)
			go_on(unpack, state->step);
		else if (state->step == GZIP_FILE_NAME && state->name_size < sizeof(state->name) &&
			 !state->has_member)
			state->name[state->name_size++] = byte;
		return;
	}
	if (state->step == GZIP_SKIP) {
		if (--state->skip == 0)
			go_on(unpack, GZIP_EXTRA_SIZE);
		return;
	}

	state->head[state->fill++] = byte;
	if (state->step == ZLIB_HEAD) {
		take_zlib_head(unpack);
	} else if (state->step == GZIP_HEAD) {
		take_gzip_head(unpack);
	} else if (state->step == ZLIB_TAIL) {
		take_tail(unpack);
	} else if (state->fill == 2 && state->step == GZIP_EXTRA_SIZE) {
		state->skip = little_get16(state->head);
		state->step = GZIP_SKIP;
		if (state->skip == 0)
			go_on(unpack, GZIP_EXTRA_SIZE);
	} else if (state->fill == 2) {
		go_on(unpack, GZIP_HEAD_CRC);
	}
}

static size_t take_body(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zlib_state *state = unpack->state;
	size_t used = 0;
	switch (unpack_inflate(unpack, &state->inflate, bytes, size, &used)) {
	case INFLATE_ENDED:
		state->step = ZLIB_TAIL;
		state->fill = 0;
		break;
	case INFLATE_BAD:
		unpack_stop(unpack, UNPACK_DAMAGED);
		break;
	case INFLATE_MORE:
	case INFLATE_OVER:
		break;
	}
	return used;
}

void unpack_zlib_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zlib_state *state = unpack->state;
	while (size > 0 && !unpack->is_over) {
		size_t used = 1;
		if (state->step == ZLIB_BODY) {
			used = take_body(unpack, bytes, size);
		} else {
			unpack->in++;
			take_byte(unpack, bytes[0]);
		}
		bytes += used;
		size -= used;
	}
}

void unpack_zlib_end(struct unpack *unpack)
{
	struct zlib_state *state = unpack->state;
	if (unpack->is_over)
		return;
	if (state->step == GZIP_PADDING)
		unpack_close(unpack, !unpack->is_silent || !state->is_gzip);
	else
		unpack_stop(unpack, UNPACK_CUT);
}
