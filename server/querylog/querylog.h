/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * querylog.h - the process that writes the query log, and the parent's care for it.
 *
 * Flow: workers' samples (tap.h) -> a socket pair -> this process: dnstap.c,
 *       frames.c -> a file or a collector.
 *
 * A process of its own, because writing blocks: a disk that is full or slow and a
 * collector that hangs cost samples and nothing else. The parent keeps both ends
 * of the pair, so samples wait there while the process is replaced. A reload ends
 * it and starts another, which begins a new file: that is how logs are rotated.
 *
 * Nothing here waits but querylog_end().
 */

#include "lib/process/crew.h"
#include "server/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct querylog {
	int in_fd;  /* the process reads; -1: there was no query log yet */
	int out_fd; /* workers write */
	struct crew_slot slot;
	uint64_t *lost; /* frames; shared with the process */
};

void querylog_init(struct querylog *log);

/* Before workers start: settings from now on, or none. 0 or -errno. */
int querylog_switch(struct querylog *log, const struct settings *settings);

/* For workers with these settings: where samples go; -1: nowhere. */
int querylog_fd(const struct querylog *log, const struct settings *settings);
/* In a worker, which has no use for the other end. */
void querylog_forget(const struct querylog *log);

/* True when pid was it. */
bool querylog_note_end(struct querylog *log, pid_t pid, int status, uint64_t now_ms);
/* Restarts it when that is due. */
void querylog_tend(struct querylog *log, const struct settings *settings, uint64_t now_ms);
/* Of the monotonic clock; UINT64_MAX: nothing is due. */
uint64_t querylog_deadline_ms(const struct querylog *log);
/* Frames that could not be written. */
uint64_t querylog_count_lost(const struct querylog *log);

/* After all workers: waits until what they said is written, seconds at most. */
void querylog_end(struct querylog *log);
