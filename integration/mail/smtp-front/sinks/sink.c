/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/sinks/sink.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sink_open(const struct setup_sink *setup, const char *hostname, struct sink **ret_sink)
{
	struct sink *sink = NULL;
	int ret = -EINVAL;

	switch (setup->kind) {
	case SETUP_SINK_SMTP:
	case SETUP_SINK_LMTP:
		ret = sink_smtp_open(setup, &sink);
		break;
	case SETUP_SINK_MAILDIR:
		ret = sink_maildir_open(setup, &sink);
		break;
	case SETUP_SINK_STORE:
#ifdef SMTP_FRONT_STORE
		ret = sink_store_open(&sink);
#else
		ret = -EOPNOTSUPP; /* setup.c has refused it */
#endif
		break;
	case SETUP_SINK_NULL:
		ret = sink_null_open(&sink);
		break;
	case SETUP_SINK_POSTFIX:
		ret = sink_postfix_open(&sink);
		break;
	}
	if (ret < 0)
		return ret;
	sink->setup = setup;
	sink->hostname = hostname;
	*ret_sink = sink;
	return 0;
}

void sink_close(struct sink *sink)
{
	if (sink != NULL && sink->ops->close != NULL)
		sink->ops->close(sink);
	else
		free(sink);
}

void sink_share(struct sink *sink, struct hopstate *hop, struct delivered *delivered)
{
	sink->hop = hop;
	sink->delivered = delivered;
}

void sink_probe(struct sink *sink)
{
	if (sink->ops->probe != NULL)
		sink->ops->probe(sink);
}

unsigned sink_lacks(const struct sink *sink)
{
	return hopstate_lacks(sink->hop);
}

void sink_enter(struct sink *sink, const struct sink_session *session)
{
	sink->session = session;
	if (sink->ops->enter != NULL)
		sink->ops->enter(sink);
}

void sink_leave(struct sink *sink)
{
	if (sink->ops->leave != NULL)
		sink->ops->leave(sink);
	sink->session = NULL;
}

bool sink_mail(struct sink *sink, const struct envelope *envelope, struct sink_reply *ret_reply)
{
	assert(sink->session != NULL);
	return sink->ops->mail(sink, envelope, ret_reply);
}

bool sink_recipient(struct sink *sink, const struct recipient *recipient,
		    const struct users_mailboxes *mailboxes, struct sink_reply *ret_reply)
{
	return sink->ops->recipient(sink, recipient, mailboxes, ret_reply);
}

bool sink_begin(struct sink *sink, struct sink_reply *ret_reply)
{
	return sink->ops->begin == NULL || sink->ops->begin(sink, ret_reply);
}

void sink_mark(struct sink *sink)
{
	if (sink->ops->mark != NULL)
		sink->ops->mark(sink);
}

bool sink_append(struct sink *sink, const uint8_t *bytes, size_t size, struct sink_reply *ret_reply)
{
	return size == 0 || sink->ops->append == NULL ||
	       sink->ops->append(sink, bytes, size, ret_reply);
}

bool sink_commit(struct sink *sink, struct sink_reply *ret_reply)
{
	return sink->ops->commit(sink, ret_reply);
}

void sink_abort(struct sink *sink)
{
	if (sink->ops->abort != NULL)
		sink->ops->abort(sink);
}

bool sink_pass(struct sink *sink, int fd, struct sink_reply *ret_reply)
{
	if (sink->ops->pass == NULL) {
		(void)snprintf(sink->trouble, sizeof(sink->trouble), "%s",
			       "a session that said nothing, for a sink that takes none");
		return sink_say(ret_reply, 421, "4.3.0 Service not available");
	}
	return sink->ops->pass(sink, fd, ret_reply);
}

bool sink_trouble(struct sink *sink, char *ret_text)
{
	memcpy(ret_text, sink->trouble, sizeof(sink->trouble));
	sink->trouble[0] = '\0';
	return ret_text[0] != '\0';
}

const char *sink_remark(struct sink *sink)
{
	const char *remark = sink->remark;
	sink->remark = NULL;
	return remark;
}

enum sink_news sink_news(struct sink *sink, uint64_t *ret_down_ms)
{
	const enum sink_news news = sink->news;
	*ret_down_ms = sink->down_ms;
	sink->news = SINK_NEWS_NONE;
	return news;
}

bool sink_say(struct sink_reply *ret_reply, int code, const char *text)
{
	ret_reply->code = code;
	(void)snprintf(ret_reply->text, sizeof(ret_reply->text), "%s", text);
	return code >= 200 && code < 300;
}

bool sink_fail(struct sink *sink, struct sink_reply *ret_reply, const char *step, int error)
{
	(void)snprintf(sink->trouble, sizeof(sink->trouble), "%s: %s", step, strerror(error));
	if (error == ENOSPC || error == EDQUOT || error == EFBIG)
		return sink_say(ret_reply, 452, "4.3.1 Insufficient system storage");
	return sink_say(ret_reply, 451, "4.3.0 Mail system is out of order; try again later");
}
