/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/opensmtpd/sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sessions_init(struct sessions *ret_sessions, size_t count_max)
{
	memset(ret_sessions, 0, sizeof(*ret_sessions));
	TAILQ_INIT(&ret_sessions->all);
	ret_sessions->count_max = count_max;
	ret_sessions->bucket_count = 1;
	while (ret_sessions->bucket_count < count_max)
		ret_sessions->bucket_count *= 2;
	ret_sessions->buckets =
		calloc(ret_sessions->bucket_count, sizeof(ret_sessions->buckets[0]));
	return ret_sessions->buckets != NULL ? 0 : -ENOMEM;
}

static void free_session(struct session *session)
{
	free(session->judgement);
	free(session);
}

void sessions_deinit(struct sessions *sessions)
{
	struct session *next;
	for (struct session *at = TAILQ_FIRST(&sessions->all); at != NULL; at = next) {
		next = TAILQ_NEXT(at, of_all);
		free_session(at);
	}
	free(sessions->buckets);
	memset(sessions, 0, sizeof(*sessions));
}

/* OpenSMTPD counts in the high half; the low one is random. */
static struct sessions_bucket *bucket_of(const struct sessions *sessions, uint64_t id)
{
	return &sessions->buckets[(id ^ id >> 32) & (sessions->bucket_count - 1)];
}

struct session *sessions_find(const struct sessions *sessions, uint64_t id)
{
	struct session *session = LIST_FIRST(bucket_of(sessions, id));
	while (session != NULL && session->id != id)
		session = LIST_NEXT(session, of_bucket);
	return session;
}

struct session *sessions_add(struct sessions *sessions, uint64_t id)
{
	struct session *session = calloc(1, sizeof(*session));
	if (session == NULL)
		return NULL;
	session->id = id;
	LIST_INSERT_HEAD(bucket_of(sessions, id), session, of_bucket);
	TAILQ_INSERT_TAIL(&sessions->all, session, of_all);
	sessions->count++;
	return session;
}

void sessions_remove(struct sessions *sessions, struct session *session)
{
	LIST_REMOVE(session, of_bucket);
	TAILQ_REMOVE(&sessions->all, session, of_all);
	sessions->count--;
	free_session(session);
}
