/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * layer_sort.c - mails into maildirs as they come: files of a batch in tmp/, and one commit for all.
 *
 * The order of a commit is that of maildir.h: first all files are on disk, then all names are linked,
 * then each new/ is synced, once for all its mails. Files stay open until they are synced, for an error
 * of the disk is told to a descriptor that was open when it happened.
 */
#include "integration/mail/mail-stored/layers/layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/format/array.h"
#include "lib/maildir/maildir.h"

/* With so many open files they are synced before the commit. */
#define OPEN_MAX     64
#define BLOCK_SIZE   65536
#define HOSTNAME_MAX 256

/* A mail that waits for its commit. */
struct waiting {
	struct maildir mail;
	size_t box_at; /* in boxes */
	size_t box_count;
	size_t linked; /* of them */
};

struct box {
	char name[MAILDIR_BOX_SIZE];
};

struct sort {
	struct maillayer layer;
	int root_fd;
	int status; /* of a file that was synced before the commit */
	struct waiting *mails;
	size_t mail_count;
	size_t mail_room;
	size_t settled; /* of mails */
	struct box *boxes;
	size_t box_count;
	size_t box_room;
	uint64_t last_id[2];
	char hostname[HOSTNAME_MAX];
	size_t block_size;
	uint8_t block[BLOCK_SIZE];
};

static struct sort *sort_of(struct maillayer *layer)
{
	return (struct sort *)layer;
}

/* ---- what waits ---- */

/* Memory for one mail more, and its boxes. 0 or -ENOMEM. */
static int make_room(struct sort *sort, size_t box_count)
{
	return array_reserve(sort->mails, sort->mail_count + 1, &sort->mail_room) &&
			       array_reserve(sort->boxes, sort->box_count + box_count,
					     &sort->box_room)
		       ? 0
		       : -ENOMEM;
}

static int name_boxes(struct sort *sort, const struct mailstore_mail *mail)
{
	struct box *boxes = sort->boxes + sort->box_count;
	for (size_t i = 0; i < mail->recipient_count; i++) {
		const struct mailname name = mail->recipients[i];
		if (!mailname_is_valid(name) ||
		    !maildir_box_of(name.bytes, name.size, boxes[i].name))
			return MAILSTORE_EBOX;
	}
	return 0;
}

/* Nothing waits any more, and no name is left in tmp/. */
static void forget_all(struct sort *sort)
{
	for (size_t i = 0; i < sort->mail_count; i++)
		maildir_abort(&sort->mails[i].mail);
	sort->mail_count = 0;
	sort->settled = 0;
	sort->box_count = 0;
	sort->status = 0;
}

/* All files are on disk and closed, or sort->status says that the commit cannot be. */
static void settle(struct sort *sort)
{
	for (; sort->settled < sort->mail_count; sort->settled++) {
		const int ret = maildir_settle(&sort->mails[sort->settled].mail);
		if (sort->status == 0)
			sort->status = ret;
	}
}

/* ---- writing ---- */

static int write_block(struct sort *sort, const struct maildir *mail)
{
	const int ret = maildir_write(mail, sort->block, sort->block_size);
	sort->block_size = 0;
	return mailstore_name_limit(ret);
}

static int append(struct sort *sort, const struct maildir *mail, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		if (sort->block_size == BLOCK_SIZE) {
			const int ret = write_block(sort, mail);
			if (ret != 0)
				return ret;
		}
		const size_t room = BLOCK_SIZE - sort->block_size;
		const size_t part = size < room ? size : room;
		memcpy(sort->block + sort->block_size, bytes, part);
		sort->block_size += part;
		bytes += part;
		size -= part;
	}
	return 0;
}

/* CR LF becomes LF. */
static int write_text(struct sort *sort, const struct maildir *mail, const uint8_t *text,
		      size_t size)
{
	int ret = 0;
	sort->block_size = 0;
	while (ret == 0 && size > 0) {
		const uint8_t *cr = memchr(text, '\r', size);
		const size_t run = cr == NULL ? size : (size_t)(cr - text) + 1;
		const bool is_end = cr != NULL && run < size && cr[1] == '\n';
		ret = append(sort, mail, text, is_end ? run - 1 : run);
		text += run;
		size -= run;
	}
	return ret == 0 ? write_block(sort, mail) : ret;
}

static int deliver(struct maillayer *layer, const struct mailstore_mail *mail,
		   struct mailid *ret_id)
{
	struct sort *sort = sort_of(layer);
	char name[MAILDIR_NAME_SIZE];
	if (mail->id != NULL)
		return MAILSTORE_EFOREIGN;
	if (mail->recipient_count == 0 || mail->recipient_count > MAIL_RECIPIENTS_MAX)
		return MAILSTORE_ERECIPIENTS;
	int ret = make_room(sort, mail->recipient_count);
	if (ret == 0)
		ret = name_boxes(sort, mail);
	if (ret != 0)
		return ret;
	if (sort->mail_count - sort->settled >= OPEN_MAX)
		settle(sort);
	struct waiting waiting = { .box_at = sort->box_count, .box_count = mail->recipient_count };
	maildir_make_name(sort->hostname, name);
	ret = maildir_begin(sort->root_fd, name, &waiting.mail);
	if (ret == 0)
		ret = write_text(sort, &waiting.mail, mail->text, mail->size);
	if (ret != 0) {
		maildir_abort(&waiting.mail);
		return ret;
	}
	sort->mails[sort->mail_count++] = waiting;
	sort->box_count += waiting.box_count;
	uint8_t *at = ret_id->bytes;
	bytes_put(&at, sort->last_id[0], 8);
	bytes_put(&at, ++sort->last_id[1], 8);
	return 0;
}

/* ---- commit ---- */

static int compare_boxes(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* Of all that waits, each box once; borrowed names in a list to be freed. */
static int list_boxes(const struct sort *sort, const char ***ret_list, size_t *ret_count)
{
	size_t count = 0;
	const char **list = calloc(sort->box_count, sizeof(*list));
	if (list == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < sort->box_count; i++)
		list[i] = sort->boxes[i].name;
	qsort(list, sort->box_count, sizeof(*list), compare_boxes);
	for (size_t i = 0; i < sort->box_count; i++) {
		if (count == 0 || strcmp(list[count - 1], list[i]) != 0)
			list[count++] = list[i];
	}
	*ret_list = list;
	*ret_count = count;
	return 0;
}

static int link_mail(const struct sort *sort, struct waiting *waiting)
{
	int ret = 0;
	while (ret == 0 && waiting->linked < waiting->box_count) {
		ret = maildir_link(&waiting->mail,
				   sort->boxes[waiting->box_at + waiting->linked].name,
				   waiting->mail.name);
		/* No other mail has its name: the mailbox was there twice. */
		if (ret == -EEXIST)
			ret = 0;
		waiting->linked += ret == 0;
	}
	return ret;
}

static void unlink_all(struct sort *sort)
{
	for (size_t i = 0; i < sort->mail_count; i++) {
		struct waiting *waiting = &sort->mails[i];
		while (waiting->linked > 0)
			maildir_unlink(&waiting->mail,
				       sort->boxes[waiting->box_at + --waiting->linked].name);
	}
}

static int publish(struct sort *sort, const char *const *boxes, size_t count)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = maildir_make_box(sort->root_fd, boxes[i]);
	for (size_t i = 0; ret == 0 && i < sort->mail_count; i++)
		ret = link_mail(sort, &sort->mails[i]);
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = maildir_sync_box(sort->root_fd, boxes[i]);
	if (ret != 0)
		unlink_all(sort);
	return ret;
}

static int commit(struct maillayer *layer)
{
	struct sort *sort = sort_of(layer);
	const char **boxes = NULL;
	size_t count = 0;
	if (sort->mail_count == 0)
		return 0;
	settle(sort);
	int ret = sort->status;
	if (ret == 0)
		ret = list_boxes(sort, &boxes, &count);
	if (ret == 0)
		ret = publish(sort, boxes, count);
	free(boxes);
	forget_all(sort);
	return ret;
}

/* ---- begin and end ---- */

static void end(struct maillayer *layer)
{
	struct sort *sort = sort_of(layer);
	forget_all(sort);
	if (sort->root_fd >= 0)
		(void)close(sort->root_fd);
	free(sort->mails);
	free(sort->boxes);
	free(sort);
}

int layer_sort_open(const char *directory, struct maillayer **ret_layer)
{
	static const struct maillayer_ops ops = {
		.name = "sort",
		.deliver = deliver,
		.sync = commit,
		.close = end,
	};
	struct mailid first;
	struct sort *sort = calloc(1, sizeof(*sort));
	if (sort == NULL)
		return -ENOMEM;
	sort->layer.ops = &ops;
	sort->root_fd = -1;
	int ret = gethostname(sort->hostname, sizeof(sort->hostname) - 1) == 0 ? 0 : -errno;
	if (ret == 0 && getentropy(&first, sizeof(first)) != 0)
		ret = -errno;
	if (ret == 0)
		ret = maildir_open_root(directory, &sort->root_fd);
	if (ret != 0) {
		end(&sort->layer);
		return ret;
	}
	sort->last_id[0] = bytes_get(first.bytes, 8);
	maildir_sweep(sort->root_fd);
	*ret_layer = &sort->layer;
	return 0;
}
