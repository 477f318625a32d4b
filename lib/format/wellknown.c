/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/wellknown.h"

#include <stdio.h>
#include <string.h>

/* ::ffff:a.b.c.d, written out because a static initialiser takes no function call. */
#define IPV4(a, b, c, d)                                                                           \
	{                                                                                          \
		0, 0xffffull << 32 | (a) << 24 | (b) << 16 | (c) << 8 | (d)                        \
	}

/* RFC 5782 section 5; 7f00:2 is 127.0.0.2 in the groups of an IPv6 prefix. */
static const struct dnsblv6_testpoint testpoints[DNSBLV6_TESTPOINT_COUNT] = {
	{ IPV4(127ull, 0, 0, 2), true },
	{ IPV4(127ull, 0, 0, 1), false },
	{ { 0x20010db87f000002, 0 }, true },
	{ { 0x20010db87f000001, 0 }, false },
};

/* The bits after the filtered prefix are arbitrary and fixed; see FORMAT.md part 7. */
static const struct dnsblv6_canary canaries[DNSBLV6_CANARY_COUNT] = {
	{ IPV4(127ull, 0, 1, 0),
	  { { 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x64, 0x43, 0xa5, 0x5a } },
	  "fd00::/8" },
	{ IPV4(127ull, 0, 2, 0),
	  { { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x64, 0x43, 0xa5, 0x5a } },
	  "fe80::/10" },
	{ IPV4(127ull, 0, 3, 0),
	  { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 67, 165, 90 } },
	  "::ffff:0:0/96" },
	{ IPV4(127ull, 0, 4, 0),
	  { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } },
	  "::1/128" },
	{ IPV4(127ull, 0, 5, 0),
	  { { 0xfe, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x64, 0x43, 0xa5, 0x5a } },
	  "fec0::/10" },
};

const struct dnsblv6_testpoint *dnsblv6_testpoint_get(size_t index)
{
	return &testpoints[index];
}

const struct dnsblv6_canary *dnsblv6_canary_get(size_t index)
{
	return &canaries[index];
}

/* ---- metadata ---- */

static const char *const style_names[] = {
	[DNSBLV6_STYLE_DOTTED] = "dotted",
	[DNSBLV6_STYLE_FLAT] = "flat",
};

static void add_string(uint8_t **out, const char *name, const char *value)
{
	char text[DNSBLV6_METADATA_VALUE_MAX + 16];
	int size = snprintf(text, sizeof(text), "%s=%s", name, value);
	*(*out)++ = (uint8_t)size;
	memcpy(*out, text, (size_t)size);
	*out += size;
}

static const char *families_text(const struct dnsblv6_metadata *metadata)
{
	if (metadata->has_ipv4 && metadata->has_ipv6)
		return "4,6";
	return metadata->has_ipv6 ? "6" : "4";
}

size_t dnsblv6_metadata_encode(const struct dnsblv6_metadata *metadata, uint8_t *ret_rdata)
{
	uint8_t *out = ret_rdata;
	add_string(&out, "v", "1");
	add_string(&out, "names", style_names[dnsblv6_style_read(metadata->style)]);
	add_string(&out, "families", families_text(metadata));
	if (dnsblv6_style_is_both(metadata->style))
		add_string(&out, "flat", metadata->style == DNSBLV6_STYLE_BOTH6 ? "4,6" : "4");
	if (metadata->classic[0] != '\0')
		add_string(&out, "classic", metadata->classic);
	if (metadata->reason[0] != '\0')
		add_string(&out, "reason", metadata->reason);
	return (size_t)(out - ret_rdata);
}

/* text is one character-string. Its value when it begins with "name=", else NULL. */
static const char *value_of(const char *text, const char *name)
{
	size_t name_size = strlen(name);
	if (strncmp(text, name, name_size) != 0 || text[name_size] != '=')
		return NULL;
	return text + name_size + 1;
}

static int read_style(const char *value, enum dnsblv6_style *ret_style)
{
	for (int i = DNSBLV6_STYLE_DOTTED; i <= DNSBLV6_STYLE_FLAT; i++) {
		if (strcmp(value, style_names[i]) == 0) {
			*ret_style = (enum dnsblv6_style)i;
			return DNSBLV6_OK;
		}
	}
	return DNSBLV6_EMETADATA;
}

static int read_families(const char *value, struct dnsblv6_metadata *metadata)
{
	metadata->has_ipv4 = strcmp(value, "4") == 0 || strcmp(value, "4,6") == 0;
	metadata->has_ipv6 = strcmp(value, "6") == 0 || strcmp(value, "4,6") == 0;
	return metadata->has_ipv4 || metadata->has_ipv6 ? DNSBLV6_OK : DNSBLV6_EMETADATA;
}

/* Of a zone whose dotted names are all there; a value of a later version says nothing here. */
static void read_flat(const char *value, enum dnsblv6_style *ret_style)
{
	if (strcmp(value, "4,6") == 0)
		*ret_style = DNSBLV6_STYLE_BOTH6;
	else if (strcmp(value, "4") == 0)
		*ret_style = DNSBLV6_STYLE_BOTH;
}

static int read_text(const char *value, char *ret_text)
{
	size_t size = strlen(value);
	if (size > DNSBLV6_METADATA_VALUE_MAX)
		return DNSBLV6_EMETADATA;
	memcpy(ret_text, value, size + 1);
	return DNSBLV6_OK;
}

static int read_string(const char *text, struct dnsblv6_metadata *metadata, bool *has_style,
		       enum dnsblv6_style *both)
{
	const char *value;
	if ((value = value_of(text, "names")) != NULL) {
		*has_style = true;
		return read_style(value, &metadata->style);
	}
	if ((value = value_of(text, "families")) != NULL)
		return read_families(value, metadata);
	if ((value = value_of(text, "flat")) != NULL)
		read_flat(value, both);
	if ((value = value_of(text, "classic")) != NULL)
		return read_text(value, metadata->classic);
	if ((value = value_of(text, "reason")) != NULL)
		return read_text(value, metadata->reason);
	return DNSBLV6_OK;
}

int dnsblv6_metadata_decode(const uint8_t *rdata, size_t size,
			    struct dnsblv6_metadata *ret_metadata)
{
	struct dnsblv6_metadata metadata = { .style = DNSBLV6_STYLE_DOTTED };
	enum dnsblv6_style both = DNSBLV6_STYLE_DOTTED;
	bool has_style = false;

	for (size_t i = 0; i < size; i += 1u + rdata[i]) {
		char text[256];
		if (rdata[i] > size - i - 1)
			return DNSBLV6_ERECORD;
		memcpy(text, rdata + i + 1, rdata[i]);
		text[rdata[i]] = '\0';
		if (strlen(text) != rdata[i] || (i == 0 && strcmp(text, "v=1") != 0))
			return DNSBLV6_EMETADATA;
		int ret = read_string(text, &metadata, &has_style, &both);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	if (!has_style || !(metadata.has_ipv4 || metadata.has_ipv6))
		return DNSBLV6_EMETADATA;
	if (metadata.style == DNSBLV6_STYLE_DOTTED)
		metadata.style = both;
	*ret_metadata = metadata;
	return DNSBLV6_OK;
}
