/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/store/remote.h"

#include "integration/mail/base/store/storelink.h"
#include "integration/mail/base/store/storemail.h"
#include "lib/common/wholefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct remote {
	struct maillayer layer;
	struct storelink link;
	struct storemail mail;
	int timeout_ms;
	/* The segment that was read last. */
	uint64_t segment;
	int segment_fd; /* -1: none */
	/* A reply has many mailboxes: those behind the one that was given out last. */
	uint8_t *boxes;
	struct bytes_input boxes_left; /* of boxes */
	bool lacks_boxes;	       /* a node has not said its own since the first */
	bool lists_all;
	bool lacks_mails; /* likewise of lists */
	uint8_t box[MAILBOX_NAME_MAX];
	size_t box_size; /* 0: none */
};

static struct remote *remote_of(struct maillayer *layer)
{
	return (struct remote *)layer;
}

/* The store's word, or why there is none. */
static int call(struct remote *remote, struct storewire_request *request,
		const struct storelink_memory *memory, struct storewire_reply *ret_reply,
		int *ret_fd)
{
	int ret = storelink_call(&remote->link, request, memory, remote->timeout_ms, ret_reply,
				 ret_fd);
	/* Or a reply that is late would be taken for one to the next request, which is obeyed. */
	if (ret != 0)
		storelink_close(&remote->link);
	return ret == 0 ? ret_reply->status : ret;
}

/* ---- writing ---- */

/* What this client changes may be in them. */
static void forget_boxes(struct remote *remote)
{
	remote->boxes_left = (struct bytes_input){ 0 };
	remote->box_size = 0;
}

static int remote_deliver(struct maillayer *layer, const struct mailstore_mail *mail,
			  struct mailid *ret_id)
{
	struct remote *remote = remote_of(layer);
	struct storewire_request request;
	struct storelink_memory memory;
	struct storewire_reply reply;
	int ret = mail->recipient_count > 0 && mail->recipient_count <= MAIL_RECIPIENTS_MAX
			  ? 0
			  : MAILSTORE_ERECIPIENTS;
	if (ret == 0)
		ret = storemail_begin(&remote->mail, mail->sender, mail->recipients,
				      mail->recipient_count);
	if (ret == 0)
		ret = storemail_append(&remote->mail, mail->text, mail->size);
	if (ret == 0)
		ret = storemail_finish(&remote->mail, &request, &memory);
	if (ret == 0)
		request.time_us = mail->time_us;
	if (ret == 0 && mail->id != NULL) {
		request.has_id = true;
		request.is_moved = mail->is_moved;
		request.id = *mail->id;
	}
	if (ret == 0)
		ret = call(remote, &request, &memory, &reply, NULL);
	storemail_abort(&remote->mail);
	forget_boxes(remote);
	if (ret == 0)
		*ret_id = reply.id;
	return ret;
}

static int erase_of_node(struct maillayer *layer, struct mailname mailbox, const uint64_t *mails,
			 size_t count)
{
	struct storewire_request request = { .type = STOREWIRE_ERASE };
	struct storewire_reply reply;
	struct storelink_memory memory = { .fd = -1, .part_count = 1 };
	size_t size = maildeletion_size(mailbox, count);
	if (!mailname_is_valid(mailbox))
		return MAILSTORE_EBOX;
	uint8_t *bytes = malloc(size);
	if (bytes == NULL)
		return -ENOMEM;
	maildeletion_encode(mailbox, mails, count, bytes);
	const struct iovec part = { bytes, size };
	memory.parts = &part;
	request.size = size;
	int ret = 0;
	if (size > STOREWIRE_INLINE_MAX) {
		memory.fd = storemail_seal(bytes, size);
		ret = memory.fd < 0 ? memory.fd : 0;
	}
	if (ret == 0)
		ret = call(remote_of(layer), &request, &memory, &reply, NULL);
	if (memory.fd >= 0)
		close(memory.fd);
	forget_boxes(remote_of(layer));
	free(bytes);
	return ret;
}

/* Numbers of one node have one first byte, and a deletion is that of one node. */
static size_t count_of_node(const uint64_t *mails, size_t count)
{
	size_t at = 0;
	while (at < count && remote_node_of(mails[at]) == remote_node_of(mails[0]))
		at++;
	return at;
}

static int remote_erase(struct maillayer *layer, struct mailname mailbox, const uint64_t *mails,
			size_t count, uint64_t time_us)
{
	size_t done = count_of_node(mails, count);
	int ret = erase_of_node(layer, mailbox, mails, done);
	(void)time_us; /* the daemon's clock counts */
	while (ret == 0 && done < count) {
		const size_t more = count_of_node(mails + done, count - done);
		ret = erase_of_node(layer, mailbox, mails + done, more);
		done += more;
	}
	return ret;
}

static int remote_sync(struct maillayer *layer)
{
	(void)layer; /* what was answered is on disk */
	return 0;
}

static int remote_make_id(struct maillayer *layer, struct mailid *ret_id)
{
	struct storewire_request request = { .type = STOREWIRE_MAKE_ID };
	struct storewire_reply reply;
	int ret = call(remote_of(layer), &request, NULL, &reply, NULL);
	if (ret == 0)
		*ret_id = reply.id;
	return ret;
}

/* ---- rows, which lie in the reply or in memory of their own ---- */

struct rows {
	const uint8_t *bytes;
	size_t size;
	size_t count;
	void *map; /* NULL: in the reply */
};

static int map_rows(int fd, struct rows *ret_rows)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	if (fstat(fd, &st) != 0)
		return -errno;
	/* What may still be cut would end this process when it is read. */
	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || st.st_size <= 0)
		return -EPROTO;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	ret_rows->map = map;
	ret_rows->bytes = map;
	ret_rows->size = (size_t)st.st_size;
	return 0;
}

/* end_rows() in any case. */
static int ask_with(struct remote *remote, struct storewire_request *request,
		    const struct storelink_memory *memory, struct storewire_reply *ret_reply,
		    struct rows *ret_rows)
{
	struct storewire_reply reply;
	int fd = -1;
	*ret_rows = (struct rows){ 0 };
	int ret = call(remote, request, memory, &reply, &fd);
	if (ret == 0) {
		*ret_rows = (struct rows){ .bytes = reply.rows,
					   .size = reply.rows_size,
					   .count = reply.count };
		if (fd >= 0)
			ret = map_rows(fd, ret_rows);
		*ret_reply = reply;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static int ask_rows(struct remote *remote, struct storewire_request *request, struct rows *ret_rows)
{
	struct storewire_reply reply;
	return ask_with(remote, request, NULL, &reply, ret_rows);
}

static void end_rows(struct rows *rows)
{
	if (rows->map != NULL)
		munmap(rows->map, rows->size);
}

/* ---- asking ---- */

static int remote_list(struct maillayer *layer, struct mailname mailbox, uint64_t from, size_t room,
		       struct mailentry *ret_entries, size_t *ret_count)
{
	struct storewire_request request = {
		.type = STOREWIRE_LIST, .number = from, .size = room, .mailbox = mailbox
	};
	struct storewire_reply reply = { 0 };
	struct remote *remote = remote_of(layer);
	struct rows rows;
	request.is_of_all = remote->lists_all;
	if (!mailname_is_valid(mailbox))
		return MAILSTORE_EBOX;
	int ret = ask_with(remote, &request, NULL, &reply, &rows);
	remote->lacks_mails = remote->lacks_mails || reply.number > 0;
	if (ret == 0 && (rows.count > room || rows.size < rows.count * STOREWIRE_ENTRY_SIZE))
		ret = -EPROTO;
	for (size_t i = 0; ret == 0 && i < rows.count; i++)
		storewire_decode_entry(rows.bytes + i * STOREWIRE_ENTRY_SIZE, &ret_entries[i]);
	*ret_count = rows.count;
	end_rows(&rows);
	return ret;
}

static int ask_boxes(struct remote *remote, struct mailname behind)
{
	struct storewire_request request = { .type = STOREWIRE_BOXES, .mailbox = behind };
	struct rows rows;
	struct storewire_reply reply = { 0 };
	forget_boxes(remote);
	int ret = ask_with(remote, &request, NULL, &reply, &rows);
	remote->lacks_boxes = reply.number > 0 || (remote->lacks_boxes && behind.size > 0);
	if (ret == 0 && rows.size > 0) {
		uint8_t *boxes = realloc(remote->boxes, rows.size);
		if (boxes != NULL) {
			memcpy(boxes, rows.bytes, rows.size);
			remote->boxes = boxes;
			remote->boxes_left =
				(struct bytes_input){ .data = boxes, .size = rows.size };
		}
		ret = boxes != NULL ? 0 : -ENOMEM;
	}
	end_rows(&rows);
	return ret;
}

static int remote_next_box(struct maillayer *layer, struct mailname behind, uint8_t *ret_name,
			   size_t *ret_size, struct mailcounts *ret_counts)
{
	struct remote *remote = remote_of(layer);
	struct mailname name;
	bool is_known = behind.size == remote->box_size && remote->boxes_left.size > 0 &&
			memcmp(behind.bytes, remote->box, behind.size) == 0;
	int ret = is_known ? 0 : ask_boxes(remote, behind);
	if (ret == 0 && !storewire_next_box(&remote->boxes_left, &name, ret_counts))
		ret = remote->boxes_left.has_failed ? -EPROTO
		      : remote->lacks_boxes	    ? MAILSTORE_EAWAY
						    : DNSBLV6_ENOTFOUND;
	if (ret != 0)
		return ret;
	memcpy(ret_name, name.bytes, name.size);
	*ret_size = name.size;
	memcpy(remote->box, name.bytes, name.size);
	remote->box_size = name.size;
	return 0;
}

static int remote_find_id(struct maillayer *layer, struct mailname mailbox, const struct mailid *id,
			  uint64_t *ret_mail)
{
	struct storewire_request request = {
		.type = STOREWIRE_FIND_ID, .has_id = true, .id = *id, .mailbox = mailbox
	};
	struct storewire_reply reply;
	int ret = call(remote_of(layer), &request, NULL, &reply, NULL);
	if (ret == 0)
		*ret_mail = reply.number;
	return ret;
}

static int remote_find_row(struct maillayer *layer, uint64_t mail, struct mailrow *ret_row)
{
	struct storewire_request request = { .type = STOREWIRE_ROW, .number = mail };
	struct storewire_reply reply;
	int ret = call(remote_of(layer), &request, NULL, &reply, NULL);
	if (ret == 0 && reply.rows_size != MAILROW_SIZE)
		ret = -EPROTO;
	if (ret == 0)
		mailrow_decode(reply.rows, ret_row);
	return ret;
}

static int remote_open_segment(struct maillayer *layer, uint64_t segment, int *ret_fd)
{
	struct storewire_request request = { .type = STOREWIRE_SEGMENT, .number = segment };
	struct storewire_reply reply;
	int fd = -1;
	int ret = call(remote_of(layer), &request, NULL, &reply, &fd);
	if (ret == 0 && fd < 0)
		ret = -EPROTO;
	if (ret == 0)
		*ret_fd = fd;
	else if (fd >= 0)
		close(fd);
	return ret;
}

/* One stays open, and can be read when the daemon has emptied it. */
static int use_segment(struct remote *remote, uint64_t segment)
{
	int fd;
	if (remote->segment_fd >= 0 && remote->segment == segment)
		return 0;
	int ret = remote_open_segment(&remote->layer, segment, &fd);
	if (ret != 0)
		return ret;
	if (remote->segment_fd >= 0)
		close(remote->segment_fd);
	remote->segment_fd = fd;
	remote->segment = segment;
	return 0;
}

/* That of a mail of another node is its record as it was then. */
static void forget_segment(struct remote *remote)
{
	if (remote->segment_fd >= 0)
		close(remote->segment_fd);
	remote->segment_fd = -1;
}

static int read_at(struct remote *remote, uint64_t segment, uint64_t at, void *bytes, size_t size)
{
	int ret = use_segment(remote, segment);
	return ret == 0 ? wholefile_get(remote->segment_fd, at, bytes, size) : ret;
}

static int remote_read(struct maillayer *layer, const struct mailrow *row, uint64_t at, void *bytes,
		       size_t size)
{
	struct mailspan body = mailrow_span(row);
	if (at > body.size || size > body.size - at)
		return -ENODATA;
	return read_at(remote_of(layer), body.segment, body.at + at, bytes, size);
}

/* The checksum of head and meta begins with the store's key, which no client has. */
static int remote_record(struct maillayer *layer, const struct mailrow *row,
			 struct mailrecord *ret_record, uint8_t **ret_meta)
{
	uint8_t head[MAILRECORD_HEAD_SIZE];
	struct remote *remote = remote_of(layer);
	int ret = read_at(remote, row->place.segment, row->place.at, head, sizeof(head));
	if (ret == 0)
		ret = mailrecord_decode(head, ret_record);
	if (ret != 0) {
		forget_segment(remote);
		return ret;
	}
	uint8_t *meta = malloc(ret_record->meta_size > 0 ? ret_record->meta_size : 1);
	if (meta == NULL)
		return -ENOMEM;
	ret = read_at(remote, row->place.segment, row->place.at + sizeof(head), meta,
		      ret_record->meta_size);
	if (ret == 0)
		*ret_meta = meta;
	else
		free(meta);
	return ret;
}

static int remote_describe(struct maillayer *layer, struct mailstore_info *ret_info)
{
	struct storewire_request request = { .type = STOREWIRE_STAT, .number = STOREWIRE_STAT_OWN };
	struct storewire_reply reply;
	int ret = call(remote_of(layer), &request, NULL, &reply, NULL);
	if (ret == 0 && reply.rows_size != STOREWIRE_STAT_SIZE)
		ret = -EPROTO;
	if (ret == 0)
		storewire_decode_stat(reply.rows, ret_info);
	return ret;
}

static int remote_collect(struct maillayer *layer, unsigned share_max, uint64_t *ret_segment)
{
	struct storewire_request request = { .type = STOREWIRE_COLLECT, .number = share_max };
	struct storewire_reply reply;
	int ret = call(remote_of(layer), &request, NULL, &reply, NULL);
	if (ret == 0 || ret == MAILSTORE_EDAMAGED)
		*ret_segment = reply.number;
	return ret;
}

/* ---- locks ---- */

int remote_lock_at(struct maillayer *layer, struct mailname mailbox, unsigned number)
{
	struct storewire_request request = { .type = STOREWIRE_LOCK,
					     .number = number,
					     .mailbox = mailbox };
	struct storewire_reply reply;
	if (!mailname_is_valid(mailbox))
		return MAILSTORE_EBOX;
	return call(remote_of(layer), &request, NULL, &reply, NULL);
}

static int remote_lock(struct maillayer *layer, struct mailname mailbox)
{
	return remote_lock_at(layer, mailbox, 0);
}

static int remote_unlock(struct maillayer *layer)
{
	struct storewire_request request = { .type = STOREWIRE_UNLOCK };
	struct storewire_reply reply;
	return call(remote_of(layer), &request, NULL, &reply, NULL);
}

/* ---- the cluster and its users ---- */

static int copy_text(const struct rows *rows, char **ret_text)
{
	if (rows->size > STOREWIRE_TEXT_MAX || memchr(rows->bytes, '\0', rows->size) != NULL)
		return -EPROTO;
	char *text = malloc(rows->size + 1);
	if (text == NULL)
		return -ENOMEM;
	memcpy(text, rows->bytes, rows->size);
	text[rows->size] = '\0';
	*ret_text = text;
	return 0;
}

/* bytes may be NULL. */
static int ask_text(struct remote *remote, struct storewire_request *request, const void *bytes,
		    size_t size, uint64_t *ret_number, char **ret_text)
{
	const struct iovec part = { (void *)(uintptr_t)bytes, size };
	struct storelink_memory memory = { .fd = -1, .parts = &part, .part_count = 1 };
	struct storewire_reply reply;
	struct rows rows;
	if (bytes != NULL && size > STOREWIRE_INLINE_MAX) {
		memory.fd = storemail_seal(bytes, size);
		if (memory.fd < 0)
			return memory.fd;
	}
	int ret = ask_with(remote, request, bytes != NULL ? &memory : NULL, &reply, &rows);
	if (ret == 0)
		ret = copy_text(&rows, ret_text);
	if (ret == 0)
		*ret_number = reply.number;
	end_rows(&rows);
	if (memory.fd >= 0)
		close(memory.fd);
	return ret;
}

int remote_describe_all(struct maillayer *layer, struct mailstore_info *ret_info, char **ret_away)
{
	struct storewire_request request = { .type = STOREWIRE_STAT };
	struct rows rows;
	int ret = ask_rows(remote_of(layer), &request, &rows);
	if (ret == 0 && rows.size < STOREWIRE_STAT_SIZE)
		ret = -EPROTO;
	if (ret == 0) {
		const struct rows names = { .bytes = rows.bytes + STOREWIRE_STAT_SIZE,
					    .size = rows.size - STOREWIRE_STAT_SIZE };
		storewire_decode_stat(rows.bytes, ret_info);
		ret = copy_text(&names, ret_away);
	}
	end_rows(&rows);
	return ret;
}

int remote_cluster(struct maillayer *layer, enum storewire_question question, const void *bytes,
		   size_t size, char **ret_text)
{
	struct storewire_request request = { .type = STOREWIRE_CLUSTER,
					     .number = (uint64_t)question,
					     .size = size };
	uint64_t number;
	return ask_text(remote_of(layer), &request, bytes, size, &number, ret_text);
}

int remote_locate(struct maillayer *layer, struct mailname mailbox, unsigned number,
		  uint64_t *ret_node, char **ret_text)
{
	struct storewire_request request = { .type = STOREWIRE_LOCATE,
					     .number = number,
					     .mailbox = mailbox };
	if (!mailname_is_valid(mailbox))
		return MAILSTORE_EBOX;
	return ask_text(remote_of(layer), &request, NULL, 0, ret_node, ret_text);
}

/* ---- lists of all nodes ---- */

void remote_list_all(struct maillayer *layer)
{
	remote_of(layer)->lists_all = true;
}

bool remote_lacked_mails(struct maillayer *layer)
{
	struct remote *remote = remote_of(layer);
	const bool lacked = remote->lacks_mails;
	remote->lacks_mails = false;
	return lacked;
}

/* ---- begin and end ---- */

static void remote_close(struct maillayer *layer)
{
	struct remote *remote = remote_of(layer);
	forget_segment(remote);
	storelink_close(&remote->link);
	storemail_deinit(&remote->mail);
	free(remote->boxes);
	free(remote);
}

int remote_store_open(const char *socket_path, int timeout_ms, struct maillayer **ret_layer)
{
	static const struct maillayer_ops ops = {
		.name = "remote",
		.deliver = remote_deliver,
		.erase = remote_erase,
		.sync = remote_sync,
		.make_id = remote_make_id,
		.list = remote_list,
		.next_box = remote_next_box,
		.find_id = remote_find_id,
		.find_row = remote_find_row,
		.read = remote_read,
		.record = remote_record,
		.open = remote_open_segment,
		.describe = remote_describe,
		.collect = remote_collect,
		.lock = remote_lock,
		.unlock = remote_unlock,
		.close = remote_close,
	};
	struct remote *remote = calloc(1, sizeof(*remote));
	if (remote == NULL)
		return -ENOMEM;
	remote->layer.ops = &ops;
	remote->timeout_ms = timeout_ms;
	remote->segment_fd = -1;
	remote->link.fd = -1;
	int ret = storemail_init(&remote->mail);
	if (ret == 0)
		ret = storelink_open(socket_path, timeout_ms, &remote->link);
	if (ret != 0) {
		remote_close(&remote->layer);
		return ret;
	}
	*ret_layer = &remote->layer;
	return 0;
}
