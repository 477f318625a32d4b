/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/maillayer.h"

#include <errno.h>
#include <stdlib.h>

/* ---- the log ---- */

struct log_layer {
	struct maillayer layer;
	struct mailstore *store;
};

static struct mailstore *store_of(const struct maillayer *layer)
{
	return ((const struct log_layer *)layer)->store;
}

static int log_deliver(struct maillayer *layer, const struct mailstore_mail *mail,
		       struct mailid *ret_id)
{
	return mailstore_deliver(store_of(layer), mail, ret_id);
}

static int log_erase(struct maillayer *layer, struct mailname mailbox, const uint64_t *mails,
		     size_t count, uint64_t time_us)
{
	return mailstore_delete(store_of(layer), mailbox, mails, count, time_us);
}

static int log_sync(struct maillayer *layer)
{
	return mailstore_sync(store_of(layer));
}

static int log_sync_begin(struct maillayer *layer, struct mailstore_sync *ret_sync)
{
	return mailstore_sync_begin(store_of(layer), ret_sync);
}

static int log_sync_end(struct maillayer *layer, const struct mailstore_sync *sync, int status)
{
	return mailstore_sync_end(store_of(layer), sync, status);
}

static struct mailplace log_end(const struct maillayer *layer)
{
	return mailstore_end(store_of(layer));
}

static bool log_has_synced(const struct maillayer *layer, struct mailplace end)
{
	return mailstore_has_synced(store_of(layer), end);
}

static int log_flush(struct maillayer *layer)
{
	return mailstore_flush(store_of(layer));
}

static int log_make_id(struct maillayer *layer, struct mailid *ret_id)
{
	return mailstore_make_id(store_of(layer), ret_id);
}

static int log_list(struct maillayer *layer, struct mailname mailbox, uint64_t from, size_t room,
		    struct mailentry *ret_entries, size_t *ret_count)
{
	return mailstore_list(store_of(layer), mailbox, from, room, ret_entries, ret_count);
}

static int log_counts(struct maillayer *layer, struct mailname mailbox,
		      struct mailcounts *ret_counts)
{
	return mailstore_counts(store_of(layer), mailbox, ret_counts);
}

static int log_peek_counts(struct maillayer *layer, struct mailname mailbox,
			   struct mailcounts *ret_counts)
{
	return mailstore_peek_counts(store_of(layer), mailbox, ret_counts);
}

static int log_next_box(struct maillayer *layer, struct mailname behind, uint8_t *ret_name,
			size_t *ret_size, struct mailcounts *ret_counts)
{
	return mailstore_next_box(store_of(layer), behind, ret_name, ret_size, ret_counts);
}

static int log_find_id(struct maillayer *layer, struct mailname mailbox, const struct mailid *id,
		       uint64_t *ret_mail)
{
	(void)mailbox; /* there is one store */
	return mailstore_find_id(store_of(layer), id, ret_mail);
}

static int log_find_row(struct maillayer *layer, uint64_t mail, struct mailrow *ret_row)
{
	return mailstore_find_row(store_of(layer), mail, ret_row);
}

static int log_read(struct maillayer *layer, const struct mailrow *row, uint64_t at, void *bytes,
		    size_t size)
{
	return mailstore_read(store_of(layer), row, at, bytes, size);
}

static int log_record(struct maillayer *layer, const struct mailrow *row,
		      struct mailrecord *ret_record, uint8_t **ret_meta)
{
	return mailstore_record(store_of(layer), row, ret_record, ret_meta);
}

static int log_open(struct maillayer *layer, uint64_t segment, int *ret_fd)
{
	return mailstore_open_segment(store_of(layer), segment, ret_fd);
}

static int log_describe(struct maillayer *layer, struct mailstore_info *ret_info)
{
	return mailstore_describe(store_of(layer), ret_info);
}

static int log_failure(struct maillayer *layer)
{
	return mailstore_failure(store_of(layer));
}

static int log_collect(struct maillayer *layer, unsigned share_max, uint64_t *ret_segment)
{
	return mailstore_collect(store_of(layer), share_max, ret_segment);
}

static void log_close(struct maillayer *layer)
{
	mailstore_close(store_of(layer));
	free(layer);
}

static const struct maillayer_ops log_ops = {
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
	.collect = log_collect,
	.close = log_close,
};

int maillayer_log(struct mailstore *store, struct maillayer **ret_layer)
{
	struct log_layer *self = malloc(sizeof(*self));
	if (self == NULL)
		return -ENOMEM;
	*self = (struct log_layer){ .layer = { &log_ops }, .store = store };
	*ret_layer = &self->layer;
	return 0;
}

/* ---- any layer ---- */

int maillayer_deliver(struct maillayer *layer, const struct mailstore_mail *mail,
		      struct mailid *ret_id)
{
	return layer->ops->deliver(layer, mail, ret_id);
}

int maillayer_erase(struct maillayer *layer, struct mailname mailbox, const uint64_t *mails,
		    size_t count, uint64_t time_us)
{
	return layer->ops->erase != NULL ? layer->ops->erase(layer, mailbox, mails, count, time_us)
					 : -EOPNOTSUPP;
}

int maillayer_sync(struct maillayer *layer)
{
	return layer->ops->sync(layer);
}

int maillayer_sync_begin(struct maillayer *layer, struct mailstore_sync *ret_sync)
{
	return layer->ops->sync_begin != NULL ? layer->ops->sync_begin(layer, ret_sync)
					      : -EOPNOTSUPP;
}

int maillayer_sync_end(struct maillayer *layer, const struct mailstore_sync *sync, int status)
{
	return layer->ops->sync_end != NULL ? layer->ops->sync_end(layer, sync, status)
					    : -EOPNOTSUPP;
}

struct mailplace maillayer_end(const struct maillayer *layer)
{
	return layer->ops->end != NULL ? layer->ops->end(layer) : (struct mailplace){ 0 };
}

bool maillayer_has_synced(const struct maillayer *layer, struct mailplace end)
{
	return layer->ops->has_synced != NULL && layer->ops->has_synced(layer, end);
}

int maillayer_flush(struct maillayer *layer)
{
	return layer->ops->flush != NULL ? layer->ops->flush(layer) : -EOPNOTSUPP;
}

int maillayer_make_id(struct maillayer *layer, struct mailid *ret_id)
{
	return layer->ops->make_id != NULL ? layer->ops->make_id(layer, ret_id) : -EOPNOTSUPP;
}

int maillayer_find(struct maillayer *layer, struct mailname mailbox, uint64_t from,
		   struct mailentry *ret_entry)
{
	size_t count = 0;
	int ret = maillayer_list(layer, mailbox, from, 1, ret_entry, &count);
	return ret == 0 && count == 0 ? DNSBLV6_ENOTFOUND : ret;
}

int maillayer_list(struct maillayer *layer, struct mailname mailbox, uint64_t from, size_t room,
		   struct mailentry *ret_entries, size_t *ret_count)
{
	return layer->ops->list != NULL
		       ? layer->ops->list(layer, mailbox, from, room, ret_entries, ret_count)
		       : -EOPNOTSUPP;
}

int maillayer_counts(struct maillayer *layer, struct mailname mailbox,
		     struct mailcounts *ret_counts)
{
	return layer->ops->counts != NULL ? layer->ops->counts(layer, mailbox, ret_counts)
					  : -EOPNOTSUPP;
}

int maillayer_peek_counts(struct maillayer *layer, struct mailname mailbox,
			  struct mailcounts *ret_counts)
{
	return layer->ops->peek_counts != NULL ? layer->ops->peek_counts(layer, mailbox, ret_counts)
					       : -EOPNOTSUPP;
}

int maillayer_next_box(struct maillayer *layer, struct mailname behind, uint8_t *ret_name,
		       size_t *ret_size, struct mailcounts *ret_counts)
{
	return layer->ops->next_box != NULL
		       ? layer->ops->next_box(layer, behind, ret_name, ret_size, ret_counts)
		       : -EOPNOTSUPP;
}

int maillayer_find_id(struct maillayer *layer, struct mailname mailbox, const struct mailid *id,
		      uint64_t *ret_mail)
{
	return layer->ops->find_id != NULL ? layer->ops->find_id(layer, mailbox, id, ret_mail)
					   : -EOPNOTSUPP;
}

int maillayer_find_row(struct maillayer *layer, uint64_t mail, struct mailrow *ret_row)
{
	return layer->ops->find_row != NULL ? layer->ops->find_row(layer, mail, ret_row)
					    : -EOPNOTSUPP;
}

int maillayer_read(struct maillayer *layer, const struct mailrow *row, uint64_t at, void *bytes,
		   size_t size)
{
	return layer->ops->read != NULL ? layer->ops->read(layer, row, at, bytes, size)
					: -EOPNOTSUPP;
}

int maillayer_record(struct maillayer *layer, const struct mailrow *row,
		     struct mailrecord *ret_record, uint8_t **ret_meta)
{
	return layer->ops->record != NULL ? layer->ops->record(layer, row, ret_record, ret_meta)
					  : -EOPNOTSUPP;
}

int maillayer_open(struct maillayer *layer, uint64_t segment, int *ret_fd)
{
	return layer->ops->open != NULL ? layer->ops->open(layer, segment, ret_fd) : -EOPNOTSUPP;
}

int maillayer_describe(struct maillayer *layer, struct mailstore_info *ret_info)
{
	return layer->ops->describe != NULL ? layer->ops->describe(layer, ret_info) : -EOPNOTSUPP;
}

int maillayer_failure(struct maillayer *layer)
{
	return layer->ops->failure != NULL ? layer->ops->failure(layer) : 0;
}

int maillayer_collect(struct maillayer *layer, unsigned share_max, uint64_t *ret_segment)
{
	return layer->ops->collect != NULL ? layer->ops->collect(layer, share_max, ret_segment)
					   : -EOPNOTSUPP;
}

int maillayer_lock(struct maillayer *layer, struct mailname mailbox)
{
	return layer->ops->lock != NULL ? layer->ops->lock(layer, mailbox) : -EOPNOTSUPP;
}

int maillayer_unlock(struct maillayer *layer)
{
	return layer->ops->unlock != NULL ? layer->ops->unlock(layer) : -EOPNOTSUPP;
}

void maillayer_close(struct maillayer *layer)
{
	if (layer != NULL)
		layer->ops->close(layer);
}
