/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/worker/maildrop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/mail/base/store/remote.h"
#include "lib/format/array.h"

/* Entries that are asked for at a time. */
#define PAGE	  4096
#define LOOKS_MAX 10
/* What one deletion has room for (mailrecord.h), and more than any mailbox has. */
#define MESSAGES_MAX ((MAILRECORD_META_MAX - 1024) / sizeof(uint64_t))
/* Mails whose list an idle worker keeps: a mailbox of a million is not every user's. */
#define KEPT_MAX (16U * PAGE)

_Static_assert(MAILID_TEXT_SIZE <= POP3_UID_MAX + 1, "an id is a unique id");

void maildrop_init(const char *socket_path, struct maildrop *ret_maildrop)
{
	memset(ret_maildrop, 0, sizeof(*ret_maildrop));
	ret_maildrop->socket_path = socket_path;
	ret_maildrop->timeout_ms = REMOTE_TIMEOUT_MS;
	for (unsigned i = 0; i < MAILDROP_SEGMENTS; i++)
		ret_maildrop->segments[i].fd = -1;
}

static void forget_segments(struct maildrop *maildrop)
{
	for (unsigned i = 0; i < MAILDROP_SEGMENTS; i++) {
		if (maildrop->segments[i].fd >= 0)
			close(maildrop->segments[i].fd);
		maildrop->segments[i].fd = -1;
	}
}

/* Its lock goes with it. */
static void disconnect(struct maildrop *maildrop)
{
	maillayer_close(maildrop->layer);
	maildrop->layer = NULL;
	maildrop->is_locked = false;
	forget_segments(maildrop);
}

static void free_list(struct maildrop *maildrop)
{
	free(maildrop->messages);
	free(maildrop->mails);
	maildrop->messages = NULL;
	maildrop->mails = NULL;
	maildrop->room = 0;
}

void maildrop_deinit(struct maildrop *maildrop)
{
	disconnect(maildrop);
	free_list(maildrop);
}

static struct mailname name_of(const struct maildrop *maildrop)
{
	return (struct mailname){ (const uint8_t *)maildrop->mailbox, strlen(maildrop->mailbox) };
}

/* ---- the lock ---- */

static int try_lock(struct maildrop *maildrop)
{
	int ret = maildrop->layer == NULL
			  ? remote_store_open(maildrop->socket_path, maildrop->timeout_ms,
					      &maildrop->layer)
			  : 0;
	if (ret == 0)
		ret = maillayer_lock(maildrop->layer, name_of(maildrop));
	maildrop->is_locked = ret == 0;
	/* What the store has said is its word; all else is an end of the connection. */
	if (ret != 0 && ret != -EBUSY)
		disconnect(maildrop);
	return ret;
}

/* A connection that was kept may have ended with the store's process: then another is made. */
static int lock(struct maildrop *maildrop)
{
	const bool was_connected = maildrop->layer != NULL;
	const int ret = try_lock(maildrop);
	return ret != 0 && ret != -EBUSY && was_connected ? try_lock(maildrop) : ret;
}

/* ---- the list ---- */

static int make_room(struct maildrop *maildrop, size_t count)
{
	size_t room = maildrop->room; /* of both */
	return array_reserve(maildrop->messages, count, &room) &&
			       array_reserve(maildrop->mails, count, &maildrop->room)
		       ? 0
		       : -ENOMEM;
}

static void take_entry(struct maildrop *maildrop, size_t index, const struct mailentry *entry)
{
	struct pop3_message *message = &maildrop->messages[index];
	maildrop->mails[index] = entry->mail;
	message->octets = entry->octets;
	message->is_deleted = false;
	mailid_format(&entry->id, message->uid);
}

static int list(struct maildrop *maildrop, size_t messages_max)
{
	struct mailentry entries[PAGE];
	uint64_t from = 0;
	size_t count = 0;
	size_t got = PAGE;
	int ret = 0;
	while (ret == 0 && got > 0 && count < messages_max) {
		ret = maillayer_list(maildrop->layer, name_of(maildrop), from, PAGE, entries, &got);
		if (ret == 0)
			ret = make_room(maildrop, count + got);
		for (size_t i = 0; ret == 0 && i < got && count < messages_max; i++) {
			take_entry(maildrop, count++, &entries[i]);
			from = entries[i].mail + 1;
		}
	}
	pop3_maildrop_init(maildrop->messages, count, &maildrop->drop);
	return ret;
}

int maildrop_open(struct maildrop *maildrop, const char *mailbox, size_t messages_max)
{
	const int size = snprintf(maildrop->mailbox, sizeof(maildrop->mailbox), "%s", mailbox);
	pop3_maildrop_init(NULL, 0, &maildrop->drop);
	if (messages_max > MESSAGES_MAX)
		messages_max = MESSAGES_MAX;
	if (size <= 0 || (size_t)size >= sizeof(maildrop->mailbox))
		return MAILSTORE_EBOX;
	int ret = lock(maildrop);
	if (ret == 0)
		ret = list(maildrop, messages_max);
	if (ret != 0 && ret != -EBUSY)
		disconnect(maildrop);
	return ret;
}

/* ---- one mail ---- */

/* Mails of a client's next look are mostly in the same few segments. */
static int use_segment(struct maildrop *maildrop, uint64_t number, int *ret_fd)
{
	struct maildrop_segment *place = &maildrop->segments[number % MAILDROP_SEGMENTS];
	int fd = -1;
	if (place->fd >= 0 && place->number == number) {
		*ret_fd = place->fd;
		return 0;
	}
	const int ret = maillayer_open(maildrop->layer, number, &fd);
	if (ret != 0)
		return ret;
	if (place->fd >= 0)
		close(place->fd);
	*place = (struct maildrop_segment){ number, fd };
	*ret_fd = fd;
	return 0;
}

static void forget_segment(struct maildrop *maildrop, uint64_t number)
{
	struct maildrop_segment *place = &maildrop->segments[number % MAILDROP_SEGMENTS];
	close(place->fd);
	place->fd = -1;
}

static int read_head(int fd, const struct mailrow *row, struct mailrecord *ret_record)
{
	uint8_t head[MAILRECORD_HEAD_SIZE];
	const ssize_t size = pread(fd, head, sizeof(head), (off_t)row->place.at);
	if (size != (ssize_t)sizeof(head))
		return size < 0 ? -errno : MAILSTORE_EDAMAGED;
	const int ret = mailrecord_decode(head, ret_record);
	if (ret != 0)
		return ret;
	return ret_record->lsn == row->lsn && ret_record->wire_size == row->wire_size
		       ? 0
		       : MAILSTORE_EDAMAGED;
}

static int look(struct maildrop *maildrop, size_t index, struct mailrecord *ret_record,
		uint64_t *ret_at, int *ret_fd)
{
	struct mailrow row;
	int ret = maillayer_find_row(maildrop->layer, maildrop->mails[index], &row);
	/* A mail that no mailbox has any more waits for collection: it is gone, as the store says. */
	if (ret == MAILSTORE_EMAIL || (ret == 0 && row.live == 0))
		ret = DNSBLV6_ENOTFOUND;
	if (ret == 0)
		ret = use_segment(maildrop, row.place.segment, ret_fd);
	if (ret != 0)
		return ret;
	ret = read_head(*ret_fd, &row, ret_record);
	if (ret == 0)
		*ret_at = mailrow_span(&row).at;
	else
		forget_segment(maildrop, row.place.segment);
	return ret;
}

static bool is_to_look_again(int status)
{
	return status == -ENOENT || status == MAILSTORE_EDAMAGED;
}

/*
 * Collection may move a mail to another segment between the two questions. What came of another node is the
 * mail's record as it was then, which is not what the row says any more, nor damaged.
 */
int maildrop_find(struct maildrop *maildrop, size_t index, struct mailrecord *ret_record,
		  uint64_t *ret_at, int *ret_fd)
{
	int ret = maildrop->layer != NULL ? -ENOENT : -ENOTCONN;
	for (unsigned looks = 0; is_to_look_again(ret) && looks < LOOKS_MAX; looks++)
		ret = look(maildrop, index, ret_record, ret_at, ret_fd);
	return ret;
}

/* ---- the end ---- */

int maildrop_update(struct maildrop *maildrop)
{
	const struct pop3_maildrop *drop = &maildrop->drop;
	const size_t count = drop->message_count - drop->left_count;
	size_t next = 0;
	if (count == 0)
		return 0;
	if (maildrop->layer == NULL)
		return -ENOTCONN;
	uint64_t *mails = calloc(count, sizeof(*mails));
	if (mails == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < drop->message_count; i++) {
		if (drop->messages[i].is_deleted)
			mails[next++] = maildrop->mails[i];
	}
	const int ret = maillayer_erase(maildrop->layer, name_of(maildrop), mails, next, 0);
	free(mails);
	/* What became of it is not known: the lock has to stay until the store knows. */
	if (ret != 0)
		disconnect(maildrop);
	return ret;
}

void maildrop_close(struct maildrop *maildrop)
{
	if (maildrop->is_locked && maillayer_unlock(maildrop->layer) != 0)
		disconnect(maildrop);
	maildrop->is_locked = false;
	/* An idle worker is not to keep space of segments that the store has emptied. */
	forget_segments(maildrop);
	pop3_maildrop_init(NULL, 0, &maildrop->drop);
	if (maildrop->room > KEPT_MAX)
		free_list(maildrop);
}
