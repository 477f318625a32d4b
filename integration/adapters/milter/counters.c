/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/milter/counters.h"

/* Each stands for itself, so no order is asked for. */

void counters_increment(struct counters *counters, enum counters_number number)
{
	__atomic_fetch_add(&counters->values[number], 1, __ATOMIC_RELAXED);
}

uint64_t counters_get(const struct counters *counters, enum counters_number number)
{
	return __atomic_load_n(&counters->values[number], __ATOMIC_RELAXED);
}
