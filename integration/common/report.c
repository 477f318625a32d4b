/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/common/version.h"

#define NAME_SIZE 160
#define HEAD_SIZE 64
#define LINE_SIZE 900 /* what log.h keeps of a line, with its head */
#define FILE_MODE 0644

typedef unsigned long long ull;

/* ---- Prometheus ---- */

/* Its names have underscores. */
static const char *format_name(const char *program, const char *part, const char *name,
			       const char *suffix, char *ret_name)
{
	snprintf(ret_name, NAME_SIZE, "%s_%s%s%s", program, part, name, suffix);
	for (char *c = ret_name; *c != '\0'; c++)
		if (*c == '-')
			*c = '_';
	return ret_name;
}

static void write_labels(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void report_write_gauge(FILE *out, const char *program, const char *name, const char *help,
			uint64_t value)
{
	char full[NAME_SIZE];
	format_name(program, "", name, "", full);
	write_labels(out, full, "gauge", help);
	fprintf(out, "%s %llu\n", full, (ull)value);
}

void report_write_head(FILE *out, const char *program, uint64_t started_s)
{
	char full[NAME_SIZE];
	format_name(program, "", "build-info", "", full);
	write_labels(out, full, "gauge", "Version in the label.");
	fprintf(out, "%s{version=\"%s\"} 1\n", full, DNSBLV6_VERSION);
	report_write_gauge(out, program, "start-timestamp-seconds", "When it was started.",
			   started_s);
	report_write_gauge(out, program, "scrape-timestamp-seconds", "When this was written.",
			   (uint64_t)time(NULL));
}

void report_write_counters(FILE *out, const char *program, const struct report_label *labels,
			   const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char full[NAME_SIZE];
		format_name(program, "", labels[i].name, "_total", full);
		write_labels(out, full, "counter", labels[i].help);
		fprintf(out, "%s %llu\n", full, (ull)values[i]);
	}
}

/* Some are counters and some are not, and the library does not say which. */
static void write_library(FILE *out, const char *program, struct dnsblv6 *client)
{
	const char *label = NULL;
	uint64_t value = 0;
	for (unsigned i = 0; dnsblv6_stat_get(client, i, &label, &value) == 0; i++) {
		char full[NAME_SIZE];
		format_name(program, "library_", label, "", full);
		write_labels(out, full, "untyped", "See libdnsblv6(3).");
		fprintf(out, "%s %llu\n", full, (ull)value);
	}
}

enum zone_metric { ZONE_STATE, ZONE_STATE_AGE, ZONE_BITMAP, ZONE_ASKED, ZONE_FAILURES, ZONE_COUNT };

static const struct {
	const char *name;
	const char *type;
	const char *help;
} zone_metrics[ZONE_COUNT] = {
	[ZONE_STATE] = { "zone_state", "gauge",
			 "0 not asked yet, 1 ok, 2 filtered, 3 wildcarded, 4 lists-the-world, "
			 "5 unreachable, 6 blocked, 7 insecure." },
	[ZONE_STATE_AGE] = { "zone_state_seconds", "gauge", "How long it has been in that state." },
	[ZONE_BITMAP] = { "zone_bitmap", "gauge",
			  "1 when it is asked for bitmaps, 0 the classic way." },
	[ZONE_ASKED] = { "zone_queries_total", "counter", "DNS questions that were sent for it." },
	[ZONE_FAILURES] = { "zone_failures_total", "counter",
			    "Of them, those without a useful answer." },
};

static uint64_t value_of(const struct dnsblv6_zone_info *info, enum zone_metric metric)
{
	switch (metric) {
	case ZONE_STATE:
		return (uint64_t)info->state;
	case ZONE_STATE_AGE:
		return info->state_age_s;
	case ZONE_BITMAP:
		return info->is_bitmap != 0;
	case ZONE_ASKED:
		return info->asked;
	default:
		return info->failures;
	}
}

/* A zone that is asked with several filters has one line. */
static bool is_first_entry(struct dnsblv6 *client, const char *name, unsigned index)
{
	struct dnsblv6_zone_info info;
	for (unsigned i = 0; i < index; i++)
		if (dnsblv6_zone_get(client, i, &info) == 0 && strcmp(info.name, name) == 0)
			return false;
	return true;
}

static void write_zones(FILE *out, const char *program, struct dnsblv6 *client)
{
	struct dnsblv6_zone_info info;
	for (unsigned m = 0; m < ZONE_COUNT; m++) {
		char full[NAME_SIZE];
		format_name(program, "", zone_metrics[m].name, "", full);
		write_labels(out, full, zone_metrics[m].type, zone_metrics[m].help);
		for (unsigned i = 0; dnsblv6_zone_get(client, i, &info) == 0; i++)
			if (is_first_entry(client, info.name, i))
				fprintf(out, "%s{zone=\"%s\"} %llu\n", full, info.name,
					(ull)value_of(&info, (enum zone_metric)m));
	}
}

void report_write_client(FILE *out, const char *program, struct dnsblv6 *client)
{
	write_library(out, program, client);
	write_zones(out, program, client);
}

static int write_beside(const char *path, report_fn fn, const void *context)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	if (fd < 0)
		return -errno;
	/* Whatever umask is: the collector is another user. */
	int ret = fchmod(fd, FILE_MODE) == 0 ? 0 : -errno;
	FILE *out = ret == 0 ? fdopen(fd, "w") : NULL;
	if (out == NULL) {
		ret = ret != 0 ? ret : -errno;
		close(fd);
		return ret;
	}
	fn(context, out);
	ret = ferror(out) ? -EIO : 0;
	if (fclose(out) != 0)
		ret = -errno;
	return ret;
}

/* The collector reads what ends in ".prom", so it never sees one that is half written. */
int report_write_file(const char *path, report_fn fn, const void *context)
{
	char beside[PATH_MAX];
	if (snprintf(beside, sizeof(beside), "%s.new", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	int ret = write_beside(beside, fn, context);
	if (ret == 0 && rename(beside, path) != 0)
		ret = -errno;
	if (ret != 0)
		unlink(beside);
	return ret;
}

/* ---- the log ---- */

__attribute__((format(printf, 3, 4))) static void add(char *line, size_t *size, const char *format,
						      ...)
{
	va_list arguments;
	va_start(arguments, format);
	int added = vsnprintf(line + *size, LINE_SIZE - *size, format, arguments);
	va_end(arguments);
	if (added > 0 && (size_t)added < LINE_SIZE - *size)
		*size += (size_t)added;
	line[*size] = '\0';
}

void report_log_counters(const char *context, const char *head, const struct report_label *labels,
			 const uint64_t *values, size_t count)
{
	char line[LINE_SIZE] = "";
	size_t size = 0;
	for (size_t i = 0; i < count; i++)
		add(line, &size, " %s=%llu", labels[i].name, (ull)values[i]);
	log_info(context, "counters, %s%s", head, line);
}

static void log_library(const char *context, struct dnsblv6 *client)
{
	char line[LINE_SIZE] = "";
	size_t size = 0;
	const char *label = NULL;
	uint64_t value = 0;
	for (unsigned i = 0; dnsblv6_stat_get(client, i, &label, &value) == 0; i++)
		add(line, &size, " %s=%llu", label, (ull)value);
	log_info(context, "library,%s", line);
}

void report_log_client(const char *context, struct dnsblv6 *client)
{
	struct dnsblv6_zone_info info;
	log_library(context, client);
	for (unsigned i = 0; dnsblv6_zone_get(client, i, &info) == 0; i++)
		if (is_first_entry(client, info.name, i))
			log_info(info.name,
				 "zone, state=%s state_age_s=%u bitmap=%s queries=%llu "
				 "failures=%llu",
				 dnsblv6_zone_state_name(info.state), info.state_age_s,
				 info.is_bitmap != 0 ? "yes" : "no", (ull)info.asked,
				 (ull)info.failures);
}

/* ---- all of it ---- */

static void write_all(const void *context, FILE *out)
{
	const struct report *report = context;
	const char *program = report->program;
	report_write_head(out, program, report->started_s);
	if (report->gauge.help != NULL)
		report_write_gauge(out, program, report->gauge.name, report->gauge.help,
				   report->gauge_value);
	report_write_counters(out, program, report->labels, report->values, report->count);
	if (report->client != NULL)
		report_write_client(out, program, report->client);
}

int report_write(const struct report *report, const char *path)
{
	return report_write_file(path, write_all, report);
}

void report_log(const struct report *report)
{
	char head[HEAD_SIZE];
	snprintf(head, sizeof(head), "%s=%llu", report->gauge.name, (ull)report->gauge_value);
	report_log_counters(report->program, head, report->labels, report->values, report->count);
	if (report->client != NULL)
		report_log_client(report->program, report->client);
}
