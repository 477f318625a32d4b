/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/lookup/verdicts.h"

#include <errno.h>
#include <inttypes.h>
#include <sysexits.h>

#include "client-lib/lookup/print.h"

/* ---- what --trace says beside the library's own lines ---- */

void verdicts_trace_line(void *context, int level, const char *line)
{
	(void)context;
	fprintf(stderr, "    %s%s\n", level <= 4 ? "warning: " : "", line);
}

/* What the cache alone knows: peek makes no question. */
static void trace_cache(const struct lookup *lookup, const struct dnsblv6_ip *ip)
{
	struct dnsblv6_result result = { .verdict = DNSBLV6_UNKNOWN };

	dnsblv6_peek(lookup->client, ip, &result);
	for (unsigned i = 0; i < lookup->zone_count; i++) {
		bool is_known = lookup_has(result.zones_answered | result.zones_failed, i);

		fprintf(stderr, "  cache: %s: %s\n", lookup->zones[i].name,
			!is_known			     ? "not there, DNS is asked"
			: lookup_has(result.zones_failed, i) ? "there: no answer is to be had"
			: lookup_has(result.zones_listed, i) ? "there: listed"
							     : "there: not listed");
	}
}

static void trace_name(const struct dnsblv6_ip *ip, const struct dnsblv6_zone_info *zone)
{
	char name[256];
	const char *kind = zone->is_bitmap ? "dotted" : "classic";

	if (zone->state != DNSBLV6_ZONE_UNPROBED &&
	    dnsblv6_qname(ip, kind, zone->name, name, sizeof(name)) > 0)
		fprintf(stderr, "  %s: %s name is %s\n", zone->name, kind, name);
}

static void trace_entry(const struct lookup *lookup, unsigned entry,
			const struct dnsblv6_result *result)
{
	const struct dnsblv6_zone_info *zone = &lookup->zones[entry];

	if (lookup_has(result->zones_failed, entry)) {
		fprintf(stderr, "  %s: no answer, state %s\n", zone->name,
			dnsblv6_zone_state_name(zone->state));
		return;
	}
	fprintf(stderr, "  %s: %s, weight %" PRId32 "%s%s%s\n", zone->name,
		lookup_has(result->zones_listed, entry) ? "listed" : "not listed", zone->weight,
		lookup_has(result->zones_cached, entry) ? ", from the cache" : "",
		lookup_has(result->zones_secure, entry) ? ", secure" : "",
		lookup_has(result->zones_stale, entry) ? ", stale" : "");
}

static void trace_result(struct lookup *lookup, const struct dnsblv6_ip *ip,
			 const struct dnsblv6_result *result)
{
	lookup_load_zones(lookup); /* their states and modes may be others now */
	for (unsigned i = 0; i < lookup->zone_count; i++) {
		trace_name(ip, &lookup->zones[i]);
		trace_entry(lookup, i, result);
	}
	fprintf(stderr,
		"  score %" PRId32 ": %s; %" PRIu32 " questions, %" PRIu32 " us, holds for %" PRIu32
		" s\n",
		result->score, dnsblv6_verdict_name(result->verdict), result->queries,
		result->elapsed_us, result->ttl_s);
}

/* ---- asking ---- */

static int check_traced(struct lookup *lookup, const struct dnsblv6_ip *ip,
			struct dnsblv6_result *ret_result)
{
	char address[DNSBLV6_IP_TEXT_SIZE];

	dnsblv6_ip_format(ip, address);
	fprintf(stderr, "%s\n", address);
	trace_cache(lookup, ip);
	int ret = dnsblv6_check(lookup->client, ip, lookup->timeout_ms, ret_result);
	if (ret == 0)
		trace_result(lookup, ip, ret_result);
	return ret;
}

static int check_all(struct lookup *lookup, const struct dnsblv6_ip *ips, size_t count,
		     struct dnsblv6_result *ret_results)
{
	if (!lookup->is_trace)
		return dnsblv6_check_batch(lookup->client, ips, count, lookup->timeout_ms,
					   ret_results);
	for (size_t i = 0; i < count; i++) {
		int ret = check_traced(lookup, &ips[i], &ret_results[i]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void print_one(struct lookup *lookup, const struct dnsblv6_ip *ip,
		      const struct dnsblv6_result *result)
{
	char reason[LOOKUP_REASON_MAX];
	char address[DNSBLV6_IP_TEXT_SIZE];
	bool is_given =
		lookup->has_reason && dnsblv6_reason(lookup->client, ip, result, lookup->timeout_ms,
						     reason, sizeof(reason)) > 0;

	dnsblv6_ip_format(ip, address);
	print_verdict(lookup, "address", address, result, is_given ? reason : NULL);
}

static void tally_one(struct lookup_tally *tally, int32_t verdict)
{
	tally->has_listed = tally->has_listed || verdict == DNSBLV6_LISTED;
	tally->has_unknown =
		tally->has_unknown || verdict == DNSBLV6_UNKNOWN || verdict == DNSBLV6_DEFER;
}

int verdicts_run(struct lookup *lookup, struct input *input)
{
	struct dnsblv6_ip ips[LOOKUP_BATCH_MAX];
	struct dnsblv6_result results[LOOKUP_BATCH_MAX];
	struct lookup_tally tally = { false, false, false };
	size_t count;

	while ((count = input_next(input, ips, LOOKUP_BATCH_MAX)) > 0) {
		int ret = check_all(lookup, ips, count, results);
		if (ret < 0)
			return lookup_fail(EX_SOFTWARE, "not asked (%s)", dnsblv6_strerror(ret));
		for (size_t i = 0; i < count; i++) {
			print_one(lookup, &ips[i], &results[i]);
			tally_one(&tally, results[i].verdict);
		}
		if (fflush(stdout) != 0)
			break; /* lookup_status() says it */
	}
	tally.has_bad = input->has_bad;
	return lookup_status(&tally);
}

/* ---- names ---- */

static int check_name(struct lookup *lookup, const char *name, struct lookup_tally *tally)
{
	char reason[LOOKUP_REASON_MAX];
	struct dnsblv6_result result;

	/* Hashes too: what is in --zones was meant. */
	int ret = dnsblv6_check_name(lookup->client, name, UINT64_MAX, lookup->timeout_ms, &result);
	if (ret < 0 && dnsblv6_peek_name(lookup->client, "test", UINT64_MAX, &result) == -EINVAL)
		return lookup_fail(EX_USAGE, "no zone is asked about names; see --set kind=names");
	if (ret < 0) {
		lookup_fail(0, "\"%.60s\" is no name", name);
		tally->has_bad = true;
		return 0;
	}
	bool is_given = lookup->has_reason &&
			dnsblv6_reason_name(lookup->client, name, &result, lookup->timeout_ms,
					    reason, sizeof(reason)) > 0;

	print_verdict(lookup, "name", name, &result, is_given ? reason : NULL);
	tally_one(tally, result.verdict);
	return 0;
}

int verdicts_run_names(struct lookup *lookup, char *const *names, size_t count)
{
	struct lookup_tally tally = { false, false, false };

	for (size_t i = 0; i < count; i++) {
		int status = check_name(lookup, names[i], &tally);

		if (status != 0)
			return status;
	}
	return lookup_status(&tally);
}
