/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/array.h"
#include "lib/unpack/unpack_rows.h"

#define LIST_SEARCHED 66000 /* by unzip, before the end of a file; others search less */

static const char *const flaw_texts[UNPACK_FLAW_COUNT] = {
	[UNPACK_CUT] = "cut",
	[UNPACK_DAMAGED] = "damaged",
	[UNPACK_LYING] = "lying",
	[UNPACK_ENCRYPTED] = "encrypted",
	[UNPACK_UNSUPPORTED] = "unsupported method",
	[UNPACK_RATIO] = "ratio",
	[UNPACK_TOTAL] = "total size",
	[UNPACK_MEMBERS] = "members",
	[UNPACK_MEMORY] = "memory",
};

const char *unpack_flaw_text(enum unpack_flaw flaw)
{
	return (unsigned)flaw < UNPACK_FLAW_COUNT ? flaw_texts[flaw] : "unknown";
}

enum unpack_place unpack_place(const struct unpack_row *row)
{
	return row->place;
}

/* ---- what decoders call ---- */

void unpack_tell_of(struct unpack *unpack, enum unpack_flaw flaw, const char *name)
{
	if (!unpack->is_silent)
		unpack->events->flaw(unpack->context, flaw, name);
}

void unpack_tell(struct unpack *unpack, enum unpack_flaw flaw)
{
	unpack_tell_of(unpack, flaw, unpack->is_open ? unpack->name : "");
}

void unpack_stop(struct unpack *unpack, enum unpack_flaw flaw)
{
	if (unpack->is_over)
		return;
	unpack_tell(unpack, flaw);
	unpack_close(unpack, false);
	unpack->is_over = true;
}

void unpack_meet_garbage(struct unpack *unpack)
{
	unpack_tell(unpack, UNPACK_DAMAGED);
	unpack_close(unpack, true);
	unpack->is_over = true;
}

bool unpack_count(struct unpack *unpack)
{
	if (unpack->is_over)
		return false;
	if (unpack->budget->members_left == 0) {
		unpack_stop(unpack, UNPACK_MEMBERS);
		return false;
	}
	unpack->budget->members_left--;
	return true;
}

bool unpack_open(struct unpack *unpack, const char *name)
{
	unpack_close(unpack, true);
	if (!unpack_count(unpack))
		return false;
	if (name != unpack->name) {
		const size_t size = strnlen(name, sizeof(unpack->name) - 1);
		memcpy(unpack->name, name, size);
		unpack->name[size] = '\0';
	}
	unpack->is_open = true;
	unpack->member = unpack->events->begin(unpack->context, unpack->name);
	return true;
}

bool unpack_give(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	while (size > 0 && !unpack->is_over) {
		if (unpack->budget->total_left == 0) {
			unpack_stop(unpack, UNPACK_TOTAL);
			break;
		}
		size_t part = size < UNPACK_PIECE ? size : UNPACK_PIECE;
		if (part > unpack->budget->total_left)
			part = (size_t)unpack->budget->total_left;
		/* What the event makes of these bytes takes from the same budget. */
		unpack->budget->total_left -= part;
		unpack->out += part;
		if (unpack->member != NULL)
			unpack->events->data(unpack->context, unpack->member, bytes, part);
		bytes += part;
		size -= part;
	}
	return !unpack->is_over;
}

bool unpack_spend(struct unpack *unpack, size_t size)
{
	if (size > unpack->budget->total_left) {
		unpack_stop(unpack, UNPACK_TOTAL);
	} else {
		unpack->budget->total_left -= size;
		unpack->out += size;
	}
	return !unpack->is_over;
}

bool unpack_pour(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		const size_t part = size < UNPACK_PIECE ? size : UNPACK_PIECE;
		if (!unpack_give(unpack, bytes, part))
			break;
		if (unpack_is_dense(unpack, 0))
			unpack_stop(unpack, UNPACK_RATIO);
		bytes += part;
		size -= part;
	}
	return !unpack->is_over;
}

void unpack_close(struct unpack *unpack, bool is_whole)
{
	if (!unpack->is_open)
		return;
	unpack->is_open = false;
	void *member = unpack->member;
	unpack->member = NULL;
	if (member != NULL)
		unpack->events->end(unpack->context, member, is_whole);
}

bool unpack_is_dense(const struct unpack *unpack, uint64_t more)
{
	const struct unpack_budget *budget = unpack->budget;
	const uint64_t out = unpack->out + more;
	return budget->ratio != 0 && out >= budget->ratio_from && out / budget->ratio > unpack->in;
}

/* ---- the spool ---- */

static void free_spool(struct unpack *unpack)
{
	free(unpack->spool);
	unpack->budget->spool_left += unpack->spool_size;
	unpack->spool = NULL;
	unpack->spool_size = 0;
	unpack->spool_room = 0;
}

bool unpack_keep(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	if (size == 0)
		return true;
	if (size > unpack->budget->spool_left ||
	    !array_reserve(unpack->spool, unpack->spool_size + size, &unpack->spool_room)) {
		free_spool(unpack);
		return false;
	}
	memcpy(unpack->spool + unpack->spool_size, bytes, size);
	unpack->spool_size += size;
	unpack->budget->spool_left -= size;
	return true;
}

/* An object that was cut elsewhere has lost its directory, and is not opened. */
static void open_spool(struct unpack *unpack, bool is_whole)
{
	const struct unpack_row *row = unpack->row;
	unpack->in = unpack->spool_size;
	if (!is_whole || unpack->is_over)
		return;
	row->opened(unpack, unpack->spool, unpack->spool_size);
}

/* ---- one object ---- */

#define ALIGN	  _Alignof(max_align_t)
#define HEAD_SIZE ((sizeof(struct unpack) + ALIGN - 1) / ALIGN * ALIGN)

_Static_assert(HEAD_SIZE + UNPACK_HERE_STATE <= UNPACK_HERE_MEMORY, "a row of UNPACK_HERE fits");

int unpack_begin(const struct unpack_row *row, void *memory, struct unpack_budget *budget,
		 const struct unpack_events *events, void *context, struct unpack **ret_unpack)
{
	if (row->place == UNPACK_APART)
		memory = malloc(HEAD_SIZE + row->state_size);
	if (memory == NULL)
		return -ENOMEM;

	struct unpack *unpack = memory;
	memset(unpack, 0, sizeof(*unpack));
	unpack->row = row;
	unpack->budget = budget;
	unpack->events = events;
	unpack->context = context;
	unpack->state = (uint8_t *)memory + HEAD_SIZE;
	if (row->begin == NULL)
		memset(unpack->state, 0, row->state_size);
	const int status = row->begin != NULL ? row->begin(unpack) : 0;
	if (status < 0) {
		if (row->place == UNPACK_APART)
			free(memory);
		return status;
	}
	*ret_unpack = unpack;
	return 0;
}

bool unpack_is_sure(const struct unpack *unpack)
{
	return unpack->is_sure;
}

bool unpack_has_counted(const struct unpack *unpack)
{
	return unpack->has_counted;
}

bool unpack_has_list(const struct unpack *unpack)
{
	return unpack->list_end > 0 && unpack->in - unpack->list_end <= LIST_SEARCHED;
}

void unpack_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	if (unpack->is_over)
		return;
	if (unpack->row->opened == NULL)
		unpack->row->push(unpack, bytes, size);
	else if (!unpack_keep(unpack, bytes, size))
		unpack_stop(unpack, UNPACK_MEMORY);
}

void unpack_end(struct unpack *unpack, bool is_whole)
{
	const struct unpack_row *row = unpack->row;
	unpack->is_silent = !is_whole;
	if (row->opened != NULL)
		open_spool(unpack, is_whole);
	else
		row->end(unpack);
	unpack_close(unpack, false);
	free_spool(unpack);
	if (row->place == UNPACK_APART)
		free(unpack);
}
