/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/mailindex.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/format/array.h"

#define ENTRY_SIZE   48
#define SEGMENT_SIZE 33
#define EMPTIED_SIZE 24
#define COUNTS_SIZE  16
#define FACTS_SIZE   56
#define FACTS_KEY    "store"
#define EMPTIED_KEY  "emptied"

#define SEGMENT_SIZE_BEFORE 25 /* without an id */

#define SEGMENT_LEFT 0x80U /* in the byte of the generation */

static const char *const names[MAILINDEX_TABLE_COUNT] = {
	[MAILINDEX_FACTS] = "facts",	   [MAILINDEX_BOXES] = "boxes",
	[MAILINDEX_MAILS] = "mails",	   [MAILINDEX_IDS] = "ids",
	[MAILINDEX_SEGMENTS] = "segments", [MAILINDEX_COUNTS] = "counts",
};

/* ---- rows and bytes ---- */

#define MAILBOX_KEY_MAX (MAILBOX_NAME_MAX + 1 + 8)

static size_t box_key(struct mailname name, uint64_t mail, uint8_t *out)
{
	uint8_t *at = out;
	bytes_put_string(&at, name.bytes, name.size);
	bytes_put(&at, 0, 1);
	bytes_put(&at, mail, 8);
	return (size_t)(at - out);
}

static void encode_entry(const struct mailrecord *record, uint8_t *out)
{
	bytes_put_string(&out, record->id.bytes, MAILID_SIZE);
	bytes_put(&out, record->octets, 8);
	bytes_put(&out, record->wire_size, 8);
	bytes_put(&out, record->text_size, 8);
	bytes_put(&out, record->time_us, 8);
}

static int decode_entry(struct store_bytes value, struct mailentry *ret_entry)
{
	struct bytes_input input = { .data = value.data, .size = value.size };
	if (value.size != ENTRY_SIZE)
		return STORE_ECORRUPT;
	memcpy(ret_entry->id.bytes, bytes_take_string(&input, MAILID_SIZE), MAILID_SIZE);
	ret_entry->octets = bytes_take(&input, 8);
	ret_entry->wire_size = bytes_take(&input, 8);
	ret_entry->text_size = bytes_take(&input, 8);
	ret_entry->time_us = bytes_take(&input, 8);
	return STORE_OK;
}

void mailrow_encode(const struct mailrow *row, uint8_t *out)
{
	bytes_put(&out, row->place.segment, 8);
	bytes_put(&out, row->place.at, 8);
	bytes_put(&out, row->size, 8);
	bytes_put(&out, row->meta_size, 4);
	bytes_put(&out, row->lines, 1);
	bytes_put(&out, row->wire_size, 8);
	bytes_put(&out, row->lsn, 8);
	bytes_put(&out, row->live, 4);
	bytes_put_string(&out, row->id.bytes, MAILID_SIZE);
}

void mailrow_decode(const uint8_t *bytes, struct mailrow *ret_row)
{
	struct bytes_input input = { .data = bytes, .size = MAILROW_SIZE };
	ret_row->place.segment = bytes_take(&input, 8);
	ret_row->place.at = bytes_take(&input, 8);
	ret_row->size = bytes_take(&input, 8);
	ret_row->meta_size = (uint32_t)bytes_take(&input, 4);
	ret_row->lines = (uint8_t)bytes_take(&input, 1);
	ret_row->wire_size = bytes_take(&input, 8);
	ret_row->lsn = bytes_take(&input, 8);
	ret_row->live = (uint32_t)bytes_take(&input, 4);
	memcpy(ret_row->id.bytes, bytes_take_string(&input, MAILID_SIZE), MAILID_SIZE);
}

struct mailspan mailrow_span(const struct mailrow *row)
{
	return (struct mailspan){
		.segment = row->place.segment,
		.at = row->place.at + MAILRECORD_HEAD_SIZE + row->meta_size,
		.size = row->wire_size,
	};
}

static int decode_row(struct store_bytes value, struct mailrow *ret_row)
{
	if (value.size != MAILROW_SIZE)
		return STORE_ECORRUPT;
	mailrow_decode(value.data, ret_row);
	return STORE_OK;
}

static void encode_segment(const struct segmentrow *row, uint8_t *out)
{
	bytes_put(&out, row->generation | (row->is_left ? SEGMENT_LEFT : 0), 1);
	bytes_put(&out, row->end, 8);
	bytes_put(&out, row->live, 8);
	bytes_put(&out, row->time_us, 8);
	bytes_put(&out, row->id, 8);
}

static int decode_segment(struct store_bytes value, struct segmentrow *ret_row)
{
	struct bytes_input input = { .data = value.data, .size = value.size };
	if (value.size != SEGMENT_SIZE && value.size != SEGMENT_SIZE_BEFORE)
		return STORE_ECORRUPT;
	uint64_t generation = bytes_take(&input, 1);
	ret_row->generation = (uint8_t)(generation & ~SEGMENT_LEFT);
	ret_row->is_left = (generation & SEGMENT_LEFT) != 0;
	ret_row->end = bytes_take(&input, 8);
	ret_row->live = bytes_take(&input, 8);
	ret_row->time_us = bytes_take(&input, 8);
	ret_row->id = value.size == SEGMENT_SIZE ? bytes_take(&input, 8) : 0;
	return STORE_OK;
}

static int decode_counts(struct store_bytes value, struct mailcounts *ret_counts)
{
	if (value.size != COUNTS_SIZE)
		return STORE_ECORRUPT;
	ret_counts->mails = bytes_get(value.data, 8);
	ret_counts->octets = bytes_get(value.data + 8, 8);
	return STORE_OK;
}

static void encode_facts(const struct mailfacts *facts, uint8_t *out)
{
	bytes_put_string(&out, facts->store, sizeof(facts->store));
	bytes_put(&out, facts->next_lsn, 8);
	bytes_put(&out, facts->next_segment, 8);
	bytes_put(&out, facts->mails, 8);
	bytes_put(&out, facts->entries, 8);
	bytes_put(&out, facts->refused, 8);
}

static int decode_facts(struct store_bytes value, struct mailfacts *ret_facts)
{
	struct bytes_input input = { .data = value.data, .size = value.size };
	if (value.size != FACTS_SIZE)
		return STORE_ECORRUPT;
	memcpy(ret_facts->store, bytes_take_string(&input, 16), 16);
	ret_facts->next_lsn = bytes_take(&input, 8);
	ret_facts->next_segment = bytes_take(&input, 8);
	ret_facts->mails = bytes_take(&input, 8);
	ret_facts->entries = bytes_take(&input, 8);
	ret_facts->refused = bytes_take(&input, 8);
	return STORE_OK;
}

static void encode_number(uint64_t number, uint8_t *out)
{
	bytes_put(&out, number, 8);
}

/* ---- the kind ---- */

static int read_facts(struct reader *reader, void *ret_facts)
{
	int ret = mailindex_facts(reader, ret_facts);
	return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
}

const struct store_kind mailindex_kind = {
	.tables = names,
	.table_count = MAILINDEX_TABLE_COUNT,
	.head_table = MAILINDEX_FACTS,
	.version_place = { .key = "schema", .value_size = 4 },
	.sum_place = { .key = "sum", .value_size = 8 },
	.version = MAILSTORE_SCHEMA,
	.reader_max = 512,
	.mode = 0640,
	.limit = (size_t)64 << 20,
	.read_facts = read_facts,
	.facts_size = sizeof(struct mailfacts),
};

/* ---- a batch ---- */

int mailbatch_add(struct mailbatch *batch, const struct mailbatch_entry *entry, const uint8_t *meta)
{
	const struct mailrecord *record = &entry->record;
	if (!array_reserve(batch->entries, batch->count + 1, &batch->room) ||
	    !array_reserve(batch->metas, batch->metas_size + record->meta_size, &batch->metas_room))
		return -ENOMEM;
	batch->entries[batch->count] = *entry;
	batch->entries[batch->count++].meta_at = batch->metas_size;
	if (record->meta_size > 0)
		memcpy(batch->metas + batch->metas_size, meta, record->meta_size);
	batch->metas_size += record->meta_size;
	if (record->lsn >= batch->lsn_next)
		batch->lsn_next = record->lsn + 1;
	return 0;
}

void mailbatch_clear(struct mailbatch *batch)
{
	batch->count = 0;
	batch->metas_size = 0;
	/* The dead are gathered until their segment is emptied. */
	if (batch->emptied != 0)
		batch->dead_count = 0;
	batch->emptied = 0;
	batch->kept_count = 0;
	batch->refused = 0;
	if (batch->lsn_next > batch->lsn_known)
		batch->lsn_known = batch->lsn_next;
}

int mailbatch_add_dead(struct mailbatch *batch, uint64_t mail)
{
	if (!array_reserve(batch->dead, batch->dead_count + 1, &batch->dead_room))
		return -ENOMEM;
	batch->dead[batch->dead_count++] = mail;
	return 0;
}

int mailbatch_add_kept(struct mailbatch *batch, const struct mailbatch_kept *kept)
{
	if (!array_reserve(batch->kept, batch->kept_count + 1, &batch->kept_room))
		return -ENOMEM;
	batch->kept[batch->kept_count++] = *kept;
	return 0;
}

void mailbatch_free(struct mailbatch *batch)
{
	free(batch->kept);
	free(batch->entries);
	free(batch->metas);
	free(batch->dead);
	*batch = (struct mailbatch){ 0 };
}

/* ---- applying ---- */

struct apply {
	struct writer *writer;
	const struct mailbatch *batch;
	struct mailfacts facts;
};

static int get_number_row(struct writer *writer, unsigned table, uint64_t number,
			  struct store_bytes *ret_value)
{
	uint8_t key[8];
	encode_number(number, key);
	return writer_get(writer, table, key, sizeof(key), ret_value);
}

static int get_mail(struct writer *writer, uint64_t mail, struct mailrow *ret_row)
{
	struct store_bytes value;
	int ret = get_number_row(writer, MAILINDEX_MAILS, mail, &value);
	return ret == STORE_OK ? decode_row(value, ret_row) : ret;
}

static int put_mail(struct writer *writer, uint64_t mail, const struct mailrow *row)
{
	uint8_t key[8];
	uint8_t value[MAILROW_SIZE];
	encode_number(mail, key);
	mailrow_encode(row, value);
	return writer_put(writer, MAILINDEX_MAILS, key, sizeof(key), value, sizeof(value));
}

/*
 * Changes what a segment has that lives, or says that it leaves. One without a row has been emptied.
 */
static int change_segment(struct writer *writer, uint64_t segment, int64_t bytes, bool is_leaving)
{
	uint8_t key[8];
	uint8_t value[SEGMENT_SIZE];
	struct store_bytes kept;
	struct segmentrow row;
	int ret = get_number_row(writer, MAILINDEX_SEGMENTS, segment, &kept);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
	ret = decode_segment(kept, &row);
	if (ret != STORE_OK)
		return ret;
	row.live += (uint64_t)bytes;
	row.is_left = row.is_left || is_leaving;
	encode_number(segment, key);
	encode_segment(&row, value);
	return writer_put(writer, MAILINDEX_SEGMENTS, key, sizeof(key), value, sizeof(value));
}

static int add_live(struct writer *writer, uint64_t segment, int64_t bytes)
{
	return change_segment(writer, segment, bytes, false);
}

static int add_counts(struct apply *apply, struct mailname name, int sign, uint64_t octets)
{
	uint8_t value[COUNTS_SIZE];
	uint8_t *out = value;
	struct store_bytes kept;
	struct mailcounts counts = { 0 };
	int ret = writer_get(apply->writer, MAILINDEX_COUNTS, name.bytes, name.size, &kept);
	if (ret == STORE_OK)
		ret = decode_counts(kept, &counts);
	if (ret != STORE_OK && ret != DNSBLV6_ENOTFOUND)
		return ret;
	counts.mails += (uint64_t)sign;
	counts.octets += sign > 0 ? octets : 0 - octets;
	apply->facts.entries += (uint64_t)sign;
	if (counts.mails == 0)
		return writer_delete(apply->writer, MAILINDEX_COUNTS, name.bytes, name.size);
	bytes_put(&out, counts.mails, 8);
	bytes_put(&out, counts.octets, 8);
	return writer_put(apply->writer, MAILINDEX_COUNTS, name.bytes, name.size, value,
			  sizeof(value));
}

/* The row of a segment moves to behind the record; a new one is made. */
static int move_end(struct apply *apply, const struct mailbatch_entry *entry)
{
	uint8_t key[8];
	uint8_t value[SEGMENT_SIZE];
	struct store_bytes kept;
	struct segmentrow row = { .generation = entry->generation, .id = entry->id };
	int ret = get_number_row(apply->writer, MAILINDEX_SEGMENTS, entry->place.segment, &kept);
	if (ret == STORE_OK)
		ret = decode_segment(kept, &row);
	if (ret != STORE_OK && ret != DNSBLV6_ENOTFOUND)
		return ret;
	uint64_t end = entry->place.at + entry->record.size;
	if (end > row.end)
		row.end = end;
	if (entry->record.time_us > row.time_us)
		row.time_us = entry->record.time_us;
	encode_number(entry->place.segment, key);
	encode_segment(&row, value);
	return writer_put(apply->writer, MAILINDEX_SEGMENTS, key, sizeof(key), value,
			  sizeof(value));
}

static int put_boxes(struct apply *apply, const struct mailrecord *record, struct mailmeta *meta)
{
	uint8_t key[MAILBOX_KEY_MAX];
	uint8_t value[ENTRY_SIZE];
	struct mailname name;
	int ret = STORE_OK;
	encode_entry(record, value);
	while (ret == STORE_OK && mailmeta_next(meta, &name)) {
		size_t size = box_key(name, record->mail, key);
		ret = writer_put(apply->writer, MAILINDEX_BOXES, key, size, value, sizeof(value));
		if (ret == STORE_OK)
			ret = add_counts(apply, name, 1, record->octets);
	}
	return ret;
}

static int put_new_mail(struct apply *apply, const struct mailrecord *record, struct mailmeta *meta)
{
	uint8_t number[8];
	encode_number(record->mail, number);
	int ret = writer_put(apply->writer, MAILINDEX_IDS, record->id.bytes, MAILID_SIZE, number,
			     sizeof(number));
	if (ret == STORE_OK)
		ret = put_boxes(apply, record, meta);
	apply->facts.mails += 1;
	return ret;
}

/* A mail or a copy of one: what is there already stays, and the newest place counts. */
static int apply_mail(struct apply *apply, const struct mailbatch_entry *entry)
{
	const struct mailrecord *record = &entry->record;
	struct mailmeta meta;
	struct mailrow row;
	int ret = mailmeta_decode(apply->batch->metas + entry->meta_at, record->meta_size, &meta);
	if (ret != 0)
		return ret;
	int known = get_mail(apply->writer, record->mail, &row);
	if (known == STORE_OK && row.lsn >= record->lsn)
		return STORE_OK;
	uint32_t live = known == STORE_OK ? row.live : meta.recipient_count;
	if (known == STORE_OK)
		ret = change_segment(apply->writer, row.place.segment,
				     live > 0 ? -(int64_t)row.size : 0, true);
	else if (known == DNSBLV6_ENOTFOUND)
		ret = put_new_mail(apply, record, &meta);
	else if (known != STORE_OK)
		ret = known;
	if (ret != STORE_OK)
		return ret;
	/*
	 * A copy is made for those that have the mail. Where the log has an older record, too, others
	 * may have it still: their deletions come behind the copy then.
	 */
	row = (struct mailrow){ .place = entry->place,
				.size = record->size,
				.meta_size = record->meta_size,
				.lines = record->lines,
				.wire_size = record->wire_size,
				.lsn = record->lsn,
				.live = live,
				.id = record->id };
	ret = put_mail(apply->writer, record->mail, &row);
	return ret == STORE_OK && live > 0
		       ? add_live(apply->writer, entry->place.segment, (int64_t)record->size)
		       : ret;
}

static int drop_entry(struct apply *apply, struct mailname name, uint64_t mail)
{
	uint8_t key[MAILBOX_KEY_MAX];
	size_t size = box_key(name, mail, key);
	struct store_bytes value;
	struct mailentry entry;
	struct mailrow row;
	int ret = writer_get(apply->writer, MAILINDEX_BOXES, key, size, &value);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
	ret = decode_entry(value, &entry);
	if (ret == STORE_OK)
		ret = writer_delete(apply->writer, MAILINDEX_BOXES, key, size);
	if (ret == STORE_OK)
		ret = add_counts(apply, name, -1, entry.octets);
	if (ret == STORE_OK)
		ret = get_mail(apply->writer, mail, &row);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
	row.live--;
	ret = put_mail(apply->writer, mail, &row);
	if (ret != STORE_OK || row.live > 0)
		return ret;
	apply->facts.mails -= 1;
	return add_live(apply->writer, row.place.segment, -(int64_t)row.size);
}

static int apply_deletion(struct apply *apply, const struct mailbatch_entry *entry)
{
	struct maildeletion deletion;
	int ret = maildeletion_decode(apply->batch->metas + entry->meta_at, entry->record.meta_size,
				      &deletion);
	for (size_t i = 0; ret == STORE_OK && i < deletion.count; i++)
		ret = drop_entry(apply, deletion.mailbox, maildeletion_mail(&deletion, i));
	/* When it is not needed any more is not known before it is collected. It counts as what
	 * lives, so that a segment of deletions that are needed is not collected again and again. */
	return ret == STORE_OK
		       ? add_live(apply->writer, entry->place.segment, (int64_t)entry->record.size)
		       : ret;
}

/*
 * Another mail may have the id since: it was free when the rows of the one that is dead had gone before, which a
 * record in a segment whose collection was interrupted has brought back into an index made anew.
 */
static int drop_id(struct apply *apply, const struct mailid *id, uint64_t mail)
{
	struct store_bytes value;
	int ret = writer_get(apply->writer, MAILINDEX_IDS, id->bytes, MAILID_SIZE, &value);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
	if (value.size != 8)
		return STORE_ECORRUPT;
	return bytes_get(value.data, 8) == mail
		       ? writer_delete(apply->writer, MAILINDEX_IDS, id->bytes, MAILID_SIZE)
		       : STORE_OK;
}

/* The rows of the mails that were in it and are dead; what lives has been copied. */
static int drop_dead(struct apply *apply, uint64_t mail)
{
	uint8_t key[8];
	struct mailrow row;
	int ret = get_mail(apply->writer, mail, &row);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
	if (row.place.segment != apply->batch->emptied || row.live > 0)
		return STORE_ECORRUPT;
	encode_number(mail, key);
	ret = writer_delete(apply->writer, MAILINDEX_MAILS, key, sizeof(key));
	return ret == STORE_OK ? drop_id(apply, &row.id, mail) : ret;
}

static int put_emptied(struct apply *apply, const struct mailemptied *emptied)
{
	uint8_t value[EMPTIED_SIZE];
	uint8_t *out = value;
	bytes_put(&out, emptied->segment, 8);
	bytes_put(&out, emptied->id, 8);
	bytes_put(&out, emptied->end, 8);
	return writer_put(apply->writer, MAILINDEX_FACTS, EMPTIED_KEY, strlen(EMPTIED_KEY), value,
			  sizeof(value));
}

static int empty_segment(struct apply *apply)
{
	uint8_t key[8];
	struct store_bytes kept;
	struct segmentrow row;
	const uint64_t segment = apply->batch->emptied;
	int ret = STORE_OK;
	for (size_t i = 0; ret == STORE_OK && i < apply->batch->dead_count; i++)
		ret = drop_dead(apply, apply->batch->dead[i]);
	if (ret == STORE_OK)
		ret = get_number_row(apply->writer, MAILINDEX_SEGMENTS, segment, &kept);
	if (ret == STORE_OK)
		ret = decode_segment(kept, &row);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
	encode_number(segment, key);
	ret = writer_delete(apply->writer, MAILINDEX_SEGMENTS, key, sizeof(key));
	const struct mailemptied emptied = { segment, row.id, row.end };
	return ret == STORE_OK ? put_emptied(apply, &emptied) : ret;
}

/*
 * Of the very index that has all batches before this one. One that lacks segments would be refused by the next
 * opening, and until then mails that are there would not be found.
 */
static int load_facts(struct apply *apply)
{
	struct store_bytes value;
	const struct mailbatch *batch = apply->batch;
	if (writer_is_new(apply->writer)) {
		memcpy(apply->facts.store, batch->store, sizeof(apply->facts.store));
		return batch->lsn_known == 0 ? STORE_OK : MAILSTORE_ENOINDEX;
	}
	int ret = writer_get(apply->writer, MAILINDEX_FACTS, FACTS_KEY, strlen(FACTS_KEY), &value);
	if (ret == STORE_OK)
		ret = decode_facts(value, &apply->facts);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
	if (memcmp(apply->facts.store, batch->store, sizeof(apply->facts.store)) != 0)
		return MAILSTORE_EINDEX;
	return apply->facts.next_lsn == batch->lsn_known ? STORE_OK : MAILSTORE_ENOINDEX;
}

static int put_segment(struct apply *apply, const struct mailbatch_kept *kept)
{
	const struct mailbatch_entry whole = {
		.place = { .segment = kept->segment },
		.record.size = kept->end,
		.id = kept->id,
		.generation = kept->generation,
	};
	return move_end(apply, &whole);
}

/* A segment that grows has a row before its first record: one without a row has been emptied. */
static int put_heads(struct apply *apply)
{
	const struct mailbatch *batch = apply->batch;
	int ret = STORE_OK;
	for (size_t i = 0; ret == STORE_OK && i < MAIL_GENERATIONS; i++)
		if (batch->heads[i].segment != 0)
			ret = put_segment(apply, &batch->heads[i]);
	for (size_t i = 0; ret == STORE_OK && i < batch->kept_count; i++)
		ret = put_segment(apply, &batch->kept[i]);
	return ret;
}

static int save_facts(struct apply *apply)
{
	uint8_t value[FACTS_SIZE];
	const struct mailbatch *batch = apply->batch;
	if (batch->lsn_next > apply->facts.next_lsn)
		apply->facts.next_lsn = batch->lsn_next;
	if (batch->next_segment > apply->facts.next_segment)
		apply->facts.next_segment = batch->next_segment;
	apply->facts.refused += batch->refused;
	encode_facts(&apply->facts, value);
	return writer_put(apply->writer, MAILINDEX_FACTS, FACTS_KEY, strlen(FACTS_KEY), value,
			  sizeof(value));
}

static int apply_batch(struct writer *writer, void *context)
{
	struct apply apply = { .writer = writer, .batch = context };
	int ret = load_facts(&apply);
	for (size_t i = 0; ret == STORE_OK && i < apply.batch->count; i++) {
		const struct mailbatch_entry *entry = &apply.batch->entries[i];
		ret = move_end(&apply, entry);
		if (ret != STORE_OK)
			break;
		ret = entry->record.type == MAILRECORD_DELETE ? apply_deletion(&apply, entry)
							      : apply_mail(&apply, entry);
	}
	if (ret == STORE_OK && apply.batch->emptied != 0)
		ret = empty_segment(&apply);
	if (ret == STORE_OK && apply.batch->known != NULL)
		ret = put_emptied(&apply, apply.batch->known);
	if (ret == STORE_OK)
		ret = put_heads(&apply);
	return ret == STORE_OK ? save_facts(&apply) : ret;
}

int mailindex_apply(const char *path, const struct mailbatch *batch)
{
	return writer_run(path, &mailindex_kind, apply_batch, (void *)(uintptr_t)batch);
}

#define PAGE_SIZE_MIN 4096U

static bool is_unborn(const uint8_t *pages, size_t size)
{
	for (size_t i = 0; size == 2 * PAGE_SIZE_MIN && i < size; i++)
		if (pages[i] != 0)
			return false;
	return true;
}

int mailindex_remove_unborn(const char *path)
{
	uint8_t pages[2 * PAGE_SIZE_MIN];
	char lock[PATH_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return STORE_ENOTSTORE;
	ssize_t size = read(fd, pages, sizeof(pages));
	close(fd);
	if (size < 0 || !is_unborn(pages, (size_t)size))
		return STORE_ENOTSTORE;
	if (unlink(path) != 0)
		return -errno;
	if (snprintf(lock, sizeof(lock), "%s-lock", path) < (int)sizeof(lock))
		unlink(lock);
	return -ENOENT;
}

static bool is_locked(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid != geteuid() &&
	       faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0 && errno == EACCES;
}

static bool owns_directory(const char *path)
{
	char copy[PATH_MAX];
	struct stat st;
	return snprintf(copy, sizeof(copy), "%s", path) < (int)sizeof(copy) &&
	       stat(dirname(copy), &st) == 0 && st.st_uid == geteuid();
}

void mailindex_remove_locked(const char *path)
{
	static const char *const ends[] = { "", "-lock" };
	char name[PATH_MAX];
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (snprintf(name, sizeof(name), "%s%s", path, ends[i]) < (int)sizeof(name) &&
		    is_locked(name) && owns_directory(name))
			unlink(name);
}

/* ---- reading ---- */

int mailindex_facts(struct reader *reader, struct mailfacts *ret_facts)
{
	struct store_bytes value;
	int ret = reader_get(reader, MAILINDEX_FACTS, FACTS_KEY, strlen(FACTS_KEY), &value);
	return ret == STORE_OK ? decode_facts(value, ret_facts) : ret;
}

int mailindex_list(struct reader *reader, struct mailname name, uint64_t from, size_t room,
		   struct mailentry *ret_entries, size_t *ret_count)
{
	uint8_t key[MAILBOX_KEY_MAX];
	size_t size = box_key(name, from, key);
	size_t count = 0;
	struct store_bytes found;
	struct store_bytes value;
	int ret = room == 0 ? DNSBLV6_ENOTFOUND
			    : reader_seek(reader, MAILINDEX_BOXES, key, size, &found, &value);
	while (ret == STORE_OK) {
		if (found.size != size || memcmp(found.data, key, size - 8) != 0)
			break;
		struct mailentry *entry = &ret_entries[count];
		entry->mail = bytes_get(found.data + size - 8, 8);
		ret = decode_entry(value, entry);
		if (ret == STORE_OK && ++count == room)
			break;
		if (ret == STORE_OK)
			ret = reader_next(reader, MAILINDEX_BOXES, &found, &value);
	}
	*ret_count = count;
	return ret == DNSBLV6_ENOTFOUND ? STORE_OK : ret;
}

int mailindex_entry(struct reader *reader, struct mailname name, uint64_t from,
		    struct mailentry *ret_entry)
{
	size_t count;
	int ret = mailindex_list(reader, name, from, 1, ret_entry, &count);
	return ret == STORE_OK && count == 0 ? DNSBLV6_ENOTFOUND : ret;
}

int mailindex_counts(struct reader *reader, struct mailname name, struct mailcounts *ret_counts)
{
	struct store_bytes value;
	int ret = reader_get(reader, MAILINDEX_COUNTS, name.bytes, name.size, &value);
	return ret == STORE_OK ? decode_counts(value, ret_counts) : ret;
}

static int read_number_row(struct reader *reader, unsigned table, uint64_t number,
			   struct store_bytes *ret_value)
{
	uint8_t key[8];
	encode_number(number, key);
	return reader_get(reader, table, key, sizeof(key), ret_value);
}

int mailindex_mail(struct reader *reader, uint64_t mail, struct mailrow *ret_row)
{
	struct store_bytes value;
	int ret = read_number_row(reader, MAILINDEX_MAILS, mail, &value);
	return ret == STORE_OK ? decode_row(value, ret_row) : ret;
}

int mailindex_segment_row(struct reader *reader, uint64_t segment, struct segmentrow *ret_row)
{
	struct store_bytes value;
	int ret = reader == NULL ? DNSBLV6_ENOTFOUND
				 : read_number_row(reader, MAILINDEX_SEGMENTS, segment, &value);
	return ret == STORE_OK ? decode_segment(value, ret_row) : ret;
}

int mailindex_id(struct reader *reader, const struct mailid *id, uint64_t *ret_mail)
{
	struct store_bytes value;
	int ret = reader_get(reader, MAILINDEX_IDS, id->bytes, MAILID_SIZE, &value);
	if (ret == STORE_OK && value.size != 8)
		return STORE_ECORRUPT;
	if (ret == STORE_OK)
		*ret_mail = bytes_get(value.data, 8);
	return ret;
}

int mailindex_segment(struct reader *reader, uint64_t from, uint64_t *ret_segment,
		      struct segmentrow *ret_row)
{
	uint8_t key[8];
	struct store_bytes found;
	struct store_bytes value;
	encode_number(from, key);
	int ret = reader_seek(reader, MAILINDEX_SEGMENTS, key, sizeof(key), &found, &value);
	if (ret != STORE_OK)
		return ret;
	if (found.size != 8)
		return STORE_ECORRUPT;
	*ret_segment = bytes_get(found.data, 8);
	return decode_segment(value, ret_row);
}

int mailindex_emptied(struct reader *reader, struct mailemptied *ret_emptied)
{
	struct store_bytes value;
	int ret = reader_get(reader, MAILINDEX_FACTS, EMPTIED_KEY, strlen(EMPTIED_KEY), &value);
	if (ret != STORE_OK)
		return ret;
	if (value.size != EMPTIED_SIZE)
		return STORE_ECORRUPT;
	ret_emptied->segment = bytes_get(value.data, 8);
	ret_emptied->id = bytes_get(value.data + 8, 8);
	ret_emptied->end = bytes_get(value.data + 16, 8);
	return STORE_OK;
}

int mailindex_next_box(struct reader *reader, struct mailname behind, struct mailname *ret_name,
		       struct mailcounts *ret_counts)
{
	uint8_t key[MAILBOX_NAME_MAX + 1];
	struct store_bytes found;
	struct store_bytes value;
	/* No name has a NUL, so this is behind the one and before any longer one. */
	if (behind.size > 0)
		memcpy(key, behind.bytes, behind.size);
	key[behind.size] = '\0';
	int ret = reader_seek(reader, MAILINDEX_COUNTS, key, behind.size > 0 ? behind.size + 1 : 0,
			      &found, &value);
	if (ret != STORE_OK)
		return ret;
	*ret_name = (struct mailname){ .bytes = found.data, .size = found.size };
	return decode_counts(value, ret_counts);
}
