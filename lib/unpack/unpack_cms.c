/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "lib/format/bytes.h"
#include "lib/unpack/unpack_rows.h"

/*
 * What is in a message that is signed (RFC 5652, 5.1), of S/MIME mostly, in BER (X.690):
 *
 *     SEQUENCE { signedData, [0] SEQUENCE { version, SET { digests },
 *             SEQUENCE { data, [0] OCTET STRING }, certificates, signers } }
 *
 * Clients show it as if it had not been signed. Each value has a tag, a length and its bytes. A length may
 * be unknown, and an OCTET STRING may be made of others; so what is made of values is entered,
 * without a count of levels, and the octets are those right behind the type "data". A signature that has
 * its content elsewhere has something else there.
 */
enum cms_step {
	CMS_BEFORE,  /* up to the type */
	CMS_TYPED,   /* [0] is next */
	CMS_WRAPPED, /* and the octets */
	CMS_OCTETS,
};

#define TAG_OID		0x06
#define TAG_OCTETS	0x04
#define TAG_MADE	0x20 /* of values */
#define TAG_CONTENT	0xa0
#define LENGTH_LONG	0x80
#define LENGTH_SIZE_MAX 8

struct cms_state {
	enum cms_step step;
	uint8_t head[2 + LENGTH_SIZE_MAX];
	unsigned head_size;
	unsigned head_need;
	uint64_t left; /* of the value's bytes */
	/* Of a type as far as it is "data". */
	bool is_type;
	unsigned type_size;
};

_Static_assert(sizeof(struct cms_state) <= UNPACK_HERE_STATE, "the row has room for it");

static const uint8_t data_type[] = { 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01 };

static void leave(struct unpack *unpack)
{
	unpack->is_over = true;
	unpack_close(unpack, true);
}

/*
 * Values in values are entered by taking the next head. What only looked like the type is passed, so that
 * nothing put before the content hides it. The end of a value of unknown length is one of no bytes.
 */
static void take_value(struct unpack *unpack, uint8_t tag, uint64_t size)
{
	struct cms_state *state = unpack->state;
	const bool is_octets = (tag & ~TAG_MADE) == TAG_OCTETS;
	const bool is_end = tag == 0 && size == 0;
	state->left = (tag & TAG_MADE) != 0 ? 0 : size;
	if (state->step == CMS_TYPED && tag == TAG_CONTENT) {
		state->step = CMS_WRAPPED;
	} else if (state->step == CMS_WRAPPED && is_octets) {
		state->step = CMS_OCTETS;
		unpack_open(unpack, "");
	} else if (state->step != CMS_OCTETS || !(is_octets || is_end)) {
		unpack_close(unpack, true);
		state->step = CMS_BEFORE;
		state->is_type = tag == TAG_OID && size == sizeof(data_type);
		state->type_size = 0;
	}
}

static void take_head(struct unpack *unpack, uint8_t byte)
{
	struct cms_state *state = unpack->state;
	unpack->in++;
	state->head[state->head_size++] = byte;
	if (state->head_size < 2)
		return;
	if (state->head_size == 2) {
		state->head_need = 2;
		if ((byte & LENGTH_LONG) != 0)
			state->head_need += byte - LENGTH_LONG;
		if (state->head_need > sizeof(state->head)) {
			leave(unpack);
			return;
		}
	}
	if (state->head_size < state->head_need)
		return;
	const uint64_t size = (state->head[1] & LENGTH_LONG) != 0
				      ? bytes_get(state->head + 2, state->head_size - 2)
				      : state->head[1];
	state->head_size = 0;
	take_value(unpack, state->head[0], size);
}

static void take_bytes(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct cms_state *state = unpack->state;
	unpack->in += size;
	state->left -= size;
	if (state->step == CMS_OCTETS) {
		unpack_give(unpack, bytes, size);
		return;
	}
	for (size_t i = 0; i < size && state->is_type; i++)
		state->is_type = bytes[i] == data_type[state->type_size++];
	if (state->is_type && state->left == 0) {
		state->is_type = false;
		state->step = CMS_TYPED;
	}
}

int unpack_cms_begin(struct unpack *unpack)
{
	memset(unpack->state, 0, sizeof(struct cms_state));
	return 0;
}

void unpack_cms_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	const struct cms_state *state = unpack->state;
	while (size > 0 && !unpack->is_over) {
		size_t part = 1;
		if (state->left == 0) {
			take_head(unpack, *bytes);
		} else {
			part = size < UNPACK_PIECE ? size : UNPACK_PIECE;
			part = part < state->left ? part : (size_t)state->left;
			take_bytes(unpack, bytes, part);
		}
		bytes += part;
		size -= part;
	}
}

/* Clients show as much as there is. */
void unpack_cms_end(struct unpack *unpack, bool is_whole)
{
	(void)is_whole;
	if (!unpack->is_over)
		leave(unpack);
}
