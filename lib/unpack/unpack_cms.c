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
 * without a count of levels, and the octets are those right behind a type, which is "data" mostly, and a [0].
 * A signature that has its content elsewhere has something else there. What is compressed or has a digest looks the
 * same. What is encrypted is said, by the first type.
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
#define TYPE_SIZE_MAX	12 /* one more than of the longest that is known */

struct cms_state {
	enum cms_step step;
	uint8_t head[2 + LENGTH_SIZE_MAX];
	unsigned head_size;
	unsigned head_need;
	uint64_t left; /* of the value's bytes */
	bool has_type; /* the first one is over */
	unsigned type_size;
	uint8_t type[TYPE_SIZE_MAX];
};

_Static_assert(sizeof(struct cms_state) <= UNPACK_SMALL_STATE, "the row has room for it");

/* envelopedData, signedAndEnvelopedData, encryptedData, and authEnvelopedData (RFC 5083). */
static bool is_encrypted(const uint8_t *type, size_t size)
{
	static const uint8_t pkcs[] = { 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01 };
	static const uint8_t authenticated[] = { 0x09, 0x10, 0x01, 0x17 };
	const uint8_t *at = type + sizeof(pkcs);
	if (size < sizeof(pkcs) + 2 || memcmp(type, pkcs, sizeof(pkcs)) != 0)
		return false;
	if (size == sizeof(pkcs) + 2)
		return at[0] == 0x07 && (at[1] == 3 || at[1] == 4 || at[1] == 6);
	return size == sizeof(pkcs) + sizeof(authenticated) &&
	       memcmp(at, authenticated, sizeof(authenticated)) == 0;
}

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
		state->step = tag == TAG_OID ? CMS_TYPED : CMS_BEFORE;
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
	if (state->step != CMS_TYPED || state->has_type)
		return;
	for (size_t i = 0; i < size && state->type_size < TYPE_SIZE_MAX; i++)
		state->type[state->type_size++] = bytes[i];
	state->has_type = state->left == 0;
	if (state->has_type && is_encrypted(state->type, state->type_size)) {
		unpack_tell_of(unpack, UNPACK_ENCRYPTED, "");
		leave(unpack);
	}
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
void unpack_cms_end(struct unpack *unpack)
{
	if (!unpack->is_over)
		leave(unpack);
}
