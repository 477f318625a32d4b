/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/facts/metrics.h"

#include <time.h>

#include "integration/common/report.h"
#include "lib/common/log.h"

#define LINE_SIZE 900 /* what log.h keeps of a line, with its head */

static const char program[] = "smtp_front";
static const char context[] = "smtp-front";

static const struct counts_label labels[TALLY_COUNT] = {
#define X(number, name, sentence) [number] = { name, sentence },
	TALLY_MAP(X)
#undef X
};

static const struct counts_label gauges[TALLY_GAUGE_COUNT] = {
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
	counts_write_program(out, program, metrics->started_s, (uint64_t)time(NULL));
	for (unsigned i = 0; i < TALLY_GAUGE_COUNT; i++)
		counts_write(out,
			     &(struct counts_metric){ COUNTS_GAUGE, program, gauges[i].name,
						      gauges[i].help },
			     sum.gauges[i]);
	counts_write_counters(out, program, labels, sum.values, TALLY_COUNT);
}

int metrics_write(const char *path, const struct tally_bank *bank, uint64_t started_s)
{
	const struct metrics metrics = { bank, started_s };
	return report_write_file(path, write_all, &metrics);
}

void metrics_log(const struct tally_bank *bank)
{
	char head[LINE_SIZE];
	char line[LINE_SIZE];
	struct tally sum;
	tally_sum(bank, &sum);
	counts_format(gauges, sum.gauges, TALLY_GAUGE_COUNT, true, head, sizeof(head));
	/* A line has not the room for all; of most there have been none. */
	counts_format(labels, sum.values, TALLY_COUNT, false, line, sizeof(line));
	log_info(context, "counters, %s%s%s", head, line[0] != '\0' ? " " : "", line);
}
