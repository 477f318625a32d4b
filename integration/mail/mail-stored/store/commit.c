/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/commit.h"

#include "integration/mail/mail-stored/store/counters.h"
#include "integration/mail/mail-stored/store/syncer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

TAILQ_HEAD(commit_waiters, commit_waiter);

struct commit {
	struct maillayer *layer;
	const struct commit_rules *rules;
	void *owner;
	uint64_t *counters;
	int syncer_fd;
	uv_poll_t poll;	  /* the syncer's replies */
	uv_check_t check; /* behind the events of a round */
	struct commit_waiters waiting;
	struct commit_waiters covered; /* by the sync that is under way */
	bool is_syncing;
	struct mailstore_sync sync;
	bool has_failed;
	unsigned open_handles;
	bool is_closed;
};

/* ---- ends of syncs ---- */

static void finish(struct commit *commit, struct commit_waiters *waiters, int status)
{
	struct commit_waiter *waiter;
	while ((waiter = TAILQ_FIRST(waiters)) != NULL) {
		TAILQ_REMOVE(waiters, waiter, link);
		commit->rules->done(commit->owner, waiter, status);
	}
}

/* All that waited, and what comes from here on, is not committed. */
static void fail(struct commit *commit, int status)
{
	if (commit->has_failed)
		return;
	commit->has_failed = true;
	finish(commit, &commit->covered, status);
	finish(commit, &commit->waiting, status);
	commit->rules->fail(commit->owner, status);
}

static void end_sync(struct commit *commit, int status)
{
	commit->is_syncing = false;
	int ret = maillayer_sync_end(commit->layer, &commit->sync, status);
	if (ret != 0)
		fail(commit, ret);
	else
		finish(commit, &commit->covered, 0);
}

/* ---- begins ---- */

static void sync_here(struct commit *commit)
{
	commit->counters[STORED_COMMITS]++;
	int ret = maillayer_sync(commit->layer);
	/* A log has stopped then; maildirs may take the next mail. */
	if (ret != 0 && commit->layer->ops->sync_begin != NULL)
		fail(commit, ret);
	else
		finish(commit, &commit->waiting, ret);
}

static void begin_sync(struct commit *commit)
{
	commit->counters[STORED_COMMITS]++;
	commit->is_syncing = true;
	TAILQ_CONCAT(&commit->covered, &commit->waiting, link);
	int ret = syncer_ask(commit->syncer_fd, commit->sync.fd);
	/* It has ended, and its reply would have said so in a moment: this once we wait ourselves. */
	if (ret != 0)
		end_sync(commit, fdatasync(commit->sync.fd) == 0 ? 0 : -errno);
}

static void step(struct commit *commit)
{
	if (commit->is_syncing || commit->has_failed || TAILQ_EMPTY(&commit->waiting))
		return;
	int ret = maillayer_sync_begin(commit->layer, &commit->sync);
	if (ret == 0)
		begin_sync(commit);
	else if (ret == -EOPNOTSUPP)
		sync_here(commit);
	else if (ret == DNSBLV6_ENOTFOUND) /* another one, of the index say, has covered them */
		finish(commit, &commit->waiting, 0);
	else
		fail(commit, ret);
}

static void on_check(uv_check_t *check)
{
	step(check->data);
}

static void on_reply(uv_poll_t *poll, int status, int events)
{
	struct commit *commit = poll->data;
	int result = 0;
	(void)events;
	int ret = status < 0 ? status : syncer_take(commit->syncer_fd, &result);
	if (ret == -EAGAIN)
		return;
	if (ret < 0) {
		uv_poll_stop(poll);
		/* Whether the disk has it is not known: it counts as if it had not. */
		if (commit->is_syncing)
			end_sync(commit, ret);
		fail(commit, ret);
		return;
	}
	if (commit->is_syncing)
		end_sync(commit, result);
}

void commit_add(struct commit *commit, struct commit_waiter *waiter)
{
	if (commit->has_failed) {
		commit->rules->done(commit->owner, waiter, MAILSTORE_EFAILED);
		return;
	}
	TAILQ_INSERT_TAIL(&commit->waiting, waiter, link);
}

void commit_finish(struct commit *commit)
{
	if (commit->has_failed)
		return;
	/* It covers what the syncer is at, too, whose word may still come. */
	int ret = maillayer_sync(commit->layer);
	if (ret != 0) {
		fail(commit, ret);
		return;
	}
	finish(commit, &commit->covered, 0);
	finish(commit, &commit->waiting, 0);
}

/* ---- begin and end ---- */

int commit_open(uv_loop_t *loop, struct maillayer *layer, int syncer_fd,
		const struct commit_rules *rules, void *owner, uint64_t *counters,
		struct commit **ret_commit)
{
	struct commit *commit = calloc(1, sizeof(*commit));
	if (commit == NULL)
		return -ENOMEM;
	commit->layer = layer;
	commit->rules = rules;
	commit->owner = owner;
	commit->counters = counters;
	commit->syncer_fd = syncer_fd;
	TAILQ_INIT(&commit->waiting);
	TAILQ_INIT(&commit->covered);
	commit->poll.data = commit->check.data = commit;
	*ret_commit = commit;
	int ret = uv_poll_init(loop, &commit->poll, syncer_fd);
	if (ret != 0)
		return ret;
	commit->open_handles++;
	ret = uv_check_init(loop, &commit->check);
	if (ret != 0)
		return ret;
	commit->open_handles++;
	ret = uv_poll_start(&commit->poll, UV_READABLE, on_reply);
	return ret == 0 ? uv_check_start(&commit->check, on_check) : ret;
}

void commit_close(struct commit *commit)
{
	if (commit == NULL || commit->is_closed)
		return;
	commit->is_closed = true;
	if (commit->open_handles > 0)
		uv_close((uv_handle_t *)&commit->poll, NULL);
	if (commit->open_handles > 1)
		uv_close((uv_handle_t *)&commit->check, NULL);
}

void commit_free(struct commit *commit)
{
	if (commit == NULL)
		return;
	if (commit->is_syncing)
		close(commit->sync.fd);
	close(commit->syncer_fd);
	free(commit);
}
