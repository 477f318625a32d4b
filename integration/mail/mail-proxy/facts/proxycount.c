/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/facts/proxycount.h"

#define X(number, name, sentence) { name, sentence },
static const struct counts_label counters[] = { PROXYCOUNT_MAP(X) };
static const struct counts_label gauges[] = { PROXYCOUNT_GAUGE_MAP(X) };
#undef X

const struct bank_table proxycount_table = {
	.context = "mail-proxy",
	.program = "mail_proxy",
	.counters = counters,
	.counter_count = PROXY_COUNTERS,
	.gauges = gauges,
	.gauge_count = PROXY_NUMBERS - PROXY_COUNTERS,
};
