/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/mailstore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A batch that has as much goes into the index; with twice as much, nothing is taken any more. */
#define BATCH_COUNT 4096
#define BATCH_METAS (4U << 20)

struct mailstore {
	struct maillayer layer; /* first */
	struct disk *disk;
	char *index_path;
	struct maillog log;
	struct mailbatch batch;
	struct reader
		*reader; /* NULL, or within reader_begin(); never while the index is written */
	uint64_t next_lsn;
	uint64_t reserve;
	bool is_replaying;
	uint64_t copied;
	uint64_t reclaimed;
	struct mailskipped skipped;
	bool is_short;
};

static struct mailstore *store_of(const struct maillayer *layer)
{
	return (struct mailstore *)(uintptr_t)layer;
}

/* ---- the index ---- */

static void close_reader(struct mailstore *store)
{
	reader_close(store->reader);
	store->reader = NULL;
}

static int open_reader(struct mailstore *store)
{
	if (store->reader != NULL)
		return STORE_OK;
	int ret = reader_start(store->index_path, &mailindex_kind, &store->reader);
	return ret == -ENOENT && store->batch.lsn_known > 0 ? MAILSTORE_ENOINDEX : ret;
}

/*
 * Of one that collection has emptied. The log must not go on with it: deletions that are dropped
 * because its mails are gone would be missed if the index were lost. Opening again removes it.
 */
static int remove_segment(struct mailstore *store, uint64_t segment)
{
	int ret = store->disk->ops->remove(store->disk, segment);
	return ret == 0 ? 0 : maillog_fail(&store->log, ret);
}

static int apply(struct mailstore *store)
{
	/* An index with numbers of segments that have no row yet would be refused as an old one. */
	store->batch.next_segment = store->is_replaying ? 0 : store->log.next_segment;
	for (unsigned i = 0; i < MAIL_GENERATIONS; i++)
		store->batch.heads[i] =
			(struct mailbatch_kept){ .segment = store->log.heads[i].segment,
						 .id = store->log.heads[i].id,
						 .end = MAILSEGMENT_HEAD_SIZE,
						 .generation = (uint8_t)i };
	store->batch.store = store->log.identity.store;
	uint64_t emptied = store->batch.emptied;
	close_reader(store);
	int ret = mailindex_apply(store->index_path, &store->batch);
	if (ret != STORE_OK)
		return mailstore_name_limit(ret);
	mailbatch_clear(&store->batch);
	return emptied != 0 ? remove_segment(store, emptied) : STORE_OK;
}

static int log_sync(struct maillayer *layer)
{
	int ret = 0;
	/* New mail comes last: when copies cannot be synced, it is not on disk either. */
	for (unsigned i = MAIL_GENERATIONS; ret == 0 && i > 0; i--)
		ret = maillog_sync(&store_of(layer)->log, i - 1);
	return ret;
}

static int log_sync_begin(struct maillayer *layer, struct mailstore_sync *ret_sync)
{
	return maillog_sync_begin(&store_of(layer)->log, ret_sync);
}

static int log_sync_end(struct maillayer *layer, const struct mailstore_sync *sync, int status)
{
	return maillog_sync_end(&store_of(layer)->log, sync, status);
}

static struct mailplace log_end(const struct maillayer *layer)
{
	return maillog_end(&store_of(layer)->log);
}

static bool log_has_synced(const struct maillayer *layer, struct mailplace end)
{
	return maillog_has_synced(&store_of(layer)->log, end);
}

static int log_flush(struct maillayer *layer)
{
	struct mailstore *store = store_of(layer);
	int ret = log_sync(layer);
	bool is_due =
		store->batch.count > 0 || store->batch.emptied != 0 || store->batch.refused > 0;
	return ret == 0 && is_due ? apply(store) : ret;
}

static bool is_much(const struct mailbatch *batch)
{
	return batch->count >= BATCH_COUNT || batch->metas_size >= BATCH_METAS;
}

/* Flushes when much is waiting. A failure is nothing yet: the log has it, and there is room. */
static int make_room(struct mailstore *store)
{
	const struct mailbatch *batch = &store->batch;
	if (!is_much(batch))
		return 0;
	int ret = log_flush(&store->layer);
	if (store->log.failure != 0)
		return ret;
	bool is_full = batch->count >= 2 * (size_t)BATCH_COUNT ||
		       batch->metas_size >= 2 * (size_t)BATCH_METAS;
	return is_full ? ret : 0;
}

/* ---- recovery ---- */

static int replay_one(struct mailstore *store, const struct mailwalk_segment *segment)
{
	struct mailbatch_entry entry = { .place = segment->cursor.place,
					 .id = segment->id,
					 .generation = segment->generation };
	uint8_t *meta;
	int ret = maillog_read(&store->log, entry.place, &entry.record, &meta);
	if (ret != 0)
		return ret;
	ret = mailbatch_add(&store->batch, &entry, meta);
	free(meta);
	if (entry.record.lsn >= store->next_lsn)
		store->next_lsn = entry.record.lsn + 1;
	return ret == 0 && is_much(&store->batch) ? apply(store) : ret;
}

static int replay(struct mailstore *store, struct mailrecover *recover)
{
	const struct mailwalk_segment *segment;
	int ret = mailwalk_next(&recover->walk, &segment);
	store->is_replaying = true;
	while (ret == 0) {
		if (++recover->recovery->replayed % BATCH_COUNT == 0)
			mailrecover_step(recover);
		ret = replay_one(store, segment);
		if (ret == 0)
			ret = mailwalk_next(&recover->walk, &segment);
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	store->is_replaying = false;
	if (recover->facts.next_segment == 0 && store->next_lsn > 0) {
		store->next_lsn += MAILSTORE_LEAP;
		store->batch.lsn_next = store->next_lsn;
	}
	/* One whose records are damaged, all of them, has no row by these: see apply(). */
	ret = mailrecover_note_kept(recover, &store->batch);
	if (ret != 0)
		return ret;
	/* A new store has an index from the beginning. */
	bool is_due = recover->facts.next_segment == 0 || recover->recovery->replayed > 0 ||
		      store->batch.kept_count > 0;
	return is_due ? apply(store) : 0;
}

/* The index as it is, or none. */
static int look_at_index(struct mailstore *store, struct mailrecover *recover)
{
	mailindex_remove_locked(store->index_path);
	int ret = open_reader(store);
	if (ret == STORE_ENOTSTORE)
		ret = mailindex_remove_unborn(store->index_path);
	if (ret == -ENOENT || ret == STORE_EUNFINISHED) {
		recover->recovery->was_built = true;
		return 0;
	}
	if (ret == STORE_OK)
		ret = mailindex_facts(store->reader, &recover->facts);
	if (ret == DNSBLV6_ENOTFOUND)
		return STORE_ECORRUPT;
	if (ret == STORE_OK && memcmp(recover->facts.store, store->log.identity.store,
				      sizeof(recover->facts.store)) != 0)
		return MAILSTORE_EINDEX;
	recover->reader = store->reader;
	store->next_lsn = recover->facts.next_lsn;
	store->batch.lsn_known = recover->facts.next_lsn;
	return ret;
}

static int recover(struct mailstore *store, const struct mailstore_setup *setup,
		   struct mailstore_recovery *ret_recovery)
{
	struct mailrecover recover = { .log = &store->log,
				       .recovery = ret_recovery,
				       .on_step = setup->on_step,
				       .context = setup->context };
	int ret = look_at_index(store, &recover);
	if (ret == 0)
		ret = mailrecover_examine(&recover);
	if (ret == 0)
		ret = mailrecover_resume(&recover);
	if (ret == 0)
		ret = replay(store, &recover);
	if (store->next_lsn == 0)
		store->next_lsn = 1;
	mailrecover_free(&recover);
	return ret;
}

/* ---- writing ---- */

int mailstore_append(struct maillayer *layer, unsigned generation, struct mailrecord *record,
		     const uint8_t *meta, const struct maillog_body *body)
{
	struct mailstore *store = store_of(layer);
	struct mailbatch_entry entry = { .generation = (uint8_t)generation };
	record->lsn = store->next_lsn;
	if (record->type == MAILRECORD_MAIL)
		record->mail = record->lsn;
	int ret = make_room(store);
	if (ret == 0)
		ret = maillog_append(&store->log, generation, record, meta, body, &entry.place);
	if (ret != 0)
		return mailstore_name_limit(ret);
	store->next_lsn++;
	entry.record = *record;
	entry.id = store->log.heads[generation].id;
	ret = mailbatch_add(&store->batch, &entry, meta);
	/* The log has a record that the index would lack. */
	return ret == 0 ? 0 : maillog_fail(&store->log, ret);
}

static int log_make_id(struct maillayer *layer, struct mailid *ret_id)
{
	uint8_t random[8];
	if (getentropy(random, sizeof(random)) != 0)
		return -errno;
	return mailid_make(store_of(layer)->log.identity.key, random, ret_id);
}

int mailstore_copy_recipients(const struct mailstore_mail *mail, struct mailname **ret_names,
			      size_t *ret_count)
{
	if (mail->recipient_count == 0 || mail->recipient_count > MAIL_RECIPIENTS_MAX)
		return MAILSTORE_ERECIPIENTS;
	for (size_t i = 0; i < mail->recipient_count; i++)
		if (!mailname_is_valid(mail->recipients[i]))
			return MAILSTORE_EBOX;
	struct mailname *names = calloc(mail->recipient_count, sizeof(*names));
	if (names == NULL)
		return -ENOMEM;
	memcpy(names, mail->recipients, mail->recipient_count * sizeof(*names));
	*ret_names = names;
	*ret_count = mailname_sort(names, mail->recipient_count);
	return 0;
}

/* What is about to be written: everything that log_deliver() has to free. */
struct delivery {
	struct mailbody body;
	struct mailname *recipients;
	size_t recipient_count;
	uint8_t *meta;
	struct mailrecord record;
};

static uint32_t checksum(struct mailstore *store, struct mailbody *body)
{
	uint32_t crc = 0;
	if (body->is_wire)
		return mailrecord_crc(0, body->text, body->size);
	mailbody_rewind(body);
	for (;;) {
		size_t size = mailbody_fill(body, store->log.buffer, MAILLOG_BUFFER_SIZE);
		if (size == 0)
			return crc;
		crc = mailrecord_crc(crc, store->log.buffer, size);
	}
}

static int prepare(struct mailstore *store, const struct mailstore_mail *mail,
		   struct delivery *delivery)
{
	struct mailbody *body = &delivery->body;
	int ret = mail->sender.size > MAIL_SENDER_MAX ? -EINVAL : 0;
	if (ret == 0)
		ret = mailstore_copy_recipients(mail, &delivery->recipients,
						&delivery->recipient_count);
	if (ret == 0)
		ret = mailbody_measure(mail->text, mail->size, body);
	if (ret != 0)
		return ret == -E2BIG ? MAILSTORE_ELINES : ret;
	size_t meta_size = mailmeta_size(mail->sender, delivery->recipients,
					 delivery->recipient_count, body->exceptions_size);
	delivery->meta = malloc(meta_size);
	if (delivery->meta == NULL)
		return -ENOMEM;
	mailmeta_encode(mail->sender, delivery->recipients, delivery->recipient_count,
			body->exceptions, body->exceptions_size, delivery->meta);
	delivery->record = (struct mailrecord){ .type = MAILRECORD_MAIL,
						.lines = body->lines,
						.time_us = mail->time_us,
						.wire_size = body->wire_size,
						.octets = body->octets,
						.text_size = body->size,
						.meta_size = (uint32_t)meta_size,
						.body_crc = checksum(store, body) };
	return 0;
}

/* Of its recipients, a copy names those that have had the mail when it was made. */
static bool has_recipients(const struct delivery *delivery, uint8_t type, struct mailmeta *meta)
{
	struct mailname name;
	if (type == MAILRECORD_MAIL && meta->recipient_count != delivery->recipient_count)
		return false;
	while (mailmeta_next(meta, &name))
		if (bsearch(&name, delivery->recipients, delivery->recipient_count, sizeof(name),
			    mailname_compare) == NULL)
			return false;
	return true;
}

static bool is_same(const struct delivery *delivery, const struct mailrecord *record,
		    const uint8_t *meta)
{
	struct mailmeta given;
	struct mailmeta known;
	return record->body_crc == delivery->record.body_crc &&
	       record->wire_size == delivery->record.wire_size &&
	       mailmeta_decode(delivery->meta, delivery->record.meta_size, &given) == 0 &&
	       mailmeta_decode(meta, record->meta_size, &known) == 0 &&
	       mailname_compare(&given.sender, &known.sender) == 0 &&
	       given.exceptions.size == known.exceptions.size &&
	       memcmp(given.exceptions.data, known.exceptions.data, known.exceptions.size) == 0 &&
	       has_recipients(delivery, record->type, &known);
}

/* Of a mail that the index does not have yet. */
static const struct mailbatch_entry *find_waiting(const struct mailbatch *batch,
						  const struct mailid *id)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct mailbatch_entry *entry = &batch->entries[i];
		if (entry->record.type == MAILRECORD_MAIL &&
		    memcmp(&entry->record.id, id, sizeof(*id)) == 0)
			return entry;
	}
	return NULL;
}

/* Is the mail that has the id this very mail, with its recipients and its text? */
static int compare_known(struct mailstore *store, const struct delivery *delivery, uint64_t number)
{
	struct mailrow row;
	struct mailrecord record;
	uint8_t *meta;
	int ret = mailindex_mail(store->reader, number, &row);
	if (ret == STORE_OK)
		ret = maillog_read(&store->log, row.place, &record, &meta);
	if (ret != STORE_OK)
		return ret;
	bool is_known = is_same(delivery, &record, meta);
	free(meta);
	return is_known ? 0 : MAILSTORE_EID;
}

/* DNSBLV6_ENOTFOUND: no mail has it yet. */
static int check_moved_id(struct mailstore *store, const struct mailid *id)
{
	uint64_t number;
	if (find_waiting(&store->batch, id) != NULL)
		return MAILSTORE_EID;
	int ret = open_reader(store);
	if (ret == 0)
		ret = mailindex_id(store->reader, id, &number);
	return ret == 0 ? MAILSTORE_EID : ret;
}

/* DNSBLV6_ENOTFOUND: it is this store's, and new. 0: the mail is there. */
static int check_id(struct mailstore *store, const struct delivery *delivery)
{
	uint64_t number;
	const struct mailid *id = &delivery->record.id;
	const struct mailbatch *batch = &store->batch;
	const struct mailbatch_entry *entry = find_waiting(batch, id);
	int ret = mailid_is_of(store->log.identity.key, id) ? 0 : MAILSTORE_EFOREIGN;
	if (ret == 0 && entry != NULL) {
		bool is_known = is_same(delivery, &entry->record, batch->metas + entry->meta_at);
		ret = is_known ? 0 : MAILSTORE_EID;
	} else if (ret == 0) {
		ret = open_reader(store);
		if (ret == 0)
			ret = mailindex_id(store->reader, id, &number);
		if (ret == 0)
			ret = compare_known(store, delivery, number);
	}
	store->batch.refused += ret == MAILSTORE_EID || ret == MAILSTORE_EFOREIGN;
	return ret;
}

/* 0 or -ENOSPC. A disk that cannot be asked is no full one. */
static int check_room(const struct mailstore *store, const struct mailrecord *record)
{
	uint64_t room;
	uint64_t root_room;
	if (store->reserve == 0 || store->disk->ops->room(store->disk, &room, &root_room) != 0)
		return 0;
	uint64_t size = mailrecord_size(record->type, record->meta_size, record->wire_size);
	return room >= store->reserve && room - store->reserve >= size ? 0 : -ENOSPC;
}

static int write_delivery(struct mailstore *store, const struct mailstore_mail *mail,
			  struct delivery *delivery)
{
	const struct maillog_body body = { .text = &delivery->body };
	int ret = DNSBLV6_ENOTFOUND;
	if (mail->id != NULL) {
		delivery->record.id = *mail->id;
		ret = mail->is_moved ? check_moved_id(store, mail->id) : check_id(store, delivery);
	} else {
		int made = log_make_id(&store->layer, &delivery->record.id);
		if (made != 0)
			return made;
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	ret = check_room(store, &delivery->record);
	return ret == 0 ? mailstore_append(&store->layer, 0, &delivery->record, delivery->meta,
					   &body)
			: ret;
}

static int log_deliver(struct maillayer *layer, const struct mailstore_mail *mail,
		       struct mailid *ret_id)
{
	struct mailstore *store = store_of(layer);
	struct delivery delivery = { 0 };
	int ret = store->log.failure != 0 ? MAILSTORE_EFAILED : prepare(store, mail, &delivery);
	if (ret == 0)
		ret = write_delivery(store, mail, &delivery);
	if (ret == 0)
		*ret_id = delivery.record.id;
	mailbody_free(&delivery.body);
	free(delivery.recipients);
	free(delivery.meta);
	return ret;
}

static int log_erase(struct maillayer *layer, struct mailname mailbox, const uint64_t *mails,
		     size_t count, uint64_t time_us)
{
	struct mailrecord record = { .type = MAILRECORD_DELETE, .time_us = time_us };
	if (!mailname_is_valid(mailbox))
		return MAILSTORE_EBOX;
	size_t size = maildeletion_size(mailbox, count);
	if (size > MAILRECORD_META_MAX)
		return -E2BIG;
	uint8_t *meta = malloc(size);
	if (meta == NULL)
		return -ENOMEM;
	maildeletion_encode(mailbox, mails, count, meta);
	record.meta_size = (uint32_t)size;
	int ret = mailstore_append(layer, 0, &record, meta, NULL);
	free(meta);
	return ret;
}

/* ---- asking ---- */

/* Does a record that waits say something about the mailbox? */
static bool entry_names(const struct mailbatch *batch, const struct mailbatch_entry *entry,
			struct mailname mailbox)
{
	const uint8_t *bytes = batch->metas + entry->meta_at;
	struct mailmeta meta;
	struct maildeletion deletion;
	struct mailname name;
	if (entry->record.type == MAILRECORD_DELETE)
		return maildeletion_decode(bytes, entry->record.meta_size, &deletion) != 0 ||
		       mailname_compare(&deletion.mailbox, &mailbox) == 0;
	if (mailmeta_decode(bytes, entry->record.meta_size, &meta) != 0)
		return true;
	while (mailmeta_next(&meta, &name))
		if (mailname_compare(&name, &mailbox) == 0)
			return true;
	return false;
}

/* The index, behind a flush when something waits that has to do with what is asked for. */
static int ask_about(struct mailstore *store, bool is_waiting)
{
	if (store->log.failure != 0)
		return MAILSTORE_EFAILED;
	int ret = is_waiting || store->batch.emptied != 0 ? log_flush(&store->layer) : 0;
	return ret == 0 ? open_reader(store) : ret;
}

/* The index, in which the mailbox is as it is in the log. What waits for others goes on waiting. */
static int ask_box(struct mailstore *store, struct mailname mailbox)
{
	const struct mailbatch *batch = &store->batch;
	bool is_named = false;
	if (!mailname_is_valid(mailbox))
		return MAILSTORE_EBOX;
	for (size_t i = 0; !is_named && i < batch->count; i++)
		is_named = entry_names(batch, &batch->entries[i], mailbox);
	return ask_about(store, is_named);
}

/* The index as the log is now. */
static int ask(struct mailstore *store)
{
	int ret = log_flush(&store->layer);
	return ret == 0 ? open_reader(store) : ret;
}

int mailstore_borrow(struct maillayer *layer, struct mailstore_parts *ret_parts)
{
	struct mailstore *store = store_of(layer);
	int ret = ask(store);
	*ret_parts = (struct mailstore_parts){ .log = &store->log,
					       .batch = &store->batch,
					       .reader = store->reader,
					       .copied = &store->copied,
					       .reclaimed = &store->reclaimed,
					       .skipped = &store->skipped,
					       .is_short = &store->is_short };
	return ret;
}

int mailstore_reader(struct maillayer *layer, struct reader **ret_reader)
{
	struct mailstore *store = store_of(layer);
	int ret = open_reader(store);
	if (ret == STORE_OK)
		*ret_reader = store->reader;
	return ret;
}

static int log_list(struct maillayer *layer, struct mailname mailbox, uint64_t from, size_t room,
		    struct mailentry *ret_entries, size_t *ret_count)
{
	struct mailstore *store = store_of(layer);
	int ret = ask_box(store, mailbox);
	return ret == 0 ? mailindex_list(store->reader, mailbox, from, room, ret_entries, ret_count)
			: ret;
}

static int read_counts(struct mailstore *store, struct mailname mailbox,
		       struct mailcounts *ret_counts)
{
	int ret = mailindex_counts(store->reader, mailbox, ret_counts);
	if (ret == DNSBLV6_ENOTFOUND)
		*ret_counts = (struct mailcounts){ 0 };
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

static int log_counts(struct maillayer *layer, struct mailname mailbox,
		      struct mailcounts *ret_counts)
{
	struct mailstore *store = store_of(layer);
	int ret = ask_box(store, mailbox);
	return ret == 0 ? read_counts(store, mailbox, ret_counts) : ret;
}

static int log_peek_counts(struct maillayer *layer, struct mailname mailbox,
			   struct mailcounts *ret_counts)
{
	struct mailstore *store = store_of(layer);
	int ret = mailname_is_valid(mailbox) ? open_reader(store) : MAILSTORE_EBOX;
	return ret == 0 ? read_counts(store, mailbox, ret_counts) : ret;
}

static int log_next_box(struct maillayer *layer, struct mailname behind, uint8_t *ret_name,
			size_t *ret_size, struct mailcounts *ret_counts)
{
	struct mailstore *store = store_of(layer);
	struct mailname name;
	int ret = ask(store);
	if (ret == 0)
		ret = mailindex_next_box(store->reader, behind, &name, ret_counts);
	if (ret != 0)
		return ret;
	memcpy(ret_name, name.bytes, name.size);
	*ret_size = name.size;
	return 0;
}

static int log_find_id(struct maillayer *layer, struct mailname mailbox, const struct mailid *id,
		       uint64_t *ret_mail)
{
	(void)mailbox; /* there is one store */
	struct mailstore *store = store_of(layer);
	int ret = ask_about(store, find_waiting(&store->batch, id) != NULL);
	return ret == 0 ? mailindex_id(store->reader, id, ret_mail) : ret;
}

static int log_find_row(struct maillayer *layer, uint64_t mail, struct mailrow *ret_row)
{
	struct mailstore *store = store_of(layer);
	int ret = ask(store);
	return ret == 0 ? mailindex_mail(store->reader, mail, ret_row) : ret;
}

static int log_read(struct maillayer *layer, const struct mailrow *row, uint64_t at, void *bytes,
		    size_t size)
{
	struct mailstore *store = store_of(layer);
	struct mailspan body = mailrow_span(row);
	if (at > body.size || size > body.size - at)
		return -ENODATA;
	return store->disk->ops->read(store->disk, body.segment, body.at + at, bytes, size);
}

static int log_record(struct maillayer *layer, const struct mailrow *row,
		      struct mailrecord *ret_record, uint8_t **ret_meta)
{
	return maillog_read(&store_of(layer)->log, row->place, ret_record, ret_meta);
}

static int log_open(struct maillayer *layer, uint64_t segment, int *ret_fd)
{
	struct mailstore *store = store_of(layer);
	return store->disk->ops->open(store->disk, segment, ret_fd);
}

static int log_failure(struct maillayer *layer)
{
	return store_of(layer)->log.failure;
}

static int log_describe(struct maillayer *layer, struct mailstore_info *ret_info)
{
	struct mailstore *store = store_of(layer);
	struct mailstore_info info = { .sync_count = store->log.sync_count,
				       .written = store->log.written,
				       .copied = store->copied,
				       .reclaimed = store->reclaimed,
				       .has_failed = store->log.failure != 0 };
	struct segmentrow row;
	uint64_t number;
	int ret = ask(store);
	if (ret == 0)
		ret = mailindex_facts(store->reader, &info.facts);
	if (ret != 0)
		return ret;
	ret = mailindex_segment(store->reader, 1, &number, &row);
	while (ret == STORE_OK) {
		info.segments++;
		info.log_size += row.end;
		info.live_size += row.live;
		if (row.time_us > info.newest_us)
			info.newest_us = row.time_us;
		ret = mailindex_segment(store->reader, number + 1, &number, &row);
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	*ret_info = info;
	return 0;
}

/* ---- begin and end ---- */

static void free_store(struct mailstore *store)
{
	close_reader(store);
	mailbatch_free(&store->batch);
	free(store->skipped.segments);
	maillog_close(&store->log);
	store->disk->ops->close(store->disk);
	free(store->index_path);
	free(store);
}

void mailstore_abandon(struct maillayer *layer)
{
	if (layer != NULL)
		free_store(store_of(layer));
}

static void log_close(struct maillayer *layer)
{
	if (store_of(layer)->log.failure == 0)
		(void)log_flush(layer);
	mailstore_abandon(layer);
}

static const struct maillayer_ops ops = {
	.name = "log",
	.deliver = log_deliver,
	.erase = log_erase,
	.sync = log_sync,
	.sync_begin = log_sync_begin,
	.sync_end = log_sync_end,
	.end = log_end,
	.has_synced = log_has_synced,
	.flush = log_flush,
	.make_id = log_make_id,
	.list = log_list,
	.counts = log_counts,
	.peek_counts = log_peek_counts,
	.next_box = log_next_box,
	.find_id = log_find_id,
	.find_row = log_find_row,
	.read = log_read,
	.record = log_record,
	.open = log_open,
	.describe = log_describe,
	.failure = log_failure,
	.collect = mailstore_collect,
	.close = log_close,
};

int mailstore_open(const struct mailstore_setup *setup, struct maillayer **ret_layer,
		   struct mailstore_recovery *ret_recovery)
{
	uint8_t random[32];
	uint64_t size = setup->segment_size > 0 ? setup->segment_size : MAILSTORE_SEGMENT_SIZE;
	struct mailstore *store = calloc(1, sizeof(*store));
	*ret_recovery = (struct mailstore_recovery){ 0 };
	if (store == NULL) {
		setup->disk->ops->close(setup->disk);
		return -ENOMEM;
	}
	store->disk = setup->disk;
	store->reserve = setup->reserve;
	store->index_path = strdup(setup->index_path);
	int ret = store->index_path == NULL ? -ENOMEM : 0;
	if (ret == 0 && getentropy(random, sizeof(random)) != 0)
		ret = -errno;
	if (ret == 0)
		ret = maillog_open(&store->log, store->disk, random, size);
	if (ret == 0)
		ret = recover(store, setup, ret_recovery);
	if (ret != 0) {
		free_store(store);
		return mailstore_name_limit(ret);
	}
	store->layer.ops = &ops;
	*ret_layer = &store->layer;
	return 0;
}
