/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sink_null.c - the sink of measurements: takes every mail and keeps none.
 */
#include "integration/mail/smtp-front/sinks/sink.h"

#include <errno.h>
#include <stdlib.h>

static bool null_mail(struct sink *sink, const struct envelope *envelope, struct sink_reply *reply)
{
	(void)sink;
	(void)envelope;
	return sink_say(reply, 250, "2.1.0 Ok");
}

static bool null_recipient(struct sink *sink, const struct recipient *recipient,
			   const struct users_mailboxes *mailboxes, struct sink_reply *reply)
{
	(void)sink;
	(void)recipient;
	(void)mailboxes;
	return sink_say(reply, 250, "2.1.5 Ok");
}

static bool null_commit(struct sink *sink, struct sink_reply *reply)
{
	(void)sink;
	return sink_say(reply, 250, "2.0.0 Ok: thrown away");
}

int sink_null_open(struct sink **ret_sink)
{
	static const struct sink_ops ops = {
		.mail = null_mail,
		.recipient = null_recipient,
		.commit = null_commit,
	};
	struct sink *sink = calloc(1, sizeof(*sink));
	if (sink == NULL)
		return -ENOMEM;
	sink->ops = &ops;
	*ret_sink = sink;
	return 0;
}
