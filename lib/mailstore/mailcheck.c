/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/mailcheck.h"

#include "lib/lmdb/verify.h"
#include "lib/mailstore/mailstore.h"

#include <errno.h>
#include <string.h>

/* ---- a disk on which nothing is changed ---- */

struct frozen {
	struct disk disk;
	struct disk *below;
};

static struct disk *below(struct disk *disk)
{
	return ((struct frozen *)disk)->below;
}

static int frozen_list(struct disk *disk, disk_list_fn fn, void *context)
{
	return below(disk)->ops->list(below(disk), fn, context);
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

/* What recovery would change stays; the index that is made is as if it had. */
static int frozen_sync(struct disk *disk, uint64_t object)
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
	.cut = frozen_cut,
	.remove = frozen_sync,
	.close = frozen_close,
};

/* ---- the log ---- */

static void find(struct mailcheck *check, struct mailplace place, const char *text)
{
	check->findings++;
	check->report(check->context, place, text);
}

struct pass {
	struct mailcheck *check;
	struct maillog log;
	uint64_t total; /* bytes of the log */
	uint64_t done;
};

static int add_size(void *context, uint64_t object)
{
	struct pass *pass = context;
	uint64_t size = 0;
	int ret = pass->log.disk->ops->size(pass->log.disk, object, &size);
	pass->total += size;
	return ret;
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
	int ret = maillog_examine(&pass->log, object, MAILSEGMENT_HEAD_SIZE, true, &found);
	if (ret != 0)
		return ret;
	pass->done += found.size;
	if (check->step != NULL)
		check->step(check->context, pass->done, pass->total);
	check->uncommitted += found.size > found.end ? found.size - found.end : 0;
	ret = maillog_read_segment(&pass->log, object, &head);
	/* Without records it is one that was being made when the power went. */
	if (ret == MAILSTORE_EDAMAGED && found.end > MAILSEGMENT_HEAD_SIZE)
		find(check, (struct mailplace){ object, 0 }, "its head is damaged");
	else if (ret != 0 && ret != MAILSTORE_EDAMAGED)
		return ret;
	if (found.damaged_count > 0)
		find(check, (struct mailplace){ object, found.damaged_at },
		     "a committed record is damaged");
	return 0;
}

static int check_log(struct mailcheck *check, struct disk *disk)
{
	static const uint8_t random[32];
	struct pass pass = { .check = check };
	int ret = maillog_open(&pass.log, disk, random, 0);
	if (ret == 0)
		ret = disk->ops->list(disk, add_size, &pass);
	if (ret == 0)
		ret = disk->ops->list(disk, check_segment, &pass);
	maillog_close(&pass.log);
	return ret == -EROFS ? MAILSTORE_ENOTSTORE : ret;
}

/* ---- the index ---- */

/* An index made from the log alone. */
static int build(struct disk *disk, const char *scratch_path)
{
	struct mailstore *store;
	struct mailstore_recovery recovery;
	const struct mailstore_setup setup = { .disk = disk, .index_path = scratch_path };
	int ret = mailstore_open(&setup, &store, &recovery);
	if (ret == 0)
		mailstore_close(store);
	return ret;
}

/* Are all entries of a table the same? */
static int compare_table(struct reader *one, struct reader *other, unsigned table, bool *ret_same)
{
	struct store_bytes key[2];
	struct store_bytes value[2];
	int left = reader_seek(one, table, NULL, 0, &key[0], &value[0]);
	int right = reader_seek(other, table, NULL, 0, &key[1], &value[1]);
	bool is_same = true;
	while (is_same && left == STORE_OK && right == STORE_OK) {
		is_same = key[0].size == key[1].size && value[0].size == value[1].size &&
			  memcmp(key[0].data, key[1].data, key[0].size) == 0 &&
			  memcmp(value[0].data, value[1].data, value[0].size) == 0;
		left = reader_next(one, table, &key[0], &value[0]);
		right = reader_next(other, table, &key[1], &value[1]);
	}
	*ret_same = is_same && left == right;
	if (left != STORE_OK && left != DNSBLV6_ENOTFOUND)
		return left;
	return right == DNSBLV6_ENOTFOUND ? STORE_OK : right;
}

static int compare(struct mailcheck *check, struct reader *kept, struct reader *made)
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
	struct mailfacts facts;
	struct mailfacts truth;
	int ret = mailindex_facts(made, &truth);
	if (ret == STORE_OK)
		ret = mailindex_facts(kept, &facts);
	if (ret != STORE_OK)
		return ret;
	check->behind = truth.next_lsn > facts.next_lsn ? truth.next_lsn - facts.next_lsn : 0;
	if (memcmp(facts.store, truth.store, sizeof(facts.store)) != 0) {
		check->is_index_wrong = true;
		find(check, (struct mailplace){ 0 }, mailstore_strerror(MAILSTORE_EINDEX));
	}
	/* What it does not have yet, the next start takes over; the rest cannot be compared. */
	for (size_t i = 0;
	     ret == STORE_OK && check->behind == 0 && i < sizeof(rows) / sizeof(*rows); i++) {
		bool is_same = true;
		ret = compare_table(kept, made, rows[i].table, &is_same);
		if (is_same)
			continue;
		check->is_index_wrong = true;
		find(check, (struct mailplace){ 0 }, rows[i].text);
	}
	return ret;
}

static int open_index(const char *path, struct reader **ret_reader)
{
	struct reader *reader;
	struct mailfacts facts;
	int ret = verify_store(path, &mailindex_kind, &facts);
	if (ret == STORE_OK)
		ret = reader_open(path, &mailindex_kind, &reader);
	if (ret != STORE_OK)
		return ret;
	ret = reader_begin(reader);
	if (ret == STORE_OK)
		*ret_reader = reader;
	else
		reader_close(reader);
	return ret;
}

static int check_index(struct mailcheck *check, const char *index_path, const char *scratch_path)
{
	struct reader *made;
	struct reader *kept = NULL;
	int ret = open_index(scratch_path, &made);
	if (ret != STORE_OK)
		return ret;
	struct mailfacts truth;
	ret = mailindex_facts(made, &truth);
	check->mails = ret == STORE_OK ? truth.mails : 0;
	int opened = open_index(index_path, &kept);
	if (opened == STORE_OK)
		ret = compare(check, kept, made);
	if (opened != STORE_OK || ret != STORE_OK) {
		check->is_index_wrong = true;
		find(check, (struct mailplace){ 0 },
		     opened == -ENOENT ? "index: there is none" : "index: damaged");
	}
	if (kept != NULL) {
		reader_end(kept);
		reader_close(kept);
	}
	reader_end(made);
	reader_close(made);
	return STORE_OK;
}

int mailcheck_run(struct mailcheck *check, struct disk *disk, const char *index_path,
		  const char *scratch_path)
{
	struct frozen frozen = { .disk.ops = &frozen_ops, .below = disk };
	int ret = check_log(check, &frozen.disk);
	if (ret == 0)
		ret = build(&frozen.disk, scratch_path);
	if (ret == 0)
		ret = check_index(check, index_path, scratch_path);
	disk->ops->close(disk);
	return ret;
}
