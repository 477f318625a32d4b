/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/mailcheck.h"

#include "lib/lmdb/verify.h"
#include "lib/mailstore/mailstore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the index that the store has ---- */

struct kept {
	int status;
	struct reader *reader; /* within reader_begin(); NULL when status is not STORE_OK */
	struct mailfacts facts;
	struct maillog log; /* to look at segments with */
	bool is_short; /* the log lacks what it knows, so that it says nothing about what may go */
};

/* The next segment behind *place of which the log lacks what the index knows, and how; DNSBLV6_ENOTFOUND. */
static int next_short(const struct kept *kept, struct disk *disk, struct mailplace *place,
		      int *ret_status)
{
	struct segmentrow row;
	uint64_t size = 0;
	int ret = mailindex_segment(kept->reader, place->segment + 1, &place->segment, &row);
	while (ret == STORE_OK) {
		ret = disk->ops->size(disk, place->segment, &size);
		if (ret != 0 && ret != -ENOENT)
			return ret;
		*ret_status = ret == 0 ? MAILSTORE_EAHEAD : MAILSTORE_ELOST;
		place->at = ret == 0 ? size : 0;
		if (ret == -ENOENT || size < row.end)
			return STORE_OK;
		ret = mailindex_segment(kept->reader, place->segment + 1, &place->segment, &row);
	}
	return ret;
}

static int compare_object(void *context, uint64_t object)
{
	struct kept *kept = context;
	bool is_emptied;
	return object == MAILIDENTITY_OBJECT
		       ? 0
		       : mailrecover_compare(&kept->log, kept->reader, kept->facts.next_segment,
					     object, &is_emptied);
}

/* One that is whole and of this store. */
static int open_kept(struct disk *disk, const char *path, struct kept *kept)
{
	uint8_t bytes[MAILIDENTITY_SIZE];
	struct mailidentity *identity = &kept->log.identity;
	int ret = verify_store(path, &mailindex_kind, &kept->facts);
	if (ret == STORE_OK)
		ret = reader_start(path, &mailindex_kind, &kept->reader);
	if (ret != STORE_OK)
		return ret;
	ret = disk->ops->read(disk, MAILIDENTITY_OBJECT, 0, bytes, sizeof(bytes));
	if (ret == 0)
		ret = mailidentity_decode(bytes, sizeof(bytes), identity);
	if (ret == 0 && memcmp(identity->store, kept->facts.store, sizeof(kept->facts.store)) != 0)
		ret = MAILSTORE_EINDEX;
	kept->log.disk = disk;
	if (ret == 0)
		ret = disk->ops->list(disk, compare_object, kept);
	if (ret != 0)
		return ret;
	struct mailplace place = { 0 };
	int status;
	ret = next_short(kept, disk, &place, &status);
	kept->is_short = ret == STORE_OK;
	return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
}

/* It says nothing about the file: there was no memory or no process for looking, or that was ended. */
static bool is_unknown(int status)
{
	return status == STORE_EVERIFIER ||
	       (status < 0 && status > DNSBLV6_ENOTFOUND && status != -ENOENT);
}

static void find_kept(struct disk *disk, const char *path, struct kept *ret_kept)
{
	*ret_kept = (struct kept){ .log.buffer = malloc(MAILLOG_BUFFER_SIZE) };
	ret_kept->status = ret_kept->log.buffer == NULL ? -ENOMEM : open_kept(disk, path, ret_kept);
	if (ret_kept->status == STORE_OK)
		return;
	reader_close(ret_kept->reader);
	ret_kept->reader = NULL;
}

/* ---- a disk on which nothing is changed ---- */

struct frozen {
	struct disk disk;
	struct disk *below;
	const struct kept *kept;
	bool is_synced; /* what was read has to be on disk */
};

static struct disk *below(struct disk *disk)
{
	return ((struct frozen *)disk)->below;
}

struct listing {
	const struct kept *kept;
	disk_list_fn fn;
	void *context;
};

/* A segment that had been emptied, and that the next start removes, says nothing any more. */
static int list_object(void *context, uint64_t object)
{
	const struct listing *listing = context;
	struct segmentrow row;
	int ret = STORE_OK;
	if (!listing->kept->is_short && object != MAILIDENTITY_OBJECT &&
	    object < listing->kept->facts.next_segment)
		ret = mailindex_segment_row(listing->kept->reader, object, &row);
	if (ret == DNSBLV6_ENOTFOUND && listing->kept->reader != NULL)
		return 0;
	return ret == STORE_OK || ret == DNSBLV6_ENOTFOUND ? listing->fn(listing->context, object)
							   : ret;
}

static int frozen_list(struct disk *disk, disk_list_fn fn, void *context)
{
	struct listing listing = { ((struct frozen *)disk)->kept, fn, context };
	return below(disk)->ops->list(below(disk), list_object, &listing);
}

static int frozen_create(struct disk *disk, uint64_t object)
{
	(void)disk;
	(void)object;
	return -EROFS;
}

static int frozen_append(struct disk *disk, uint64_t object, uint64_t at, const struct iovec *parts,
			 int count)
{
	(void)disk;
	(void)object;
	(void)at;
	(void)parts;
	(void)count;
	return -EROFS;
}

static int frozen_read(struct disk *disk, uint64_t object, uint64_t at, void *bytes, size_t size)
{
	return below(disk)->ops->read(below(disk), object, at, bytes, size);
}

static int frozen_size(struct disk *disk, uint64_t object, uint64_t *ret_size)
{
	return below(disk)->ops->size(below(disk), object, ret_size);
}

static bool is_synced(const struct disk *disk)
{
	return ((const struct frozen *)disk)->is_synced;
}

static int frozen_sync(struct disk *disk, uint64_t object)
{
	return is_synced(disk) ? below(disk)->ops->sync(below(disk), object) : 0;
}

static int frozen_renew(struct disk *disk, uint64_t object, uint64_t from, uint64_t to)
{
	return is_synced(disk) ? below(disk)->ops->renew(below(disk), object, from, to) : 0;
}

/* What recovery would take away stays; the index that is made is as if it had. */
static int frozen_remove(struct disk *disk, uint64_t object)
{
	(void)disk;
	(void)object;
	return 0;
}

static int frozen_cut(struct disk *disk, uint64_t object, uint64_t size)
{
	(void)disk;
	(void)object;
	(void)size;
	return 0;
}

static void frozen_close(struct disk *disk)
{
	(void)disk;
}

static const struct disk_ops frozen_ops = {
	.list = frozen_list,
	.create = frozen_create,
	.append = frozen_append,
	.read = frozen_read,
	.size = frozen_size,
	.sync = frozen_sync,
	.renew = frozen_renew,
	.cut = frozen_cut,
	.remove = frozen_remove,
	.close = frozen_close,
};

/* ---- the log ---- */

static void find(struct mailcheck *check, struct mailplace place, const char *text)
{
	check->findings++;
	check->report(check->context, place, text);
}

static void find_damage(struct mailcheck *check, struct mailplace place, const char *text)
{
	check->is_log_damaged = true;
	find(check, place, text);
}

struct pass {
	struct mailcheck *check;
	const struct kept *kept;
	struct maillog log;
	struct maillog_lasts lasts;
	uint64_t total; /* bytes of the log */
	uint64_t done;
};

static int add_segment(void *context, uint64_t object)
{
	struct pass *pass = context;
	uint64_t size = 0;
	int ret = pass->log.disk->ops->size(pass->log.disk, object, &size);
	if (ret != 0)
		find_damage(pass->check, (struct mailplace){ object, 0 }, mailstore_strerror(ret));
	pass->total += size;
	if (object != MAILIDENTITY_OBJECT)
		maillog_note_last(&pass->lasts, object, maillog_generation(&pass->log, object));
	return ret;
}

/* Behind the end that the pass has found: the index knows what was committed. */
static int note_end(struct pass *pass, uint64_t segment, struct maillog_finding *found)
{
	struct segmentrow row;
	int ret = mailindex_segment_row(pass->kept->reader, segment, &row);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
	if (found->end >= row.end || found->size < row.end)
		return 0;
	if (found->damaged_count++ == 0)
		found->damaged_at = found->end;
	found->end = row.end;
	return 0;
}

static int check_segment(void *context, uint64_t object)
{
	struct pass *pass = context;
	struct mailcheck *check = pass->check;
	struct mailsegment_head head;
	struct maillog_finding found;
	if (object == MAILIDENTITY_OBJECT)
		return 0;
	check->segments++;
	const unsigned generation = maillog_generation(&pass->log, object);
	int ret = maillog_examine(&pass->log, object, MAILSEGMENT_HEAD_SIZE,
				  maillog_is_followed(&pass->lasts, object, generation), &found);
	if (ret == 0)
		ret = note_end(pass, object, &found);
	if (ret == -EIO)
		find_damage(check, (struct mailplace){ object, 0 }, "it cannot be read");
	if (ret != 0)
		return ret;
	pass->done += found.size;
	if (check->step != NULL)
		check->step(check->context, pass->done, pass->total);
	check->uncommitted += found.size > found.end ? found.size - found.end : 0;
	ret = maillog_read_segment(&pass->log, object, &head);
	/* Without records it is one that was being made when the power went. */
	if (ret == MAILSTORE_EDAMAGED && found.end > MAILSEGMENT_HEAD_SIZE)
		find_damage(check, (struct mailplace){ object, 0 }, "its head is damaged");
	else if (ret != 0 && ret != MAILSTORE_EDAMAGED)
		return ret;
	if (found.damaged_count > 0)
		find_damage(check, (struct mailplace){ object, found.damaged_at },
			    "a committed record is damaged");
	return 0;
}

static int check_log(struct mailcheck *check, const struct kept *kept, struct disk *disk)
{
	static const uint8_t random[32];
	struct pass pass = { .check = check, .kept = kept };
	int ret = maillog_open(&pass.log, disk, random, 0);
	if (ret == 0)
		ret = disk->ops->list(disk, add_segment, &pass);
	if (ret == 0)
		ret = disk->ops->list(disk, check_segment, &pass);
	maillog_close(&pass.log);
	return ret == -EROFS ? MAILSTORE_ENOTSTORE : ret;
}

/* ---- the index ---- */

/* An index made from the log alone. */
static int build(struct mailcheck *check, struct disk *disk, const char *scratch_path)
{
	struct maillayer *layer;
	struct mailstore_recovery recovery;
	const struct mailstore_setup setup = { .disk = disk, .index_path = scratch_path };
	int ret = mailstore_open(&setup, &layer, &recovery);
	if (ret == 0)
		maillayer_close(layer);
	else if (ret == MAILSTORE_EDAMAGED)
		find_damage(check, recovery.first, "it has the head of another segment");
	return ret;
}

struct cursor {
	struct reader *reader;
	unsigned table;
	struct store_bytes key;
	struct store_bytes value;
};

/*
 * Rows of dead mails and their ids, which only say when they may be dropped: an index that is made
 * anew has those of all records, also of those that a collection has left behind.
 */
static int is_dead(const struct cursor *at, bool *ret_dead)
{
	struct mailrow row;
	const struct store_bytes *number = at->table == MAILINDEX_IDS ? &at->value : &at->key;
	*ret_dead = false;
	if ((at->table != MAILINDEX_MAILS && at->table != MAILINDEX_IDS) || number->size != 8)
		return STORE_OK;
	int ret = mailindex_mail(at->reader, bytes_get(number->data, 8), &row);
	*ret_dead = ret == STORE_OK && row.live == 0;
	return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
}

static int skip_dead(struct cursor *at, int ret)
{
	bool is_skipped = true;
	while (ret == STORE_OK) {
		ret = is_dead(at, &is_skipped);
		if (ret != STORE_OK || !is_skipped)
			break;
		ret = reader_next(at->reader, at->table, &at->key, &at->value);
	}
	return ret;
}

static int first(struct cursor *at)
{
	return skip_dead(at, reader_seek(at->reader, at->table, NULL, 0, &at->key, &at->value));
}

static int next(struct cursor *at)
{
	return skip_dead(at, reader_next(at->reader, at->table, &at->key, &at->value));
}

static bool is_equal(struct store_bytes one, struct store_bytes other)
{
	return one.size == other.size && memcmp(one.data, other.data, one.size) == 0;
}

/* Are all entries of a table the same? */
static int compare_table(struct reader *one, struct reader *other, unsigned table, bool *ret_same)
{
	struct cursor a = { .reader = one, .table = table };
	struct cursor b = { .reader = other, .table = table };
	int left = first(&a);
	int right = first(&b);
	bool is_same = true;
	while (is_same && left == STORE_OK && right == STORE_OK) {
		is_same = is_equal(a.key, b.key) && is_equal(a.value, b.value);
		left = next(&a);
		right = next(&b);
	}
	*ret_same = is_same && left == right;
	if (left != STORE_OK && left != DNSBLV6_ENOTFOUND)
		return left;
	return right == DNSBLV6_ENOTFOUND ? STORE_OK : right;
}

static void find_wrong(struct mailcheck *check, const char *text)
{
	check->is_index_wrong = true;
	find(check, (struct mailplace){ 0 }, text);
}

static int compare(struct mailcheck *check, const struct kept *kept, struct reader *made,
		   const struct mailfacts *truth)
{
	static const struct {
		enum mailindex_table table;
		const char *text;
	} rows[] = {
		{ MAILINDEX_BOXES, "index: mailboxes are not what the log says" },
		{ MAILINDEX_MAILS, "index: places of mails are not what the log says" },
		{ MAILINDEX_IDS, "index: mail ids are not what the log says" },
		{ MAILINDEX_COUNTS, "index: counts of mailboxes are not what the log says" },
	};
	const uint64_t next_lsn = kept->facts.next_lsn + MAILSTORE_LEAP;
	int ret = STORE_OK;
	check->behind = truth->next_lsn > next_lsn ? truth->next_lsn - next_lsn : 0;
	/* What it does not have yet, the next start takes over; the rest cannot be compared. */
	for (size_t i = 0;
	     ret == STORE_OK && check->behind == 0 && i < sizeof(rows) / sizeof(*rows); i++) {
		bool is_same = true;
		ret = compare_table(kept->reader, made, rows[i].table, &is_same);
		if (is_same)
			continue;
		find(check, (struct mailplace){ 0 }, rows[i].text);
		/* It may know what cannot be read any more. */
		check->is_index_wrong = check->is_index_wrong || !check->is_log_damaged;
	}
	return ret;
}

/* A log that lacks what the index knows is not opened with it. */
static int compare_sizes(struct mailcheck *check, const struct kept *kept, struct disk *disk)
{
	struct mailplace place = { 0 };
	int status;
	int ret = next_short(kept, disk, &place, &status);
	while (ret == STORE_OK) {
		check->is_index_wrong = true;
		find(check, place, mailstore_strerror(status));
		ret = next_short(kept, disk, &place, &status);
	}
	return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
}

/*
 * Segments that had been emptied and are there still, which were passed over, would be new to it: numbers go on where
 * those of the other one do.
 */
static int go_on(const struct kept *kept, const char *scratch_path, const struct mailfacts *truth)
{
	struct mailemptied emptied;
	int ret = mailindex_emptied(kept->reader, &emptied);
	if (ret != STORE_OK && ret != DNSBLV6_ENOTFOUND)
		return ret;
	const struct mailbatch batch = { .known = ret == STORE_OK ? &emptied : NULL,
					 .next_segment = kept->facts.next_segment,
					 .lsn_next = kept->facts.next_lsn,
					 .lsn_known = truth->next_lsn,
					 .store = truth->store };
	return mailindex_apply(scratch_path, &batch);
}

static int check_index(struct mailcheck *check, const struct kept *kept, struct disk *disk,
		       const char *scratch_path)
{
	struct reader *made;
	struct mailfacts truth;
	int ret = reader_start(scratch_path, &mailindex_kind, &made);
	if (ret != STORE_OK)
		return ret;
	ret = mailindex_facts(made, &truth);
	check->mails = ret == STORE_OK ? truth.mails : 0;
	if (ret == STORE_OK && kept->reader != NULL)
		ret = compare_sizes(check, kept, disk);
	if (ret == STORE_OK && kept->reader != NULL)
		ret = compare(check, kept, made, &truth);
	if (kept->status == -ENOENT)
		find_wrong(check, "index: there is none");
	else if (kept->status == MAILSTORE_EINDEX || kept->status == MAILSTORE_EOLD)
		find_wrong(check, mailstore_strerror(kept->status));
	else if (kept->status != STORE_OK || ret != STORE_OK)
		find_wrong(check, "index: damaged");
	reader_close(made);
	return kept->reader != NULL && !kept->is_short && ret == STORE_OK
		       ? go_on(kept, scratch_path, &truth)
		       : STORE_OK;
}

int mailcheck_run(struct mailcheck *check, struct disk *disk, const char *index_path,
		  const char *scratch_path)
{
	struct kept kept;
	struct frozen frozen = {
		.disk.ops = &frozen_ops, .below = disk, .kept = &kept, .is_synced = check->repairs
	};
	find_kept(disk, index_path, &kept);
	check->is_log_damaged = false;
	int ret = check_log(check, &kept, &frozen.disk);
	if (ret == 0 && is_unknown(kept.status))
		ret = kept.status;
	if (ret == 0)
		ret = build(check, &frozen.disk, scratch_path);
	if (ret == 0)
		ret = check_index(check, &kept, disk, scratch_path);
	reader_close(kept.reader);
	maillog_close(&kept.log);
	return ret;
}
