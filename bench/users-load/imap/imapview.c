/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/imap/imapview.h"
#include "bench/users-load/imap/imapreader.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 64
/*
 * Rows without a UID that are passed over on the way to a neighbour that has one. Those further away are held
 * against each other when the gap is filled; so a folder of any size takes no longer.
 */
#define NEAR_MAX 64

void imapview_open(struct imapview *ret_view)
{
	memset(ret_view, 0, sizeof(*ret_view));
}

void imapview_close(struct imapview *view)
{
	free(view->rows);
	imapview_open(view);
}

void imapview_clear(struct imapview *view)
{
	struct imapview_row *const rows = view->rows;
	const uint32_t room = view->room;
	imapview_open(view);
	view->rows = rows;
	view->room = room;
}

static int make_room(struct imapview *view, uint32_t count)
{
	uint32_t room = view->room < ROOM_MIN ? ROOM_MIN : view->room;
	if (count <= view->room)
		return 0;
	while (room < count)
		room += room / 2;
	struct imapview_row *rows = realloc(view->rows, room * sizeof(*rows));
	if (rows == NULL)
		return IMAPVIEW_EMEMORY;
	view->rows = rows;
	view->room = room;
	return 0;
}

int imapview_exists(struct imapview *view, uint32_t count)
{
	if (count < view->count)
		return IMAPVIEW_EFELL;
	if (count > IMAPVIEW_MAILS_MAX)
		return IMAPVIEW_EMANY;
	if (make_room(view, count) != 0)
		return IMAPVIEW_EMEMORY;
	if (count > view->count)
		memset(view->rows + view->count, 0, (count - view->count) * sizeof(*view->rows));
	view->unknown += count - view->count;
	view->count = count;
	return 0;
}

static bool is_deleted(const struct imapview_row *row)
{
	return (row->flags & IMAPREADER_DELETED) != 0;
}

int imapview_expunge(struct imapview *view, uint32_t sequence)
{
	if (sequence == 0 || sequence > view->count)
		return IMAPVIEW_ERANGE;
	struct imapview_row *row = view->rows + (sequence - 1);
	view->deleted -= is_deleted(row);
	view->unknown -= row->uid == 0;
	view->known -= sequence <= view->known;
	view->first_new -= sequence <= view->first_new;
	memmove(row, row + 1, (view->count - sequence) * sizeof(*row));
	view->count--;
	while (view->known < view->count && view->rows[view->known].has_header)
		view->known++;
	return 0;
}

/* Between the nearest UIDs that are known before and behind it. */
static bool is_in_order(const struct imapview *view, uint32_t index, uint32_t uid)
{
	const struct imapview_row *rows = view->rows;
	uint32_t before = index;
	uint32_t behind = index + 1;
	while (before > 0 && rows[before - 1].uid == 0 && index - before < NEAR_MAX)
		before--;
	while (behind < view->count && rows[behind].uid == 0 && behind - index < NEAR_MAX)
		behind++;
	return (before == 0 || rows[before - 1].uid < uid) &&
	       (behind == view->count || rows[behind].uid == 0 || uid < rows[behind].uid);
}

int imapview_put_uid(struct imapview *view, uint32_t sequence, uint32_t uid)
{
	if (sequence == 0 || sequence > view->count || uid == 0)
		return IMAPVIEW_ERANGE;
	struct imapview_row *row = view->rows + (sequence - 1);
	if (row->uid == uid)
		return 0;
	if (row->uid != 0)
		return IMAPVIEW_ECHANGED;
	if (!is_in_order(view, sequence - 1, uid))
		return IMAPVIEW_EORDER;
	if (sequence > view->first_new && uid < view->uid_next)
		return IMAPVIEW_EREUSED;
	row->uid = uid;
	view->unknown--;
	return 0;
}

uint8_t imapview_put_flags(struct imapview *view, uint32_t sequence, uint8_t flags)
{
	struct imapview_row *row = view->rows + (sequence - 1);
	const uint8_t lost = row->stored & (uint8_t)~flags;
	view->deleted -= is_deleted(row);
	row->flags = flags;
	row->stored &= flags;
	row->has_flags = true;
	view->deleted += is_deleted(row);
	return lost;
}

void imapview_put_header(struct imapview *view, uint32_t sequence)
{
	view->rows[sequence - 1].has_header = true;
	while (view->known < view->count && view->rows[view->known].has_header)
		view->known++;
}

void imapview_selected(struct imapview *view)
{
	view->first_new = view->count;
}

void imapview_know(struct imapview *view, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < view->count; i++)
		imapview_put_header(view, i + 1);
}

void imapview_stored(struct imapview *view, uint32_t first_uid, uint32_t last_uid, uint8_t flags)
{
	for (uint32_t i = 0; i < view->count; i++) {
		struct imapview_row *row = view->rows + i;
		if (row->uid < first_uid || row->uid > last_uid || row->uid == 0)
			continue;
		view->deleted -= is_deleted(row);
		row->stored |= flags;
		row->flags |= flags;
		view->deleted += is_deleted(row);
	}
}

uint32_t imapview_uid(const struct imapview *view, uint32_t sequence)
{
	return sequence == 0 || sequence > view->count ? 0 : view->rows[sequence - 1].uid;
}

/* With UIDs that are unknown it may; above the last one it may be new. */
bool imapview_may_have(const struct imapview *view, uint32_t uid)
{
	uint32_t low = 0;
	uint32_t high = view->count;
	if (view->unknown > 0 || view->count == 0 || uid > view->rows[view->count - 1].uid)
		return true;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (view->rows[middle].uid < uid)
			low = middle + 1;
		else
			high = middle;
	}
	return view->rows[low].uid == uid;
}
