/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/counts/report.h"

#include <errno.h>
#include <inttypes.h>

static double quantile_ms(const struct figures_histogram *histogram, double quantile)
{
	return (double)figures_quantile_ns(histogram, quantile) / 1e6;
}

static void print_sessions(const struct report *report, FILE *file)
{
	const struct tally *tally = &report->tally;
	const double per_hour =
		report->window_s > 0 ? (double)tally->sessions_begun * 3600 / report->window_s : 0;
	fprintf(file,
		" \"sessions\":{\"begun\":%" PRIu64 ",\"ended\":%" PRIu64 ",\"failed\":%" PRIu64
		",\"open_max\":%" PRIu64 ",\"per_hour\":%.1f},\n",
		tally->sessions_begun, tally->sessions_ended, tally->sessions_failed,
		tally->open_max, per_hour);
}

static void print_transactions(const struct report *report, FILE *file)
{
	fprintf(file, " \"transactions\":{");
	for (unsigned i = 0; i < TRANSACTIONS; i++) {
		const struct tally_transaction *counted = &report->tally.transactions[i];
		fprintf(file,
			"%s\n  \"%s\":{\"count\":%" PRIu64 ",\"errors\":%" PRIu64
			",\"within\":%" PRIu64
			",\"p50_ms\":%.3f,\"p95_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}",
			i > 0 ? "," : "", transaction_name(i), counted->count, counted->errors,
			counted->within, quantile_ms(&counted->took, 0.5),
			quantile_ms(&counted->took, 0.95), quantile_ms(&counted->took, 0.99),
			quantile_ms(&counted->took, 1));
	}
	fprintf(file, "},\n");
}

static void print_deliveries(const char *name, const struct tracking_deliveries *deliveries,
			     FILE *file)
{
	fprintf(file,
		"\n  \"%s\":{\"sent\":%" PRIu64 ",\"seen\":%" PRIu64 ",\"within\":%" PRIu64
		",\"p50_s\":%.3f,\"p95_s\":%.3f,\"max_s\":%.3f,\"lost\":%" PRIu64
		",\"twice\":%" PRIu64 "}",
		name, deliveries->sent, deliveries->seen, deliveries->within,
		quantile_ms(&deliveries->took, 0.5) / 1000,
		quantile_ms(&deliveries->took, 0.95) / 1000,
		quantile_ms(&deliveries->took, 1) / 1000, deliveries->lost, deliveries->twice);
}

static void print_errors(const struct report *report, FILE *file)
{
	fprintf(file, " \"errors\":{");
	for (unsigned i = 0; i < TALLY_ERRORS; i++)
		fprintf(file, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", tally_error_name(i),
			report->tally.errors[i]);
	fprintf(file, "},\n \"faults\":{");
	for (int i = 0; report->faults[i].text != NULL; i++)
		fprintf(file, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", report->faults[i].text,
			report->faults[i].count);
	fprintf(file, "},\n");
}

int report_print(const struct report *report, FILE *file)
{
	fprintf(file,
		"{\"users\":%" PRIu64 ",\"rate\":%g,\"seed\":%" PRIu64
		",\"scale\":%g,\"window_s\":%.3f,\n",
		report->users, report->rate, report->seed, report->scale, report->window_s);
	print_sessions(report, file);
	print_transactions(report, file);
	fprintf(file, " \"deliveries\":{");
	print_deliveries("local", &report->local, file);
	fprintf(file, ",");
	print_deliveries("remote", &report->remote, file);
	fprintf(file, "},\n");
	print_errors(report, file);
	fprintf(file,
		" \"late_max_ms\":%.3f,\n"
		" \"load\":{\"cpu_user_s\":%.3f,\"cpu_system_s\":%.3f,\"rss_kib\":%" PRIu64 "}}\n",
		(double)report->tally.late_max_ns / 1e6, report->cpu_user_s, report->cpu_system_s,
		report->rss_kib);
	return fflush(file) == 0 && !ferror(file) ? 0 : -EIO;
}
