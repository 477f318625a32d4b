/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * figures.h - what a load is told about: counts, latencies, and a row for each second.
 *
 * Flow: driver.c tells what happens and when -> main.c prints the line and the series.
 *
 * Counts are of the whole run, so that they can be held against the server's own. Rates and
 * latencies are of its window, which begins when the warm-up is over and ends before the
 * sessions that are still open then are waited for.
 *
 * Latencies are kept in a histogram whose steps are 1/32 of the value at most, whatever their
 * number. Times are nanoseconds since the start. Nothing here logs or reads a clock.
 */

#include "bench/smtp-load/session.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 32 steps for each power of two, from a microsecond to an hour. */
#define FIGURES_STEPS	 32
#define FIGURES_BUCKETS	 (28 * FIGURES_STEPS)
#define FIGURES_NS_PER_S 1000000000u

struct figures_histogram {
	uint64_t count;
	uint64_t buckets[FIGURES_BUCKETS];
};

struct figures_second {
	uint32_t begun;
	uint32_t outcomes[SESSION_OUTCOMES];
	uint32_t open; /* at its end */
};

struct figures {
	uint64_t window_from_ns;
	uint64_t window_to_ns; /* UINT64_MAX until it is known */

	uint64_t begun;
	uint64_t outcomes[SESSION_OUTCOMES];
	uint64_t recipients; /* accepted, rejected, deferred */
	uint64_t rejected;
	uint64_t deferred;
	uint64_t skipped;     /* were due, but too many were open */
	uint64_t open;	      /* now */
	uint64_t open_max;    /* at a time */
	uint64_t late_max_ns; /* the latest beginning of a session after it was due */

	uint64_t window_delivered;
	uint64_t window_decided; /* by the server: delivered, bounced, refused, deferred */
	struct figures_histogram greeting; /* from when it was due to the first reply */
	struct figures_histogram session;  /* to its end, when the server has decided */
	struct figures_histogram mail;	   /* the same, of delivered ones alone */

	struct figures_second *seconds; /* ours */
	size_t second_count;
};

void figures_init(struct figures *ret_figures, uint64_t window_from_ns);
void figures_deinit(struct figures *figures);

void figures_begun(struct figures *figures, uint64_t now_ns, uint64_t late_ns);
void figures_greeted(struct figures *figures, uint64_t now_ns, uint64_t took_ns);
/* Once for each session: what became of it, and who was accepted. */
void figures_decided(struct figures *figures, uint64_t now_ns, const struct session *session);
/* Its connection is closed. */
void figures_ended(struct figures *figures, uint64_t now_ns, enum session_outcome outcome,
		   uint64_t took_ns);

/* The share of values below is at least quantile (0 to 1). 0 when there are none. */
uint64_t figures_quantile_ns(const struct figures_histogram *histogram, double quantile);
void figures_add(struct figures_histogram *histogram, uint64_t value_ns);

/* One line of key=value. Negative when it cannot be written. */
int figures_print(const struct figures *figures, FILE *file);
/* A line of names and one for each second, separated by tabs. */
int figures_print_series(const struct figures *figures, FILE *file);

#ifdef __cplusplus
}
#endif
