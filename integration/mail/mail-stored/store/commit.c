/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/commit.h"

#include "integration/mail/mail-stored/store/counters.h"
#include "integration/mail/mail-stored/store/errand.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

TAILQ_HEAD(commit_waiters, commit_waiter);

enum sync_state { SYNC_IDLE, SYNC_ASKED, SYNC_DONE /* and has not failed */ };

/* A process of syncer.h, and what it is asked. */
struct commit_sync {
	struct commit *commit;
	int syncer_fd;
	uv_poll_t poll; /* its replies */
	enum sync_state state;
	struct mailstore_sync sync;
	struct commit_waiters covered;
};

struct commit {
	struct maillayer *layer;
	const struct commit_rules *rules;
	void *owner;
	uint64_t *counters;
	struct commit_sync syncs[COMMIT_SYNCS];
	/* Those that are not idle: count of them from first on, in the order of their beginning. */
	unsigned first;
	unsigned count;
	uint64_t began_ms; /* the last of them */
	uv_loop_t *loop;
	uv_check_t check; /* behind the events of a round */
	uv_timer_t timer; /* when the last one is long */
	struct commit_waiters waiting;
	bool has_failed;
	unsigned open_polls;
	bool is_closed;
};

static struct commit_sync *sync_at(struct commit *commit, unsigned place)
{
	return &commit->syncs[(commit->first + place) % COMMIT_SYNCS];
}

/* ---- ends of syncs ---- */

static void finish(struct commit *commit, struct commit_waiters *waiters, int status)
{
	struct commit_waiter *waiter;
	while ((waiter = TAILQ_FIRST(waiters)) != NULL) {
		TAILQ_REMOVE(waiters, waiter, link);
		commit->rules->done(commit->owner, waiter, status);
	}
}

/*
 * What another sync has covered stays: the index was written, or a segment was full. No more than that is
 * known of it, as the sync that failed may have failed before that one.
 */
static void refuse(struct commit *commit, struct commit_waiters *waiters, int status)
{
	struct commit_waiter *waiter;
	while ((waiter = TAILQ_FIRST(waiters)) != NULL) {
		bool stays = maillayer_has_synced(commit->layer, waiter->end);
		TAILQ_REMOVE(waiters, waiter, link);
		commit->rules->done(commit->owner, waiter, stays ? MAILSTORE_EUNSURE : status);
	}
}

/* All that waited, and what comes from here on, is not committed. */
static void fail(struct commit *commit, int status, int reason)
{
	if (commit->has_failed)
		return;
	commit->has_failed = true;
	for (unsigned i = 0; i < commit->count; i++)
		refuse(commit, &sync_at(commit, i)->covered, status);
	refuse(commit, &commit->waiting, status);
	commit->rules->fail(commit->owner, reason);
}

/*
 * In the order in which they began: a later one that was faster waits, since what is before its
 * mails in the log may not be there yet, and recovery ends a log at the first gap.
 */
static void end_syncs(struct commit *commit)
{
	while (commit->count > 0 && !commit->has_failed) {
		struct commit_sync *one = sync_at(commit, 0);
		if (one->state != SYNC_DONE)
			return;
		one->state = SYNC_IDLE;
		int ret = maillayer_sync_end(commit->layer, &one->sync, 0);
		if (ret != 0) {
			fail(commit, ret, ret);
			return;
		}
		commit->first = (commit->first + 1) % COMMIT_SYNCS;
		commit->count--;
		finish(commit, &one->covered, 0);
	}
}

/*
 * One that failed does not wait for those before it: another sync meanwhile could succeed without what this one
 * has lost, as an error is told once. The log cuts off all that waited.
 */
static void end_sync(struct commit_sync *one, int status)
{
	if (one->commit->has_failed)
		return;
	if (status != 0) {
		one->state = SYNC_IDLE;
		int ret = maillayer_sync_end(one->commit->layer, &one->sync, status);
		fail(one->commit, ret, ret);
		return;
	}
	one->state = SYNC_DONE;
	end_syncs(one->commit);
}

/* ---- begins ---- */

static void sync_here(struct commit *commit)
{
	commit->counters[STORED_COMMITS]++;
	int ret = maillayer_sync(commit->layer);
	/* A log has stopped then; maildirs may take the next mail. */
	if (ret != 0 && commit->layer->ops->sync_begin != NULL)
		fail(commit, ret, ret);
	else
		finish(commit, &commit->waiting, ret);
}

static void begin_sync(struct commit *commit, const struct mailstore_sync *sync)
{
	struct commit_sync *one = sync_at(commit, commit->count);
	commit->counters[STORED_COMMITS]++;
	commit->count++;
	commit->began_ms = uv_now(commit->loop);
	one->sync = *sync;
	one->state = SYNC_ASKED;
	TAILQ_CONCAT(&one->covered, &commit->waiting, link);
	int ret = errand_ask(one->syncer_fd, sync->fd);
	/* It has ended, and its reply would have said so in a moment: this once we wait ourselves. */
	if (ret != 0)
		end_sync(one, fdatasync(sync->fd) == 0 ? 0 : -errno);
}

/* Another one beside those that are under way is for a disk that takes its time. */
static bool may_begin(struct commit *commit)
{
	if (commit->has_failed || TAILQ_EMPTY(&commit->waiting) || commit->count == COMMIT_SYNCS)
		return false;
	return commit->count == 0 || uv_now(commit->loop) >= commit->began_ms + COMMIT_LONG_MS;
}

/*
 * What waits, and was covered while no sync was under way, is committed. Of a segment that was full the next
 * sync would take it along, and refuse it when that fails.
 */
static void finish_synced(struct commit *commit)
{
	struct commit_waiter *waiter;
	while (commit->count == 0 && (waiter = TAILQ_FIRST(&commit->waiting)) != NULL &&
	       maillayer_has_synced(commit->layer, waiter->end)) {
		TAILQ_REMOVE(&commit->waiting, waiter, link);
		commit->rules->done(commit->owner, waiter, 0);
	}
}

static void step(struct commit *commit)
{
	struct mailstore_sync sync;
	finish_synced(commit);
	if (!may_begin(commit))
		return;
	int ret = maillayer_sync_begin(commit->layer, &sync);
	if (ret == 0)
		begin_sync(commit, &sync);
	else if (ret == -EOPNOTSUPP)
		sync_here(commit);
	else if (ret == DNSBLV6_ENOTFOUND) /* another one, of the index say, has covered them */
		finish(commit, &commit->waiting, 0);
	else
		fail(commit, ret, ret);
}

static void on_timer(uv_timer_t *timer)
{
	step(timer->data);
}

/* The timer is for clients that all wait: nothing else would wake the loop. */
static void on_check(uv_check_t *check)
{
	struct commit *commit = check->data;
	step(commit);
	bool has_more = !TAILQ_EMPTY(&commit->waiting) && commit->count > 0 &&
			commit->count < COMMIT_SYNCS && !commit->has_failed;
	if (has_more && !uv_is_active((uv_handle_t *)&commit->timer))
		uv_timer_start(&commit->timer, on_timer, COMMIT_LONG_MS, 0);
}

/*
 * With its process an error may have gone, so that no other sync can say what the disk has of what is
 * under way: it is refused, and cut off. Another store process begins, which finds what stayed.
 */
static void lose(struct commit_sync *one)
{
	struct commit *commit = one->commit;
	struct commit_sync *oldest = sync_at(commit, 0);
	uv_poll_stop(&one->poll);
	if (commit->has_failed)
		return;
	int ret = -ECONNRESET;
	if (commit->count > 0) {
		oldest->state = SYNC_IDLE;
		ret = maillayer_sync_end(commit->layer, &oldest->sync, -ECONNRESET);
	} else if (!TAILQ_EMPTY(&commit->waiting)) {
		sync_here(commit);
	}
	fail(commit, ret, -ECONNRESET);
}

/* Takes a reply that is there. */
static void take(struct commit_sync *one)
{
	int result = 0;
	int ret = errand_take(one->syncer_fd, &result);
	if (ret == -EAGAIN)
		return;
	if (ret < 0)
		lose(one);
	else if (one->state == SYNC_ASKED)
		end_sync(one, result);
}

static void on_reply(uv_poll_t *poll, int status, int events)
{
	(void)events;
	/* libuv says -EBADF of a socket whose other end was killed with something unread. */
	if (status < 0)
		lose(poll->data);
	else
		take(poll->data);
}

void commit_add(struct commit *commit, struct commit_waiter *waiter)
{
	if (commit->has_failed) {
		commit->rules->done(commit->owner, waiter, MAILSTORE_EFAILED);
		return;
	}
	waiter->end = maillayer_end(commit->layer);
	TAILQ_INSERT_TAIL(&commit->waiting, waiter, link);
}

void commit_finish(struct commit *commit)
{
	/* Of a failure that is known nothing is asked again. */
	for (unsigned i = 0; i < COMMIT_SYNCS; i++) {
		if (commit->syncs[i].state == SYNC_ASKED)
			take(&commit->syncs[i]);
	}
	if (commit->has_failed)
		return;
	/* It covers what the syncers are at, too, whose word may still come. */
	int ret = maillayer_sync(commit->layer);
	if (ret != 0) {
		fail(commit, ret, ret);
		return;
	}
	for (unsigned i = 0; i < commit->count; i++)
		finish(commit, &sync_at(commit, i)->covered, 0);
	finish(commit, &commit->waiting, 0);
}

/* ---- begin and end ---- */

static int open_sync(struct commit *commit, unsigned place, uv_loop_t *loop)
{
	struct commit_sync *one = &commit->syncs[place];
	int ret = uv_poll_init(loop, &one->poll, one->syncer_fd);
	if (ret != 0)
		return ret;
	one->poll.data = one;
	commit->open_polls++;
	return uv_poll_start(&one->poll, UV_READABLE, on_reply);
}

int commit_open(uv_loop_t *loop, struct maillayer *layer, const int *syncer_fds,
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
	commit->loop = loop;
	TAILQ_INIT(&commit->waiting);
	uv_check_init(loop, &commit->check); /* cannot fail, as the next */
	uv_timer_init(loop, &commit->timer);
	commit->check.data = commit->timer.data = commit;
	for (unsigned i = 0; i < COMMIT_SYNCS; i++) {
		commit->syncs[i] =
			(struct commit_sync){ .commit = commit, .syncer_fd = syncer_fds[i] };
		TAILQ_INIT(&commit->syncs[i].covered);
	}
	*ret_commit = commit;
	int ret = 0;
	for (unsigned i = 0; ret == 0 && i < COMMIT_SYNCS; i++)
		ret = open_sync(commit, i, loop);
	return ret == 0 ? uv_check_start(&commit->check, on_check) : ret;
}

void commit_close(struct commit *commit)
{
	if (commit == NULL || commit->is_closed)
		return;
	commit->is_closed = true;
	for (unsigned i = 0; i < commit->open_polls; i++)
		uv_close((uv_handle_t *)&commit->syncs[i].poll, NULL);
	uv_close((uv_handle_t *)&commit->check, NULL);
	uv_close((uv_handle_t *)&commit->timer, NULL);
}

void commit_free(struct commit *commit)
{
	if (commit == NULL)
		return;
	for (unsigned i = 0; i < COMMIT_SYNCS; i++) {
		if (commit->syncs[i].state != SYNC_IDLE)
			close(commit->syncs[i].sync.fd);
		close(commit->syncs[i].syncer_fd);
	}
	free(commit);
}
