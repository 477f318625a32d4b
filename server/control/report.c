/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/control/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/common/counts.h"
#include "lib/common/utc.h"
#include "lib/common/version.h"
#include "lib/dns/peer.h"
#include "server/transfer/outward.h"
#include "server/zone/catalog.h"
#include "server/xdp-kernel/fill.h"
#include "server/zone/zone.h"

#define NAME_SIZE (UINT8_MAX + 1) /* of a file, with its NUL */

typedef unsigned long long ull;

/* 0 is no time. */
static const char *format_time(uint64_t time_s, char *ret_text)
{
	return time_s == 0 ? "-" : utc_format(time_s, ret_text);
}

/* ---- status ---- */

static void write_status(const struct report *report, FILE *out)
{
	const char *state = report->is_stopping	      ? "stopping"
			    : report->generation == 0 ? "starting"
						      : "serving";
	fprintf(out, "version\t%s\nstate\t%s\n", DNSBLV6_VERSION, state);
	fprintf(out, "uptime\t%llu\ngeneration\t%llu\n", (ull)report->uptime_s,
		(ull)report->generation);
	fprintf(out, "reloads\t%llu\nreloads-refused\t%llu\n", (ull)report->reloads,
		(ull)report->reloads_refused);
	fprintf(out, "restarts\t%llu\nzones\t%zu\n", (ull)report->restarts,
		report->settings->zone_count);
	for (size_t i = 0; i < report->worker_count; i++) {
		const struct report_worker *worker = &report->workers[i];
		fprintf(out, "worker\t%zu\t%llu\t%d\t%s\t%llu\t%llu\n", worker->index,
			(ull)worker->generation, (int)worker->pid, worker->state,
			(ull)worker->uptime_s, (ull)worker->restarts);
	}
}

/* ---- zones ---- */

static const char *name_state(const struct report *report, const struct zonestatus_zone *zone)
{
	switch (zone->state) {
	case ZONESTATUS_OPENING:
		return "opening";
	case ZONESTATUS_EXPIRED:
		return "expired";
	case ZONESTATUS_FAILED:
		return zone_strerror((int)zone->status);
	default:
		break;
	}
	if (zone->damage != 0)
		return "serving a damaged store";
	if (zone->signatures_s == 0)
		return "serving";
	static const char *const texts[] = {
		[ZONE_SIGNATURES_GOOD] = "serving",
		[ZONE_SIGNATURES_END_SOON] = "signatures end soon",
		[ZONE_SIGNATURES_ENDED] = "signatures ended",
		[ZONE_SIGNATURES_NOT_YET] = "signatures not valid yet",
	};
	return texts[zone_judge_signatures(zone->built_s, zone->signatures_s, report->now_s)];
}

/* The names that the zone has besides, one behind the other. */
static void write_others(const struct settings_zone *zone, FILE *out)
{
	for (size_t i = 0; i < zone->other_count; i++)
		fprintf(out, "%s%s", i > 0 ? "," : "", zone->others[i].name.text);
	if (zone->other_count == 0)
		fputs("-", out);
}

static const char *copy_name(const struct dnsblv6_list_file *file, char *ret_name)
{
	memcpy(ret_name, file->name, file->name_size);
	ret_name[file->name_size] = '\0';
	return ret_name;
}

/* The time and the name of the oldest of its lists, which is the first. */
static void write_oldest(const struct report *report, size_t index, FILE *out)
{
	struct zonestatus_files files = zonestatus_get_files(report->zonestatus, index);
	struct dnsblv6_list_file file;
	size_t offset = 0;
	char name[NAME_SIZE] = "-";
	char written[UTC_TEXT_SIZE] = "-";
	if (dnsblv6_list_file_next(files.bytes, files.size, &offset, &file) == DNSBLV6_OK) {
		utc_format(file.written_s, written);
		copy_name(&file, name);
	}
	fprintf(out, "\t%s\t%s\n", written, name);
}

static void write_zones(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < report->settings->zone_count; i++) {
		const struct settings_zone *settings = &report->settings->zones[i];
		struct zonestatus_zone zone = zonestatus_find_worst(report->zonestatus, i);
		char built[UTC_TEXT_SIZE];
		char signatures[UTC_TEXT_SIZE];
		char expires[UTC_TEXT_SIZE];
		char lists[UTC_TEXT_SIZE];
		fprintf(out, "%s\t", settings->domain.text);
		write_others(settings, out);
		fprintf(out, "\t%llu\t%llu\t%s\t%s\t%s\t%s\t%s", (ull)zone.serial,
			(ull)zone.records, format_time(zone.built_s, built),
			format_time(zone.signatures_s, signatures),
			format_time(zone.expires_s, expires), name_state(report, &zone),
			format_time(zone.lists_s, lists));
		write_oldest(report, i, out);
	}
}

/* ---- the network driver ---- */

static void write_driver_zone(const struct report *report, size_t index, FILE *out)
{
	struct driverstatus_zone zone = driverstatus_get(report->driverstatus, index);
	bool is_answering = zone.state == DRIVERSTATUS_ANSWERING;
	const char *reason = zone.state == DRIVERSTATUS_UNFIT
				     ? fill_reason_text((enum fill_reason)zone.reason)
				     : driverstatus_text((enum driverstatus_state)zone.state);
	char switched[UTC_TEXT_SIZE];
	fprintf(out, "zone\t%s\t%llu\t%s\t%llu\t%s\t%s\n",
		report->settings->zones[index].domain.text, (ull)zone.serial,
		format_time(zone.switched_s, switched), (ull)zone.lines,
		is_answering ? "driver" : "sockets", is_answering ? "-" : reason);
}

static void write_driver(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < report->interface_count; i++)
		fprintf(out, "interface\t%s\t%s\n", report->interfaces[i].name,
			report->interfaces[i].mode);
	if (report->filler != NULL)
		fprintf(out, "filler\t%llu\t%d\t%llu\t%llu\n", (ull)report->filler->generation,
			(int)report->filler->pid, (ull)report->filler->uptime_s,
			(ull)report->filler->restarts);
	for (size_t i = 0; i < report->settings->zone_count && report->interface_count > 0; i++)
		write_driver_zone(report, i, out);
}

/* ---- counters ---- */

static void write_stats(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < COUNTERS_SERVER_COUNT; i++)
		fprintf(out, "server\t%s\t%llu\n", counters_server_labels[i].name,
			(ull)report->totals->server[i]);
	for (size_t f = 0; f < catalog_count_faces(report->settings); f++) {
		const char *name = catalog_face_name(report->settings, f)->text;
		const uint64_t *values = totals_find(report->totals, name);
		for (size_t i = 0; values != NULL && i < COUNTERS_FACE_COUNT; i++)
			fprintf(out, "%s\t%s\t%llu\n", name, counters_face_labels[i].name,
				(ull)values[i]);
	}
}

static int write_top(const struct report *report, unsigned count, FILE *out)
{
	struct talkers_row *rows = calloc(count, sizeof(*rows));
	size_t found = 0;
	int ret = rows == NULL ? -ENOMEM
			       : talkers_find_top(report->tables, report->table_count, rows, count,
						  &found);
	for (size_t i = 0; i < found && ret == 0; i++) {
		char prefix[TALKERS_TEXT_MAX];
		talkers_format(&report->shape, rows[i].key, prefix);
		fprintf(out, "%s\t%llu\t%llu\n", prefix, (ull)rows[i].count,
			(ull)(rows[i].count - rows[i].error));
	}
	free(rows);
	return ret;
}

/* ---- Prometheus ---- */

static struct counts_metric gauge(const char *prefix, const char *name, const char *help)
{
	return (struct counts_metric){ COUNTS_GAUGE, prefix, name, help };
}

static void write_counters(const struct report *report, FILE *out)
{
	counts_write_counters(out, "dnsblv6_server", counters_server_labels, report->totals->server,
			      COUNTERS_SERVER_COUNT);
	size_t face_count = catalog_count_faces(report->settings);
	for (size_t i = 0; i < COUNTERS_FACE_COUNT && face_count != 0; i++) {
		const struct counts_metric metric = { COUNTS_COUNTER, "dnsblv6_zone",
						      counters_face_labels[i].name,
						      counters_face_labels[i].help };
		counts_write_head(out, &metric);
		for (size_t f = 0; f < face_count; f++) {
			const char *zone = catalog_face_name(report->settings, f)->text;
			const uint64_t *values = totals_find(report->totals, zone);
			counts_write_value(out, &metric, zone, values != NULL ? values[i] : 0);
		}
	}
}

static uint64_t is_up(const struct zonestatus_zone *zone)
{
	return zone->state == ZONESTATUS_SERVING;
}

static uint64_t is_damaged(const struct zonestatus_zone *zone)
{
	return zone->damage != 0;
}

static const struct zone_gauge {
	const char *name;
	const char *help;
	size_t offset;					      /* of struct zonestatus_zone */
	bool is_time;					      /* absent when 0 */
	uint64_t (*find)(const struct zonestatus_zone *zone); /* or NULL: what is at offset */
} zone_gauges[] = {
	{ "up", "1 when all workers answer from a store", 0, false, is_up },
	{ "damaged", "1 when the store that is served differs from its checksum", 0, false,
	  is_damaged },
	{ "serial", "serial of the SOA", offsetof(struct zonestatus_zone, serial), false, NULL },
	{ "records", "names with data in the store", offsetof(struct zonestatus_zone, records),
	  false, NULL },
	{ "ipv4_addresses", "IPv4 addresses that are listed",
	  offsetof(struct zonestatus_zone, addresses), false, NULL },
	{ "ipv6_networks", "IPv6 /64s that are listed", offsetof(struct zonestatus_zone, networks),
	  false, NULL },
	{ "domain_names", "domain names that are listed", offsetof(struct zonestatus_zone, names),
	  false, NULL },
	{ "built_timestamp_seconds", "when the store was changed last, also by signing",
	  offsetof(struct zonestatus_zone, built_s), true, NULL },
	{ "lists_timestamp_seconds", "when the newest file of the lists was written",
	  offsetof(struct zonestatus_zone, lists_s), true, NULL },
	{ "signatures_end_timestamp_seconds", "when the first signature ends",
	  offsetof(struct zonestatus_zone, signatures_s), true, NULL },
	{ "expire_timestamp_seconds", "from when on the list is not served",
	  offsetof(struct zonestatus_zone, expires_s), true, NULL },
	{ "checked_timestamp_seconds", "when the store was compared with its checksum last",
	  offsetof(struct zonestatus_zone, checked_s), true, NULL },
};

static void write_zone_gauge(const struct report *report, const struct zone_gauge *row, FILE *out)
{
	const struct counts_metric metric = gauge("dnsblv6_zone", row->name, row->help);
	bool has_head = false;
	for (size_t i = 0; i < report->settings->zone_count; i++) {
		struct zonestatus_zone zone = zonestatus_find_worst(report->zonestatus, i);
		uint64_t value = 0;
		if (row->find != NULL)
			value = row->find(&zone);
		else
			memcpy(&value, (const char *)&zone + row->offset, sizeof(value));
		if (row->is_time && value == 0)
			continue;
		if (!has_head)
			counts_write_head(out, &metric);
		has_head = true;
		counts_write_value(out, &metric, report->settings->zones[i].domain.text, value);
	}
}

/* Of a zone that does not tell there is none. */
static void write_list_gauge(const struct report *report, FILE *out)
{
	const struct counts_metric metric =
		gauge("dnsblv6_list", "timestamp_seconds",
		      "when a file of the lists was written, as it was built");
	bool has_head = false;
	for (size_t i = 0; i < report->settings->zone_count; i++) {
		struct zonestatus_files files = zonestatus_get_files(report->zonestatus, i);
		struct dnsblv6_list_file file;
		char name[NAME_SIZE];
		for (size_t offset = 0; dnsblv6_list_file_next(files.bytes, files.size, &offset,
							       &file) == DNSBLV6_OK;) {
			if (!has_head)
				counts_write_head(out, &metric);
			has_head = true;
			fputs("dnsblv6_list_timestamp_seconds{zone=", out);
			counts_write_text(out, report->settings->zones[i].domain.text);
			fputs(",file=", out);
			counts_write_text(out, copy_name(&file, name));
			fprintf(out, "} %llu\n", (ull)file.written_s);
		}
	}
}

static const struct follow_gauge {
	const char *name;
	const char *help;
	size_t offset; /* of struct followstatus_place */
} follow_gauges[] = {
	{ "serial", "serial of the zone that the secondary answers with",
	  offsetof(struct followstatus_place, serial) },
	{ "answered_timestamp_seconds", "when the secondary answered last",
	  offsetof(struct followstatus_place, answered_s) },
};

static void write_follow_value(const struct report *report, const struct follow_gauge *row,
			       const struct outward_address *at,
			       const struct followstatus_place *place, FILE *out)
{
	char text[PEER_TEXT_SIZE];
	uint64_t value;
	uint16_t port = peer_format((const struct sockaddr *)at->address, text);
	memcpy(&value, (const char *)place + row->offset, sizeof(value));
	fprintf(out, "dnsblv6_secondary_%s{zone=", row->name);
	counts_write_text(out, report->settings->zones[at->zone].domain.text);
	fputs(",secondary=", out);
	counts_write_text(out, at->secondary->id);
	fprintf(out, ",address=\"%s@%u\"} %llu\n", text, port, (ull)value);
}

/* Those that have never answered have no value. */
static void write_follow_gauge(const struct report *report, const struct follow_gauge *row,
			       FILE *out)
{
	const struct counts_metric metric = gauge("dnsblv6_secondary", row->name, row->help);
	struct outward_address at;
	bool has_head = false;
	for (size_t i = 0; outward_find(report->settings, i, &at); i++) {
		struct followstatus_place place = followstatus_get(report->followstatus, i);
		if (place.answered_s == 0)
			continue;
		if (!has_head)
			counts_write_head(out, &metric);
		has_head = true;
		write_follow_value(report, row, &at, &place, out);
	}
}

static const struct driver_gauge {
	const char *name;
	const char *help;
	size_t offset; /* of struct driverstatus_zone */
	bool is_state; /* and not what is at offset */
} driver_gauges[] = {
	{ "driver_up", "1 when the network driver answers for the zone", 0, true },
	{ "driver_serial", "serial that the network driver answers with",
	  offsetof(struct driverstatus_zone, serial), false },
	{ "driver_switched_timestamp_seconds", "since when it answers with that serial",
	  offsetof(struct driverstatus_zone, switched_s), false },
};

/* What the driver does not answer for has a state alone. */
static void write_driver_gauge(const struct report *report, const struct driver_gauge *row,
			       FILE *out)
{
	const struct counts_metric metric = gauge("dnsblv6_zone", row->name, row->help);
	bool has_head = false;
	for (size_t i = 0; i < report->settings->zone_count; i++) {
		struct driverstatus_zone zone = driverstatus_get(report->driverstatus, i);
		uint64_t value = zone.state == DRIVERSTATUS_ANSWERING;
		if (!row->is_state && value == 0)
			continue;
		if (!row->is_state)
			memcpy(&value, (const char *)&zone + row->offset, sizeof(value));
		if (!has_head)
			counts_write_head(out, &metric);
		has_head = true;
		counts_write_value(out, &metric, report->settings->zones[i].domain.text, value);
	}
}

static void write_metrics(const struct report *report, FILE *out)
{
	uint64_t serving = 0;
	for (size_t i = 0; i < report->worker_count; i++)
		serving += strcmp(report->workers[i].state, "serving") == 0;
	const struct counts_metric workers = gauge("dnsblv6", "workers", "workers as configured");
	const struct counts_metric answering =
		gauge("dnsblv6", "workers_serving", "workers that answer");
	static const struct counts_label labels[] = {
		{ "worker_restarts", "workers that died" },
		{ "reloads", "configurations that were taken over" },
		{ "reloads_refused", "configurations that were refused" },
	};
	const uint64_t values[] = { report->restarts, report->reloads, report->reloads_refused };
	counts_write_program(out, "dnsblv6", report->now_s - report->uptime_s, report->now_s);
	counts_write(out, &workers, report->settings->workers);
	counts_write(out, &answering, serving);
	counts_write_counters(out, "dnsblv6", labels, values, sizeof(values) / sizeof(values[0]));
	write_counters(report, out);
	for (size_t i = 0; i < sizeof(zone_gauges) / sizeof(zone_gauges[0]); i++)
		write_zone_gauge(report, &zone_gauges[i], out);
	write_list_gauge(report, out);
	for (size_t i = 0; i < sizeof(follow_gauges) / sizeof(follow_gauges[0]); i++)
		write_follow_gauge(report, &follow_gauges[i], out);
	if (report->interface_count == 0)
		return;
	for (size_t i = 0; i < sizeof(driver_gauges) / sizeof(driver_gauges[0]); i++)
		write_driver_gauge(report, &driver_gauges[i], out);
}

int report_print(const struct report *report, const struct request *request, FILE *out)
{
	switch (request->verb) {
	case REQUEST_STATUS:
		write_status(report, out);
		break;
	case REQUEST_ZONES:
		write_zones(report, out);
		break;
	case REQUEST_STATS:
		write_stats(report, out);
		break;
	case REQUEST_METRICS:
		write_metrics(report, out);
		break;
	case REQUEST_DRIVER:
		write_driver(report, out);
		break;
	case REQUEST_TOP:
		return write_top(report, request->number, out);
	default:
		break;
	}
	return 0;
}
