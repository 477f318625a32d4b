/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/plain.h"

#include "lib/format/ascii.h"

#include <string.h>
#include <strings.h>

/* What is left of a line. */
struct rest {
	const char *at;
	const char *end;
};

static void skip_blanks(struct rest *rest)
{
	while (rest->at < rest->end && ascii_is_blank(*rest->at))
		rest->at++;
}

static bool is_at_end(const struct rest *rest)
{
	return rest->at == rest->end || *rest->at == '#' || *rest->at == ';';
}

static bool skip_char(struct rest *rest, char c)
{
	if (rest->at == rest->end || *rest->at != c)
		return false;
	rest->at++;
	return true;
}

/* The text of an address or prefix: all up to a blank, or what may follow it. */
static struct rest take_word(struct rest *rest)
{
	struct rest word = { .at = rest->at };
	while (!is_at_end(rest) && !ascii_is_blank(*rest->at) && *rest->at != ',' &&
	       *rest->at != '-')
		rest->at++;
	word.end = rest->at;
	return word;
}

static size_t size_of(struct rest word)
{
	return (size_t)(word.end - word.at);
}

/* "$SOA", ":127.0.0.2:text". No address begins with one colon. */
static bool is_of_rbldnsd(struct rest rest)
{
	if (*rest.at == '$')
		return true;
	return *rest.at == ':' && size_of(rest) > 1 && rest.at[1] != ':';
}

static bool is_word(struct rest word, const char *wanted)
{
	return size_of(word) == strlen(wanted) && strncasecmp(word.at, wanted, size_of(word)) == 0;
}

/*
 * "IN A 127.0.0.2", behind an address as a zone file of RFC 5782 has it: reversed. The first column of
 * that is no list. "IN" alone may be a country.
 */
static bool is_record(struct rest rest)
{
	struct rest word = take_word(&rest);
	skip_blanks(&rest);
	if (size_of(word) > 0 && ascii_is_digit(*word.at)) {
		word = take_word(&rest); /* that was a TTL */
		skip_blanks(&rest);
	}
	const bool has_class = is_word(word, "IN");
	if (has_class) {
		word = take_word(&rest);
		skip_blanks(&rest);
	}
	if (is_word(word, "A"))
		return size_of(rest) > 4 && memcmp(rest.at, "127.", 4) == 0;
	return has_class && (is_word(word, "TXT") || is_word(word, "CNAME"));
}

/* 192.0.2.1/24 as 192.0.2.0/24. Everything but the host bits is known to be right. */
static const char *cut_host_bits(struct rest word, struct plain_entry *entry)
{
	const char *slash = word.end;
	while (slash > word.at && slash[-1] != '/')
		slash--;
	unsigned prefix_len = (unsigned)ascii_number(slash, (size_t)(word.end - slash), 128);
	struct dnsblv6_addr addr;
	size_t addr_size = (size_t)(slash - 1 - word.at);
	int ret = dnsblv6_addr_parse(word.at, addr_size, &addr);
	if (ret != DNSBLV6_OK)
		return dnsblv6_strerror(ret);
	/* "::ffff:192.0.2.1/120" counts in 128 bits, as dnsblv6_prefix_parse() has it. */
	if (memchr(word.at, ':', addr_size) == NULL)
		prefix_len += DNSBLV6_IPV4_BASE_LEN;
	struct dnsblv6_prefix prefix = dnsblv6_prefix_make(addr, prefix_len);
	entry->first = prefix.first;
	entry->last = dnsblv6_prefix_last(prefix);
	return NULL;
}

static const char *parse_prefix(struct rest word, const struct sources_options *options,
				struct plain_entry *entry)
{
	struct dnsblv6_prefix prefix;
	int ret = dnsblv6_prefix_parse(word.at, size_of(word), &prefix);
	if (ret == DNSBLV6_EHOSTBITS && options->cut_host_bits)
		return cut_host_bits(word, entry);
	if (ret != DNSBLV6_OK)
		return dnsblv6_strerror(ret);
	entry->first = prefix.first;
	entry->last = dnsblv6_prefix_last(prefix);
	return NULL;
}

static const char *parse_range(struct rest first, struct rest last, struct plain_entry *entry)
{
	int ret = dnsblv6_addr_parse(first.at, size_of(first), &entry->first);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_addr_parse(last.at, size_of(last), &entry->last);
	if (ret != DNSBLV6_OK)
		return dnsblv6_strerror(ret);
	if (dnsblv6_addr_is_ipv4(entry->first) != dnsblv6_addr_is_ipv4(entry->last))
		return "range from one address family to the other";
	if (dnsblv6_addr_compare(entry->first, entry->last) > 0)
		return "range ends before it begins";
	return NULL;
}

const char *plain_parse(const char *text, size_t text_size, const struct sources_options *options,
			struct plain_entry *ret_entry)
{
	struct rest rest = { text, text + text_size };
	struct plain_entry entry = { .kind = PLAIN_BLANK };

	skip_blanks(&rest);
	if (is_at_end(&rest)) {
		*ret_entry = entry;
		return NULL;
	}
	if (is_of_rbldnsd(rest))
		return "a line of rbldnsd's: its lists are named TYPE:FILE, such as ip4set:FILE";
	entry.kind = skip_char(&rest, '!') ? PLAIN_EXCLUDED : PLAIN_LISTED;
	if (entry.kind == PLAIN_EXCLUDED)
		skip_blanks(&rest);

	struct rest first = take_word(&rest);
	if (!options->ignore_columns)
		skip_blanks(&rest);
	const char *fault;
	if (skip_char(&rest, '-')) {
		if (!options->ignore_columns)
			skip_blanks(&rest);
		fault = parse_range(first, take_word(&rest), &entry);
	} else {
		fault = parse_prefix(first, options, &entry);
	}
	if (fault != NULL)
		return fault;

	skip_blanks(&rest);
	if (is_record(rest))
		return "a record of a zone file, where the address is reversed";
	if (!options->ignore_columns && !is_at_end(&rest))
		return "more than an address in the line; --ignore-columns takes the first column";
	*ret_entry = entry;
	return NULL;
}
