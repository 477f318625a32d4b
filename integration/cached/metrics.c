/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/cached/metrics.h"

#include "integration/report.h"

static const char context[] = "dnsblv6-cached";
static const char program[] = "dnsblv6_cached";

static const struct report_label labels[CALLERS_COUNTER_COUNT] = {
#define X(number, text, sentence) [number] = { text, sentence },
	CALLERS_COUNTER_MAP(X)
#undef X
};

struct source {
	const struct setup *setup;
	const struct callers *callers;
	uint64_t started_s;
};

static void format(const void *source_data, FILE *out)
{
	const struct source *source = source_data;
	report_write_head(out, program, source->started_s);
	report_write_gauge(out, program, "clients", "Clients that are connected.",
			   callers_count(source->callers));
	report_write_counters(out, program, labels, callers_counters(source->callers),
			      CALLERS_COUNTER_COUNT);
	report_write_client(out, program, source->setup->handle.client);
}

int metrics_write(const struct setup *setup, const struct callers *callers, uint64_t started_s)
{
	struct source source = { setup, callers, started_s };
	return report_write_file(setup->metrics, format, &source);
}

void metrics_log(const struct setup *setup, const struct callers *callers)
{
	char head[32];
	snprintf(head, sizeof(head), "clients=%u", callers_count(callers));
	report_log_counters(context, head, labels, callers_counters(callers),
			    CALLERS_COUNTER_COUNT);
	report_log_client(context, setup->handle.client);
}
