/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/facts/bank.h"

#include <errno.h>
#include <time.h>

#include "integration/common/report.h"
#include "lib/common/log.h"
#include "lib/process/sharedmem.h"

#define LINE_NUMBERS 8	 /* in a cache line */
#define LINE_SIZE    900 /* what log.h keeps of a line, with its head */
/* Of either kind: more than any program has. */
#define NUMBERS_MAX 96

int bank_open(const struct bank_table *table, size_t block_count, struct bank *ret_bank)
{
	const size_t numbers = table->counter_count + table->gauge_count;
	const size_t stride = (numbers + LINE_NUMBERS - 1) / LINE_NUMBERS * LINE_NUMBERS;
	if (block_count == 0 || table->counter_count > NUMBERS_MAX ||
	    table->gauge_count > NUMBERS_MAX)
		return -EINVAL;
	void *memory = sharedmem_new(block_count * stride * sizeof(uint64_t));
	if (memory == NULL)
		return -ENOMEM;
	*ret_bank = (struct bank){
		.table = table,
		.blocks = memory,
		.block_count = block_count,
		.stride = stride,
		.started_s = (uint64_t)time(NULL),
	};
	return 0;
}

void bank_close(struct bank *bank)
{
	sharedmem_free(bank->blocks, bank->block_count * bank->stride * sizeof(uint64_t));
	bank->blocks = NULL;
}

uint64_t *bank_block(const struct bank *bank, size_t block)
{
	return bank->blocks + block * bank->stride;
}

uint64_t bank_sum(const struct bank *bank, unsigned number)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < bank->block_count; i++)
		sum += __atomic_load_n(&bank_block(bank, i)[number], __ATOMIC_RELAXED);
	return sum;
}

void bank_clear_gauges(const struct bank *bank, size_t block)
{
	const struct bank_table *table = bank->table;
	for (unsigned i = 0; i < table->gauge_count; i++)
		bank_set(bank_block(bank, block), table->counter_count + i, 0);
}

static void sum_all(const struct bank *bank, uint64_t *ret_counters, uint64_t *ret_gauges)
{
	const struct bank_table *table = bank->table;
	for (unsigned i = 0; i < table->counter_count; i++)
		ret_counters[i] = bank_sum(bank, i);
	for (unsigned i = 0; i < table->gauge_count; i++)
		ret_gauges[i] = bank_sum(bank, table->counter_count + i);
}

static void write_all(const void *context, FILE *out)
{
	const struct bank *bank = context;
	const struct bank_table *table = bank->table;
	uint64_t counters[NUMBERS_MAX];
	uint64_t gauges[NUMBERS_MAX];
	sum_all(bank, counters, gauges);
	counts_write_program(out, table->program, bank->started_s, (uint64_t)time(NULL));
	for (unsigned i = 0; i < table->gauge_count; i++) {
		const struct counts_metric metric = { COUNTS_GAUGE, table->program,
						      table->gauges[i].name,
						      table->gauges[i].help };
		counts_write(out, &metric, gauges[i]);
	}
	counts_write_counters(out, table->program, table->counters, counters, table->counter_count);
}

int bank_write(const struct bank *bank, const char *path)
{
	return report_write_file(path, write_all, bank);
}

void bank_log(const struct bank *bank)
{
	const struct bank_table *table = bank->table;
	uint64_t counters[NUMBERS_MAX];
	uint64_t gauges[NUMBERS_MAX];
	char head[LINE_SIZE];
	char line[LINE_SIZE];
	sum_all(bank, counters, gauges);
	counts_format(table->gauges, gauges, table->gauge_count, true, head, sizeof(head));
	/* A line has not the room for all; of most there have been none. */
	counts_format(table->counters, counters, table->counter_count, false, line, sizeof(line));
	log_info(table->context, "counters, %s%s%s", head, line[0] != '\0' ? " " : "", line);
}
