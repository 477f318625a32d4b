/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/facts/popcount.h"

static const struct counts_label counters[] = { EDGE_EVENT_MAP(COUNTS_LABEL)
							POPCOUNT_MAP(COUNTS_LABEL) };
static const struct counts_label gauges[] = { EDGE_GAUGE_MAP(COUNTS_LABEL)
						      POPCOUNT_GAUGE_MAP(COUNTS_LABEL) };

const struct bank_table popcount_table = {
	.context = "pop-front",
	.program = "pop_front",
	.counters = counters,
	.counter_count = POP_COUNTERS,
	.gauges = gauges,
	.gauge_count = POP_NUMBERS - POP_COUNTERS,
};
