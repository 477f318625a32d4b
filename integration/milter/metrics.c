/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/milter/metrics.h"

#include "integration/report.h"

#define HEAD_SIZE 32

static const char program[] = "dnsblv6_milter";
static const char context[] = "dnsblv6-milter";

static const struct report_label labels[COUNTERS_COUNT] = {
#define X(number, text, sentence) [number] = { text, sentence },
	COUNTERS_MAP(X)
#undef X
};

struct metrics {
	const struct setup *setup;
	const struct sessions *sessions;
	uint64_t started_s;
};

static void get_counters(const struct sessions *sessions, uint64_t ret_values[COUNTERS_COUNT])
{
	for (unsigned i = 0; i < COUNTERS_COUNT; i++)
		ret_values[i] = counters_get(&sessions->counters, (enum counters_number)i);
}

static void write_all(const void *opaque, FILE *out)
{
	const struct metrics *metrics = opaque;
	uint64_t values[COUNTERS_COUNT];
	get_counters(metrics->sessions, values);
	report_write_head(out, program, metrics->started_s);
	report_write_gauge(out, program, "sessions", "SMTP sessions that are open.",
			   sessions_count(metrics->sessions));
	report_write_counters(out, program, labels, values, COUNTERS_COUNT);
	report_write_client(out, program, metrics->setup->handle.client);
}

int metrics_write(const struct setup *setup, const struct sessions *sessions, uint64_t started_s)
{
	const struct metrics metrics = { setup, sessions, started_s };
	return report_write_file(setup->metrics, write_all, &metrics);
}

void metrics_log(const struct setup *setup, const struct sessions *sessions)
{
	char head[HEAD_SIZE];
	uint64_t values[COUNTERS_COUNT];
	get_counters(sessions, values);
	snprintf(head, sizeof(head), "sessions=%u", sessions_count(sessions));
	report_log_counters(context, head, labels, values, COUNTERS_COUNT);
	report_log_client(context, setup->handle.client);
}
