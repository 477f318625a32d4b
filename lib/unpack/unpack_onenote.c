/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "lib/content/little.h"
#include "lib/unpack/unpack_rows.h"

/*
 * Files in a section of OneNote ([MS-ONESTORE] 2.6.13), wherever they stand in it:
 *
 *     16 mark, 8 size, 12 unused, the file
 *
 * Their names are elsewhere. A size that goes beyond the end has the rest of the section.
 */
enum onenote_step {
	ONENOTE_SEARCH,
	ONENOTE_HEAD,
	ONENOTE_FILE,
};

#define MARK_SIZE 16
#define HEAD_SIZE 20 /* behind the mark */

static const uint8_t begin_mark[MARK_SIZE] = { 0xe7, 0x16, 0xe3, 0xbd, 0x65, 0x26, 0x11, 0x45,
					       0xa4, 0xc4, 0x8d, 0x4d, 0x0b, 0x7a, 0x9e, 0xac };
struct onenote_state {
	enum onenote_step step;
	unsigned fill; /* of the mark or the head */
	unsigned count;
	uint64_t left; /* of the file */
	uint8_t head[HEAD_SIZE];
};

_Static_assert(sizeof(struct onenote_state) <= UNPACK_HERE_STATE, "the row has room for it");

int unpack_onenote_begin(struct unpack *unpack)
{
	struct onenote_state *state = unpack->state;
	memset(state, 0, sizeof(*state));
	return 0;
}

static void go_to(struct onenote_state *state, enum onenote_step step)
{
	state->step = step;
	state->fill = 0;
}

static void begin_file(struct unpack *unpack)
{
	struct onenote_state *state = unpack->state;
	char name[32];
	snprintf(name, sizeof(name), "file %u", ++state->count);
	state->left = little_get64(state->head);
	unpack_open(unpack, name);
	go_to(state, ONENOTE_FILE);
}

/* The first byte of the mark is in it once. */
static size_t search(struct onenote_state *state, const uint8_t *bytes, size_t size)
{
	const uint8_t *first = state->fill > 0 ? bytes : memchr(bytes, begin_mark[0], size);
	if (first == NULL)
		return size;
	state->fill = *first == begin_mark[state->fill] ? state->fill + 1 : *first == begin_mark[0];
	if (state->fill == MARK_SIZE)
		go_to(state, ONENOTE_HEAD);
	return (size_t)(first - bytes) + 1;
}

static size_t take_head(struct unpack *unpack, const uint8_t *bytes)
{
	struct onenote_state *state = unpack->state;
	state->head[state->fill++] = *bytes;
	if (state->fill == HEAD_SIZE)
		begin_file(unpack);
	return 1;
}

static size_t take_file(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct onenote_state *state = unpack->state;
	const size_t part = size < state->left ? size : (size_t)state->left;
	unpack_give(unpack, bytes, part);
	state->left -= part;
	if (state->left == 0) {
		unpack_close(unpack, true);
		go_to(state, ONENOTE_SEARCH);
	}
	return part;
}

void unpack_onenote_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	const struct onenote_state *state = unpack->state;
	while (size > 0 && !unpack->is_over) {
		size_t used = 0;
		if (state->step == ONENOTE_SEARCH)
			used = search(unpack->state, bytes, size);
		else if (state->step == ONENOTE_HEAD)
			used = take_head(unpack, bytes);
		else
			used = take_file(unpack, bytes, size);
		unpack->in += used;
		bytes += used;
		size -= used;
	}
}

void unpack_onenote_end(struct unpack *unpack, bool is_whole)
{
	const struct onenote_state *state = unpack->state;
	(void)is_whole;
	if (unpack->is_over)
		return;
	if (state->step != ONENOTE_SEARCH)
		unpack_stop(unpack, UNPACK_CUT);
}
