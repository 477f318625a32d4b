/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAIL_MAX                                                                                   \
	(256U << 20) /* of one that is given as a descriptor: more than any that is taken */

/* One client. */
struct cluster_layer {
	struct maillayer layer;
	struct mailcluster *cluster;
	struct clusterlock lock;
	struct boxes_walk walk;
	/* The beginning of the mail that was looked for last: most mails are not larger. */
	uint64_t head_mail;
	size_t head_size;
	uint8_t *head; /* CLUSTER_HEAD_SIZE bytes, or NULL */
};

static struct cluster_layer *layer_of(struct maillayer *layer)
{
	return (struct cluster_layer *)layer;
}

static struct mailcluster *cluster_of(struct maillayer *layer)
{
	return layer_of(layer)->cluster;
}

/* ---- writing ---- */

static int layer_deliver(struct maillayer *layer, const struct mailstore_mail *mail,
			 struct mailid *ret_id)
{
	return deliver_mail(cluster_of(layer), mail, ret_id);
}

/* The time that a client says is not the one that rows are cleared away by. */
static int layer_erase(struct maillayer *layer, struct mailname mailbox, const uint64_t *mails,
		       size_t count, uint64_t time_us)
{
	struct cluster_layer *client = layer_of(layer);
	struct clusterlock lock;
	(void)time_us;
	cluster_lock(client->cluster);
	lock = client->lock;
	cluster_unlock(client->cluster);
	bool has_lock = lock.is_held && lock.name_size == mailbox.size &&
			memcmp(lock.name, mailbox.bytes, mailbox.size) == 0;
	return erase_mails(client->cluster, has_lock ? &lock : NULL, mailbox, mails, count);
}

/* Each delivery and deletion is durable when it returns. */
static int layer_sync(struct maillayer *layer)
{
	return cluster_state(cluster_of(layer));
}

static int layer_make_id(struct maillayer *layer, struct mailid *ret_id)
{
	struct mailcluster *cluster = cluster_of(layer);
	uint64_t number = 0;
	uint8_t bytes[8];
	uint8_t *out = bytes;
	int ret = nodes_make_number(cluster, &number);
	bytes_put(&out, number, 8);
	return ret == 0 ? mailid_make(cluster->identity.key, bytes, ret_id) : ret;
}

/* ---- asking ---- */

static int layer_list(struct maillayer *layer, struct mailname mailbox, uint64_t from, size_t room,
		      struct mailentry *ret_entries, size_t *ret_count)
{
	return boxes_list(cluster_of(layer), mailbox, from, room, ret_entries, ret_count);
}

static int layer_counts(struct maillayer *layer, struct mailname mailbox,
			struct mailcounts *ret_counts)
{
	return boxes_counts(cluster_of(layer), mailbox, ret_counts);
}

static int layer_peek_counts(struct maillayer *layer, struct mailname mailbox,
			     struct mailcounts *ret_counts)
{
	return boxes_peek(cluster_of(layer), mailbox, ret_counts);
}

static int layer_next_box(struct maillayer *layer, struct mailname behind, uint8_t *ret_name,
			  size_t *ret_size, struct mailcounts *ret_counts)
{
	return boxes_next(cluster_of(layer), &layer_of(layer)->walk, behind, ret_name, ret_size,
			  ret_counts);
}

/* ---- mails ---- */

static int read_head(struct cluster_layer *client, uint64_t mail)
{
	char name[NAMES_NUMBER_SIZE];
	size_t size = 0;
	if (client->head == NULL)
		client->head = malloc(CLUSTER_HEAD_SIZE);
	if (client->head == NULL)
		return -ENOMEM;
	client->head_size = 0;
	names_number('b', mail, name);
	int ret = objects_read(client->cluster->objects, name, 0, client->head, CLUSTER_HEAD_SIZE,
			       &size);
	/* Without bytes it says that a mail was refused. */
	if (ret == -ENOENT || (ret == 0 && size == 0))
		return DNSBLV6_ENOTFOUND;
	if (ret == 0) {
		client->head_mail = mail;
		client->head_size = size;
	}
	return ret;
}

/* Bytes of a record, from memory as far as they are there. */
static int read_at(struct cluster_layer *client, uint64_t mail, uint64_t at, uint8_t *bytes,
		   size_t size)
{
	char name[NAMES_NUMBER_SIZE];
	size_t done = 0;
	names_number('b', mail, name);
	if (client->head_size > at && client->head_mail == mail) {
		size_t there = client->head_size - (size_t)at;
		done = size < there ? size : there;
		memcpy(bytes, client->head + at, done);
	}
	return cluster_read(client->cluster, name, at + done, bytes + done, size - done);
}

/* The head has been read: its record, which may have its meta elsewhere. */
static int find_record(struct cluster_layer *client, uint64_t mail, struct mailrecord *ret_record)
{
	uint8_t *meta = NULL;
	struct mailrecord record;
	if (client->head_size >= MAILRECORD_HEAD_SIZE &&
	    mailrecord_decode(client->head, &record) == 0 &&
	    client->head_size < mailrecord_body_at(&record)) {
		int ret = body_read(client->cluster, mail, ret_record, &meta);
		free(meta);
		return ret;
	}
	return body_decode(client->cluster, mail, client->head, client->head_size, ret_record);
}

static int layer_find_row(struct maillayer *layer, uint64_t mail, struct mailrow *ret_row)
{
	struct cluster_layer *client = layer_of(layer);
	struct mailrecord record;
	int ret = read_head(client, mail);
	if (ret == 0)
		ret = find_record(client, mail, &record);
	if (ret != 0)
		return ret;
	*ret_row = (struct mailrow){ .place = { .segment = mail, .at = 0 },
				     .size = record.size,
				     .meta_size = record.meta_size,
				     .lines = record.lines,
				     .wire_size = record.wire_size,
				     .lsn = record.lsn,
				     .live = 1,
				     .id = record.id };
	return 0;
}

static int layer_find_id(struct maillayer *layer, struct mailname mailbox, const struct mailid *id,
			 uint64_t *ret_mail)
{
	(void)mailbox; /* there is one store */
	struct mailcluster *cluster = cluster_of(layer);
	uint64_t number = bytes_get(id->bytes, 8);
	int ret = 0;
	if (!mailid_is_of(cluster->identity.key, id))
		ret = refs_find_moved(cluster, id, &number);
	if (ret == 0)
		ret = read_head(layer_of(layer), number);
	if (ret == 0)
		*ret_mail = number;
	return ret;
}

static int layer_read(struct maillayer *layer, const struct mailrow *row, uint64_t at, void *bytes,
		      size_t size)
{
	struct mailspan body = mailrow_span(row);
	if (at > body.size || size > body.size - at)
		return -ENODATA;
	return read_at(layer_of(layer), body.segment, body.at + at, bytes, size);
}

static int layer_record(struct maillayer *layer, const struct mailrow *row,
			struct mailrecord *ret_record, uint8_t **ret_meta)
{
	return body_read(cluster_of(layer), row->place.segment, ret_record, ret_meta);
}

/* ---- as a descriptor ---- */

static int check_whole(struct cluster_layer *client, uint64_t mail, const uint8_t *bytes,
		       size_t size)
{
	struct mailrecord record;
	int ret = body_decode(client->cluster, mail, bytes, size, &record);
	if (ret != 0)
		return ret;
	const uint8_t *body = bytes + mailrecord_body_at(&record);
	bool is_whole = record.size == size &&
			mailrecord_crc(0, body, record.wire_size) == record.body_crc &&
			memcmp(body + record.wire_size, MAILRECORD_END, MAILRECORD_END_SIZE) == 0;
	return is_whole ? 0 : MAILSTORE_EDAMAGED;
}

/* What is checked is what the client reads: the descriptor can change no more. */
static int fill_memory(struct cluster_layer *client, uint64_t mail, int fd, size_t size)
{
	if (ftruncate(fd, (off_t)size) != 0)
		return -errno;
	uint8_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	int ret = read_at(client, mail, 0, map, size);
	if (ret == 0)
		ret = check_whole(client, mail, map, size);
	(void)munmap(map, size);
	if (ret == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
		ret = -errno;
	return ret;
}

static int layer_open(struct maillayer *layer, uint64_t segment, int *ret_fd)
{
	struct cluster_layer *client = layer_of(layer);
	struct mailrecord record;
	int ret = client->head_size > 0 && client->head_mail == segment
			  ? 0
			  : read_head(client, segment);
	if (ret == 0)
		ret = find_record(client, segment, &record);
	if (ret == 0 && record.size > MAIL_MAX)
		ret = -EFBIG;
	if (ret != 0)
		return ret == DNSBLV6_ENOTFOUND ? -ENOENT : ret;
	int fd = memfd_create("mail", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	ret = fill_memory(client, segment, fd, (size_t)record.size);
	if (ret != 0) {
		close(fd);
		return ret;
	}
	*ret_fd = fd;
	return 0;
}

/* ---- the rest ---- */

/* What this process has done: nothing here asks the network. */
static int layer_describe(struct maillayer *layer, struct mailstore_info *ret_info)
{
	struct mailcluster *cluster = cluster_of(layer);
	struct mailstore_info info = { .segments = 0 };
	memcpy(info.facts.store, cluster->identity.store, sizeof(info.facts.store));
	cluster_lock(cluster);
	info.facts.mails = cluster->mails;
	info.facts.entries = cluster->entries;
	info.sync_count = cluster->mails;
	info.written = cluster->bytes;
	info.has_failed = cluster->has_failed;
	cluster_unlock(cluster);
	*ret_info = info;
	return 0;
}

/* Objects of their own are removed, not collected. */
static int layer_collect(struct maillayer *layer, unsigned share_max, uint64_t *ret_segment)
{
	(void)layer;
	(void)share_max;
	(void)ret_segment;
	return DNSBLV6_ENOTFOUND;
}

static int layer_lock(struct maillayer *layer, struct mailname mailbox)
{
	return locks_take(cluster_of(layer), mailbox, &layer_of(layer)->lock);
}

static int layer_unlock(struct maillayer *layer)
{
	return locks_free(cluster_of(layer), &layer_of(layer)->lock);
}

static void layer_close(struct maillayer *layer)
{
	struct cluster_layer *client = layer_of(layer);
	(void)locks_free(client->cluster, &client->lock);
	boxes_walk_end(&client->walk);
	free(client->head);
	free(client);
}

int mailcluster_layer(struct mailcluster *cluster, struct maillayer **ret_layer)
{
	static const struct maillayer_ops ops = {
		.name = "cluster",
		.deliver = layer_deliver,
		.erase = layer_erase,
		.sync = layer_sync,
		.flush = layer_sync,
		.make_id = layer_make_id,
		.list = layer_list,
		.counts = layer_counts,
		.peek_counts = layer_peek_counts,
		.next_box = layer_next_box,
		.find_id = layer_find_id,
		.find_row = layer_find_row,
		.read = layer_read,
		.record = layer_record,
		.open = layer_open,
		.describe = layer_describe,
		.collect = layer_collect,
		.lock = layer_lock,
		.unlock = layer_unlock,
		.close = layer_close,
	};
	struct cluster_layer *client = calloc(1, sizeof(*client));
	if (client == NULL)
		return -ENOMEM;
	client->layer.ops = &ops;
	client->cluster = cluster;
	*ret_layer = &client->layer;
	return 0;
}
