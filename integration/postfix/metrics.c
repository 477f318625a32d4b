/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/postfix/metrics.h"

#include "integration/report.h"

static const char context[] = "dnsblv6-policy";
static const char program[] = "dnsblv6_policy";

static const struct report_label labels[PEERS_COUNTER_COUNT] = {
#define X(number, text, sentence) [number] = { text, sentence },
	PEERS_COUNTER_MAP(X)
#undef X
};

struct source {
	const struct setup *setup;
	const struct peers *peers;
	uint64_t started_s;
};

static void format(const void *source_data, FILE *out)
{
	const struct source *source = source_data;
	report_write_head(out, program, source->started_s);
	report_write_gauge(out, program, "connected", "Processes that are connected.",
			   peers_count(source->peers));
	report_write_counters(out, program, labels, peers_counters(source->peers),
			      PEERS_COUNTER_COUNT);
	report_write_client(out, program, source->setup->handle.client);
}

int metrics_write(const struct setup *setup, const struct peers *peers, uint64_t started_s)
{
	struct source source = { setup, peers, started_s };
	return report_write_file(setup->metrics, format, &source);
}

void metrics_log(const struct setup *setup, const struct peers *peers)
{
	char head[32];
	snprintf(head, sizeof(head), "connected=%u", peers_count(peers));
	report_log_counters(context, head, labels, peers_counters(peers), PEERS_COUNTER_COUNT);
	report_log_client(context, setup->handle.client);
}
