/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/maillayer.h"

#include <errno.h>

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
