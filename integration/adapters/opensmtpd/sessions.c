/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/opensmtpd/sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sessions_init(struct sessions *ret_sessions, size_t count_max)
{
	memset(ret_sessions, 0, sizeof(*ret_sessions));
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
	struct session *session = sessions->oldest;
	while (session != NULL) {
		struct session *newer = session->newer;
		free_session(session);
		session = newer;
	}
	free(sessions->buckets);
	memset(sessions, 0, sizeof(*sessions));
}

/* OpenSMTPD counts in the high half; the low one is random. */
static struct session **bucket_of(const struct sessions *sessions, uint64_t id)
{
	return &sessions->buckets[(id ^ id >> 32) & (sessions->bucket_count - 1)].first;
}

struct session *sessions_find(const struct sessions *sessions, uint64_t id)
{
	struct session *session = *bucket_of(sessions, id);
	while (session != NULL && session->id != id)
		session = session->following;
	return session;
}

struct session *sessions_add(struct sessions *sessions, uint64_t id)
{
	struct session *session = calloc(1, sizeof(*session));
	if (session == NULL)
		return NULL;
	struct session **bucket = bucket_of(sessions, id);
	session->id = id;
	session->following = *bucket;
	*bucket = session;
	session->older = sessions->newest;
	if (sessions->newest != NULL)
		sessions->newest->newer = session;
	else
		sessions->oldest = session;
	sessions->newest = session;
	sessions->count++;
	return session;
}

void sessions_remove(struct sessions *sessions, struct session *session)
{
	struct session **at = bucket_of(sessions, session->id);
	while (*at != session)
		at = &(*at)->following;
	*at = session->following;
	if (session->older != NULL)
		session->older->newer = session->newer;
	else
		sessions->oldest = session->newer;
	if (session->newer != NULL)
		session->newer->older = session->older;
	else
		sessions->newest = session->older;
	sessions->count--;
	free_session(session);
}
