/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/binhex.h"

#include "lib/format/bytes.h"

#include <string.h>

/*
 * What is in it, behind the coding of characters and of runs:
 *
 *     1 size of the name, the name, 1 version, 4 type, 4 creator, 2 flags, 4 size of the data fork,
 *     4 size of the resource fork, 2 CRC of these;
 *     the data fork, 2 CRC; the resource fork, 2 CRC
 */
enum binhex_step {
	STEP_HEADER,
	STEP_DATA,
	STEP_DATA_CRC,
	STEP_RESOURCE,
	STEP_RESOURCE_CRC,
	STEP_BEHIND
};

#define RUN_MARK 0x90
#define CRC_SIZE 2

static const char alphabet[] = "!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr";

void binhex_begin(struct binhex *ret_binhex)
{
	memset(ret_binhex, 0, sizeof(*ret_binhex));
}

/* CRC-16 of CCITT, from the highest bit, beginning with 0: by four bits at a time. */
static uint16_t add_crc(uint16_t crc, uint8_t byte)
{
	static const uint16_t sums[16] = { 0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5,
					   0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b,
					   0xc18c, 0xd1ad, 0xe1ce, 0xf1ef };
	crc = (uint16_t)(crc << 4 ^ sums[crc >> 12 ^ byte >> 4]);
	return (uint16_t)(crc << 4 ^ sums[crc >> 12 ^ (byte & 15)]);
}

/* ---- forks ---- */

static void begin_fork(struct binhex *binhex, bool is_resource, struct outflow *out)
{
	char name[BINHEX_NAME_MAX + sizeof(".rsrc")];
	const size_t size = binhex->header[0];
	memcpy(name, binhex->header + 1, size);
	name[size] = '\0';
	if (is_resource)
		memcpy(name + strlen(name), ".rsrc", sizeof(".rsrc"));
	out->files->begin(out->context, MSTREAM_BINHEX, name);
	binhex->is_open = true;
	binhex->crc = 0;
}

static void end_fork(struct binhex *binhex, bool is_whole, struct outflow *out)
{
	if (!binhex->is_open)
		return;
	outflow_flush(out);
	out->files->end(out->context, is_whole);
	binhex->is_open = false;
}

/* Goes on behind a step that has come to its end, and behind those that have no bytes. */
static void go_on(struct binhex *binhex, struct outflow *out)
{
	if (binhex->step == STEP_DATA && binhex->left == 0) {
		end_fork(binhex, true, out);
		binhex->step = STEP_DATA_CRC;
		binhex->left = CRC_SIZE;
	}
	if (binhex->step == STEP_RESOURCE && binhex->left == 0) {
		end_fork(binhex, true, out);
		binhex->step = STEP_RESOURCE_CRC;
		binhex->left = CRC_SIZE;
	}
}

static void take_header(struct binhex *binhex, struct outflow *out)
{
	const uint8_t *fields = binhex->header + 1 + binhex->header[0];
	const uint16_t said = (uint16_t)bytes_get16(fields + 19);
	uint16_t crc = 0;
	for (unsigned i = 0; i + CRC_SIZE < binhex->header_size; i++)
		crc = add_crc(crc, binhex->header[i]);
	binhex->is_odd = binhex->is_odd || crc != said;
	binhex->left = (uint32_t)bytes_get(fields + 11, 4);
	binhex->resource_size = (uint32_t)bytes_get(fields + 15, 4);
	binhex->step = STEP_DATA;
	begin_fork(binhex, false, out);
	go_on(binhex, out);
}

static void take_header_byte(struct binhex *binhex, uint8_t byte, struct outflow *out)
{
	binhex->header[binhex->header_size++] = byte;
	if (binhex->header_size == 1U + binhex->header[0] + 21)
		take_header(binhex, out);
}

static void take_fork_byte(struct binhex *binhex, uint8_t byte, struct outflow *out)
{
	binhex->crc = add_crc(binhex->crc, byte);
	outflow_put(out, byte);
	binhex->left--;
	go_on(binhex, out);
}

static void take_crc_byte(struct binhex *binhex, uint8_t byte, struct outflow *out)
{
	binhex->said_crc = (uint16_t)(binhex->said_crc << 8 | byte);
	if (--binhex->left > 0)
		return;
	binhex->is_odd = binhex->is_odd || binhex->said_crc != binhex->crc;
	if (binhex->step == STEP_RESOURCE_CRC) {
		binhex->step = STEP_BEHIND;
		binhex->is_complete = true;
		return;
	}
	binhex->step = STEP_RESOURCE;
	binhex->left = binhex->resource_size;
	binhex->crc = 0;
	if (binhex->left > 0)
		begin_fork(binhex, true, out);
	go_on(binhex, out);
}

static void take_byte(struct binhex *binhex, uint8_t byte, struct outflow *out)
{
	switch ((enum binhex_step)binhex->step) {
	case STEP_HEADER:
		take_header_byte(binhex, byte, out);
		break;
	case STEP_DATA:
	case STEP_RESOURCE:
		take_fork_byte(binhex, byte, out);
		break;
	case STEP_DATA_CRC:
	case STEP_RESOURCE_CRC:
		take_crc_byte(binhex, byte, out);
		break;
	case STEP_BEHIND: /* what fills the last characters */
		break;
	}
}

/* ---- runs: a byte, RUN_MARK, how often it is there in all; with 0 the mark is meant itself ---- */

static void take_run_byte(struct binhex *binhex, uint8_t byte, struct outflow *out)
{
	if (!binhex->is_repeat && byte == RUN_MARK) {
		binhex->is_repeat = true;
		return;
	}
	if (!binhex->is_repeat || byte == 0) {
		binhex->last = binhex->is_repeat ? RUN_MARK : byte;
		binhex->is_repeat = false;
		take_byte(binhex, binhex->last, out);
		return;
	}
	binhex->is_repeat = false;
	for (unsigned i = 1; i < byte && !binhex->is_done; i++)
		take_byte(binhex, binhex->last, out);
}

/* ---- characters ---- */

static void take_character(struct binhex *binhex, uint8_t byte, struct outflow *out)
{
	const char *found = byte != '\0' ? strchr(alphabet, byte) : NULL;
	if (found == NULL) {
		const bool is_space = byte == '\r' || byte == '\n' || byte == ' ' || byte == '\t';
		binhex->is_odd = binhex->is_odd || !is_space;
		return;
	}
	binhex->bits = (uint16_t)(binhex->bits << 6 | (found - alphabet));
	binhex->bit_count += 6;
	if (binhex->bit_count < 8)
		return;
	binhex->bit_count -= 8;
	take_run_byte(binhex, (uint8_t)(binhex->bits >> binhex->bit_count), out);
}

size_t binhex_push(struct binhex *binhex, const uint8_t *bytes, size_t size, struct outflow *out)
{
	size_t at = 0;
	while (at < size && !binhex->is_done) {
		const uint8_t byte = bytes[at++];
		if (byte == ':')
			binhex->is_done = true;
		else
			take_character(binhex, byte, out);
	}
	return at;
}

bool binhex_end(struct binhex *binhex, bool is_text_whole, struct outflow *out)
{
	end_fork(binhex, is_text_whole, out);
	return binhex->is_complete;
}
