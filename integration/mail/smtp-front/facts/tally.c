/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/facts/tally.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int tally_open(size_t count, struct tally_bank *ret_bank)
{
	size_t size = 0;
	if (count == 0 || __builtin_mul_overflow(count, sizeof(struct tally), &size))
		return -EINVAL;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	ret_bank->slots = memory;
	ret_bank->count = count;
	return 0;
}

void tally_close(struct tally_bank *bank)
{
	if (bank->slots != NULL)
		munmap(bank->slots, bank->count * sizeof(struct tally));
	bank->slots = NULL;
	bank->count = 0;
}

/* Each value stands for itself, so no order is asked for. */

void tally_add(struct tally *tally, enum tally_number number, uint64_t value)
{
	if (tally != NULL)
		__atomic_fetch_add(&tally->values[number], value, __ATOMIC_RELAXED);
}

void tally_set(struct tally *tally, enum tally_gauge gauge, uint64_t value)
{
	if (tally != NULL)
		__atomic_store_n(&tally->gauges[gauge], value, __ATOMIC_RELAXED);
}

uint64_t tally_get(const struct tally *tally, enum tally_number number)
{
	return __atomic_load_n(&tally->values[number], __ATOMIC_RELAXED);
}

void tally_sum(const struct tally_bank *bank, struct tally *ret_sum)
{
	memset(ret_sum, 0, sizeof(*ret_sum));
	for (size_t i = 0; i < bank->count; i++) {
		const struct tally *slot = &bank->slots[i];
		for (unsigned n = 0; n < TALLY_COUNT; n++)
			ret_sum->values[n] += tally_get(slot, (enum tally_number)n);
		for (unsigned n = 0; n < TALLY_GAUGE_COUNT; n++)
			ret_sum->gauges[n] += __atomic_load_n(&slot->gauges[n], __ATOMIC_RELAXED);
	}
}

void tally_clear_gauges(struct tally *tally)
{
	for (unsigned n = 0; n < TALLY_GAUGE_COUNT; n++)
		tally_set(tally, (enum tally_gauge)n, 0);
}
