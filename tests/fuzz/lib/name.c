/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * name.c - any bytes as labels, as a key and as the text of a name: refused,
 * or read as what is written back as the same.
 */
#include "lib/format/key.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_block_name(const struct dnsblv6_labels *lower, enum dnsblv6_style style,
			   const uint8_t *data, size_t size)
{
	struct dnsblv6_prefix block;
	struct dnsblv6_labels again;
	if (dnsblv6_name_parse(style, data, size, &block) != DNSBLV6_OK)
		return;
	expect(dnsblv6_name_make(style, block, &again) == DNSBLV6_OK);
	expect(again.size == lower->size && memcmp(again.wire, lower->wire, again.size) == 0);
}

static void try_labels(const uint8_t *data, size_t size)
{
	struct dnsblv6_key key;
	struct dnsblv6_labels lower;
	struct dnsblv6_labels again;
	struct dnsblv6_prefix prefix;
	char text[DNSBLV6_NAME_TEXT_SIZE];

	const bool is_name = dnsblv6_key_from_labels(data, size, &key) == DNSBLV6_OK;
	if (!is_name) {
		expect(dnsblv6_name_parse(DNSBLV6_STYLE_DOTTED, data, size, &prefix) < 0);
		expect(dnsblv6_name_parse(DNSBLV6_STYLE_FLAT, data, size, &prefix) < 0);
		expect(dnsblv6_name_parse_classic4(data, size, &prefix) < 0);
		expect(dnsblv6_name_parse_classic6(data, size, &prefix) < 0);
		return;
	}
	expect(dnsblv6_key_to_labels(key.bytes, key.size, &lower) == DNSBLV6_OK);
	expect(lower.size == size);
	try_block_name(&lower, DNSBLV6_STYLE_DOTTED, data, size);
	try_block_name(&lower, DNSBLV6_STYLE_FLAT, data, size);
	(void)dnsblv6_name_parse_classic4(data, size, &prefix);
	(void)dnsblv6_name_parse_classic6(data, size, &prefix);

	expect(dnsblv6_name_format(data, size, text) < sizeof(text));
	expect(dnsblv6_name_from_text(text, &again) == DNSBLV6_OK);
	expect(again.size == size && (size == 0 || memcmp(again.wire, data, size) == 0));
}

static void try_key(const uint8_t *data, size_t size)
{
	struct dnsblv6_labels name;
	struct dnsblv6_key again;
	if (dnsblv6_key_to_labels(data, size, &name) != DNSBLV6_OK)
		return;
	expect(dnsblv6_key_from_labels(name.wire, name.size, &again) == DNSBLV6_OK);
	expect(again.size == size && memcmp(again.bytes, data, size) == 0);
	unsigned parents = 0;
	while (dnsblv6_key_to_parent(&again))
		parents++;
	expect(parents == dnsblv6_key_label_count(data, size));
	expect(parents == dnsblv6_key_common_labels(data, size, data, size));
	expect(!dnsblv6_key_is_below(data, size, data, size));
}

static void try_text(const uint8_t *data, size_t size)
{
	struct dnsblv6_labels name;
	struct dnsblv6_key key;
	char *text = malloc(size + 1);
	if (text == NULL)
		return;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (dnsblv6_name_from_text(text, &name) == DNSBLV6_OK)
		expect(dnsblv6_key_from_labels(name.wire, name.size, &key) == DNSBLV6_OK);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_labels(data, size);
	try_key(data, size);
	try_text(data, size);
	return 0;
}
