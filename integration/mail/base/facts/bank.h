/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * bank.h - what the processes of a mail server have counted, in memory that they share.
 *
 * Flow: the nanny: bank_open() before fork() -> edges, checkers and workers: bank_add() into the block
 *       of their own -> the nanny: bank_write() for Prometheus, bank_log().
 *
 * Each process that lives has a block, which it alone writes; the next one that gets it goes on
 * counting where it had ended. So no addition is locked, and none is lost when a process is killed.
 * Additions are atomic, without an order.
 *
 * A block has the counters of the table first, its gauges behind them: these rise and fall, and are 0
 * again when their process has ended. An enum of the program numbers both.
 */

#include <stddef.h>
#include <stdint.h>

#include "lib/common/counts.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bank_table {
	const char *context; /* in the log: "pop-front" */
	const char *program; /* in names of metrics: "pop_front" */
	const struct counts_label *counters;
	unsigned counter_count;
	const struct counts_label *gauges;
	unsigned gauge_count;
};

struct bank {
	const struct bank_table *table; /* borrowed */
	uint64_t *blocks;		/* NULL: none */
	size_t block_count;
	size_t stride; /* numbers of a block, which fills cache lines */
	uint64_t started_s;
};

/* All zero. 0 or -errno. */
int bank_open(const struct bank_table *table, size_t block_count, struct bank *ret_bank);
void bank_close(struct bank *bank);

/* Below block_count. */
uint64_t *bank_block(const struct bank *bank, size_t block);

/* block may be NULL, as in tests: then nothing is counted. */
static inline void bank_add(uint64_t *block, unsigned number, uint64_t value)
{
	if (block != NULL)
		__atomic_fetch_add(&block[number], value, __ATOMIC_RELAXED);
}

static inline void bank_set(uint64_t *block, unsigned number, uint64_t value)
{
	if (block != NULL)
		__atomic_store_n(&block[number], value, __ATOMIC_RELAXED);
}

/* Of all blocks. */
uint64_t bank_sum(const struct bank *bank, unsigned number);
/* Of a process that has ended: it has nothing open any more. */
void bank_clear_gauges(const struct bank *bank, size_t block);

/* Into a file, which is replaced when it is complete. 0 or -errno. */
int bank_write(const struct bank *bank, const char *path);
/* A line: all gauges, and the counters that are not 0. */
void bank_log(const struct bank *bank);

#ifdef __cplusplus
}
#endif
