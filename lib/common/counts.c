/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/counts.h"

#include "lib/common/version.h"

#include <inttypes.h>

static void put_words(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		fputc(*text == '-' ? '_' : *text, out);
}

static void put_name(FILE *out, const struct counts_metric *metric)
{
	put_words(out, metric->prefix);
	fputc('_', out);
	put_words(out, metric->name);
	if (metric->type == COUNTS_COUNTER)
		fputs("_total", out);
}

void counts_write_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '\\' || *text == '"')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

void counts_write_head(FILE *out, const struct counts_metric *metric)
{
	static const char *const types[] = {
		[COUNTS_COUNTER] = "counter", [COUNTS_GAUGE] = "gauge", [COUNTS_UNTYPED] = "untyped"
	};
	fputs("# HELP ", out);
	put_name(out, metric);
	fprintf(out, " %s\n# TYPE ", metric->help);
	put_name(out, metric);
	fprintf(out, " %s\n", types[metric->type]);
}

void counts_write_value(FILE *out, const struct counts_metric *metric, const char *zone,
			uint64_t value)
{
	put_name(out, metric);
	if (zone != NULL) {
		fputs("{zone=", out);
		counts_write_text(out, zone);
		fputc('}', out);
	}
	fprintf(out, " %" PRIu64 "\n", value);
}

void counts_write(FILE *out, const struct counts_metric *metric, uint64_t value)
{
	counts_write_head(out, metric);
	counts_write_value(out, metric, NULL, value);
}

/* Other threads may add to it. */
static uint64_t read_counter(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void counts_write_counters(FILE *out, const char *prefix, const struct counts_label *labels,
			   const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		counts_write(out,
			     &(struct counts_metric){ COUNTS_COUNTER, prefix, labels[i].name,
						      labels[i].help },
			     read_counter(values + i));
}

void counts_write_program(FILE *out, const char *prefix, uint64_t started_s, uint64_t now_s)
{
	const struct counts_metric build = { COUNTS_GAUGE, prefix, "build-info",
					     "1, with the version" };
	const struct counts_metric start = { COUNTS_GAUGE, prefix, "start-timestamp-seconds",
					     "when the program was started" };
	const struct counts_metric scrape = { COUNTS_GAUGE, prefix, "scrape-timestamp-seconds",
					      "when this was written" };
	counts_write_head(out, &build);
	put_name(out, &build);
	fputs("{version=\"" DNSBLV6_VERSION "\"} 1\n", out);
	counts_write(out, &start, started_s);
	counts_write(out, &scrape, now_s);
}

char *counts_format(const struct counts_label *labels, const uint64_t *values, size_t count,
		    bool has_zeros, char *ret_text, size_t size)
{
	size_t used = 0;
	ret_text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const uint64_t value = read_counter(values + i);
		if (value == 0 && !has_zeros)
			continue;
		int more = snprintf(ret_text + used, size - used, "%s%s=%" PRIu64,
				    used > 0 ? " " : "", labels[i].name, value);
		if (more < 0 || (size_t)more >= size - used) {
			ret_text[used] = '\0';
			break;
		}
		used += (size_t)more;
	}
	return ret_text;
}
