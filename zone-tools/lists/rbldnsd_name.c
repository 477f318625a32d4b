/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/rbldnsd_reader.h"

#include "zone-tools/base/spec.h"
#include "zone-tools/lists/rbldnsd_address.h"

#include "lib/format/ascii.h"
#include "lib/format/dnssec.h"
#include "lib/format/wellknown.h"

#include <string.h>
#include <strings.h>

static const char too_long[] = "name or label is too long";

/* ---- names ---- */

static bool has_asterisk(const struct dnsblv6_labels *name)
{
	for (size_t i = 0; i < name->size; i += 1u + name->wire[i]) {
		if (name->wire[i] == 1 && name->wire[i + 1] == '*')
			return true;
	}
	return false;
}

void rbldnsd_lower(struct dnsblv6_labels *name)
{
	/* Sizes of labels are below 'A'. */
	for (unsigned i = 0; i < name->size; i++)
		name->wire[i] = ascii_lower(name->wire[i]);
}

/*
 * The word at *at as a name in lower case, and *at behind it and the blanks
 * there. NULL, or what is wrong with it: static text.
 */
static const char *take_name(const char **at, struct dnsblv6_labels *ret_name)
{
	char text[DNSBLV6_NAME_TEXT_SIZE];
	size_t size = rbldnsd_word_size(*at);
	if (size >= sizeof(text))
		return too_long;
	memcpy(text, *at, size);
	text[size] = '\0';
	int ret = dnsblv6_name_from_text(text, ret_name);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ENAMESIZE ? too_long : spec_explain_name(text);
	rbldnsd_lower(ret_name);
	*at = rbldnsd_skip_blanks(*at + size);
	return NULL;
}

/* The same of a name that the zone is to have. */
static const char *take_owner(const char **at, struct dnsblv6_labels *ret_name)
{
	const char *fault = take_name(at, ret_name);
	if (fault != NULL)
		return fault;
	if (ret_name->size == 0)
		return "not a domain name";
	if (has_asterisk(ret_name))
		return "an asterisk would be a wildcard in the zone; \"*.\" begins a name or "
		       "stands nowhere";
	if (dnsblv6_name_is_reserved(ret_name->wire, ret_name->size))
		return "a name that addresses need, or the zone itself";
	return NULL;
}

/* ---- dnset ---- */

static bool is_label(const struct dnsblv6_labels *name, const char *label)
{
	size_t size = strlen(label);
	return name->size == size + 1 && memcmp(name->wire + 1, label, size) == 0;
}

/* RFC 5782 section 5: the test points of a list of names. */
static const char *check_points(const struct dnsblv6_labels *name, uint8_t reach, bool is_exclusion)
{
	if (!is_exclusion && is_label(name, DNSBLV6_NAME_CLEAR))
		return "lists a test point that must not be listed (RFC 5782)";
	if (is_exclusion && (reach & NAME_ITSELF) != 0 && is_label(name, DNSBLV6_NAME_LISTED))
		return "excludes a test point that must be listed (RFC 5782)";
	return NULL;
}

/* ".name" is the name and what is below it, "*.name" what is below it alone. */
static uint8_t take_reach(const char **at)
{
	if (**at == '.') {
		(*at)++;
		return NAME_ITSELF | NAME_BELOW;
	}
	if ((*at)[0] == '*' && (*at)[1] == '.') {
		*at += 2;
		return NAME_BELOW;
	}
	return NAME_ITSELF;
}

int rbldnsd_name_read(struct rbldnsd *reader, const char *line)
{
	struct reading *reading = reader->reading;
	struct dnsblv6_labels name;
	const char *at = line;
	bool is_exclusion = *at == '!';
	if (is_exclusion)
		at = rbldnsd_skip_blanks(at + 1);
	uint8_t reach = take_reach(&at);
	const char *fault = take_owner(&at, &name);
	if (fault == NULL)
		fault = check_points(&name, reach, is_exclusion);

	uint32_t value = ENTRY_EXCLUDED;
	int ret = DNSBLV6_OK;
	if (fault == NULL && !is_exclusion)
		ret = rbldnsd_read_value(reader, at, &value, &fault);
	if (ret != DNSBLV6_OK)
		return ret;
	if (fault != NULL)
		return reading_refuse_line(reading, fault);
	reading->listed_count += !is_exclusion;
	return dataset_add_name(reading->listing, reader->set.dataset, &name, reach, value);
}

/* ---- generic ---- */

/* RDATA of the largest record: an MX, or a TXT of one character-string. */
#define RDATA_MAX (2 + DNSBLV6_LABELS_MAX + 1)

struct rdata {
	uint8_t bytes[RDATA_MAX];
	size_t size;
	bool is_cut;
};

static const char *read_a(const char *at, struct rdata *ret_rdata)
{
	uint32_t a;
	if (!rbldnsd_address_parse_host(&at, &a) || !(rbldnsd_is_end(*at) || ascii_is_blank(*at)))
		return "not an IPv4 address";
	if (!rbldnsd_is_end(*rbldnsd_skip_blanks(at)))
		return "what follows the address does not belong there";
	for (unsigned i = 0; i < 4; i++)
		ret_rdata->bytes[i] = (uint8_t)(a >> (24 - 8 * i));
	ret_rdata->size = 4;
	return NULL;
}

/* One character-string, with or without quotes around it; what is between is taken as it is. */
static const char *read_txt(const char *at, struct rdata *ret_rdata)
{
	size_t size = strlen(at);
	if (size >= 2 && at[0] == '"' && at[size - 1] == '"') {
		at++;
		size -= 2;
	}
	ret_rdata->is_cut = size > 255;
	if (size > 255)
		size = 255;
	ret_rdata->bytes[0] = (uint8_t)size;
	memcpy(ret_rdata->bytes + 1, at, size);
	ret_rdata->size = 1 + size;
	return NULL;
}

static const char *read_mx(const char *at, struct rdata *ret_rdata)
{
	struct dnsblv6_labels name;
	if (!ascii_is_digit(*at))
		return "MX takes a number and a name";
	const int64_t preference = ascii_take_number(&at, NULL, UINT16_MAX);
	if (preference < 0 || !ascii_is_blank(*at))
		return "MX takes a number up to 65535 and a name";
	at = rbldnsd_skip_blanks(at);
	const char *fault = *at == '\0' || strcmp(at, "@") == 0 ? "MX takes a number and a name"
								: take_name(&at, &name);
	if (fault != NULL)
		return fault;
	if (*at != '\0')
		return "what follows the name does not belong there";
	ret_rdata->bytes[0] = (uint8_t)(preference >> 8);
	ret_rdata->bytes[1] = (uint8_t)preference;
	memcpy(ret_rdata->bytes + 2, name.wire, name.size);
	ret_rdata->bytes[2 + name.size] = 0;
	ret_rdata->size = 3u + name.size;
	return NULL;
}

static const struct record_row {
	const char *name;
	uint16_t type;
	const char *(*read)(const char *at, struct rdata *ret_rdata);
} record_types[] = {
	{ "a", DNSBLV6_TYPE_A, read_a },
	{ "txt", DNSBLV6_TYPE_TXT, read_txt },
	{ "mx", DNSBLV6_TYPE_MX, read_mx },
};

static const struct record_row *find_type(const char *word, size_t size)
{
	for (unsigned i = 0; i < sizeof(record_types) / sizeof(record_types[0]); i++) {
		if (strlen(record_types[i].name) == size &&
		    strncasecmp(record_types[i].name, word, size) == 0)
			return &record_types[i];
	}
	return NULL;
}

static const char *read_rr(const char *at, struct dnsblv6_rr *ret_rr, struct rdata *ret_rdata)
{
	size_t size = rbldnsd_word_size(at);
	if (size == 2 && strncasecmp(at, "in", 2) == 0) {
		at = rbldnsd_skip_blanks(at + size);
		size = rbldnsd_word_size(at);
	}
	const struct record_row *row = find_type(at, size);
	if (row == NULL)
		return "not a type of generic lists: A, TXT, MX";
	if (at[size] == '\0')
		return "a record without data";
	const char *fault = row->read(rbldnsd_skip_blanks(at + size), ret_rdata);
	ret_rr->type = row->type;
	ret_rr->rdata = ret_rdata->bytes;
	ret_rr->rdata_size = (uint16_t)ret_rdata->size;
	return fault;
}

/* "@" is the name that the list belongs to. */
static const char *take_record_owner(const char **at, struct dnsblv6_labels *ret_name)
{
	if ((*at)[0] != '@' || !ascii_is_blank((*at)[1]))
		return take_owner(at, ret_name);
	ret_name->size = 0;
	*at = rbldnsd_skip_blanks(*at + 1);
	return NULL;
}

int rbldnsd_record_read(struct rbldnsd *reader, const char *line)
{
	struct reading *reading = reader->reading;
	uint32_t ttl = reader->set.scope.ttl != 0 ? reader->set.scope.ttl : LISTING_TTL_DEFAULT;
	struct dnsblv6_rr rr = { .ttl = ttl };
	struct rdata rdata = { .size = 0 };
	struct dnsblv6_labels name;
	const char *at = line;
	const char *fault = take_record_owner(&at, &name);
	if (fault == NULL && *at >= '0' && *at <= '9' && !rbldnsd_take_ttl(&at, ttl, &rr.ttl))
		fault = "not a TTL";
	if (fault == NULL)
		fault = read_rr(at, &rr, &rdata);
	if (fault != NULL)
		return reading_refuse_line(reading, fault);
	if (rdata.is_cut)
		reading_warn(reading, "text cut", "it is longer than 255 bytes");
	reading->listed_count++;
	return dataset_add_record(reading->listing, reader->set.dataset, &name, &rr);
}
