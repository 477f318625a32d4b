/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/facts/metrics.h"

#include "integration/common/report.h"

#define HEAD_SIZE 128

static const char program[] = "smtp_front";
static const char context[] = "smtp-front";

static const struct report_label labels[TALLY_COUNT] = {
#define X(number, name, sentence) [number] = { name, sentence },
	TALLY_MAP(X)
#undef X
};

static const struct report_label gauges[TALLY_GAUGE_COUNT] = {
#define X(number, name, sentence) [number] = { name, sentence },
	TALLY_GAUGE_MAP(X)
#undef X
};

struct metrics {
	const struct tally_bank *bank;
	uint64_t started_s;
};

static void write_all(const void *opaque, FILE *out)
{
	const struct metrics *metrics = opaque;
	struct tally sum;
	tally_sum(metrics->bank, &sum);
	report_write_head(out, program, metrics->started_s);
	for (unsigned i = 0; i < TALLY_GAUGE_COUNT; i++)
		report_write_gauge(out, program, gauges[i].name, gauges[i].help, sum.gauges[i]);
	report_write_counters(out, program, labels, sum.values, TALLY_COUNT);
}

int metrics_write(const char *path, const struct tally_bank *bank, uint64_t started_s)
{
	const struct metrics metrics = { bank, started_s };
	return report_write_file(path, write_all, &metrics);
}

/* A line has not the room for all; of most there have been none. */
static void log_counters(const char *head, const struct tally *sum)
{
	struct report_label named[TALLY_COUNT];
	uint64_t values[TALLY_COUNT];
	size_t count = 0;
	for (unsigned i = 0; i < TALLY_COUNT; i++) {
		if (sum->values[i] == 0)
			continue;
		named[count] = labels[i];
		values[count++] = sum->values[i];
	}
	report_log_counters(context, head, named, values, count);
}

void metrics_log(const struct tally_bank *bank)
{
	char head[HEAD_SIZE];
	struct tally sum;
	int size = 0;
	tally_sum(bank, &sum);
	for (unsigned i = 0; i < TALLY_GAUGE_COUNT && size >= 0 && size < HEAD_SIZE; i++)
		size += snprintf(head + size, sizeof(head) - (size_t)size, "%s%s=%llu",
				 i > 0 ? " " : "", gauges[i].name,
				 (unsigned long long)sum.gauges[i]);
	log_counters(head, &sum);
}
