/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/cached/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/common/version.h"

#define NAME_SIZE 128
#define LINE_SIZE 900 /* what log.h keeps of a line, with its head */
#define FILE_MODE 0644

typedef unsigned long long ull;

static const char context[] = "dnsblv6-cached";

static const struct {
	const char *name;
	const char *help;
} counter_labels[CALLERS_COUNTER_COUNT] = {
#define X(number, text, sentence) [number] = { text, sentence },
	CALLERS_COUNTER_MAP(X)
#undef X
};

/* ---- Prometheus ---- */

/* Its names have underscores. */
static const char *format_name(const char *name, char *ret_name)
{
	size_t i = 0;
	for (; name[i] != '\0' && i < NAME_SIZE - 1; i++)
		ret_name[i] = (char)(name[i] == '-' ? '_' : name[i]);
	ret_name[i] = '\0';
	return ret_name;
}

static void write_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_gauge(FILE *out, const char *name, const char *help, uint64_t value)
{
	write_head(out, name, "gauge", help);
	fprintf(out, "%s %llu\n", name, (ull)value);
}

static void write_callers(const struct callers *callers, FILE *out)
{
	const uint64_t *counters = callers_counters(callers);
	write_gauge(out, "dnsblv6_cached_clients", "Clients that are connected.",
		    callers_count(callers));
	for (unsigned i = 0; i < CALLERS_COUNTER_COUNT; i++) {
		char name[NAME_SIZE];
		char full[NAME_SIZE + 32];
		snprintf(full, sizeof(full), "dnsblv6_cached_%s_total",
			 format_name(counter_labels[i].name, name));
		write_head(out, full, "counter", counter_labels[i].help);
		fprintf(out, "%s %llu\n", full, (ull)counters[i]);
	}
}

/* Some are counters and some are not, and the library does not say which. */
static void write_library(const struct setup *setup, FILE *out)
{
	const char *label = NULL;
	uint64_t value = 0;
	for (unsigned i = 0; dnsblv6_stat_get(setup->handle.client, i, &label, &value) == 0; i++) {
		char name[NAME_SIZE];
		char full[NAME_SIZE + 32];
		snprintf(full, sizeof(full), "dnsblv6_cached_library_%s", format_name(label, name));
		write_head(out, full, "untyped", "See libdnsblv6(3).");
		fprintf(out, "%s %llu\n", full, (ull)value);
	}
}

enum zone_metric { ZONE_STATE, ZONE_STATE_AGE, ZONE_BITMAP, ZONE_ASKED, ZONE_FAILURES, ZONE_COUNT };

static const struct {
	const char *name;
	const char *type;
	const char *help;
} zone_metrics[ZONE_COUNT] = {
	[ZONE_STATE] = { "dnsblv6_cached_zone_state", "gauge",
			 "0 not asked yet, 1 ok, 2 filtered, 3 wildcarded, 4 lists-the-world, "
			 "5 unreachable, 6 blocked." },
	[ZONE_STATE_AGE] = { "dnsblv6_cached_zone_state_seconds", "gauge",
			     "How long it has been in that state." },
	[ZONE_BITMAP] = { "dnsblv6_cached_zone_bitmap", "gauge",
			  "1 when it is asked for bitmaps, 0 the classic way." },
	[ZONE_ASKED] = { "dnsblv6_cached_zone_queries_total", "counter",
			 "DNS questions that were sent for it." },
	[ZONE_FAILURES] = { "dnsblv6_cached_zone_failures_total", "counter",
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

static void write_zones(const struct setup *setup, FILE *out)
{
	struct dnsblv6_zone_info info;
	for (unsigned m = 0; m < ZONE_COUNT; m++) {
		write_head(out, zone_metrics[m].name, zone_metrics[m].type, zone_metrics[m].help);
		for (unsigned i = 0; dnsblv6_zone_get(setup->handle.client, i, &info) == 0; i++)
			fprintf(out, "%s{zone=\"%s\"} %llu\n", zone_metrics[m].name, info.name,
				(ull)value_of(&info, (enum zone_metric)m));
	}
}

int metrics_format(const struct setup *setup, const struct callers *callers, uint64_t started_s,
		   FILE *out)
{
	write_head(out, "dnsblv6_cached_build_info", "gauge", "Version in the label.");
	fprintf(out, "dnsblv6_cached_build_info{version=\"%s\"} 1\n", DNSBLV6_VERSION);
	write_gauge(out, "dnsblv6_cached_start_timestamp_seconds", "When it was started.",
		    started_s);
	write_gauge(out, "dnsblv6_cached_scrape_timestamp_seconds", "When this was written.",
		    (uint64_t)time(NULL));
	write_callers(callers, out);
	write_library(setup, out);
	write_zones(setup, out);
	return ferror(out) ? -EIO : 0;
}

static int write_beside(const char *path, const struct setup *setup, const struct callers *callers,
			uint64_t started_s)
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
	ret = metrics_format(setup, callers, started_s, out);
	if (fclose(out) != 0)
		ret = -errno;
	return ret;
}

/* The collector reads what ends in ".prom", so it never sees one that is half written. */
int metrics_write(const struct setup *setup, const struct callers *callers, uint64_t started_s)
{
	char path[SETUP_PATH_MAX + 8];
	snprintf(path, sizeof(path), "%s.new", setup->metrics);
	int ret = write_beside(path, setup, callers, started_s);
	if (ret == 0 && rename(path, setup->metrics) != 0)
		ret = -errno;
	if (ret != 0)
		unlink(path);
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

static void log_library(const struct setup *setup)
{
	char line[LINE_SIZE] = "";
	size_t size = 0;
	const char *label = NULL;
	uint64_t value = 0;
	for (unsigned i = 0; dnsblv6_stat_get(setup->handle.client, i, &label, &value) == 0; i++)
		add(line, &size, " %s=%llu", label, (ull)value);
	log_info(context, "library,%s", line);
}

void metrics_log(const struct setup *setup, const struct callers *callers)
{
	char line[LINE_SIZE] = "";
	size_t size = 0;
	struct dnsblv6_zone_info info;
	for (unsigned i = 0; i < CALLERS_COUNTER_COUNT; i++)
		add(line, &size, " %s=%llu", counter_labels[i].name,
		    (ull)callers_counters(callers)[i]);
	log_info(context, "counters, clients=%u%s", callers_count(callers), line);
	log_library(setup);
	for (unsigned i = 0; dnsblv6_zone_get(setup->handle.client, i, &info) == 0; i++)
		log_info(info.name,
			 "zone, state=%s state_age_s=%u bitmap=%s queries=%llu failures=%llu",
			 dnsblv6_zone_state_name(info.state), info.state_age_s,
			 info.is_bitmap != 0 ? "yes" : "no", (ull)info.asked, (ull)info.failures);
}
