/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/maillog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- opening ---- */

static int count_objects(void *context, uint64_t object)
{
	(void)object;
	++*(uint64_t *)context;
	return 0;
}

static int make_identity(struct maillog *log, const uint8_t *random, uint64_t segment_size)
{
	uint8_t bytes[MAILIDENTITY_SIZE];
	struct disk *disk = log->disk;
	const struct iovec part = { bytes, sizeof(bytes) };
	uint64_t size;
	memcpy(log->identity.store, random, 16);
	memcpy(log->identity.key, random + 16, MAILID_KEY_SIZE);
	log->identity.segment_size = segment_size;
	mailidentity_encode(&log->identity, bytes);
	int ret = disk->ops->create(disk, MAILIDENTITY_OBJECT);
	if (ret == -EEXIST) /* one that was never finished */
		ret = disk->ops->size(disk, MAILIDENTITY_OBJECT, &size);
	if (ret == 0)
		ret = disk->ops->cut(disk, MAILIDENTITY_OBJECT, 0);
	if (ret == 0)
		ret = disk->ops->append(disk, MAILIDENTITY_OBJECT, 0, &part, 1);
	return ret == 0 ? disk->ops->sync(disk, MAILIDENTITY_OBJECT) : ret;
}

/* The power went when its length was on disk, and its bytes were not. */
static bool is_blank(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/*
 * A process that was killed, or whose sync() failed, may have left it in memory alone. With a segment it has been
 * synced, and stays as it is: its time says since when the store is there.
 */
static int keep_identity(struct maillog *log, uint64_t object_count)
{
	struct disk *disk = log->disk;
	int ret = object_count == 1
			  ? disk->ops->renew(disk, MAILIDENTITY_OBJECT, 0, MAILIDENTITY_SIZE)
			  : 0;
	return ret == 0 ? disk->ops->sync(disk, MAILIDENTITY_OBJECT) : ret;
}

int maillog_open(struct maillog *ret_log, struct disk *disk, const uint8_t *random,
		 uint64_t segment_size)
{
	uint8_t bytes[MAILIDENTITY_SIZE];
	uint64_t count = 0;
	struct maillog *log = ret_log;
	*log = (struct maillog){ .disk = disk, .next_segment = 1 };
	log->buffer = malloc(MAILLOG_BUFFER_SIZE);
	if (log->buffer == NULL)
		return -ENOMEM;
	int ret = disk->ops->read(disk, MAILIDENTITY_OBJECT, 0, bytes, sizeof(bytes));
	bool is_there = ret == 0 && !is_blank(bytes, sizeof(bytes));
	bool is_unfinished = ret == -ENODATA || (ret == 0 && !is_there);
	if (is_there)
		ret = mailidentity_decode(bytes, sizeof(bytes), &log->identity);
	if (ret != 0 && ret != -ENOENT && !is_unfinished)
		return ret;
	ret = disk->ops->list(disk, count_objects, &count);
	if (ret != 0)
		return ret;
	if (is_there)
		return keep_identity(log, count);
	/* No segment is made before the identity is on disk. */
	return count > (is_unfinished ? 1 : 0) ? MAILSTORE_ENOTSTORE
					       : make_identity(log, random, segment_size);
}

void maillog_close(struct maillog *log)
{
	free(log->buffer);
	log->buffer = NULL;
}

/* ---- writing ---- */

/* What a sync() returns of a log that has failed before. */
static int stopped(const struct maillog *log)
{
	return log->is_unsure ? MAILSTORE_EUNSURE : MAILSTORE_EFAILED;
}

int maillog_fail(struct maillog *log, int status)
{
	const struct maillog_head *head = &log->heads[0];
	if (log->failure != 0)
		return stopped(log);
	log->failure = status;
	log->is_unsure = head->synced != head->end &&
			 log->disk->ops->cut(log->disk, head->segment, head->synced) != 0;
	return log->is_unsure ? MAILSTORE_EUNSURE : status;
}

static int sync_segment(struct maillog *log, struct maillog_head *head)
{
	log->sync_count++;
	int ret = log->disk->ops->sync(log->disk, head->segment);
	if (ret != 0)
		return maillog_fail(log, ret);
	head->synced = head->end;
	return 0;
}

/*
 * Seals the segment of a generation and begins another. Syncs outside may have covered all of the old one;
 * the disk is asked once more by the descriptor that has written it, and may close that then.
 */
static int begin_segment(struct maillog *log, unsigned generation)
{
	uint8_t bytes[MAILSEGMENT_HEAD_SIZE];
	struct disk *disk = log->disk;
	struct mailsegment_head head = { .number = log->next_segment,
					 .generation = (uint8_t)generation };
	const struct iovec part = { bytes, sizeof(bytes) };
	int ret = log->heads[generation].segment != 0 ? sync_segment(log, &log->heads[generation])
						      : 0;
	if (ret != 0)
		return ret;
	if (getentropy(&head.id, sizeof(head.id)) != 0)
		return -errno;
	memcpy(head.store, log->identity.store, sizeof(head.store));
	mailsegment_encode(&head, bytes);
	ret = disk->ops->create(disk, head.number);
	if (ret != 0)
		return ret;
	ret = disk->ops->append(disk, head.number, 0, &part, 1);
	if (ret != 0) {
		/* What stays of it would be in the way of the next attempt; opening again removes it. */
		if (disk->ops->remove(disk, head.number) != 0)
			maillog_fail(log, ret);
		return ret;
	}
	log->next_segment++;
	log->heads[generation] = (struct maillog_head){ .segment = head.number,
							.id = head.id,
							.end = sizeof(bytes) };
	return 0;
}

struct pieces {
	struct maillog *log;
	struct maillog_head *head;
	uint64_t at; /* where the next ones go */
};

static int put(struct pieces *pieces, const struct iovec *parts, int count)
{
	struct disk *disk = pieces->log->disk;
	size_t size = 0;
	for (int i = 0; i < count; i++)
		size += parts[i].iov_len;
	int ret = disk->ops->append(disk, pieces->head->segment, pieces->at, parts, count);
	if (ret == 0)
		pieces->at += size;
	return ret;
}

static int put_copied(struct pieces *pieces, const struct maillog_body *body)
{
	struct maillog *log = pieces->log;
	int ret = 0;
	for (uint64_t done = 0; ret == 0 && done < body->size;) {
		uint64_t left = body->size - done;
		size_t size = left < MAILLOG_BUFFER_SIZE ? (size_t)left : MAILLOG_BUFFER_SIZE;
		const struct iovec part = { log->buffer, size };
		ret = log->disk->ops->read(log->disk, body->from.segment, body->from.at + done,
					   log->buffer, size);
		if (ret == 0)
			ret = put(pieces, &part, 1);
		done += size;
	}
	return ret;
}

static int put_text(struct pieces *pieces, struct mailbody *text)
{
	struct maillog *log = pieces->log;
	int ret = 0;
	mailbody_rewind(text);
	for (;;) {
		const struct iovec part = { log->buffer,
					    mailbody_fill(text, log->buffer, MAILLOG_BUFFER_SIZE) };
		if (ret != 0 || part.iov_len == 0)
			return ret;
		ret = put(pieces, &part, 1);
	}
}

/* In one call where the body lies in memory as it is to be written. */
static int put_record(struct pieces *pieces, const struct mailrecord *record, const uint8_t *meta,
		      const struct maillog_body *body)
{
	uint8_t head[MAILRECORD_HEAD_SIZE];
	uint8_t end[MAILRECORD_END_SIZE + MAILRECORD_ALIGN] = MAILRECORD_END;
	size_t used = MAILRECORD_HEAD_SIZE + record->meta_size;
	size_t end_size = (size_t)(record->size - used - record->wire_size);
	bool is_one = body == NULL || (body->text != NULL && body->text->is_wire);
	const struct iovec parts[] = {
		{ head, sizeof(head) },
		{ (void *)(uintptr_t)meta, record->meta_size },
		{ is_one && body != NULL ? (void *)(uintptr_t)body->text->text : NULL,
		  is_one ? record->wire_size : 0 },
		{ body != NULL ? end : end + MAILRECORD_END_SIZE, end_size },
	};
	mailrecord_encode(
		record, meta,
		mailrecord_seed(&pieces->log->identity, pieces->head->segment, pieces->head->end),
		head);
	if (is_one)
		return put(pieces, parts, 4);
	int ret = put(pieces, parts, 2);
	if (ret == 0)
		ret = body->text != NULL ? put_text(pieces, body->text) : put_copied(pieces, body);
	return ret == 0 ? put(pieces, parts + 3, 1) : ret;
}

int maillog_append(struct maillog *log, unsigned generation, struct mailrecord *record,
		   const uint8_t *meta, const struct maillog_body *body,
		   struct mailplace *ret_place)
{
	struct maillog_head *head = &log->heads[generation];
	record->size = mailrecord_size(record->type, record->meta_size, record->wire_size);
	if (log->failure != 0)
		return MAILSTORE_EFAILED;
	bool is_full = head->end > MAILSEGMENT_HEAD_SIZE &&
		       head->end + record->size > log->identity.segment_size;
	if (head->segment == 0 || is_full) {
		int ret = begin_segment(log, generation);
		if (ret != 0)
			return ret;
	}
	record->synced = head->synced;
	struct pieces pieces = { .log = log, .head = head, .at = head->end };
	int ret = put_record(&pieces, record, meta, body);
	if (ret != 0) {
		if (log->disk->ops->cut(log->disk, head->segment, head->end) != 0)
			maillog_fail(log, ret);
		return ret;
	}
	*ret_place = (struct mailplace){ .segment = head->segment, .at = head->end };
	head->end = pieces.at;
	log->written += record->size;
	return 0;
}

int maillog_sync(struct maillog *log, unsigned generation)
{
	struct maillog_head *head = &log->heads[generation];
	if (log->failure != 0)
		return stopped(log);
	if (head->segment == 0 || head->synced == head->end)
		return 0;
	return sync_segment(log, head);
}

int maillog_sync_begin(struct maillog *log, struct mailstore_sync *ret_sync)
{
	const struct maillog_head *head = &log->heads[0];
	struct mailstore_sync sync = { .segment = head->segment, .end = head->end };
	if (log->failure != 0)
		return stopped(log);
	if (head->segment == 0 || head->synced == head->end)
		return DNSBLV6_ENOTFOUND;
	int ret = log->disk->ops->open_sync(log->disk, head->segment, &sync.fd);
	if (ret != 0)
		return ret == -EOPNOTSUPP ? ret : maillog_fail(log, ret);
	log->sync_count++;
	*ret_sync = sync;
	return 0;
}

int maillog_sync_end(struct maillog *log, const struct mailstore_sync *sync, int status)
{
	struct maillog_head *head = &log->heads[0];
	close(sync->fd);
	if (log->failure != 0)
		return stopped(log);
	/* Meanwhile the segment may have been sealed, which syncs it, or synced as a whole. */
	bool is_new = head->segment == sync->segment && head->synced < sync->end;
	if (status != 0) {
		int ret = maillog_fail(log, status);
		return is_new ? ret : MAILSTORE_EUNSURE;
	}
	if (is_new)
		head->synced = sync->end;
	return 0;
}

struct mailplace maillog_end(const struct maillog *log)
{
	return (struct mailplace){ .segment = log->heads[0].segment, .at = log->heads[0].end };
}

bool maillog_has_synced(const struct maillog *log, struct mailplace end)
{
	const struct maillog_head *head = &log->heads[0];
	if (head->segment == 0)
		return end.segment <= log->sealed;
	/* A segment is synced before the next one begins. */
	return end.segment == head->segment ? end.at <= head->synced : end.segment < head->segment;
}

int maillog_resume(struct maillog *log, unsigned generation, const struct maillog_head *head)
{
	struct disk *disk = log->disk;
	uint64_t size;
	int ret = disk->ops->size(disk, head->segment, &size);
	if (ret == 0 && size > head->end)
		ret = disk->ops->cut(disk, head->segment, head->end);
	if (ret == 0 && head->synced < head->end)
		ret = disk->ops->renew(disk, head->segment, head->synced, head->end);
	if (ret == 0)
		ret = disk->ops->sync(disk, head->segment);
	if (ret != 0)
		return maillog_fail(log, ret);
	log->heads[generation] = *head;
	log->heads[generation].synced = head->end;
	return 0;
}

/* ---- reading ---- */

int maillog_read_segment(struct maillog *log, uint64_t segment, struct mailsegment_head *ret_head)
{
	uint8_t bytes[MAILSEGMENT_HEAD_SIZE];
	struct mailsegment_head head;
	int ret = log->disk->ops->read(log->disk, segment, 0, bytes, sizeof(bytes));
	if (ret != 0)
		return ret == -ENODATA ? MAILSTORE_EDAMAGED : ret;
	ret = mailsegment_decode(bytes, sizeof(bytes), &head);
	if (ret == 0 && (head.number != segment ||
			 memcmp(head.store, log->identity.store, sizeof(head.store)) != 0))
		ret = MAILSTORE_EDAMAGED;
	if (ret == 0)
		*ret_head = head;
	return ret;
}

unsigned maillog_generation(struct maillog *log, uint64_t segment)
{
	struct mailsegment_head head;
	return maillog_read_segment(log, segment, &head) == 0 ? head.generation : MAIL_GENERATIONS;
}

void maillog_note_last(struct maillog_lasts *lasts, uint64_t segment, unsigned generation)
{
	if (generation == MAIL_GENERATIONS)
		return;
	if (segment > lasts->of[generation])
		lasts->of[generation] = segment;
	if (segment > lasts->of_all)
		lasts->of_all = segment;
}

bool maillog_is_followed(const struct maillog_lasts *lasts, uint64_t segment, unsigned generation)
{
	return segment < (generation < MAIL_GENERATIONS ? lasts->of[generation] : lasts->of_all);
}

/* The head at a place that has one, with its bytes, and room checked against the object's size. */
static int read_head(struct maillog *log, struct mailplace place, uint64_t size, uint8_t *head,
		     struct mailrecord *ret_record)
{
	struct disk *disk = log->disk;
	if (size < MAILRECORD_HEAD_SIZE || place.at > size - MAILRECORD_HEAD_SIZE)
		return MAILSTORE_EDAMAGED;
	int ret = disk->ops->read(disk, place.segment, place.at, head, MAILRECORD_HEAD_SIZE);
	if (ret == 0)
		ret = mailrecord_decode(head, ret_record);
	if (ret == 0 && ret_record->size > size - place.at)
		ret = MAILSTORE_EDAMAGED;
	return ret == -ENODATA ? MAILSTORE_EDAMAGED : ret;
}

/* meta has the room of record's. */
static int read_meta(struct maillog *log, struct mailplace place, const uint8_t *head,
		     const struct mailrecord *record, uint8_t *meta)
{
	struct disk *disk = log->disk;
	int ret = disk->ops->read(disk, place.segment, place.at + MAILRECORD_HEAD_SIZE, meta,
				  record->meta_size);
	if (ret != 0)
		return ret == -ENODATA ? MAILSTORE_EDAMAGED : ret;
	return mailrecord_check(head, meta, record->meta_size,
				mailrecord_seed(&log->identity, place.segment, place.at));
}

static int read_checked(struct maillog *log, struct mailplace place, uint64_t size,
			struct mailrecord *ret_record, uint8_t **ret_meta)
{
	uint8_t head[MAILRECORD_HEAD_SIZE];
	struct mailrecord record;
	int ret = read_head(log, place, size, head, &record);
	if (ret != 0)
		return ret;
	uint8_t *meta = malloc(record.meta_size > 0 ? record.meta_size : 1);
	if (meta == NULL)
		return -ENOMEM;
	ret = read_meta(log, place, head, &record, meta);
	if (ret != 0) {
		free(meta);
		return ret;
	}
	*ret_record = record;
	*ret_meta = meta;
	return 0;
}

int maillog_read(struct maillog *log, struct mailplace place, struct mailrecord *ret_record,
		 uint8_t **ret_meta)
{
	uint64_t size;
	int ret = log->disk->ops->size(log->disk, place.segment, &size);
	return ret != 0 ? ret : read_checked(log, place, size, ret_record, ret_meta);
}

/* What stands behind the body: it is sent with it, and may be lost without it. */
static int check_end(struct maillog *log, struct mailplace place, const struct mailrecord *record)
{
	static const uint8_t end[MAILRECORD_END_SIZE + MAILRECORD_ALIGN] = MAILRECORD_END;
	uint8_t found[sizeof(end)];
	bool has_body = record->type != MAILRECORD_DELETE;
	uint64_t at = mailrecord_body_at(record) + record->wire_size;
	size_t size = (size_t)(record->size - at);
	int ret = log->disk->ops->read(log->disk, place.segment, place.at + at, found, size);
	if (ret != 0)
		return ret == -ENODATA ? MAILSTORE_EDAMAGED : ret;
	return memcmp(found, has_body ? end : end + MAILRECORD_END_SIZE, size) == 0
		       ? 0
		       : MAILSTORE_EDAMAGED;
}

/* MAILSTORE_EDAMAGED when its body does not have its checksum, or what is behind it is wrong. */
static int check_body(struct maillog *log, struct mailplace place, const struct mailrecord *record)
{
	uint64_t at = place.at + mailrecord_body_at(record);
	uint32_t crc = 0;
	for (uint64_t left = record->wire_size; left > 0;) {
		size_t size = left < MAILLOG_BUFFER_SIZE ? (size_t)left : MAILLOG_BUFFER_SIZE;
		int ret = log->disk->ops->read(log->disk, place.segment, at, log->buffer, size);
		if (ret != 0)
			return ret == -ENODATA ? MAILSTORE_EDAMAGED : ret;
		crc = mailrecord_crc(crc, log->buffer, size);
		at += size;
		left -= size;
	}
	bool is_whole = record->type == MAILRECORD_DELETE || crc == record->body_crc;
	return is_whole ? check_end(log, place, record) : MAILSTORE_EDAMAGED;
}

/* Is there a whole record at the place, later than lsn? 0, MAILSTORE_EDAMAGED or -errno. */
static int look(struct maillog *log, struct mailplace place, uint64_t size, uint64_t lsn,
		bool checks_body, struct mailrecord *ret_record)
{
	uint8_t *meta;
	int ret = read_checked(log, place, size, ret_record, &meta);
	if (ret != 0)
		return ret;
	free(meta);
	if (ret_record->lsn <= lsn)
		return MAILSTORE_EDAMAGED;
	return checks_body ? check_body(log, place, ret_record) : 0;
}

/*
 * The next place behind at, in steps of MAILRECORD_ALIGN, that begins as a record does; size when
 * there is none.
 */
static int find_magic(struct maillog *log, uint64_t segment, uint64_t at, uint64_t size,
		      uint64_t *ret_at)
{
	static const uint8_t magic[4] = "Dmr1";
	at += MAILRECORD_ALIGN;
	while (at + MAILRECORD_HEAD_SIZE <= size) {
		uint64_t left = size - at;
		size_t part = left < MAILLOG_BUFFER_SIZE ? (size_t)left : MAILLOG_BUFFER_SIZE;
		int ret = log->disk->ops->read(log->disk, segment, at, log->buffer, part);
		if (ret != 0)
			return ret;
		for (size_t i = 0; i + sizeof(magic) <= part; i += MAILRECORD_ALIGN) {
			if (memcmp(log->buffer + i, magic, sizeof(magic)) == 0) {
				*ret_at = at + i;
				return 0;
			}
		}
		at += part / MAILRECORD_ALIGN * MAILRECORD_ALIGN;
		if (part < MAILRECORD_ALIGN)
			break;
	}
	*ret_at = size;
	return 0;
}

struct examination {
	struct maillog *log;
	uint64_t segment;
	uint64_t size;
	uint64_t durable; /* the largest .synced of a whole record, or the end */
	uint64_t lsn;
	uint64_t at;
};

/* Moves over what is at x->at: a whole record, or bytes that are none. */
static int step(struct examination *x, bool *ret_is_whole)
{
	struct mailrecord record;
	const struct mailplace place = { x->segment, x->at };
	int ret = look(x->log, place, x->size, x->lsn, true, &record);
	*ret_is_whole = ret == 0;
	if (ret == MAILSTORE_EDAMAGED)
		return find_magic(x->log, x->segment, x->at, x->size, &x->at);
	if (ret != 0)
		return ret;
	if (record.synced > x->durable)
		x->durable = record.synced;
	x->lsn = record.lsn;
	x->at += record.size;
	return 0;
}

/* What is the highest place that some record says was durable? */
static int find_durable(struct examination *x)
{
	int ret = 0;
	bool is_whole;
	while (ret == 0 && x->at < x->size)
		ret = step(x, &is_whole);
	return ret;
}

int maillog_examine(struct maillog *log, uint64_t segment, uint64_t from, bool is_followed,
		    struct maillog_finding *ret_finding)
{
	struct examination x = { .log = log, .segment = segment, .at = from };
	struct maillog_finding found = { .end = from };
	int ret = log->disk->ops->size(log->disk, segment, &x.size);
	if (is_followed)
		x.durable = x.size;
	else if (ret == 0)
		ret = find_durable(&x);
	found.size = x.size;
	found.durable = x.durable;
	x.lsn = 0;
	x.at = from;
	while (ret == 0 && x.at < x.size) {
		uint64_t at = x.at;
		bool is_whole;
		ret = step(&x, &is_whole);
		if (ret != 0)
			break;
		if (is_whole) {
			found.end = x.at;
			continue;
		}
		if (at >= x.durable)
			break;
		found.damaged_at = found.damaged_count == 0 ? at : found.damaged_at;
		found.damaged_count++;
		found.end = x.durable;
	}
	if (found.end < x.durable && x.durable <= x.size)
		found.end = x.durable;
	if (ret == 0)
		*ret_finding = found;
	return ret;
}

int maillog_next(struct maillog *log, struct maillog_cursor *cursor)
{
	while (cursor->at < cursor->end) {
		const struct mailplace place = { cursor->segment, cursor->at };
		struct mailrecord record;
		int ret = look(log, place, cursor->end, cursor->record.lsn, false, &record);
		if (ret == 0) {
			cursor->record = record;
			cursor->place = place;
			cursor->at += record.size;
			return 0;
		}
		if (ret != MAILSTORE_EDAMAGED)
			return ret;
		ret = find_magic(log, cursor->segment, cursor->at, cursor->end, &cursor->at);
		if (ret != 0)
			return ret;
	}
	return DNSBLV6_ENOTFOUND;
}
