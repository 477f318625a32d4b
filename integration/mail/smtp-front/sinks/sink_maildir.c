/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sink_maildir.c - mail into maildirs: one for all, or one for each recipient.
 *
 * maildir.h says how a mail gets there: all names, or none and a 4xx. A maildir that is not there yet
 * is made when there is a mail for it, not for a RCPT, and each new worker sweeps what others were
 * killed over.
 *
 * Lines end in LF there, as every reader of maildirs expects; before the header stands a
 * Return-Path (RFC 5321 4.4), for this is the final delivery.
 */
#include "integration/mail/smtp-front/sinks/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/format/array.h"
#include "lib/maildir/maildir.h"

#define BLOCK_SIZE 16384

struct maildir_sink {
	struct sink sink;
	int root_fd;
	char **boxes; /* of the mail, names below root_fd */
	size_t box_count;
	size_t box_room;
	struct maildir mail;
	bool has_swept;
	char sender[ENVELOPE_ADDRESS_MAX + 1];
	size_t block_size;
	uint8_t block[BLOCK_SIZE];
};

static struct maildir_sink *maildir_of(struct sink *sink)
{
	return (struct maildir_sink *)sink;
}

/* All but the first so many. */
static void forget_boxes(struct maildir_sink *maildir, size_t kept)
{
	while (maildir->box_count > kept)
		free(maildir->boxes[--maildir->box_count]);
}

static void enter(struct sink *sink)
{
	struct maildir_sink *maildir = maildir_of(sink);

	if (!maildir->has_swept)
		maildir_sweep(maildir->root_fd);
	maildir->has_swept = true;
}

static void forget(struct sink *sink)
{
	struct maildir_sink *maildir = maildir_of(sink);

	maildir_abort(&maildir->mail);
	forget_boxes(maildir, 0);
}

static bool take_sender(struct sink *sink, const struct envelope *envelope,
			struct sink_reply *reply)
{
	struct maildir_sink *maildir = maildir_of(sink);

	forget(sink);
	(void)snprintf(maildir->sender, sizeof(maildir->sender), "%s", envelope->sender);
	return sink_say(reply, 250, "2.1.0 Ok");
}

static int remember_box(struct maildir_sink *maildir, const char *box)
{
	for (size_t i = 0; i < maildir->box_count; i++) {
		if (strcmp(maildir->boxes[i], box) == 0)
			return 0; /* the same recipient twice gets one */
	}
	if (!array_reserve(maildir->boxes, maildir->box_count + 1, &maildir->box_room))
		return -ENOMEM;
	char *copy = strdup(box);
	if (copy == NULL)
		return -ENOMEM;
	maildir->boxes[maildir->box_count++] = copy;
	return 0;
}

/* 0, -EINVAL for a name that no maildir can have, or -ENOMEM. */
static int take_mailbox(struct sink *sink, const char *mailbox)
{
	char box[MAILDIR_BOX_SIZE] = MAILDIR_ROOT;

	if (sink->setup->maildir == SETUP_MAILDIR_RECIPIENT &&
	    !maildir_box_of((const uint8_t *)mailbox, strlen(mailbox), box))
		return -EINVAL;
	return remember_box(maildir_of(sink), box);
}

static bool take_recipient(struct sink *sink, const struct recipient *recipient,
			   const struct users_mailboxes *mailboxes, struct sink_reply *reply)
{
	struct maildir_sink *maildir = maildir_of(sink);
	const size_t before = maildir->box_count;
	int ret = 0;

	(void)recipient;
	for (size_t i = 0; ret == 0 && i < mailboxes->count; i++)
		ret = take_mailbox(sink, mailboxes->names[i]);
	if (ret == 0)
		return sink_say(reply, 250, "2.1.5 Ok");
	forget_boxes(maildir, before);
	if (ret == -EINVAL)
		return sink_say(reply, 550, "5.1.3 Address is too long for a mailbox here");
	return sink_fail(sink, reply, "mailbox", -ret);
}

static int write_block(struct maildir_sink *maildir)
{
	const int ret = maildir_write(&maildir->mail, maildir->block, maildir->block_size);
	maildir->block_size = 0;
	return ret;
}

/* CRLF becomes LF: there is no CR but those. 0 or -errno. */
static int put(struct maildir_sink *maildir, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\r')
			continue;
		maildir->block[maildir->block_size++] = bytes[i];
		if (maildir->block_size < BLOCK_SIZE)
			continue;
		const int ret = write_block(maildir);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* The mail is gone, and the client hears why. */
static bool give_up(struct sink *sink, struct sink_reply *reply, const char *step, int error)
{
	forget(sink);
	return sink_fail(sink, reply, step, error);
}

static bool begin(struct sink *sink, struct sink_reply *reply)
{
	struct maildir_sink *maildir = maildir_of(sink);
	char header[ENVELOPE_ADDRESS_MAX + 32];
	char name[MAILDIR_NAME_SIZE];

	if (maildir->box_count == 0)
		return sink_fail(sink, reply, "no recipient", EINVAL);
	maildir_make_name(sink->hostname, name);
	maildir->block_size = 0;
	int ret = maildir_begin(maildir->root_fd, name, &maildir->mail);
	if (ret < 0)
		return give_up(sink, reply, "file in tmp", -ret);
	const int size = snprintf(header, sizeof(header), "Return-Path: <%s>\n", maildir->sender);
	ret = put(maildir, (const uint8_t *)header, (size_t)size);
	return ret == 0 || give_up(sink, reply, "write", -ret);
}

static bool append(struct sink *sink, const uint8_t *bytes, size_t size, struct sink_reply *reply)
{
	const int ret = put(maildir_of(sink), bytes, size);
	return ret == 0 || give_up(sink, reply, "write", -ret);
}

/* 0 or -errno. */
static int make_boxes(const struct maildir_sink *maildir)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < maildir->box_count; i++)
		ret = maildir_make_box(maildir->root_fd, maildir->boxes[i]);
	return ret;
}

static bool commit(struct sink *sink, struct sink_reply *reply)
{
	struct maildir_sink *maildir = maildir_of(sink);

	int ret = write_block(maildir);
	if (ret == 0)
		ret = maildir_settle(&maildir->mail);
	if (ret < 0)
		return give_up(sink, reply, "write", -ret);
	ret = make_boxes(maildir);
	if (ret < 0)
		return give_up(sink, reply, "mailbox", -ret);
	ret = maildir_publish(&maildir->mail, (const char *const *)maildir->boxes,
			      maildir->box_count);
	if (ret < 0)
		return give_up(sink, reply, "link to new", -ret);
	forget(sink); /* only the name in tmp/ */
	return sink_say(reply, 250, "2.0.0 Ok: delivered");
}

static void end(struct sink *sink)
{
	struct maildir_sink *maildir = maildir_of(sink);

	forget(sink);
	if (maildir->root_fd >= 0)
		(void)close(maildir->root_fd);
	free(maildir->boxes);
	free(maildir);
}

int sink_maildir_open(const struct setup_sink *setup, struct sink **ret_sink)
{
	static const struct sink_ops ops = {
		.enter = enter,
		.mail = take_sender,
		.recipient = take_recipient,
		.begin = begin,
		.append = append,
		.commit = commit,
		.abort = forget,
		.leave = forget,
		.close = end,
	};
	struct maildir_sink *maildir = calloc(1, sizeof(*maildir));
	if (maildir == NULL)
		return -ENOMEM;
	maildir->sink.ops = &ops;
	maildir->root_fd = open(setup->to.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (maildir->root_fd < 0) {
		const int ret = -errno;
		end(&maildir->sink);
		return ret;
	}
	*ret_sink = &maildir->sink;
	return 0;
}
