/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/mailrecover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/array.h"

/* What becomes of a segment. */
enum fate { FATE_KEPT, FATE_ORPHAN, FATE_UNBORN };

struct mailrecover_segment {
	uint64_t number;
	uint64_t id;
	uint64_t durable; /* all before it has been synced */
	uint64_t end;
	enum fate fate;
	uint8_t generation;
	bool is_new; /* the index does not know it */
};

/* Heads are read of those alone that the index does not know: each is a place of its own on the disk. */
static unsigned find_generation(const struct mailrecover *recover, uint64_t number)
{
	struct segmentrow row;
	return mailindex_segment_row(recover->reader, number, &row) == STORE_OK
		       ? row.generation
		       : maillog_generation(recover->log, number);
}

static int note_segment(void *context, uint64_t object)
{
	struct mailrecover *recover = context;
	if (object == MAILIDENTITY_OBJECT)
		return 0;
	if (!array_reserve(recover->segments, recover->count + 1, &recover->room))
		return -ENOMEM;
	recover->segments[recover->count++] = (struct mailrecover_segment){ .number = object };
	maillog_note_last(&recover->lasts, object, find_generation(recover, object));
	return 0;
}

static int compare_segments(const void *one, const void *other)
{
	const struct mailrecover_segment *a = one;
	const struct mailrecover_segment *b = other;
	return (a->number > b->number) - (a->number < b->number);
}

static bool is_there(const struct mailrecover *recover, uint64_t number)
{
	const struct mailrecover_segment wanted = { .number = number };
	return recover->count > 0 && bsearch(&wanted, recover->segments, recover->count,
					     sizeof(wanted), compare_segments) != NULL;
}

/* Each segment that the index knows is in the log. */
static int find_lost(struct mailrecover *recover)
{
	struct segmentrow row;
	uint64_t number = 0;
	int ret = recover->reader == NULL ? DNSBLV6_ENOTFOUND
					  : mailindex_segment(recover->reader, 1, &number, &row);
	while (ret == STORE_OK) {
		if (!is_there(recover, number)) {
			recover->recovery->first.segment = number;
			recover->recovery->refused = number;
			return MAILSTORE_ELOST;
		}
		maillog_note_last(&recover->known, number, row.generation);
		ret = mailindex_segment(recover->reader, number + 1, &number, &row);
	}
	return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
}

static int compare_emptied(struct maillog *log, struct reader *reader, uint64_t segment,
			   bool *ret_is_emptied)
{
	struct mailsegment_head head;
	struct mailemptied emptied;
	uint64_t size;
	int ret = log->disk->ops->size(log->disk, segment, &size);
	if (ret == 0)
		ret = mailindex_emptied(reader, &emptied);
	if (ret != STORE_OK && ret != DNSBLV6_ENOTFOUND)
		return ret;
	const bool is_known = ret == STORE_OK && emptied.segment == segment && emptied.end == size;
	const int head_status = maillog_read_segment(log, segment, &head);
	/* Had it grown since, the log would have gone on without that index. */
	*ret_is_emptied = is_known && (head_status != 0 || head.id == emptied.id);
	/* A head that is not whole speaks for no side. An index made of the log has no row of what was never begun. */
	if (head_status == MAILSTORE_EDAMAGED)
		return 0;
	return *ret_is_emptied ? 0 : MAILSTORE_EOLD;
}

/*
 * Of a mail whose row has gone, with a copy that was collected, a record may have been left behind. A row that is of
 * another segment says nothing: before MAILSTORE_LEAP one that was lost, and found, had numbers that were given again.
 */
static int compare_mail(struct reader *reader, uint64_t segment, const struct mailrecord *record)
{
	struct mailrow row;
	if (record->type == MAILRECORD_DELETE)
		return 0;
	int ret = mailindex_mail(reader, record->mail, &row);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
	const bool is_same = memcmp(&row.id, &record->id, sizeof(row.id)) == 0;
	return is_same || row.place.segment != segment ? 0 : MAILSTORE_EOLD;
}

/*
 * Do the records up to where the index knows it end there, are they of its mails, and is the newest of them as old? Of
 * two logs that go on from one copy, both have the segment that grew. What is damaged leaves the question open.
 */
static int compare_records(struct maillog *log, struct reader *reader, uint64_t segment,
			   const struct segmentrow *row)
{
	struct maillog_cursor cursor = { .segment = segment, .at = MAILSEGMENT_HEAD_SIZE };
	uint64_t newest_us = 0;
	uint64_t end = cursor.at;
	int ret = log->disk->ops->size(log->disk, segment, &cursor.end);
	while (ret == 0 && end < row->end) {
		ret = maillog_next(log, &cursor);
		if (ret == 0 && cursor.place.at != end)
			ret = DNSBLV6_ENOTFOUND;
		if (ret == 0 && cursor.record.time_us > newest_us)
			newest_us = cursor.record.time_us;
		if (ret == 0)
			ret = compare_mail(reader, segment, &cursor.record);
		end = cursor.at;
	}
	if (ret != 0)
		return ret == DNSBLV6_ENOTFOUND || ret == -EIO ? 0 : ret;
	return end == row->end && newest_us == row->time_us ? 0 : MAILSTORE_EOLD;
}

int mailrecover_compare(struct maillog *log, struct reader *reader, uint64_t next_segment,
			uint64_t segment, bool *ret_is_emptied)
{
	struct mailsegment_head head;
	struct segmentrow row;
	int ret = mailindex_segment_row(reader, segment, &row);
	*ret_is_emptied = false;
	if (ret == DNSBLV6_ENOTFOUND)
		return reader == NULL || segment >= next_segment
			       ? 0
			       : compare_emptied(log, reader, segment, ret_is_emptied);
	if (ret != STORE_OK)
		return ret;
	if (maillog_read_segment(log, segment, &head) == 0 && head.id != row.id)
		return MAILSTORE_EOLD;
	return compare_records(log, reader, segment, &row);
}

static void note_damage(struct mailrecover *recover, uint64_t segment, uint64_t at, uint64_t count)
{
	if (recover->recovery->damaged == 0)
		recover->recovery->first = (struct mailplace){ segment, at };
	recover->recovery->damaged += count;
}

/* What is behind the place up to which the index knows it. */
static int examine_tail(struct mailrecover *recover, struct mailrecover_segment *segment,
			uint64_t from)
{
	struct maillog_finding found;
	const bool is_followed = maillog_is_followed(&recover->lasts, segment->number,
						     find_generation(recover, segment->number));
	int ret = maillog_examine(recover->log, segment->number, from, is_followed, &found);
	if (ret != 0)
		return ret;
	if (found.damaged_count > 0)
		note_damage(recover, segment->number, found.damaged_at, found.damaged_count);
	recover->recovery->cut += found.size - found.end;
	segment->end = found.end;
	if (found.durable > segment->durable)
		segment->durable = found.durable;
	if (found.end == from)
		return 0;
	const struct mailwalk_segment walked = {
		.cursor = { .segment = segment->number, .at = from, .end = found.end },
		.id = segment->id,
		.generation = segment->generation,
	};
	return mailwalk_add(&recover->walk, &walked);
}

/* A whole head of another number, or of another store: not ours to remove. */
static int find_foreign(struct mailrecover *recover, uint64_t number, bool *ret_is_foreign)
{
	uint8_t bytes[MAILSEGMENT_HEAD_SIZE];
	struct mailsegment_head head;
	struct disk *disk = recover->log->disk;
	int ret = disk->ops->read(disk, number, 0, bytes, sizeof(bytes));
	*ret_is_foreign = ret == 0 && mailsegment_decode(bytes, sizeof(bytes), &head) == 0;
	return ret == -ENODATA ? 0 : ret;
}

/* Its head is not whole, or not its own. */
static int examine_headless(struct mailrecover *recover, struct mailrecover_segment *segment,
			    uint64_t size)
{
	bool is_foreign;
	int ret = find_foreign(recover, segment->number, &is_foreign);
	if (ret == 0 && is_foreign) {
		recover->recovery->first = (struct mailplace){ segment->number, 0 };
		return MAILSTORE_EDAMAGED;
	}
	/* A head is written with its first record: what has no head was not committed, unless
	 * records behind it say so. */
	segment->fate = FATE_UNBORN;
	if (ret == 0 && size > MAILSEGMENT_HEAD_SIZE)
		ret = examine_tail(recover, segment, MAILSEGMENT_HEAD_SIZE);
	if (ret == 0 && segment->end > MAILSEGMENT_HEAD_SIZE) {
		segment->fate = FATE_KEPT;
		note_damage(recover, segment->number, 0, 1);
	}
	return ret;
}

/* One that the index does not know: it is new, was never begun, or had been emptied. */
static int examine_unknown(struct mailrecover *recover, struct mailrecover_segment *segment)
{
	struct mailsegment_head head;
	uint64_t size;
	bool is_emptied;
	int ret = mailrecover_compare(recover->log, recover->reader, recover->facts.next_segment,
				      segment->number, &is_emptied);
	if (ret == 0 && is_emptied) {
		segment->fate = FATE_ORPHAN;
		recover->recovery->orphans++;
		return 0;
	}
	if (ret == 0)
		ret = recover->log->disk->ops->size(recover->log->disk, segment->number, &size);
	if (ret == 0)
		ret = maillog_read_segment(recover->log, segment->number, &head);
	if (ret == MAILSTORE_EDAMAGED)
		return examine_headless(recover, segment, size);
	if (ret != 0)
		return ret;
	segment->id = head.id;
	segment->generation = head.generation;
	return examine_tail(recover, segment, MAILSEGMENT_HEAD_SIZE);
}

static int examine_one(struct mailrecover *recover, struct mailrecover_segment *segment)
{
	struct segmentrow row;
	uint64_t size;
	int ret = mailindex_segment_row(recover->reader, segment->number, &row);
	segment->is_new = ret == DNSBLV6_ENOTFOUND;
	if (segment->is_new)
		return examine_unknown(recover, segment);
	if (ret != STORE_OK)
		return ret;
	segment->id = row.id;
	segment->generation = row.generation;
	segment->end = row.end;
	segment->durable = row.end;
	ret = recover->log->disk->ops->size(recover->log->disk, segment->number, &size);
	if (ret != 0)
		return ret;
	if (size < row.end) {
		recover->recovery->first = (struct mailplace){ segment->number, size };
		return MAILSTORE_EAHEAD;
	}
	/*
	 * A number is given again only when all segments from it on have gone. So the last one speaks for those before
	 * it, whose heads are not read. What grew in another store, and to the same size, is the last of a generation.
	 */
	bool is_emptied;
	if (size > row.end || segment->number == recover->known.of[row.generation])
		ret = mailrecover_compare(recover->log, recover->reader,
					  recover->facts.next_segment, segment->number,
					  &is_emptied);
	return ret == 0 && size > row.end ? examine_tail(recover, segment, row.end) : ret;
}

int mailrecover_examine(struct mailrecover *recover)
{
	struct disk *disk = recover->log->disk;
	recover->walk.log = recover->log;
	int ret = disk->ops->list(disk, note_segment, recover);
	if (ret == 0 && recover->count > 0)
		qsort(recover->segments, recover->count, sizeof(*recover->segments),
		      compare_segments);
	if (ret == 0)
		ret = find_lost(recover);
	recover->recovery->segments = recover->count;
	for (size_t i = 0; ret == 0 && i < recover->count; i++) {
		ret = examine_one(recover, &recover->segments[i]);
		/* What is wrong with the index, or with memory, is no fault of the segment. */
		if (ret != 0 && ret != -ENOMEM && ret != MAILSTORE_EOLD && ret != STORE_ECORRUPT)
			recover->recovery->refused = recover->segments[i].number;
		recover->recovery->examined++;
		mailrecover_step(recover);
	}
	return ret;
}

int mailrecover_resume(struct mailrecover *recover)
{
	struct maillog *log = recover->log;
	struct disk *disk = log->disk;
	int ret = 0;
	log->next_segment = recover->facts.next_segment > 0 ? recover->facts.next_segment : 1;
	for (size_t i = 0; ret == 0 && i < recover->count; i++) {
		const struct mailrecover_segment *segment = &recover->segments[i];
		if (segment->fate == FATE_KEPT && segment->number >= log->next_segment)
			log->next_segment = segment->number + 1;
		const struct maillog_head head = { .segment = segment->number,
						   .id = segment->id,
						   .end = segment->end,
						   .synced = segment->durable };
		/* The last one of a generation is the one that grows; each is made durable. */
		if (segment->fate == FATE_KEPT)
			ret = maillog_resume(log, segment->generation, &head);
		else
			ret = disk->ops->remove(disk, segment->number);
	}
	if (recover->facts.next_segment == 0 && recover->count > 0)
		log->next_segment += MAILSTORE_LEAP;
	return ret;
}

int mailrecover_note_kept(const struct mailrecover *recover, struct mailbatch *batch)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < recover->count; i++) {
		const struct mailrecover_segment *segment = &recover->segments[i];
		const struct mailbatch_kept kept = { segment->number, segment->id, segment->end,
						     segment->generation };
		if (segment->is_new && segment->fate == FATE_KEPT)
			ret = mailbatch_add_kept(batch, &kept);
	}
	return ret;
}

void mailrecover_step(const struct mailrecover *recover)
{
	if (recover->on_step != NULL)
		recover->on_step(recover->context, recover->recovery);
}

const char *mailrecover_advice(int status)
{
	switch (status) {
	case MAILSTORE_ELOST: /* an index that was put back from a copy knows some that have gone */
	case MAILSTORE_EAHEAD:
		return "bring it back; where it is lost, or index.mdb is an old copy: mail-store "
		       "fsck --repair";
	case MAILSTORE_EDAMAGED: /* the head of another */
	case -EINVAL:
	case -EISDIR:
	case -ELOOP:
		return "what is there is not that segment of this store: put that there, or "
		       "nothing";
	default:
		return "make it readable; from a disk that fails, a copy with gaps will do";
	}
}

void mailrecover_free(struct mailrecover *recover)
{
	mailwalk_free(&recover->walk);
	free(recover->segments);
	recover->segments = NULL;
}
