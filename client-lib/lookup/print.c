/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/lookup/print.h"

#include <inttypes.h>
#include <string.h>

/* Is the entry in set, and none before it of the same zone? */
static bool is_first(const struct lookup *lookup, uint64_t set, unsigned entry)
{
	for (unsigned i = 0; i < entry; i++) {
		if (lookup_has(set, i) &&
		    strcmp(lookup->zones[i].name, lookup->zones[entry].name) == 0)
			return false;
	}
	return lookup_has(set, entry);
}

void print_json_text(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte == '"' || byte == '\\')
			printf("\\%c", byte);
		else if (byte < 0x20 || byte >= 0x7f)
			printf("\\u%04x", byte);
		else
			putchar(byte);
	}
	putchar('"');
}

/* Commas between them; each name once. behind_each is NULL for JSON. */
static void print_names(const struct lookup *lookup, uint64_t set, const char *behind_each)
{
	const char *between = "";

	for (unsigned i = 0; i < lookup->zone_count; i++) {
		if (!is_first(lookup, set, i))
			continue;
		fputs(between, stdout);
		if (behind_each == NULL)
			print_json_text(lookup->zones[i].name);
		else
			printf("%s%s", lookup->zones[i].name, behind_each);
		between = ",";
	}
}

static void print_json_names(const struct lookup *lookup, const char *key, uint64_t set)
{
	printf(",\"%s\":[", key);
	print_names(lookup, set, NULL);
	putchar(']');
}

static void print_json_verdict(const struct lookup *lookup, const char *key, const char *topic,
			       const struct dnsblv6_result *result, const char *reason)
{
	printf("{\"%s\":", key);
	print_json_text(topic);
	printf(",\"verdict\":\"%s\",\"score\":%" PRId32, dnsblv6_verdict_name(result->verdict),
	       result->score);
	print_json_names(lookup, "listed", result->zones_listed);
	print_json_names(lookup, "answered", result->zones_answered);
	print_json_names(lookup, "failed", result->zones_failed);
	print_json_names(lookup, "stale", result->zones_stale);
	print_json_names(lookup, "secure", result->zones_secure);
	print_json_names(lookup, "cached", result->zones_cached);
	printf(",\"ttl_s\":%" PRIu32 ",\"elapsed_us\":%" PRIu32 ",\"queries\":%" PRIu32,
	       result->ttl_s, result->elapsed_us, result->queries);
	if (lookup->has_reason)
		fputs(",\"reason\":", stdout);
	if (reason != NULL)
		print_json_text(reason);
	else if (lookup->has_reason)
		fputs("null", stdout);
	puts("}");
}

void print_verdict(const struct lookup *lookup, const char *key, const char *topic,
		   const struct dnsblv6_result *result, const char *reason)
{
	if (lookup->is_json) {
		print_json_verdict(lookup, key, topic, result, reason);
		return;
	}
	printf(lookup->is_terminal ? "%-15s  %-7s  %3" PRId32 "  " : "%s\t%s\t%" PRId32 "\t", topic,
	       dnsblv6_verdict_name(result->verdict), result->score);
	print_names(lookup, result->zones_listed, "");
	if (result->zones_listed != 0 && result->zones_failed != 0)
		putchar(',');
	print_names(lookup, result->zones_failed, "?");
	if (result->zones_listed == 0 && result->zones_failed == 0)
		putchar('-');
	if (lookup->has_reason)
		printf(lookup->is_terminal ? "  %s" : "\t%s", reason != NULL ? reason : "-");
	putchar('\n');
}

void print_zone(const struct lookup *lookup, const struct dnsblv6_zone_info *info)
{
	const char *state = dnsblv6_zone_state_name(info->state);
	const char *mode = info->is_bitmap ? "bitmap" : "classic";

	if (lookup->is_json) {
		fputs("{\"zone\":", stdout);
		print_json_text(info->name);
		printf(",\"state\":\"%s\",\"mode\":\"%s\",\"weight\":%" PRId32
		       ",\"state_age_s\":%" PRIu32 ",\"asked\":%" PRIu64 ",\"failures\":%" PRIu64
		       "}\n",
		       state, mode, info->weight, info->state_age_s, info->asked, info->failures);
		return;
	}
	printf(lookup->is_terminal ? "%-32s  %-15s  %-7s  %4" PRId32 "  %6" PRIu64 "  %8" PRIu64
				     "  %6" PRIu32 "\n"
				   : "%s\t%s\t%s\t%" PRId32 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu32
				     "\n",
	       info->name, state, mode, info->weight, info->asked, info->failures,
	       info->state_age_s);
}
