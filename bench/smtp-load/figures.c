/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/smtp-load/figures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A day; nobody measures longer, and the array is bounded. */
#define SECONDS_MAX 86400

static const char *const outcome_names[SESSION_OUTCOMES] = {
	[SESSION_OPEN] = "open",       [SESSION_DELIVERED] = "delivered",
	[SESSION_BOUNCED] = "bounced", [SESSION_LEFT] = "left",
	[SESSION_REFUSED] = "refused", [SESSION_DEFERRED] = "deferred",
	[SESSION_BROKEN] = "broken",   [SESSION_TIMEOUT] = "timeouts",
	[SESSION_FAILED] = "errors",
};

/* ---- histograms ---- */

/* Microseconds below 32 have a bucket each, then every power of two has 32. */
static unsigned bucket_of(uint64_t us)
{
	if (us < FIGURES_STEPS)
		return (unsigned)us;
	unsigned power = 63 - (unsigned)__builtin_clzll(us) - 5; /* 0: 32 to 63 */
	uint64_t bucket = (uint64_t)power * FIGURES_STEPS + (us >> power);
	return bucket < FIGURES_BUCKETS ? (unsigned)bucket : FIGURES_BUCKETS - 1;
}

/* Its upper end. */
static uint64_t value_of_us(unsigned bucket)
{
	if (bucket < 2 * FIGURES_STEPS)
		return bucket;
	unsigned power = bucket / FIGURES_STEPS - 1;
	return ((uint64_t)(bucket - power * FIGURES_STEPS + 1) << power) - 1;
}

void figures_add(struct figures_histogram *histogram, uint64_t value_ns)
{
	histogram->count++;
	histogram->buckets[bucket_of(value_ns / 1000)]++;
}

uint64_t figures_quantile_ns(const struct figures_histogram *histogram, double quantile)
{
	double wanted = quantile * (double)histogram->count;
	uint64_t seen = 0;
	for (unsigned i = 0; i < FIGURES_BUCKETS && histogram->count > 0; i++) {
		seen += histogram->buckets[i];
		if (seen > 0 && (double)seen >= wanted)
			return value_of_us(i) * 1000;
	}
	return 0;
}

/* ---- what happens ---- */

void figures_init(struct figures *ret_figures, uint64_t window_from_ns)
{
	memset(ret_figures, 0, sizeof(*ret_figures));
	ret_figures->window_from_ns = window_from_ns;
	ret_figures->window_to_ns = UINT64_MAX;
}

void figures_deinit(struct figures *figures)
{
	free(figures->seconds);
	figures->seconds = NULL;
	figures->second_count = 0;
}

/* The row of now, or NULL: without memory the series ends there. */
static struct figures_second *second_of(struct figures *figures, uint64_t now_ns)
{
	size_t index = now_ns / FIGURES_NS_PER_S;
	if (index >= SECONDS_MAX)
		return NULL;
	if (index >= figures->second_count) {
		struct figures_second *seconds =
			realloc(figures->seconds, (index + 1) * sizeof(*seconds));
		if (seconds == NULL)
			return NULL;
		size_t count = index + 1 - figures->second_count;
		memset(seconds + figures->second_count, 0, count * sizeof(*seconds));
		for (size_t i = figures->second_count; i < index; i++)
			seconds[i].open = (uint32_t)figures->open;
		figures->seconds = seconds;
		figures->second_count = index + 1;
	}
	return &figures->seconds[index];
}

static bool is_in_window(const struct figures *figures, uint64_t now_ns)
{
	return now_ns >= figures->window_from_ns && now_ns < figures->window_to_ns;
}

static void set_open(struct figures *figures, uint64_t now_ns, uint64_t open)
{
	/* Before the number changes: seconds in which nothing happened have the old one. */
	struct figures_second *second = second_of(figures, now_ns);
	figures->open = open;
	if (open > figures->open_max)
		figures->open_max = open;
	if (second != NULL)
		second->open = (uint32_t)open;
}

void figures_begun(struct figures *figures, uint64_t now_ns, uint64_t late_ns)
{
	set_open(figures, now_ns, figures->open + 1);
	struct figures_second *second = second_of(figures, now_ns);
	if (second != NULL)
		second->begun++;
	figures->begun++;
	if (late_ns > figures->late_max_ns)
		figures->late_max_ns = late_ns;
}

void figures_greeted(struct figures *figures, uint64_t now_ns, uint64_t took_ns)
{
	if (is_in_window(figures, now_ns))
		figures_add(&figures->greeting, took_ns);
}

static bool is_decided_by_server(enum session_outcome outcome)
{
	return outcome == SESSION_DELIVERED || outcome == SESSION_BOUNCED ||
	       outcome == SESSION_REFUSED || outcome == SESSION_DEFERRED;
}

void figures_decided(struct figures *figures, uint64_t now_ns, const struct session *session)
{
	enum session_outcome outcome = session->outcome;
	struct figures_second *second = second_of(figures, now_ns);
	if (second != NULL)
		second->outcomes[outcome]++;
	figures->outcomes[outcome]++;
	figures->recipients += session->accepted;
	figures->rejected += session->rejected;
	figures->deferred += session->deferred;
	if (!is_in_window(figures, now_ns))
		return;
	figures->window_delivered += outcome == SESSION_DELIVERED;
	figures->window_decided += is_decided_by_server(outcome);
}

void figures_ended(struct figures *figures, uint64_t now_ns, enum session_outcome outcome,
		   uint64_t took_ns)
{
	set_open(figures, now_ns, figures->open - 1);
	if (!is_in_window(figures, now_ns))
		return;
	if (is_decided_by_server(outcome))
		figures_add(&figures->session, took_ns);
	if (outcome == SESSION_DELIVERED)
		figures_add(&figures->mail, took_ns);
}

/* ---- what is told ---- */

static void print_latency(FILE *file, const char *name, const struct figures_histogram *histogram)
{
	static const struct {
		const char *name;
		double quantile;
	} quantiles[] = { { "p50", 0.5 }, { "p99", 0.99 }, { "max", 1 } };

	for (unsigned i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		fprintf(file, " %s_%s_ms=%.3f", name, quantiles[i].name,
			(double)figures_quantile_ns(histogram, quantiles[i].quantile) / 1e6);
}

int figures_print(const struct figures *figures, FILE *file)
{
	double seconds = 0;
	if (figures->window_to_ns > figures->window_from_ns)
		seconds = (double)(figures->window_to_ns - figures->window_from_ns) / 1e9;
	double per_second = seconds > 0 ? 1 / seconds : 0;

	fprintf(file, "seconds=%.3f sessions=%" PRIu64, seconds, figures->begun);
	for (int i = SESSION_OPEN + 1; i < SESSION_OUTCOMES; i++)
		fprintf(file, " %s=%" PRIu64, outcome_names[i], figures->outcomes[i]);
	fprintf(file, " open=%" PRIu64 " open_max=%" PRIu64 " skipped=%" PRIu64,
		figures->outcomes[SESSION_OPEN], figures->open_max, figures->skipped);
	fprintf(file, " recipients=%" PRIu64 " rejected=%" PRIu64 " tempfailed=%" PRIu64,
		figures->recipients, figures->rejected, figures->deferred);
	fprintf(file, " goodput=%.2f decided_per_s=%.2f",
		(double)figures->window_delivered * per_second,
		(double)figures->window_decided * per_second);
	print_latency(file, "greeting", &figures->greeting);
	print_latency(file, "session", &figures->session);
	print_latency(file, "mail", &figures->mail);
	fprintf(file, " late_max_ms=%.3f\n", (double)figures->late_max_ns / 1e6);
	return fflush(file) == 0 && !ferror(file) ? 0 : -EIO;
}

int figures_print_series(const struct figures *figures, FILE *file)
{
	fprintf(file, "second\tbegun");
	for (int i = SESSION_OPEN + 1; i < SESSION_OUTCOMES; i++)
		fprintf(file, "\t%s", outcome_names[i]);
	fprintf(file, "\topen\n");
	for (size_t at = 0; at < figures->second_count; at++) {
		const struct figures_second *second = &figures->seconds[at];
		fprintf(file, "%zu\t%" PRIu32, at, second->begun);
		for (int i = SESSION_OPEN + 1; i < SESSION_OUTCOMES; i++)
			fprintf(file, "\t%" PRIu32, second->outcomes[i]);
		fprintf(file, "\t%" PRIu32 "\n", second->open);
	}
	return fflush(file) == 0 && !ferror(file) ? 0 : -EIO;
}
