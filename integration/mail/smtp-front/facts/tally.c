/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/facts/tally.h"

static const struct counts_label counters[] = { EDGE_EVENT_MAP(COUNTS_LABEL)
							TALLY_MAP(COUNTS_LABEL) };
static const struct counts_label gauges[] = { EDGE_GAUGE_MAP(COUNTS_LABEL)
						      TALLY_GAUGE_MAP(COUNTS_LABEL) };

const struct bank_table tally_table = {
	.context = "smtp-front",
	.program = "smtp_front",
	.counters = counters,
	.counter_count = TALLY_COUNT,
	.gauges = gauges,
	.gauge_count = TALLY_NUMBERS - TALLY_COUNT,
};
