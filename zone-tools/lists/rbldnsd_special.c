/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/rbldnsd_reader.h"

#include "zone-tools/base/spec.h"
#include "zone-tools/lists/rbldnsd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Gets what stands behind its keyword; DNSBLV6_OK, after a finding if need be, or -ENOMEM. */
typedef int special_fn(struct rbldnsd *reader, const char *at);

#define TTL_MAX 0x7fffffffu /* RFC 2181 section 8 */

/* ---- words, numbers, times ---- */

static bool take_digits(const char **at, uint32_t *ret_number)
{
	const int64_t number = ascii_take_number(at, NULL, UINT32_MAX);
	if (number < 0)
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

/* The word ends here; moves to the next one. */
static bool take_word_end(const char **at)
{
	if (**at != '\0' && !ascii_is_blank(**at))
		return false;
	*at = rbldnsd_skip_blanks(*at);
	return true;
}

static bool take_number(const char **at, uint32_t *ret_number)
{
	return take_digits(at, ret_number) && take_word_end(at);
}

/* Seconds, or with s, m, h, d or w behind the number. */
static bool take_time(const char **at, uint32_t *ret_seconds)
{
	static const char units[] = "smhdw";
	static const uint32_t seconds[] = { 1, 60, 3600, 86400, 604800 };
	uint32_t number;
	uint32_t factor = 1;
	if (!take_digits(at, &number))
		return false;
	char letter = (char)(**at | 0x20); /* lower case */
	const char *unit = **at != '\0' ? strchr(units, letter) : NULL;
	if (unit != NULL) {
		factor = seconds[unit - units];
		(*at)++;
	}
	if (number > UINT32_MAX / factor || !take_word_end(at))
		return false;
	*ret_seconds = number * factor;
	return true;
}

bool rbldnsd_take_ttl(const char **at, uint32_t fallback, uint32_t *ret_ttl)
{
	uint32_t ttl;
	if (!take_time(at, &ttl) || ttl > TTL_MAX)
		return false;
	*ret_ttl = ttl != 0 ? ttl : fallback;
	return true;
}

/* ---- names ---- */

/*
 * The word as an absolute name with a final dot, returned, end with free().
 * *ret_fault says why it is NULL, unless there is no memory.
 */
static char *take_name(const char **at, const char **ret_fault)
{
	size_t size = rbldnsd_word_size(*at);
	const char *word = *at;
	*at = rbldnsd_skip_blanks(word + size);

	struct dnsblv6_labels labels;
	char *name = malloc(size + 2);
	if (name == NULL)
		return NULL;
	memcpy(name, word, size);
	name[size] = '\0';
	if (strcmp(name, "@") == 0 || dnsblv6_name_from_text(name, &labels) != DNSBLV6_OK) {
		*ret_fault = spec_explain_name(name);
		free(name);
		return NULL;
	}
	if (name[size - 1] != '.')
		memcpy(name + size, ".", 2);
	return name;
}

/* ---- the scope a line belongs to ---- */

static struct rbldnsd_scope *scope_of(struct rbldnsd *reader)
{
	return reader->has_set ? &reader->set.scope : &reader->scope;
}

/* What "0" means in $SOA and $NS: the TTL of the whole list, so far. */
static uint32_t list_ttl(struct rbldnsd *reader)
{
	if (reader->type == RBLDNSD_COMBINED)
		return reader->scope.ttl;
	return scope_of(reader)->ttl;
}

/* ---- $SOA, $NS, $NAMESERVER, $TTL ---- */

static const char not_in_acl[] = "an acl says nothing about the zone";
static const char soa_usage[] =
	"$SOA takes ttl, origin, person, serial, refresh, retry, expire, minttl";

/* NULL, or what is wrong. Servers compare seconds with times, and a minimum is a TTL (RFC 2308). */
static const char *take_soa_numbers(const char **at, struct zone_lines *soa)
{
	static const char many[] = "$SOA takes times of at most 2147483647 seconds";
	if (!take_number(at, &soa->soa_serial) || !take_time(at, &soa->soa_refresh) ||
	    !take_time(at, &soa->soa_retry) || !take_time(at, &soa->soa_expire) ||
	    !take_time(at, &soa->soa_minimum) || **at != '\0')
		return soa_usage;
	return soa->soa_refresh > TTL_MAX || soa->soa_retry > TTL_MAX ||
			       soa->soa_expire > TTL_MAX || soa->soa_minimum > TTL_MAX
		       ? many
		       : NULL;
}

static int read_soa(struct rbldnsd *reader, const char *at)
{
	struct zone_lines *zone = &reader->reading->listing->zone;
	if (reader->type == RBLDNSD_ACL)
		return reading_refuse_line(reader->reading, not_in_acl);
	if (zone->has_soa)
		return DNSBLV6_OK; /* only the first one counts */

	struct zone_lines soa = *zone;
	if (!rbldnsd_take_ttl(&at, list_ttl(reader), &soa.soa_ttl))
		return reading_refuse_line(reader->reading, soa_usage);
	const char *fault = NULL;
	soa.soa_primary = take_name(&at, &fault);
	soa.soa_mailbox = soa.soa_primary != NULL ? take_name(&at, &fault) : NULL;
	soa.has_soa = soa.soa_mailbox != NULL;
	if (soa.has_soa)
		fault = take_soa_numbers(&at, &soa);
	if (soa.has_soa && fault == NULL) {
		*zone = soa;
		return DNSBLV6_OK;
	}
	free(soa.soa_primary);
	free(soa.soa_mailbox);
	return fault != NULL ? reading_refuse_line(reader->reading, fault) : -ENOMEM;
}

static bool has_ns(const struct zone_lines *zone, const char *name)
{
	for (size_t i = 0; i < zone->ns_count; i++) {
		if (strcasecmp(zone->ns[i], name) == 0)
			return true;
	}
	return false;
}

static void add_ns(struct rbldnsd *reader, char *name)
{
	struct zone_lines *zone = &reader->reading->listing->zone;
	if (has_ns(zone, name)) {
		free(name);
	} else if (zone->ns_count == LISTING_NS_MAX) {
		reading_warn(reader->reading, "name server ignored", "more than 32");
		free(name);
	} else {
		zone->ns[zone->ns_count++] = name;
	}
}

static int read_ns(struct rbldnsd *reader, const char *at)
{
	struct zone_lines *zone = &reader->reading->listing->zone;
	if (reader->type == RBLDNSD_ACL)
		return reading_refuse_line(reader->reading, not_in_acl);
	if (zone->ns_count > 0)
		return DNSBLV6_OK; /* only the first line counts */
	uint32_t ttl;
	if (!rbldnsd_take_ttl(&at, list_ttl(reader), &ttl) || *at == '\0')
		return reading_refuse_line(reader->reading, "$NS takes ttl and names");
	zone->ns_ttl = ttl;
	while (*at != '\0') {
		if (*at == '-') {
			at = rbldnsd_skip_blanks(at + rbldnsd_word_size(at)); /* commented out */
			continue;
		}
		const char *fault = NULL;
		char *name = take_name(&at, &fault);
		if (name == NULL)
			return fault != NULL ? reading_refuse_line(reader->reading, fault)
					     : -ENOMEM;
		add_ns(reader, name);
	}
	return DNSBLV6_OK;
}

static int read_ttl(struct rbldnsd *reader, const char *at)
{
	uint32_t ttl;
	if (!rbldnsd_take_ttl(&at, LISTING_TTL_DEFAULT, &ttl) || *at != '\0')
		return reading_refuse_line(reader->reading, "$TTL takes a time");
	scope_of(reader)->ttl = ttl;
	return DNSBLV6_OK;
}

/* ---- $MAXRANGE4 ---- */

static int read_range_max(struct rbldnsd *reader, const char *at)
{
	uint32_t size;
	bool is_prefix_len = *at == '/';
	at += is_prefix_len;
	if (!take_number(&at, &size) || *at != '\0' || size == 0 || (is_prefix_len && size > 32))
		return reading_refuse_line(reader->reading,
					   "$MAXRANGE4 takes a number of addresses, or /len");
	if (is_prefix_len)
		size = 1u << (32 - size);
	if (reader->range_max != 0 && reader->range_max < size)
		return reading_warn(reader->reading, "line ignored", "$MAXRANGE4 cannot be raised");
	reader->range_max = size;
	return DNSBLV6_OK;
}

/* ---- $TIMESTAMP ---- */

/* One to digits_max digits from min to max, and a colon or dash behind them if there is one. */
static bool take_field(const char **at, unsigned digits_max, int min, int max, int *ret_field)
{
	int field = 0;
	if (!ascii_is_digit(**at))
		return false;
	for (unsigned i = 0; i < digits_max && ascii_is_digit(**at); i++)
		field = field * 10 + (*(*at)++ - '0');
	if (field < min || field > max)
		return false;
	*at += **at == ':' || **at == '-';
	*ret_field = field;
	return true;
}

static bool take_optional_field(const char **at, int max, int *ret_field)
{
	if (**at == '\0' || ascii_is_blank(**at))
		return true;
	return take_field(at, 2, 0, max, ret_field);
}

/* yyyy:mm:dd[:hh[:mi[:ss]]] in UTC, delimiters optional; "0", "-" and ":" mean none. */
static bool take_stamp(const char **at, uint64_t *ret_stamp_s)
{
	if (rbldnsd_word_size(*at) == 1 && strchr("0-:", **at) != NULL) {
		*ret_stamp_s = 0;
		(*at)++;
		return take_word_end(at);
	}
	int year, month;
	struct tm tm = { 0 };
	if (!take_field(at, 4, 1970, 2038, &year) || !take_field(at, 2, 1, 12, &month) ||
	    !take_field(at, 2, 1, 31, &tm.tm_mday))
		return false;
	if (!take_optional_field(at, 23, &tm.tm_hour) || !take_optional_field(at, 59, &tm.tm_min) ||
	    !take_optional_field(at, 59, &tm.tm_sec))
		return false;
	tm.tm_year = year - 1900;
	tm.tm_mon = month - 1;
	*ret_stamp_s = (uint64_t)timegm(&tm);
	bool has_day = tm.tm_mon == month - 1; /* or else that day is one of the next month */
	return has_day && take_word_end(at);
}

static bool take_expiry(const char **at, uint64_t stamp_s, uint64_t *ret_expires_s)
{
	if (**at != '+')
		return take_stamp(at, ret_expires_s);
	(*at)++;
	uint32_t seconds;
	if (!take_time(at, &seconds) || stamp_s == 0 || seconds == 0)
		return false;
	*ret_expires_s = stamp_s + seconds;
	return true;
}

/* Not a matter of one line: these refuse the list, whatever --max-bad-lines says. */
static void refuse_list(struct rbldnsd *reader, const char *reason)
{
	reading_refuse(reader->reading, "list refused", reason);
}

static int read_timestamp(struct rbldnsd *reader, const char *at)
{
	uint64_t now_s = reader->reading->options->now_s;
	uint64_t stamp_s;
	uint64_t expires_s = 0;
	if (!take_stamp(&at, &stamp_s) ||
	    (*at != '\0' && (!take_expiry(&at, stamp_s, &expires_s) || *at != '\0')))
		return reading_refuse_line(
			reader->reading,
			"$TIMESTAMP takes yyyy:mm:dd[:hh[:mi[:ss]]] and when it expires");
	if (stamp_s > now_s)
		refuse_list(reader, "time stamp lies in the future");
	if (expires_s != 0 && expires_s <= now_s)
		refuse_list(reader, "list expired");
	struct zone_lines *zone = &reader->reading->listing->zone;
	if (expires_s != 0 && (zone->expires_s == 0 || zone->expires_s > expires_s))
		zone->expires_s = expires_s;
	return DNSBLV6_OK;
}

/* ---- $0 to $9, $= ---- */

static int read_variable(struct rbldnsd *reader, unsigned number, const char *text)
{
	/* Only the first one counts; in a combined list that may be the one for all datasets. */
	char **variable = &scope_of(reader)->variables[number];
	if (*variable != NULL)
		return DNSBLV6_OK;
	*variable = strdup(text);
	return *variable != NULL ? DNSBLV6_OK : -ENOMEM;
}

/* ---- $DATASET ---- */

static bool is_below(const struct dnsblv6_labels *name, const struct dnsblv6_labels *above)
{
	size_t at = 0;
	while (at < name->size && name->size - at > above->size)
		at += 1U + name->wire[at];
	return at > 0 && name->size - at == above->size &&
	       memcmp(name->wire + at, above->wire, above->size) == 0;
}

/* Addresses of the zone, or of a sub-zone above or below it, have names with that label. */
static bool has_label_of_addresses(const struct listing *listing, const struct dnsblv6_labels *name)
{
	for (size_t i = 0; i < listing->origin_count; i++) {
		const struct dnsblv6_labels *known = &listing->origins[i];
		if ((is_below(name, known) &&
		     dnsblv6_name_is_reserved(name->wire, name->size - known->size)) ||
		    (is_below(known, name) &&
		     dnsblv6_name_is_reserved(known->wire, known->size - name->size)))
			return true;
	}
	return false;
}

/*
 * The sub-zone of that name, or the zone itself for "@". rbldnsd allows a
 * sub-zone with the name of addresses, which it then hides.
 */
static int add_sub_zone(struct rbldnsd *reader, const char *word, size_t size,
			const char **ret_fault)
{
	struct listing *listing = reader->reading->listing;
	if (size == 1 && *word == '@')
		return listing_connect(listing, 0);

	struct dnsblv6_labels labels = { .size = 0 };
	char *name = strndup(word, size);
	if (name == NULL)
		return -ENOMEM;
	int ret = dnsblv6_name_from_text(name, &labels);
	free(name);
	rbldnsd_lower(&labels);
	if (ret != DNSBLV6_OK || labels.size == 0) {
		*ret_fault = "sub-zone is not a domain name";
		return DNSBLV6_OK;
	}
	if (has_label_of_addresses(listing, &labels)) {
		*ret_fault = "sub-zone has a name that addresses need";
		return DNSBLV6_OK;
	}
	uint16_t origin;
	ret = listing_add_origin(listing, &labels, &origin);
	if (ret == -E2BIG) {
		*ret_fault = "too many sub-zones";
		return DNSBLV6_OK;
	}
	return ret == DNSBLV6_OK ? listing_connect(listing, origin) : ret;
}

/* Opens the dataset, or says why it is none. */
static int open_dataset(struct rbldnsd *reader, const char *word, size_t size)
{
	const char *colon = memchr(word, ':', size);
	size_t name_size = colon != NULL ? (size_t)(colon - word) : size;
	enum rbldnsd_type type;
	int ret = rbldnsd_type_find(word, name_size, &type);
	if (ret == DNSBLV6_OK && type != RBLDNSD_COMBINED && type != RBLDNSD_ACL) {
		reader->is_lost = false;
		return rbldnsd_set_begin(reader, type);
	}
	refuse_list(reader, ret == DNSBLV6_OK
				    ? "a dataset of this type has no place in a combined list"
				    : "unknown dataset type");
	reader->is_lost = true;
	return DNSBLV6_OK;
}

static int read_dataset(struct rbldnsd *reader, const char *at)
{
	if (reader->type != RBLDNSD_COMBINED)
		return reading_refuse_line(reader->reading, "$DATASET belongs in a combined list");
	int ret = rbldnsd_end(reader);
	if (ret != DNSBLV6_OK)
		return ret;
	if (rbldnsd_is_end(*at)) {
		refuse_list(reader, "$DATASET takes a type and sub-zones");
		reader->is_lost = true;
		return DNSBLV6_OK;
	}
	size_t size = rbldnsd_word_size(at);
	ret = open_dataset(reader, at, size);
	if (ret != DNSBLV6_OK || reader->is_lost)
		return ret;

	at = rbldnsd_skip_blanks(at + size);
	const char *fault = rbldnsd_is_end(*at) ? "no sub-zone; \"@\" is the zone itself" : NULL;
	for (; ret == DNSBLV6_OK && !rbldnsd_is_end(*at); at = rbldnsd_skip_blanks(at + size)) {
		size = rbldnsd_word_size(at);
		ret = add_sub_zone(reader, at, size, &fault);
	}
	if (ret == DNSBLV6_OK && fault != NULL)
		return reading_refuse_line(reader->reading, fault);
	return ret;
}

/* ---- the table ---- */

static const struct special_row {
	const char *keyword;
	special_fn *read;
} specials[] = {
	{ "soa", read_soa },
	{ "ns", read_ns },
	{ "nameserver", read_ns },
	{ "ttl", read_ttl },
	{ "maxrange4", read_range_max },
	{ "timestamp", read_timestamp },
	{ "dataset", read_dataset },
};

static const struct special_row *find_special(const char *keyword, size_t size)
{
	for (unsigned i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		if (strlen(specials[i].keyword) == size &&
		    strncasecmp(specials[i].keyword, keyword, size) == 0)
			return &specials[i];
	}
	return NULL;
}

int rbldnsd_special_read(struct rbldnsd *reader, const char *line, bool is_marked)
{
	size_t size = rbldnsd_word_size(line);
	const char *at = rbldnsd_skip_blanks(line + size);
	if (size == 1 && (ascii_is_digit(*line) || *line == '=') && *at != '\0')
		return read_variable(
			reader, *line == '=' ? RBLDNSD_VARIABLE_BASE : (unsigned)(*line - '0'), at);

	const struct special_row *special = find_special(line, size);
	if (special != NULL)
		return special->read(reader, at);
	/* "#$Id$" and the like: to the author of the list, a comment, which says nothing. */
	if (is_marked) {
		reader->reading->said_count--;
		return reading_warn(reader->reading, "line ignored", "unknown special entry");
	}
	return reading_refuse_line(reader->reading, "unknown special entry");
}
