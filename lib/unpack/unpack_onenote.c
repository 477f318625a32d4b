/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "lib/content/little.h"
#include "lib/content/mark.h"
#include "lib/unpack/unpack_rows.h"

/*
 * Files in a section of OneNote ([MS-ONESTORE] 2.6.13), wherever they stand in it:
 *
 *     16 mark, 8 size, 12 unused, the file
 *
 * Their names are elsewhere, and so is what tells which of them a reader opens: a file may have the mark of another one
 * in it, or in its unused bytes, and both come out. A size that goes beyond the end has the rest of the section.
 */
#define MARK_SIZE 16
#define HEAD_SIZE 20 /* behind the mark */
#define OPEN_MAX  8  /* files within one another; a section in a section has two */

static const char begin_mark[MARK_SIZE + 1] =
	"\xe7\x16\xe3\xbd\x65\x26\x11\x45\xa4\xc4\x8d\x4d\x0b\x7a\x9e\xac";

struct onenote_file {
	unsigned number;    /* 0: its head is not there yet */
	unsigned head_left; /* bytes */
	uint64_t left;	    /* of the file */
	void *member;
	uint8_t head[HEAD_SIZE];
};

struct onenote_state {
	uint8_t seen; /* of the mark */
	unsigned count;
	unsigned open_count;
	struct onenote_file open[OPEN_MAX]; /* in the order of their marks */
};

_Static_assert(sizeof(struct onenote_state) <= UNPACK_SMALL_STATE, "the row has room for it");

/* ---- one file of those that are open ---- */

/* What is done next is done to the file. */
static void turn_to(struct unpack *unpack, const struct onenote_file *file)
{
	snprintf(unpack->name, sizeof(unpack->name), "file %u", file->number);
	unpack->member = file->member;
	unpack->is_open = true;
}

static void turn_from(struct unpack *unpack, struct onenote_file *file)
{
	file->member = unpack->member;
	unpack->member = NULL;
	unpack->is_open = false;
}

static void close_file(struct unpack *unpack, struct onenote_file *file, bool is_whole)
{
	if (file->member == NULL)
		return;
	turn_to(unpack, file);
	unpack_close(unpack, is_whole);
	turn_from(unpack, file);
}

static void begin_file(struct unpack *unpack, struct onenote_file *file)
{
	struct onenote_state *state = unpack->state;
	file->number = ++state->count;
	file->left = little_get64(file->head);
	snprintf(unpack->name, sizeof(unpack->name), "file %u", file->number);
	unpack_open(unpack, unpack->name);
	turn_from(unpack, file);
}

static uint64_t left_of(const struct onenote_file *file)
{
	return file->head_left > 0 ? file->head_left : file->left;
}

/* No more than are left of it. */
static void push_file(struct unpack *unpack, struct onenote_file *file, const uint8_t *bytes,
		      size_t size)
{
	if (file->head_left > 0) {
		memcpy(file->head + HEAD_SIZE - file->head_left, bytes, size);
		file->head_left -= (unsigned)size;
		if (file->head_left == 0)
			begin_file(unpack, file);
		return;
	}
	turn_to(unpack, file);
	unpack_give(unpack, bytes, size);
	turn_from(unpack, file);
	file->left -= size;
}

/* ---- all of them ---- */

/* Those that have ended leave. */
static void close_files(struct unpack *unpack)
{
	struct onenote_state *state = unpack->state;
	unsigned kept = 0;
	for (unsigned i = 0; i < state->open_count; i++) {
		if (left_of(&state->open[i]) == 0)
			close_file(unpack, &state->open[i], true);
		else
			state->open[kept++] = state->open[i];
	}
	state->open_count = kept;
}

/* As many bytes as all of them have at least, and the budget for each. */
static size_t step_of(const struct unpack *unpack, size_t size)
{
	const struct onenote_state *state = unpack->state;
	if (state->open_count == 0)
		return size;
	const uint64_t share = unpack->budget->total_left / state->open_count;
	uint64_t step = size;
	if (share < step)
		step = share > 0 ? share : 1;
	for (unsigned i = 0; i < state->open_count; i++)
		if (left_of(&state->open[i]) < step)
			step = left_of(&state->open[i]);
	return (size_t)step;
}

/* In steps, so that pieces of any size make the same of it. */
static void push_files(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct onenote_state *state = unpack->state;
	while (size > 0 && !unpack->is_over) {
		const size_t step = step_of(unpack, size);
		for (unsigned i = 0; i < state->open_count && !unpack->is_over; i++)
			push_file(unpack, &state->open[i], bytes, step);
		if (!unpack->is_over)
			close_files(unpack);
		bytes += step;
		size -= step;
	}
}

static void add_file(struct unpack *unpack)
{
	struct onenote_state *state = unpack->state;
	if (state->open_count == OPEN_MAX) {
		unpack_stop(unpack, UNPACK_MEMBERS);
		return;
	}
	struct onenote_file *file = &state->open[state->open_count++];
	memset(file, 0, sizeof(*file));
	file->head_left = HEAD_SIZE;
}

void unpack_onenote_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct onenote_state *state = unpack->state;
	while (size > 0 && !unpack->is_over) {
		size_t used = size;
		const bool is_there =
			mark_find(begin_mark, MARK_SIZE, &state->seen, bytes, size, &used);
		push_files(unpack, bytes, used);
		unpack->in += used;
		if (is_there && !unpack->is_over)
			add_file(unpack);
		bytes += used;
		size -= used;
	}
}

void unpack_onenote_end(struct unpack *unpack)
{
	struct onenote_state *state = unpack->state;
	for (unsigned i = 0; i < state->open_count; i++) {
		struct onenote_file *file = &state->open[i];
		if (file->number == 0)
			continue;
		turn_to(unpack, file);
		if (!unpack->is_over)
			unpack_tell(unpack, UNPACK_CUT);
		unpack_close(unpack, false);
	}
}
