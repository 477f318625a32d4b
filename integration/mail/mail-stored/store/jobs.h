/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * jobs.h - work that blocks, in threads, for many owners that get turns.
 *
 * Flow: clients_jobs.c has a request -> jobs_add() -> begin() in the loop, run() in a thread, done() in
 *       the loop.
 *
 * An owner's ordered jobs run one at a time, in the order in which they were added; its other ones as
 * many at a time as there are threads. Owners get turns, so that one with many jobs holds up none of
 * those with few. What waits has bounds: of memory, when jobs_add() refuses, and of time, when done()
 * is called without run().
 *
 *     CALLED    IN        AND MAY
 *     begin()   the loop  refuse: then done() has its status, and run() is not called
 *     run()     a thread  block
 *     done()    the loop  add jobs, and free its own and the owner; once for each job that was added
 *
 * All but run() is one thread's. libuv's threads run it: their count is what jobs_set_threads() said
 * before the first job.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct job;
TAILQ_HEAD(job_list, job);

enum jobs_place {
	JOBS_NONE, /* no job waits */
	JOBS_TURN, /* one could run */
	JOBS_HELD, /* all wait for the one before */
};

/* A member of its owner, which stays where it is while it has jobs. */
struct jobs_owner {
	TAILQ_ENTRY(jobs_owner) link;
	struct job_list ordered; /* that wait, as the next */
	struct job_list others;
	unsigned running;
	bool has_ordered_running;
	enum jobs_place place;
};

/* The memory is the caller's until done() has been called. */
struct job {
	TAILQ_ENTRY(job) link;
	struct jobs *jobs;
	struct jobs_owner *owner;
	uv_work_t work;
	uint64_t since_ms;
	int status;
	/* Set by the caller. */
	bool is_ordered;
	bool is_kept;		       /* neither refused nor ended by its age */
	size_t size;		       /* of its memory */
	int (*begin)(struct job *job); /* 0 or a negative status; may be NULL */
	void (*run)(struct job *job);
	/* status is 0 when it was run; -ETIMEDOUT, -ECANCELED or that of begin() when not. */
	void (*done)(struct job *job, int status);
};

struct jobs_limits {
	unsigned threads;
	size_t size_max; /* of all that wait */
	unsigned wait_ms;
};

struct jobs {
	struct jobs_limits limits;
	uv_loop_t *loop;
	uv_timer_t timer;
	TAILQ_HEAD(jobs_owners, jobs_owner) turns; /* owners, as the next */
	struct jobs_owners held;
	unsigned running;
	unsigned waiting;
	size_t size;
};

/* Before a process has threads. 0 or -errno. */
int jobs_set_threads(unsigned count);

/* Memory is the caller's. 0 or a status of libuv; jobs_close() in any case. */
int jobs_open(uv_loop_t *loop, const struct jobs_limits *limits, struct jobs *ret_jobs);
/* What waits still gets its turn. The loop has to run until all is done. */
void jobs_close(struct jobs *jobs);

void jobs_init_owner(struct jobs_owner *owner);
/* 0, or -EAGAIN when too much waits: then the job stays the caller's. */
int jobs_add(struct jobs *jobs, struct jobs_owner *owner, struct job *job);
/* Those that wait are done with -ECANCELED, but those that are kept. */
void jobs_cancel(struct jobs *jobs, struct jobs_owner *owner);

#ifdef __cplusplus
}
#endif
