/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Between looks for jobs that have waited too long. */
#define LOOK_MS 500

static void give_turns(struct jobs *jobs);

/* ---- owners ---- */

void jobs_init_owner(struct jobs_owner *owner)
{
	*owner = (struct jobs_owner){ 0 };
	TAILQ_INIT(&owner->ordered);
	TAILQ_INIT(&owner->others);
}

static struct job_list *list_of(struct job *job)
{
	return job->is_ordered ? &job->owner->ordered : &job->owner->others;
}

/* The one that would run next; NULL: none can. What has an order comes first: a client waits for it. */
static struct job *next_of(struct jobs_owner *owner)
{
	if (!owner->has_ordered_running && !TAILQ_EMPTY(&owner->ordered))
		return TAILQ_FIRST(&owner->ordered);
	return TAILQ_FIRST(&owner->others);
}

static void put(struct jobs *jobs, struct jobs_owner *owner, enum jobs_place place)
{
	if (owner->place != JOBS_NONE)
		TAILQ_REMOVE(owner->place == JOBS_TURN ? &jobs->turns : &jobs->held, owner, link);
	owner->place = place;
	if (place != JOBS_NONE)
		TAILQ_INSERT_TAIL(place == JOBS_TURN ? &jobs->turns : &jobs->held, owner, link);
}

/* Where its jobs say that it belongs; one that keeps its turn keeps its place. */
static void line_up(struct jobs *jobs, struct jobs_owner *owner)
{
	enum jobs_place place = JOBS_NONE;
	if (next_of(owner) != NULL)
		place = JOBS_TURN;
	else if (!TAILQ_EMPTY(&owner->ordered))
		place = JOBS_HELD;
	if (place != owner->place)
		put(jobs, owner, place);
}

/* ---- one job ---- */

static void take_out(struct jobs *jobs, struct job *job)
{
	TAILQ_REMOVE(list_of(job), job, link);
	jobs->waiting--;
	jobs->size -= job->size;
}

static void job_on_work(uv_work_t *work)
{
	struct job *job = work->data;
	job->run(job);
}

static void job_on_done(uv_work_t *work, int status)
{
	struct job *job = work->data;
	struct jobs *jobs = job->jobs;
	struct jobs_owner *owner = job->owner;
	jobs->running--;
	owner->running--;
	if (job->is_ordered)
		owner->has_ordered_running = false;
	line_up(jobs, owner);
	job->done(job, status); /* the owner may have gone behind it */
	give_turns(jobs);
}

static void start(struct jobs *jobs, struct job *job)
{
	struct jobs_owner *owner = job->owner;
	int ret = job->begin != NULL ? job->begin(job) : 0;
	job->work.data = job;
	if (ret == 0)
		ret = uv_queue_work(jobs->loop, &job->work, job_on_work, job_on_done);
	if (ret != 0) {
		line_up(jobs, owner);
		job->done(job, ret);
		return;
	}
	jobs->running++;
	owner->running++;
	if (job->is_ordered)
		owner->has_ordered_running = true;
	line_up(jobs, owner);
}

static void give_turns(struct jobs *jobs)
{
	struct jobs_owner *owner;
	while (jobs->running < jobs->limits.threads &&
	       (owner = TAILQ_FIRST(&jobs->turns)) != NULL) {
		struct job *job = next_of(owner);
		put(jobs, owner, JOBS_NONE);
		take_out(jobs, job);
		start(jobs, job);
	}
}

int jobs_add(struct jobs *jobs, struct jobs_owner *owner, struct job *job)
{
	if (!job->is_kept && job->size > jobs->limits.size_max - jobs->size)
		return -EAGAIN;
	job->jobs = jobs;
	job->owner = owner;
	job->since_ms = uv_now(jobs->loop);
	job->status = 0;
	TAILQ_INSERT_TAIL(list_of(job), job, link);
	jobs->waiting++;
	jobs->size += job->size;
	line_up(jobs, owner);
	give_turns(jobs);
	return 0;
}

/* ---- those that do not run ---- */

static void gather(struct jobs *jobs, struct job_list *list, uint64_t before_ms, int status,
		   struct job_list *to)
{
	struct job *job = TAILQ_FIRST(list);
	while (job != NULL) {
		struct job *next = TAILQ_NEXT(job, link);
		if (!job->is_kept && job->since_ms <= before_ms) {
			take_out(jobs, job);
			job->status = status;
			TAILQ_INSERT_TAIL(to, job, link);
		}
		job = next;
	}
}

/* Behind all lists have been walked: each may change them. */
static void end_gathered(struct job_list *list)
{
	struct job *job;
	while ((job = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, job, link);
		job->done(job, job->status);
	}
}

void jobs_cancel(struct jobs *jobs, struct jobs_owner *owner)
{
	struct job_list ended = TAILQ_HEAD_INITIALIZER(ended);
	gather(jobs, &owner->ordered, UINT64_MAX, -ECANCELED, &ended);
	gather(jobs, &owner->others, UINT64_MAX, -ECANCELED, &ended);
	line_up(jobs, owner);
	end_gathered(&ended);
}

static void gather_old(struct jobs *jobs, struct jobs_owners *owners, uint64_t before_ms,
		       struct job_list *to)
{
	struct jobs_owner *next;
	for (struct jobs_owner *owner = TAILQ_FIRST(owners); owner != NULL; owner = next) {
		next = TAILQ_NEXT(owner, link);
		gather(jobs, &owner->ordered, before_ms, -ETIMEDOUT, to);
		gather(jobs, &owner->others, before_ms, -ETIMEDOUT, to);
		line_up(jobs, owner);
	}
}

static void jobs_on_look(uv_timer_t *timer)
{
	struct jobs *jobs = timer->data;
	const uint64_t now_ms = uv_now(jobs->loop);
	struct job_list ended = TAILQ_HEAD_INITIALIZER(ended);
	if (now_ms < jobs->limits.wait_ms)
		return;
	gather_old(jobs, &jobs->turns, now_ms - jobs->limits.wait_ms, &ended);
	gather_old(jobs, &jobs->held, now_ms - jobs->limits.wait_ms, &ended);
	end_gathered(&ended);
}

/* ---- begin and end ---- */

int jobs_set_threads(unsigned count)
{
	char text[16];
	snprintf(text, sizeof(text), "%u", count);
	return setenv("UV_THREADPOOL_SIZE", text, 1) == 0 ? 0 : -errno;
}

int jobs_open(uv_loop_t *loop, const struct jobs_limits *limits, struct jobs *ret_jobs)
{
	*ret_jobs = (struct jobs){ .limits = *limits, .loop = loop };
	TAILQ_INIT(&ret_jobs->turns);
	TAILQ_INIT(&ret_jobs->held);
	uv_timer_init(loop, &ret_jobs->timer); /* cannot fail */
	ret_jobs->timer.data = ret_jobs;
	return uv_timer_start(&ret_jobs->timer, jobs_on_look, LOOK_MS, LOOK_MS);
}

void jobs_close(struct jobs *jobs)
{
	uv_close((uv_handle_t *)&jobs->timer, NULL);
}
