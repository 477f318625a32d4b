/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/facts/proxycount.h"

static const struct counts_label counters[] = { PROXYCOUNT_MAP(COUNTS_LABEL) };
static const struct counts_label gauges[] = { PROXYCOUNT_GAUGE_MAP(COUNTS_LABEL) };

const struct bank_table proxycount_table = {
	.context = "mail-proxy",
	.program = "mail_proxy",
	.counters = counters,
	.counter_count = PROXY_COUNTERS,
	.gauges = gauges,
	.gauge_count = PROXY_NUMBERS - PROXY_COUNTERS,
};
