/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sink_store.c - mail into a mail store that mail-stored has open: once for all recipients.
 *
 * A worker has one connection, which it keeps from mail to mail. The mail goes to the daemon when it
 * is whole, and 250 is said when the daemon says that it is on disk: all recipients have it then, or
 * none. A daemon that is not there, or does not answer in time, is a 451 of that mail; what it was
 * given before it ended may have been committed, so that a mail may come twice and is never lost.
 *
 * Where mailboxes are on several nodes, some may have the mail and others not: delivered.h remembers
 * them, and when the client comes again the others alone get it.
 *
 * Before the text stands a Return-Path (RFC 5321 4.4), for this is the final delivery.
 */
#include "integration/mail/smtp-front/sinks/delivered.h"
#include "integration/mail/smtp-front/sinks/sink.h"

#include "integration/mail/base/store/storelink.h"
#include "integration/mail/base/store/storemail.h"
#include "lib/format/array.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STATUS_SIZE 4 /* of a mailbox, in the reply to DELIVER */
#define PIECE_SIZE  16384

struct store_sink {
	struct sink sink;
	struct storelink link;
	struct storemail mail;
	char sender[ENVELOPE_ADDRESS_MAX + 1];
	uint64_t size;		/* that the client has announced */
	struct mailname *names; /* their bytes are the sink's */
	size_t name_count;
	size_t name_room;
	uint64_t content_at;	     /* in the mail; behind it is what the client has sent */
	struct delivered_hash *hash; /* of that */
};

static struct store_sink *store_of(struct sink *sink)
{
	return (struct store_sink *)sink;
}

static int timeout_of(const struct sink *sink)
{
	return (int)sink->setup->timeout_ms;
}

/* ---- the daemon ---- */

/* It says nothing by itself: what is to be read is its end. */
static bool is_dead(const struct storelink *link)
{
	struct pollfd poller = { .fd = link->fd, .events = POLLIN };
	return poll(&poller, 1, 0) != 0;
}

static int use_link(struct store_sink *store)
{
	if (store->link.fd >= 0 && is_dead(&store->link))
		storelink_close(&store->link);
	if (store->link.fd >= 0)
		return 0;
	return storelink_open(store->sink.setup->to.text,
			      (int)store->sink.setup->connect_timeout_ms, &store->link);
}

/* For the log what the store has said, for the client what it is to do. */
static bool refuse(struct store_sink *store, struct sink_reply *reply, const char *step, int status)
{
	struct sink *sink = &store->sink;
	if (status == MAILSTORE_EQUOTA)
		return sink_say(reply, 452, "4.2.2 Mailbox full");
	if (status == MAILSTORE_EAWAY)
		return sink_say(reply, 451, "4.4.1 Mailbox cannot be reached now, try again later");
	if (status == -EFBIG)
		return sink_say(reply, 552, "5.3.4 Mail larger than the mail store takes");
	(void)sink_fail(sink, reply, step, status < 0 && status > -2000 ? -status : EIO);
	(void)snprintf(sink->trouble, sizeof(sink->trouble), "%s: %s", step,
		       mailstore_strerror(status));
	return false;
}

/* A connection on which anything went wrong is not used again. */
static int ask(struct store_sink *store, struct storewire_request *request,
	       const struct storelink_memory *memory, struct storewire_reply *ret_reply)
{
	const int ret = storelink_call(&store->link, request, memory, timeout_of(&store->sink),
				       ret_reply, NULL);
	if (ret != 0)
		storelink_close(&store->link);
	return ret == 0 ? ret_reply->status : ret;
}

/* ---- a mail ---- */

/* All but the first so many. */
static void forget_names(struct store_sink *store, size_t kept)
{
	while (store->name_count > kept)
		free((void *)(uintptr_t)store->names[--store->name_count].bytes);
}

static void store_abort(struct sink *sink)
{
	struct store_sink *store = store_of(sink);

	storemail_abort(&store->mail);
	forget_names(store, 0);
}

static bool store_mail(struct sink *sink, const struct envelope *envelope, struct sink_reply *reply)
{
	struct store_sink *store = store_of(sink);

	store_abort(sink);
	(void)snprintf(store->sender, sizeof(store->sender), "%s", envelope->sender);
	store->size = envelope->size_bytes;
	const int ret = use_link(store);
	return ret == 0 ? sink_say(reply, 250, "2.1.0 Ok") : refuse(store, reply, "connect", ret);
}

static int add_name(struct store_sink *store, const char *mailbox)
{
	if (!array_reserve(store->names, store->name_count + 1, &store->name_room))
		return -ENOMEM;
	char *copy = strdup(mailbox);
	if (copy == NULL)
		return -ENOMEM;
	store->names[store->name_count++] =
		(struct mailname){ (const uint8_t *)copy, strlen(copy) };
	return 0;
}

/* 0, MAILSTORE_EQUOTA of a mailbox that is full, or another status. */
static int take_mailbox(struct store_sink *store, const char *mailbox)
{
	struct storewire_request request = {
		.type = STOREWIRE_CHECK,
		.size = store->size,
		.mailbox = { (const uint8_t *)mailbox, strlen(mailbox) },
	};
	struct storewire_reply answer;

	int ret = use_link(store);
	if (ret == 0 && store->link.has_quotas)
		ret = ask(store, &request, NULL, &answer);
	return ret == 0 ? add_name(store, mailbox) : ret;
}

/*
 * Each of them has room, or none gets the mail: a client that is told to come again would bring it
 * once more to those that have it. The store has a mail once in a mailbox that is named twice.
 */
static bool store_recipient(struct sink *sink, const struct recipient *recipient,
			    const struct users_mailboxes *mailboxes, struct sink_reply *reply)
{
	struct store_sink *store = store_of(sink);
	const size_t before = store->name_count;
	int ret = 0;

	(void)recipient;
	if (before + mailboxes->count > MAIL_RECIPIENTS_MAX)
		return sink_say(reply, 452, "4.5.3 Too many recipients");
	for (size_t i = 0; i < mailboxes->count; i++) {
		const char *name = mailboxes->names[i];
		if (!mailname_is_valid((struct mailname){ (const uint8_t *)name, strlen(name) }))
			return sink_say(reply, 550, "5.1.3 Address is too long for a mailbox here");
	}
	for (size_t i = 0; ret == 0 && i < mailboxes->count; i++)
		ret = take_mailbox(store, mailboxes->names[i]);
	if (ret == 0)
		return sink_say(reply, 250, "2.1.5 Ok");
	forget_names(store, before);
	return refuse(store, reply, "recipient", ret);
}

static bool store_append(struct sink *sink, const uint8_t *bytes, size_t size,
			 struct sink_reply *reply)
{
	struct store_sink *store = store_of(sink);
	const int ret = storemail_append(&store->mail, bytes, size);

	if (ret == 0)
		return true;
	store_abort(sink);
	return refuse(store, reply, "memory", ret);
}

static bool store_begin(struct sink *sink, struct sink_reply *reply)
{
	struct store_sink *store = store_of(sink);
	const struct mailname sender = { (const uint8_t *)store->sender, strlen(store->sender) };
	char header[ENVELOPE_ADDRESS_MAX + 32];
	const int size = snprintf(header, sizeof(header), "Return-Path: <%s>\r\n", store->sender);

	const int ret = storemail_begin(&store->mail, sender, store->names, store->name_count);
	if (ret != 0) {
		store_abort(sink);
		return refuse(store, reply, "memory", ret);
	}
	return store_append(sink, (const uint8_t *)header, (size_t)size, reply);
}

static void store_mark(struct sink *sink)
{
	struct store_sink *store = store_of(sink);
	store->content_at = store->mail.total_size;
}

/* ---- mailboxes that have it already ---- */

static uint64_t key_of(const struct store_sink *store, size_t i)
{
	return delivered_recipient(&store->sink.session->facts.client_ip, store->sender,
				   (const char *)store->names[i].bytes);
}

static int hash_content(struct store_sink *store, uint8_t *ret_mail)
{
	uint8_t piece[PIECE_SIZE];
	int ret = 0;
	delivered_hash_begin(store->hash);
	for (uint64_t at = store->content_at; ret == 0 && at < store->mail.total_size;) {
		const uint64_t left = store->mail.total_size - at;
		const size_t size = left < sizeof(piece) ? (size_t)left : sizeof(piece);
		ret = storemail_read(&store->mail, at, piece, size);
		delivered_hash_add(store->hash, piece, size);
		at += size;
	}
	delivered_hash_end(store->hash, ret_mail);
	return ret;
}

/* The same mail for the mailboxes that are named now. */
static int write_again(struct store_sink *store, struct storewire_request *ret_request,
		       struct storelink_memory *ret_memory)
{
	const struct mailname sender = { (const uint8_t *)store->sender, strlen(store->sender) };
	struct storemail again;
	uint8_t piece[PIECE_SIZE];
	int ret = storemail_init(&again);
	if (ret != 0)
		return ret;
	ret = storemail_begin(&again, sender, store->names, store->name_count);
	store->content_at += again.text_at - store->mail.text_at;
	for (uint64_t at = store->mail.text_at; ret == 0 && at < store->mail.total_size;) {
		const uint64_t left = store->mail.total_size - at;
		const size_t size = left < sizeof(piece) ? (size_t)left : sizeof(piece);
		ret = storemail_read(&store->mail, at, piece, size);
		if (ret == 0)
			ret = storemail_append(&again, piece, size);
		at += size;
	}
	storemail_deinit(&store->mail);
	store->mail = again;
	return ret == 0 ? storemail_finish(&store->mail, ret_request, ret_memory) : ret;
}

/* Names those alone that lack it. */
static int leave_out(struct store_sink *store, struct storewire_request *request,
		     struct storelink_memory *memory)
{
	const struct delivered *delivered = store->sink.delivered;
	const int64_t now_s = (int64_t)time(NULL);
	uint8_t mail[DELIVERED_MAIL_SIZE];
	bool may_have = false;
	size_t kept = 0;
	for (size_t i = 0; delivered != NULL && !may_have && i < store->name_count; i++)
		may_have = delivered_may_have(delivered, key_of(store, i), now_s);
	int ret = may_have ? hash_content(store, mail) : 0;
	if (!may_have || ret != 0)
		return ret;
	for (size_t i = 0; i < store->name_count; i++) {
		const struct mailname name = store->names[i];
		if (delivered_has(delivered, key_of(store, i), mail, now_s))
			free((void *)(uintptr_t)name.bytes);
		else
			store->names[kept++] = name;
	}
	const bool is_other = kept > 0 && kept < store->name_count;
	store->name_count = kept;
	return is_other ? write_again(store, request, memory) : 0;
}

/* Behind a failure: the reply has a status for each mailbox when some have the mail. */
static void remember(struct store_sink *store, const struct storewire_reply *answer)
{
	const int64_t now_s = (int64_t)time(NULL);
	uint8_t mail[DELIVERED_MAIL_SIZE];
	if (store->sink.delivered == NULL || answer->rows == NULL ||
	    answer->rows_size != STATUS_SIZE * store->name_count || hash_content(store, mail) != 0)
		return;
	for (size_t i = 0; i < store->name_count; i++)
		if (bytes_get(answer->rows + STATUS_SIZE * i, STATUS_SIZE) == 0)
			delivered_add(store->sink.delivered, key_of(store, i), mail, now_s);
	(void)delivered_sync(store->sink.delivered);
}

static int deliver(struct store_sink *store, struct storewire_reply *ret_answer)
{
	struct storewire_request request;
	struct storelink_memory memory;
	int ret = storemail_finish(&store->mail, &request, &memory);
	if (ret == 0)
		ret = leave_out(store, &request, &memory);
	if (ret != 0 || store->name_count == 0)
		return ret;
	ret = use_link(store);
	if (ret == 0)
		ret = ask(store, &request, &memory, ret_answer);
	/* The connection is kept when that is the store's word. */
	if (ret != 0 && store->link.fd >= 0)
		remember(store, ret_answer);
	return ret;
}

static bool store_commit(struct sink *sink, struct sink_reply *reply)
{
	struct store_sink *store = store_of(sink);
	struct storewire_reply answer = { 0 };
	char id[MAILID_TEXT_SIZE];
	char text[64];

	const int ret = deliver(store, &answer);
	const bool is_wanted = store->name_count > 0;
	store_abort(sink);
	if (ret != 0)
		return refuse(store, reply, "deliver", ret);
	if (!is_wanted)
		return sink_say(reply, 250, "2.0.0 Ok: all recipients have it already");
	mailid_format(&answer.id, id);
	(void)snprintf(text, sizeof(text), "2.0.0 Ok: stored as %s", id);
	return sink_say(reply, 250, text);
}

/* ---- begin and end ---- */

static void store_close(struct sink *sink)
{
	struct store_sink *store = store_of(sink);

	store_abort(sink);
	storelink_close(&store->link);
	storemail_deinit(&store->mail);
	delivered_hash_free(store->hash);
	free(store->names);
	free(store);
}

int sink_store_open(struct sink **ret_sink)
{
	static const struct sink_ops ops = {
		.mail = store_mail,
		.recipient = store_recipient,
		.begin = store_begin,
		.mark = store_mark,
		.append = store_append,
		.commit = store_commit,
		.abort = store_abort,
		.leave = store_abort,
		.close = store_close,
	};
	struct store_sink *store = calloc(1, sizeof(*store));
	if (store == NULL)
		return -ENOMEM;
	store->sink.ops = &ops;
	store->link.fd = -1;
	int ret = storemail_init(&store->mail);
	store->hash = delivered_hash_new();
	if (ret == 0 && store->hash == NULL)
		ret = -ENOMEM;
	if (ret != 0) {
		store_close(&store->sink);
		return ret;
	}
	*ret_sink = &store->sink;
	return 0;
}
