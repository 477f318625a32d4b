/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/common/log.h"
#include "lib/common/wholefile.h"

#define NAME_SIZE 160
#define ZONE_SIZE 264 /* a name, or labels; and a number */
#define ZONES_MAX 64  /* as many as a handle has */
#define LINE_SIZE 900 /* what log.h keeps of a line, with its head */
#define FILE_MODE 0644

typedef unsigned long long ull;

/* ---- Prometheus ---- */

/* Some are counters and some are not, and the library does not say which. */
static void write_library(FILE *out, const char *program, struct dnsblv6 *client)
{
	const char *label = NULL;
	uint64_t value = 0;
	char prefix[NAME_SIZE];
	snprintf(prefix, sizeof(prefix), "%s_library", program);
	for (unsigned i = 0; dnsblv6_stat_get(client, i, &label, &value) == 0; i++)
		counts_write(out,
			     &(struct counts_metric){ COUNTS_UNTYPED, prefix, label,
						      "See libdnsblv6(3)." },
			     value);
}

enum zone_metric { ZONE_STATE, ZONE_STATE_AGE, ZONE_BITMAP, ZONE_ASKED, ZONE_FAILURES, ZONE_COUNT };

static const struct {
	const char *name;
	enum counts_type type;
	const char *help;
} zone_metrics[ZONE_COUNT] = {
	[ZONE_STATE] = { "zone_state", COUNTS_GAUGE,
			 "0 not asked yet, 1 ok, 2 filtered, 3 wildcarded, 4 lists-the-world, "
			 "5 unreachable, 6 blocked, 7 insecure." },
	[ZONE_STATE_AGE] = { "zone_state_seconds", COUNTS_GAUGE,
			     "How long it has been in that state." },
	[ZONE_BITMAP] = { "zone_bitmap", COUNTS_GAUGE,
			  "1 when it is asked for bitmaps, 0 the classic way." },
	[ZONE_ASKED] = { "zone_queries", COUNTS_COUNTER, "DNS questions that were sent for it." },
	[ZONE_FAILURES] = { "zone_failures", COUNTS_COUNTER,
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

/* ---- zones ---- */

/* One that is asked with several filters has one line. */
struct zone {
	struct dnsblv6_zone_info info;
	char called[ZONE_SIZE];
};

struct zones {
	struct zone list[ZONES_MAX];
	unsigned count;
};

static bool has_word(const char *list, const char *word)
{
	for (size_t size = 0;; list += size + 1) {
		size = strcspn(list, ",");
		if (size == strlen(word) && memcmp(list, word, size) == 0)
			return true;
		if (list[size] == '\0')
			return false;
	}
}

/* Each label once, as long as there is room. */
static void add_label(struct zone *zone, const char *label)
{
	size_t used = strlen(zone->called);
	if (label[0] != '\0' && !has_word(zone->called, label) &&
	    used + 1 + strlen(label) < sizeof(zone->called))
		snprintf(zone->called + used, sizeof(zone->called) - used, "%s%s",
			 used > 0 ? "," : "", label);
}

static struct zone *find_zone(struct zones *zones, const struct dnsblv6_zone_info *info)
{
	unsigned i = 0;
	while (i < zones->count && strcmp(zones->list[i].info.name, info->name) != 0)
		i++;
	if (i == zones->count)
		zones->list[zones->count++] = (struct zone){ .info = *info };
	return &zones->list[i];
}

/* Without a label by its name. Prometheus takes no file with two lines of one name. */
static void call_zone(struct zones *zones, unsigned index)
{
	struct zone *zone = &zones->list[index];
	char *called = zone->called;
	if (called[0] == '\0')
		memcpy(called, zone->info.name, sizeof(zone->info.name));
	for (unsigned i = 0; i < index; i++) {
		size_t used = strlen(called);
		if (strcmp(zones->list[i].called, called) == 0)
			snprintf(called + used, ZONE_SIZE - used, "#%u", index + 1);
	}
}

/* A zone's name may have a key in it: as in dnsblv6_reason(), its labels stand in its place. */
static void read_zones(struct dnsblv6 *client, struct zones *ret_zones)
{
	struct dnsblv6_zone_info info;
	ret_zones->count = 0;
	for (unsigned i = 0; i < ZONES_MAX && dnsblv6_zone_get(client, i, &info) == 0; i++)
		add_label(find_zone(ret_zones, &info), info.label);
	for (unsigned i = 0; i < ret_zones->count; i++)
		call_zone(ret_zones, i);
}

static void write_zones(FILE *out, const char *program, struct dnsblv6 *client)
{
	struct zones zones;
	read_zones(client, &zones);
	for (unsigned m = 0; m < ZONE_COUNT; m++) {
		const struct counts_metric metric = { zone_metrics[m].type, program,
						      zone_metrics[m].name, zone_metrics[m].help };
		counts_write_head(out, &metric);
		for (unsigned i = 0; i < zones.count; i++)
			counts_write_value(out, &metric, zones.list[i].called,
					   value_of(&zones.list[i].info, (enum zone_metric)m));
	}
}

static void write_client(FILE *out, const char *program, struct dnsblv6 *client)
{
	write_library(out, program, client);
	write_zones(out, program, client);
}

/* The collector reads what ends in ".prom", so it never sees one that is half written. */
int report_write_file(const char *path, report_fn fn, const void *context)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (out == NULL)
		return -errno;
	fn(context, out);
	int ret = ferror(out) ? -ENOMEM : 0;
	if (fclose(out) != 0)
		ret = -ENOMEM;
	/* Whatever umask is: the collector is another user. */
	if (ret == 0)
		ret = wholefile_write(AT_FDCWD, path, text, size, FILE_MODE, WHOLEFILE_EXACT);
	free(text);
	return ret;
}

/* ---- the log ---- */

static void log_library(const char *context, struct dnsblv6 *client)
{
	char line[LINE_SIZE] = "";
	size_t size = 0;
	const char *label = NULL;
	uint64_t value = 0;
	for (unsigned i = 0; dnsblv6_stat_get(client, i, &label, &value) == 0; i++) {
		int more =
			snprintf(line + size, sizeof(line) - size, " %s=%llu", label, (ull)value);
		if (more > 0 && (size_t)more < sizeof(line) - size)
			size += (size_t)more;
	}
	line[size] = '\0';
	log_info(context, "library,%s", line);
}

static void log_client(const char *context, struct dnsblv6 *client)
{
	struct zones zones;
	log_library(context, client);
	read_zones(client, &zones);
	for (unsigned i = 0; i < zones.count; i++) {
		const struct dnsblv6_zone_info *info = &zones.list[i].info;
		log_info(zones.list[i].called,
			 "zone, state=%s state_age_s=%u bitmap=%s queries=%llu failures=%llu",
			 dnsblv6_zone_state_name(info->state), info->state_age_s,
			 info->is_bitmap != 0 ? "yes" : "no", (ull)info->asked,
			 (ull)info->failures);
	}
}

/* ---- all of it ---- */

static void write_all(const void *context, FILE *out)
{
	const struct report *report = context;
	const char *program = report->program;
	counts_write_program(out, program, report->started_s, (uint64_t)time(NULL));
	if (report->gauge.help != NULL)
		counts_write(out,
			     &(struct counts_metric){ COUNTS_GAUGE, program, report->gauge.name,
						      report->gauge.help },
			     report->gauge_value);
	for (size_t i = 0; i < report->gauge_count; i++)
		counts_write(out,
			     &(struct counts_metric){ COUNTS_GAUGE, program, report->gauges[i].name,
						      report->gauges[i].help },
			     report->gauge_values[i]);
	counts_write_counters(out, program, report->labels, report->values, report->count);
	if (report->client != NULL)
		write_client(out, program, report->client);
}

int report_write(const struct report *report, const char *path)
{
	return report_write_file(path, write_all, report);
}

void report_log(const struct report *report)
{
	char line[LINE_SIZE];
	counts_format(report->labels, report->values, report->count, true, line, sizeof(line));
	log_info(report->program, "counters, %s=%llu %s", report->gauge.name,
		 (ull)report->gauge_value, line);
	if (report->gauge_count > 0)
		log_info(report->program, "gauges, %s",
			 counts_format(report->gauges, report->gauge_values, report->gauge_count,
				       true, line, sizeof(line)));
	if (report->client != NULL)
		log_client(report->program, report->client);
}
