/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mailcollect.c - mailstore_collect(): what lives leaves a segment, then the segment goes.
 *
 * In this order: copies and deletions that still matter are appended to the generation above and
 * synced; one transaction of the index says that they count and that the segment is gone; the
 * segment is removed. Killed before the transaction, the copies are records of mails that are where
 * they were; killed after it, opening finds the segment that the index names as emptied, and removes it.
 *
 * A deletion has to be kept as long as the log has a record of the mail, from before the deletion,
 * that names the mailbox: an index that is built from the log would bring the mail back otherwise. A
 * copy names only those that have the mail. Where mails have such records is not known, but for the
 * newest; so all deletions are kept while there is a segment whose collection was interrupted, which
 * alone has others.
 */
#include "lib/mailstore/mailstore.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct collection {
	struct maillayer *layer;
	struct mailstore_parts parts;
	uint64_t segment;
	struct segmentrow row;
	uint64_t left_count; /* segments whose collection was interrupted */
	bool has_larger;     /* some that have more to copy than the disk has room for */
};

/* What copying takes beside the copies, of which the index has a row each. */
#define MARGIN_SHARE 8
#define MARGIN_MIN   (128U << 10)

/* ---- which ---- */

/* The next record of its generation begins another segment. */
static void seal(struct maillog *log, uint64_t segment)
{
	if (log->heads[0].segment == segment)
		log->sealed = segment;
	for (unsigned i = 0; i < MAIL_GENERATIONS; i++)
		if (log->heads[i].segment == segment)
			log->heads[i] = (struct maillog_head){ 0 };
}

static unsigned share(const struct segmentrow *row)
{
	uint64_t size = row->end > MAILSEGMENT_HEAD_SIZE ? row->end - MAILSEGMENT_HEAD_SIZE : 1;
	return (unsigned)(row->live * 100 / size);
}

static bool is_better(const struct segmentrow *row, const struct segmentrow *best, bool is_short)
{
	if (!is_short && row->generation != best->generation)
		return row->generation < best->generation;
	return share(row) < share(best);
}

static bool is_skipped(const struct mailskipped *skipped, uint64_t segment)
{
	for (size_t i = 0; i < skipped->count; i++)
		if (skipped->segments[i] == segment)
			return true;
	return false;
}

/* One that is damaged is not chosen again and again while others wait. */
static int skip(struct mailskipped *skipped, uint64_t segment)
{
	uint64_t *more =
		reallocarray(skipped->segments, skipped->count + 1, sizeof(*skipped->segments));
	if (more == NULL)
		return -ENOMEM;
	skipped->segments = more;
	skipped->segments[skipped->count++] = segment;
	return MAILSTORE_EDAMAGED;
}

/*
 * Copies that end on a full disk would stay in the log, and leave no room for the deletions by which users would
 * free some. A disk that cannot be asked is no full one. Root may have what a file system keeps for it: so does
 * a store get out of one that is full.
 */
static uint64_t find_room(const struct collection *collection)
{
	struct disk *disk = collection->parts.log->disk;
	uint64_t room;
	uint64_t root_room;
	if (disk->ops->room(disk, &room, &root_room) != 0)
		return UINT64_MAX;
	return geteuid() == 0 ? root_room : room;
}

static bool fits(const struct segmentrow *row, uint64_t room)
{
	return row->live == 0 || row->live + row->live / MARGIN_SHARE + MARGIN_MIN <= room;
}

/* One that may be taken, and is better than that which was found before it. */
static bool is_wanted(const struct collection *collection, uint64_t number,
		      const struct segmentrow *row, unsigned share_max)
{
	return share(row) < share_max && !is_skipped(collection->parts.skipped, number) &&
	       (collection->segment == 0 ||
		is_better(row, &collection->row, *collection->parts.is_short));
}

static int choose(struct collection *collection, unsigned share_max)
{
	const uint64_t room = find_room(collection);
	struct segmentrow row;
	uint64_t number;
	int ret = mailindex_segment(collection->parts.reader, 1, &number, &row);
	while (ret == STORE_OK) {
		collection->left_count += row.is_left;
		if (is_wanted(collection, number, &row, share_max) && !fits(&row, room)) {
			collection->has_larger = true;
		} else if (is_wanted(collection, number, &row, share_max)) {
			collection->segment = number;
			collection->row = row;
		}
		ret = mailindex_segment(collection->parts.reader, number + 1, &number, &row);
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	if (collection->segment != 0)
		return 0;
	return collection->has_larger ? -ENOSPC : DNSBLV6_ENOTFOUND;
}

/* ---- what lives ---- */

static unsigned generation_above(const struct collection *collection)
{
	unsigned above = collection->row.generation + 1U;
	return above < MAIL_GENERATIONS ? above : MAIL_GENERATIONS - 1;
}

/* Those of a record's recipients whose mailboxes have the mail. */
static int find_owners(struct collection *collection, uint64_t mail, struct mailmeta *meta,
		       struct mailname *ret_names, size_t *ret_count)
{
	struct mailname name;
	size_t count = 0;
	while (mailmeta_next(meta, &name)) {
		struct mailentry entry;
		int ret = mailindex_entry(collection->parts.reader, name, mail, &entry);
		if (ret != STORE_OK && ret != DNSBLV6_ENOTFOUND)
			return ret;
		if (ret == STORE_OK && entry.mail == mail)
			ret_names[count++] = name;
	}
	*ret_count = count;
	return 0;
}

static int append_copy(struct collection *collection, const struct maillog_cursor *cursor,
		       const struct mailmeta *meta, const struct mailname *names, size_t count)
{
	struct mailrecord record = cursor->record;
	const struct maillog_body body = {
		.from = { cursor->segment, cursor->place.at + mailrecord_body_at(&record) },
		.size = record.wire_size,
	};
	size_t size = mailmeta_size(meta->sender, names, count, meta->exceptions.size);
	uint8_t *bytes = malloc(size);
	if (bytes == NULL)
		return -ENOMEM;
	mailmeta_encode(meta->sender, names, count, meta->exceptions.data, meta->exceptions.size,
			bytes);
	record.type = MAILRECORD_COPY;
	record.meta_size = (uint32_t)size;
	int ret = mailstore_append(collection->layer, generation_above(collection), &record, bytes,
				   &body);
	free(bytes);
	if (ret == 0)
		*collection->parts.copied += record.size;
	return ret;
}

static int copy_mail(struct collection *collection, const struct maillog_cursor *cursor,
		     const uint8_t *bytes)
{
	struct mailmeta meta;
	size_t count;
	int ret = mailmeta_decode(bytes, cursor->record.meta_size, &meta);
	if (ret != 0)
		return ret;
	struct mailname *names = calloc(meta.recipient_count + 1U, sizeof(*names));
	if (names == NULL)
		return -ENOMEM;
	ret = find_owners(collection, cursor->record.mail, &meta, names, &count);
	if (ret == 0)
		ret = append_copy(collection, cursor, &meta, names, count);
	free(names);
	return ret;
}

/* A mail that lives is copied; one that is dead goes with the segment. */
static int take_mail(struct collection *collection, const struct maillog_cursor *cursor,
		     const uint8_t *bytes)
{
	struct mailrow row;
	int ret = mailindex_mail(collection->parts.reader, cursor->record.mail, &row);
	bool is_elsewhere = ret == STORE_OK && (row.place.segment != cursor->segment ||
						row.place.at != cursor->place.at);
	if (ret == DNSBLV6_ENOTFOUND || is_elsewhere)
		return 0;
	if (ret != STORE_OK)
		return ret;
	return row.live > 0 ? copy_mail(collection, cursor, bytes)
			    : mailbatch_add_dead(collection->parts.batch, cursor->record.mail);
}

/* May the log still have a record of the mail from before the deletion, elsewhere? */
static int matters(struct collection *collection, uint64_t lsn, uint64_t mail, bool *ret_matters)
{
	struct mailrow row;
	*ret_matters = collection->left_count > (collection->row.is_left ? 1 : 0);
	if (*ret_matters)
		return STORE_OK;
	int ret = mailindex_mail(collection->parts.reader, mail, &row);
	*ret_matters = ret == STORE_OK && row.place.segment != collection->segment && row.lsn < lsn;
	return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
}

static int take_deletion(struct collection *collection, const struct mailrecord *record,
			 const uint8_t *bytes)
{
	struct maildeletion deletion;
	struct mailrecord kept = { .type = MAILRECORD_DELETE, .time_us = record->time_us };
	size_t count = 0;
	int ret = maildeletion_decode(bytes, record->meta_size, &deletion);
	if (ret != 0)
		return ret;
	uint64_t *mails = calloc(deletion.count + 1U, sizeof(*mails));
	uint8_t *meta = malloc(record->meta_size);
	if (mails == NULL || meta == NULL)
		ret = -ENOMEM;
	for (size_t i = 0; ret == 0 && i < deletion.count; i++) {
		bool is_kept = false;
		ret = matters(collection, record->lsn, maildeletion_mail(&deletion, i), &is_kept);
		if (is_kept)
			mails[count++] = maildeletion_mail(&deletion, i);
	}
	if (ret == 0 && count > 0) {
		kept.meta_size = (uint32_t)maildeletion_size(deletion.mailbox, count);
		maildeletion_encode(deletion.mailbox, mails, count, meta);
		ret = mailstore_append(collection->layer, generation_above(collection), &kept, meta,
				       NULL);
	}
	free(mails);
	free(meta);
	return ret;
}

static int take_one(struct collection *collection, const struct maillog_cursor *cursor)
{
	struct mailrecord record;
	uint8_t *meta;
	int ret = maillog_read(collection->parts.log, cursor->place, &record, &meta);
	if (ret != 0)
		return ret;
	ret = record.type == MAILRECORD_DELETE ? take_deletion(collection, &record, meta)
					       : take_mail(collection, cursor, meta);
	free(meta);
	return ret;
}

/* The reader goes when the index is written, which appending may lead to. */
static int borrow_again(struct collection *collection)
{
	return mailstore_reader(collection->layer, &collection->parts.reader);
}

static int take_all(struct collection *collection)
{
	struct maillog_cursor cursor = { .segment = collection->segment,
					 .at = MAILSEGMENT_HEAD_SIZE,
					 .end = collection->row.end };
	int ret = maillog_next(collection->parts.log, &cursor);
	while (ret == 0) {
		ret = take_one(collection, &cursor);
		if (ret == 0)
			ret = borrow_again(collection);
		if (ret == 0)
			ret = maillog_next(collection->parts.log, &cursor);
	}
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

/*
 * Copies have the bodies' checksums, so that what is damaged would go on as if it were not. A disk that does
 * not give all of it has others that it gives.
 */
static int check_whole(struct collection *collection)
{
	struct maillog_finding found;
	/* All of it is durable by now, so that what is damaged at its end is no tail that was torn. */
	int ret = maillog_examine(collection->parts.log, collection->segment, MAILSEGMENT_HEAD_SIZE,
				  true, &found);
	if (ret != 0)
		return ret == -EIO ? skip(collection->parts.skipped, collection->segment) : ret;
	if (found.damaged_count == 0 && found.end >= collection->row.end)
		return 0;
	return skip(collection->parts.skipped, collection->segment);
}

int mailstore_collect(struct maillayer *layer, unsigned share_max, uint64_t *ret_segment)
{
	struct collection collection = { .layer = layer };
	int ret = mailstore_borrow(layer, &collection.parts);
	if (ret == 0)
		ret = choose(&collection, share_max);
	if (ret != 0)
		return ret;
	*ret_segment = collection.segment;
	collection.parts.batch->dead_count = 0;
	seal(collection.parts.log, collection.segment);
	ret = check_whole(&collection);
	if (ret == 0)
		ret = take_all(&collection);
	*collection.parts.is_short = mailstore_is_full(ret);
	if (ret != 0)
		return ret;
	/* The segment is removed when the index has let it go. */
	collection.parts.batch->emptied = collection.segment;
	ret = maillayer_flush(layer);
	if (ret == 0)
		*collection.parts.reclaimed += collection.row.end;
	return ret;
}
