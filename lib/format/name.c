/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/name.h"

#include "lib/format/ascii.h"
#include "lib/format/hex.h"

#include <stdio.h>
#include <string.h>

/* The label under which all IPv6 names live. */
static const char ip6_label[] = "ip6";

/* IPv6 group borders: how many leading bits each of the four labels covers, and its digits. */
enum { IPV6_GROUPS = 4, IPV6_BLOCK_LEN = 57, IPV4_BLOCK_LEN = 25 };
static const uint8_t group_end[IPV6_GROUPS] = { 16, 32, 48, 56 };
static const uint8_t group_digits[IPV6_GROUPS] = { 4, 4, 4, 2 };

/* ---- writing labels ---- */

static void add_label(struct dnsblv6_labels *name, const char *text, size_t text_size)
{
	name->wire[name->size++] = (uint8_t)text_size;
	memcpy(name->wire + name->size, text, text_size);
	name->size = (uint8_t)(name->size + text_size);
}

size_t dnsblv6_name_octet(unsigned octet, char *ret_text)
{
	size_t size = 0;
	if (octet >= 100)
		ret_text[size++] = (char)('0' + octet / 100);
	if (octet >= 10)
		ret_text[size++] = (char)('0' + octet / 10 % 10);
	ret_text[size++] = (char)('0' + octet % 10);
	return size;
}

static void add_decimal(struct dnsblv6_labels *name, unsigned octet)
{
	char text[DNSBLV6_OCTET_SIZE];
	add_label(name, text, dnsblv6_name_octet(octet & 255, text));
}

static void add_hex(struct dnsblv6_labels *name, uint64_t number, unsigned digits)
{
	static const char hex[] = "0123456789abcdef";
	char text[16];
	for (unsigned i = 0; i < digits; i++)
		text[i] = hex[number >> (4 * (digits - 1 - i)) & 15];
	add_label(name, text, digits);
}

static void add_half(struct dnsblv6_labels *name, bool is_upper)
{
	add_label(name, is_upper ? "1" : "0", 1);
}

static int make_dotted4(uint32_t ipv4, unsigned bits, struct dnsblv6_labels *name)
{
	if (bits != 8 && bits != 16 && bits != 24 && bits != IPV4_BLOCK_LEN)
		return DNSBLV6_EPREFIX;
	if (bits == IPV4_BLOCK_LEN)
		add_half(name, (ipv4 & 128) != 0);
	else
		add_label(name, "*", 1);
	for (unsigned octets = bits / 8; octets > 0; octets--)
		add_decimal(name, ipv4 >> (32 - 8 * octets));
	return DNSBLV6_OK;
}

static int make_dotted6(uint64_t hi, unsigned bits, struct dnsblv6_labels *name)
{
	unsigned groups = 0;
	while (groups < IPV6_GROUPS && group_end[groups] <= bits)
		groups++;
	if (bits != IPV6_BLOCK_LEN && (groups == 0 || group_end[groups - 1] != bits))
		return DNSBLV6_EPREFIX;
	if (bits == IPV6_BLOCK_LEN)
		add_half(name, (hi & 128) != 0);
	else
		add_label(name, "*", 1);
	while (groups-- > 0) {
		unsigned digits = group_digits[groups];
		add_hex(name, hi >> (64 - group_end[groups]), digits);
	}
	add_label(name, ip6_label, sizeof(ip6_label) - 1);
	return DNSBLV6_OK;
}

/* Hex of the /24 or /56 and a last digit for the half: eight bits, of which seven are zero. */
static int make_flat(uint64_t number, unsigned bits, unsigned block_len, unsigned digits,
		     struct dnsblv6_labels *name)
{
	if (bits != block_len)
		return DNSBLV6_EPREFIX;
	uint64_t half = number >> 7 & 1;
	add_hex(name, number >> 8 << 4 | half, digits);
	return DNSBLV6_OK;
}

int dnsblv6_name_make(enum dnsblv6_style style, struct dnsblv6_prefix block,
		      struct dnsblv6_labels *ret_name)
{
	struct dnsblv6_labels name = { 0 };
	int ret;

	style = dnsblv6_style_asked(style, dnsblv6_prefix_is_ipv4(block));
	if (style == DNSBLV6_STYLE_CLASSIC)
		return DNSBLV6_EPREFIX;
	if (dnsblv6_prefix_is_ipv4(block)) {
		uint32_t ipv4 = dnsblv6_addr_ipv4(block.first);
		unsigned bits = block.prefix_len - DNSBLV6_IPV4_BASE_LEN;
		ret = style == DNSBLV6_STYLE_FLAT ? make_flat(ipv4, bits, IPV4_BLOCK_LEN, 7, &name)
						  : make_dotted4(ipv4, bits, &name);
	} else if (style == DNSBLV6_STYLE_FLAT) {
		ret = make_flat(block.first.hi, block.prefix_len, IPV6_BLOCK_LEN, 15, &name);
		if (ret == DNSBLV6_OK)
			add_label(&name, ip6_label, sizeof(ip6_label) - 1);
	} else {
		ret = make_dotted6(block.first.hi, block.prefix_len, &name);
	}
	if (ret == DNSBLV6_OK)
		*ret_name = name;
	return ret;
}

void dnsblv6_name_make_classic(struct dnsblv6_addr addr, struct dnsblv6_labels *ret_name)
{
	struct dnsblv6_labels name = { 0 };
	if (dnsblv6_addr_is_ipv4(addr)) {
		for (unsigned i = 0; i < 4; i++)
			add_decimal(&name, dnsblv6_addr_ipv4(addr) >> (8 * i));
	} else {
		for (unsigned i = 0; i < 32; i++)
			add_hex(&name, (i < 16 ? addr.lo : addr.hi) >> (4 * (i % 16)) & 15, 1);
	}
	*ret_name = name;
}

/* ---- reading labels ---- */

enum { LABELS_MAX = 32 }; /* the longest name of the format: 32 nibbles */

struct label {
	const uint8_t *text;
	uint8_t size;
};

/* Splits into at most LABELS_MAX labels, the one nearest the apex first. Returns the count or -1.
 */
static int split(const uint8_t *labels, size_t size, struct label *ret_labels)
{
	struct label found[LABELS_MAX];
	int count = 0;

	for (size_t i = 0; i < size; i += 1u + labels[i]) {
		if (count == LABELS_MAX || labels[i] == 0 || labels[i] > DNSBLV6_LABEL_MAX ||
		    labels[i] > size - i - 1)
			return -1;
		found[count++] = (struct label){ labels + i + 1, labels[i] };
	}
	for (int i = 0; i < count; i++)
		ret_labels[i] = found[count - 1 - i];
	return count;
}

static bool is_label(struct label label, const char *text)
{
	if (label.size != strlen(text))
		return false;
	for (unsigned i = 0; i < label.size; i++) {
		if (ascii_lower(label.text[i]) != (uint8_t)text[i])
			return false;
	}
	return true;
}

static bool read_decimal(struct label label, unsigned *ret_octet)
{
	const int64_t number = ascii_number(label.text, label.size, 255);
	if (number < 0 || (label.size > 1 && label.text[0] == '0'))
		return false;
	*ret_octet = (unsigned)number;
	return true;
}

static bool read_hex(struct label label, unsigned digits, uint64_t *ret_number)
{
	return label.size == digits && hex_number(label.text, digits, ret_number);
}

/* The label before the address labels: "*", "0" or "1". */
static bool read_half(struct label label, bool *ret_is_wildcard, bool *ret_is_upper)
{
	*ret_is_wildcard = is_label(label, "*");
	*ret_is_upper = is_label(label, "1");
	return *ret_is_wildcard || *ret_is_upper || is_label(label, "0");
}

static struct dnsblv6_prefix prefix4(uint32_t ipv4, unsigned bits)
{
	return dnsblv6_prefix_make(dnsblv6_addr_from_ipv4(ipv4), DNSBLV6_IPV4_BASE_LEN + bits);
}

static struct dnsblv6_prefix prefix6(uint64_t hi, unsigned bits)
{
	return dnsblv6_prefix_make((struct dnsblv6_addr){ hi, 0 }, bits);
}

static int parse_dotted4(const struct label *labels, int count, struct dnsblv6_prefix *ret_block)
{
	bool is_wildcard;
	bool is_upper;
	int octets = count - 1;
	if (octets < 1 || octets > 3 || !read_half(labels[octets], &is_wildcard, &is_upper) ||
	    (!is_wildcard && octets != 3))
		return DNSBLV6_ENAME;

	uint32_t ipv4 = is_upper ? 128 : 0;
	for (int i = 0; i < octets; i++) {
		unsigned octet;
		if (!read_decimal(labels[i], &octet))
			return DNSBLV6_ENAME;
		ipv4 |= octet << (24 - 8 * i);
	}
	*ret_block = prefix4(ipv4, is_wildcard ? 8 * (unsigned)octets : IPV4_BLOCK_LEN);
	return DNSBLV6_OK;
}

/* labels[0] is "ip6". */
static int parse_dotted6(const struct label *labels, int count, struct dnsblv6_prefix *ret_block)
{
	bool is_wildcard;
	bool is_upper;
	int groups = count - 2;
	if (groups < 1 || groups > IPV6_GROUPS ||
	    !read_half(labels[count - 1], &is_wildcard, &is_upper) ||
	    (!is_wildcard && groups != IPV6_GROUPS))
		return DNSBLV6_ENAME;

	uint64_t hi = is_upper ? 128 : 0;
	for (int i = 0; i < groups; i++) {
		uint64_t group;
		if (!read_hex(labels[1 + i], group_digits[i], &group))
			return DNSBLV6_ENAME;
		hi |= group << (64 - group_end[i]);
	}
	*ret_block = prefix6(hi, is_wildcard ? group_end[groups - 1] : IPV6_BLOCK_LEN);
	return DNSBLV6_OK;
}

/* digits of hex, of which the last is the half. */
static bool read_flat(struct label label, unsigned digits, uint64_t *ret_number)
{
	uint64_t number;
	if (!read_hex(label, digits, &number) || (number & 15) > 1)
		return false;
	*ret_number = number >> 4 << 8 | (number & 1) << 7;
	return true;
}

static int parse_flat(const struct label *labels, int count, struct dnsblv6_prefix *ret_block)
{
	uint64_t number;
	if (count == 1 && read_flat(labels[0], 7, &number)) {
		*ret_block = prefix4((uint32_t)number, IPV4_BLOCK_LEN);
		return DNSBLV6_OK;
	}
	if (count == 2 && is_label(labels[0], ip6_label) && read_flat(labels[1], 15, &number)) {
		*ret_block = prefix6(number, IPV6_BLOCK_LEN);
		return DNSBLV6_OK;
	}
	return DNSBLV6_ENAME;
}

int dnsblv6_name_parse(enum dnsblv6_style style, const uint8_t *labels, size_t size,
		       struct dnsblv6_prefix *ret_block)
{
	struct label found[LABELS_MAX];
	int count = split(labels, size, found);
	if (count < 1 || style == DNSBLV6_STYLE_CLASSIC)
		return DNSBLV6_ENAME;
	if (style == DNSBLV6_STYLE_FLAT)
		return parse_flat(found, count, ret_block);
	if (dnsblv6_style_is_both(style) && parse_flat(found, count, ret_block) == DNSBLV6_OK)
		return DNSBLV6_OK;
	if (is_label(found[0], ip6_label))
		return parse_dotted6(found, count, ret_block);
	return parse_dotted4(found, count, ret_block);
}

int dnsblv6_name_parse_classic4(const uint8_t *labels, size_t size,
				struct dnsblv6_prefix *ret_prefix)
{
	struct label found[LABELS_MAX];
	int count = split(labels, size, found);
	if (count < 1 || count > 4)
		return DNSBLV6_ENAME;

	uint32_t ipv4 = 0;
	for (int i = 0; i < count; i++) {
		unsigned octet;
		if (!read_decimal(found[i], &octet))
			return DNSBLV6_ENAME;
		ipv4 |= octet << (24 - 8 * i);
	}
	*ret_prefix = prefix4(ipv4, 8 * (unsigned)count);
	return DNSBLV6_OK;
}

int dnsblv6_name_parse_classic6(const uint8_t *labels, size_t size,
				struct dnsblv6_prefix *ret_prefix)
{
	struct label found[LABELS_MAX];
	int count = split(labels, size, found);
	if (count < 1)
		return DNSBLV6_ENAME;

	struct dnsblv6_addr addr = { 0, 0 };
	for (int i = 0; i < count; i++) {
		uint64_t nibble;
		if (!read_hex(found[i], 1, &nibble))
			return DNSBLV6_ENAME;
		if (i < 16)
			addr.hi |= nibble << (60 - 4 * i);
		else
			addr.lo |= nibble << (60 - 4 * (i - 16));
	}
	*ret_prefix = dnsblv6_prefix_make(addr, 4 * (unsigned)count);
	return DNSBLV6_OK;
}

/* The label nearest to the apex, of a name of any length. False when size bytes are not whole labels. */
static bool find_top(const uint8_t *labels, size_t size, struct label *ret_label)
{
	for (size_t i = 0; i < size; i += 1u + labels[i]) {
		if (labels[i] == 0 || labels[i] > DNSBLV6_LABEL_MAX || labels[i] > size - i - 1)
			return false;
		*ret_label = (struct label){ labels + i + 1, labels[i] };
	}
	return true;
}

bool dnsblv6_name_is_reserved(const uint8_t *labels, size_t size)
{
	struct label label;
	struct dnsblv6_prefix prefix;
	if (size == 0)
		return false;
	if (!find_top(labels, size, &label))
		return true;
	const uint8_t *top = label.text - 1;
	size_t top_size = label.size + 1u;
	return top[1] == '*' || top[1] == '_' || is_label(label, ip6_label) ||
	       dnsblv6_name_parse_classic4(top, top_size, &prefix) == DNSBLV6_OK ||
	       dnsblv6_name_parse_classic6(top, top_size, &prefix) == DNSBLV6_OK ||
	       dnsblv6_name_parse(DNSBLV6_STYLE_FLAT, top, top_size, &prefix) == DNSBLV6_OK;
}

/* ---- presentation form ---- */

/* What a name or a master file (RFC 1035 section 5.1) reads as something else. */
static const char special[] = ".\\\"$();@";

size_t dnsblv6_name_format(const uint8_t *labels, size_t size, char *ret_text)
{
	char *out = ret_text;
	if (size == 0)
		*out++ = '@';
	for (size_t i = 0; i < size && labels[i] < size - i; i += 1u + labels[i]) {
		if (i > 0)
			*out++ = '.';
		for (unsigned j = 1; j <= labels[i]; j++) {
			uint8_t c = labels[i + j];
			if (c > ' ' && c < 0x7f && strchr(special, c) == NULL)
				*out++ = (char)c;
			else
				out += snprintf(out, 5, "\\%03u", c);
		}
	}
	*out = '\0';
	return (size_t)(out - ret_text);
}

/*
 * One character of a label; *text moves behind it. Negative when it is no good escape, or not ASCII:
 * a name in UTF-8 is asked for by its A-labels, which are other bytes.
 */
static int read_character(const char **text)
{
	const char *s = *text;
	if (s[0] != '\\' || s[1] < '0' || s[1] > '9') {
		s += s[0] == '\\';
		*text = s + 1;
		return s[0] != '\0' && (uint8_t)s[0] < 0x80 ? s[0] : -1;
	}
	for (int i = 1; i <= 3; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -1;
	}
	int code = (s[1] - '0') * 100 + (s[2] - '0') * 10 + (s[3] - '0');
	*text = s + 4;
	return code <= 255 ? code : -1;
}

int dnsblv6_name_from_text(const char *text, struct dnsblv6_labels *ret_name)
{
	struct dnsblv6_labels name = { 0 };
	if (strcmp(text, "@") == 0 || strcmp(text, ".") == 0) {
		*ret_name = name;
		return DNSBLV6_OK;
	}
	while (*text != '\0') {
		unsigned start = name.size;
		unsigned end = start + 1;
		while (*text != '\0' && *text != '.') {
			int c = read_character(&text);
			if (c < 0)
				return DNSBLV6_ENAME;
			if (end >= DNSBLV6_LABELS_MAX || end - start > DNSBLV6_LABEL_MAX)
				return DNSBLV6_ENAMESIZE;
			name.wire[end++] = (uint8_t)c;
		}
		if (end == start + 1)
			return DNSBLV6_ENAME;
		name.wire[start] = (uint8_t)(end - start - 1);
		name.size = (uint8_t)end;
		text += *text == '.';
	}
	if (name.size == 0)
		return DNSBLV6_ENAME;
	*ret_name = name;
	return DNSBLV6_OK;
}

unsigned dnsblv6_name_label_count(const struct dnsblv6_labels *name)
{
	unsigned count = 0;
	for (unsigned i = 0; i < name->size; i += 1u + name->wire[i])
		count++;
	return count;
}

int dnsblv6_name_join(const uint8_t *left, size_t left_size, const uint8_t *right,
		      size_t right_size, struct dnsblv6_labels *ret_name)
{
	if (left_size + right_size > DNSBLV6_LABELS_MAX)
		return DNSBLV6_ENAMESIZE;
	struct dnsblv6_labels name = { .size = (uint8_t)(left_size + right_size) };
	if (left_size > 0)
		memcpy(name.wire, left, left_size);
	if (right_size > 0)
		memcpy(name.wire + left_size, right, right_size);
	*ret_name = name;
	return DNSBLV6_OK;
}
