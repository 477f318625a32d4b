/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * counts.h - what a program has counted: as text for Prometheus, and as a line of the log.
 *
 * Flow: the table of a program's counters, their values -> counts_write() into a file that a
 *       collector reads, counts_format() for log.h.
 *
 * The log has names as tables have them, "requests-cut". For Prometheus they are PREFIX_NAME with
 * underscores for hyphens, and "_total" behind a counter. Nothing here allocates or keeps a pointer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct counts_label {
	const char *name; /* "requests-cut" */
	const char *help; /* what it counts */
};

/* For a table of rows X(number, "name", "help"): its labels, and the numbers of its enum. */
#define COUNTS_LABEL(number, name, help)  { name, help },
#define COUNTS_NUMBER(number, name, help) number,

/* A counter that several threads add to: each stands for itself, so that no order is asked for. */
static inline void counts_add(uint64_t *counter, uint64_t count)
{
	__atomic_fetch_add(counter, count, __ATOMIC_RELAXED);
}

static inline uint64_t counts_get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

enum counts_type { COUNTS_COUNTER, COUNTS_GAUGE, COUNTS_UNTYPED };

/* All that is said of a metric but its values. prefix and name are borrowed. */
struct counts_metric {
	enum counts_type type;
	const char *prefix; /* "dnsblv6-policy" */
	const char *name;
	const char *help;
};

/* The lines that say what it is, before the first value. */
void counts_write_head(FILE *out, const struct counts_metric *metric);
/* The text of a label in quotes: a backslash of a name such as "a\.b.example." would be an escape. */
void counts_write_text(FILE *out, const char *text);
/* A value of it; of a zone, or with NULL of the program. */
void counts_write_value(FILE *out, const struct counts_metric *metric, const char *zone,
			uint64_t value);
/* Both, of a metric with one value. */
void counts_write(FILE *out, const struct counts_metric *metric, uint64_t value);
void counts_write_counters(FILE *out, const char *prefix, const struct counts_label *labels,
			   const uint64_t *values, size_t count);
/* Version, when the program was started, and when this is written. */
void counts_write_program(FILE *out, const char *prefix, uint64_t started_s, uint64_t now_s);

/*
 * "queries=12 noerror=3 ..." into ret_text, which has size bytes: as many as fit whole. Without
 * has_zeros only what is not 0. Returns ret_text.
 */
char *counts_format(const struct counts_label *labels, const uint64_t *values, size_t count,
		    bool has_zeros, char *ret_text, size_t size);

#ifdef __cplusplus
}
#endif
