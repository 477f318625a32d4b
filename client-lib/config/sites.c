/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/config/sites.h"

#include "lib/format/ascii.h"

#include <string.h>

_Static_assert(SITES_NAME_MAX < CONFIG_TEXT_MAX, "the text of a name fits");

/* ---- the name ---- */

/* Lower case, or 0 for what no name of a zone has. Not isalpha(): the locale is not ours. */
static char lower_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return (c >= 'a' && c <= 'z') || ascii_is_digit(c) || c == '-' || c == '_' || c == '.'
		       ? c
		       : '\0';
}

/* The label nearest to the root is a number in addresses alone. */
static bool is_address(const char *name)
{
	const char *last = strrchr(name, '.');

	last = last != NULL ? last + 1 : name;
	return *last != '\0' && last[strspn(last, "0123456789")] == '\0';
}

const char *sites_parse_labels(const char *text, size_t size, struct dnsblv6_labels *ret_name,
			       char *ret_text)
{
	char name[CONFIG_TEXT_MAX];
	struct dnsblv6_labels labels;

	if (size > 0 && text[size - 1] == '.')
		size--;
	if (size == 0)
		return "the name of a zone is missing";
	if (size >= DNSBLV6_LABELS_MAX)
		return "a name has at most 253 characters";
	for (size_t i = 0; i < size; i++) {
		name[i] = lower_of(text[i]);
		if (name[i] == '\0')
			return "a name of a zone has letters, digits, \"-\", \"_\" and dots";
	}
	name[size] = '\0';
	if (dnsblv6_name_from_text(name, &labels) != DNSBLV6_OK || labels.size != size + 1)
		return "a name of a zone has labels of 1 to 63 characters";
	*ret_name = labels;
	memcpy(ret_text, name, size + 1);
	return NULL;
}

const char *sites_parse_name(const char *text, size_t size, struct dnsblv6_labels *ret_name,
			     char *ret_text)
{
	const size_t length = size - (size > 0 && text[size - 1] == '.');
	char name[CONFIG_TEXT_MAX];
	struct dnsblv6_labels labels;

	if (length >= SITES_NAME_MAX)
		return "a name of a zone has at most 189 characters";
	const char *reason = sites_parse_labels(text, size, &labels, name);

	if (reason != NULL)
		return reason;
	if (is_address(name))
		return "an address is no zone";
	*ret_name = labels;
	memcpy(ret_text, name, length + 1);
	return NULL;
}

/* ---- the filter ---- */

struct cursor {
	const char *at, *end;
};

static bool skip(struct cursor *cursor, char c)
{
	if (cursor->at == cursor->end || *cursor->at != c)
		return false;
	cursor->at++;
	return true;
}

/* 0 to 255; leading zeros are decimal, as Postfix reads them. */
static bool read_number(struct cursor *cursor, unsigned *ret_number)
{
	const int64_t number = ascii_take_number(&cursor->at, cursor->end, 255);

	if (number < 0)
		return false;
	*ret_number = (unsigned)number;
	return true;
}

static void add_octet(uint64_t *octets, unsigned number)
{
	octets[number / 64] |= UINT64_C(1) << (number % 64);
}

/* Behind the "&": lists that are several in one, such as SURBL, have a bit for each. */
static bool read_bits(struct cursor *cursor, uint64_t *octets)
{
	unsigned bits;

	if (!read_number(cursor, &bits) || bits == 0)
		return false;
	for (unsigned n = 0; n <= 255; n++) {
		if ((n & bits) != 0)
			add_octet(octets, n);
	}
	return true;
}

/* Number, number..number or &number into the set. */
static bool read_part(struct cursor *cursor, uint64_t *octets)
{
	unsigned first, last;

	if (skip(cursor, '&'))
		return read_bits(cursor, octets);
	if (!read_number(cursor, &first))
		return false;
	last = first;
	if (skip(cursor, '.') &&
	    (!skip(cursor, '.') || !read_number(cursor, &last) || last < first))
		return false;
	for (unsigned n = first; n <= last; n++)
		add_octet(octets, n);
	return true;
}

static bool read_octet(struct cursor *cursor, uint64_t *octets)
{
	unsigned number;

	if (skip(cursor, '&'))
		return read_bits(cursor, octets);
	if (!skip(cursor, '[')) {
		if (!read_number(cursor, &number))
			return false;
		add_octet(octets, number);
		return true;
	}
	do {
		if (!read_part(cursor, octets))
			return false;
	} while (skip(cursor, ';'));
	return skip(cursor, ']');
}

static const char *parse_filter(const char *text, size_t size, struct config_filter *ret_filter)
{
	static const char form[] =
		"a filter is four octets with dots between, each 0 to 255, &BITS or [N;N..N]";
	struct cursor cursor = { text, text + size };
	static const uint64_t only_255[4] = { [255 / 64] = UINT64_C(1) << 255 % 64 };
	struct config_filter filter = { .is_set = true };

	for (unsigned i = 0; i < 4; i++) {
		if ((i > 0 && !skip(&cursor, '.')) || !read_octet(&cursor, filter.octets[i]))
			return form;
	}
	if (cursor.at != cursor.end)
		return form;
	if ((filter.octets[0][127 / 64] >> (127 % 64) & 1) == 0)
		return "this filter fits nothing in 127.0.0.0/8, where the answers of lists are";
	if (memcmp(filter.octets[1], only_255, sizeof(only_255)) == 0 &&
	    memcmp(filter.octets[2], only_255, sizeof(only_255)) == 0)
		return "this filter fits nothing but 127.255.255.0/24, by which lists refuse to "
		       "answer";
	*ret_filter = filter;
	return NULL;
}

/* ---- the label ---- */

/* What a name of a zone may have, and capitals, which stay as they are. */
static const char *parse_label(const char *text, size_t size, char *ret_label)
{
	static const char form[] = "a label has 1 to 31 letters, digits, \"-\", \"_\" and dots";

	if (size == 0 || size >= CONFIG_LABEL_SIZE)
		return form;
	for (size_t i = 0; i < size; i++) {
		if (lower_of(text[i]) == '\0')
			return form;
	}
	memcpy(ret_label, text, size);
	ret_label[size] = '\0';
	return NULL;
}

/* FILTER or FILTER=LABEL. */
static const char *parse_codes(const char *text, size_t size, struct sites_entry *ret_entry)
{
	const char *equals = memchr(text, '=', size);

	if (equals == NULL)
		return parse_filter(text, size, &ret_entry->filter);
	const size_t filter_size = (size_t)(equals - text);
	const char *reason =
		filter_size == 0 ? NULL : parse_filter(text, filter_size, &ret_entry->filter);

	return reason != NULL ? reason
			      : parse_label(equals + 1, size - filter_size - 1, ret_entry->label);
}

/* ---- the weight ---- */

static const char *parse_weight(const char *text, size_t size, int32_t *ret_weight)
{
	static const char form[] = "a weight is a whole number from -1000000 to 1000000";
	struct cursor cursor = { text, text + size };
	const bool is_negative = skip(&cursor, '-');

	if (!is_negative)
		(void)skip(&cursor, '+');
	const size_t digits = (size_t)(cursor.end - cursor.at);
	const int32_t weight = (int32_t)ascii_number(cursor.at, digits, SITES_WEIGHT_MAX);

	if (weight < 0)
		return form;
	*ret_weight = is_negative ? -weight : weight;
	return NULL;
}

/* ---- an entry ---- */

const char *sites_parse(const char *text, size_t size, struct sites_entry *ret_entry)
{
	struct sites_entry entry = { .weight = 1 };
	const char *reason;
	const char *star = memchr(text, '*', size);

	if (star != NULL) {
		reason = parse_weight(star + 1, (size_t)(text + size - star - 1), &entry.weight);
		if (reason != NULL)
			return reason;
		size = (size_t)(star - text);
	}
	const char *equals = memchr(text, '=', size);

	if (equals != NULL) {
		reason = parse_codes(equals + 1, (size_t)(text + size - equals - 1), &entry);
		if (reason != NULL)
			return reason;
		size = (size_t)(equals - text);
	}
	reason = sites_parse_name(text, size, &entry.name, entry.text);
	if (reason == NULL)
		*ret_entry = entry;
	return reason;
}
