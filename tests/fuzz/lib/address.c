/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * address.c - any bytes as the text of an address or a prefix: refused, or
 * what was read is written and read as the same.
 */
#include "lib/format/address.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	char text[DNSBLV6_PREFIX_TEXT_SIZE];
	struct dnsblv6_addr addr;
	struct dnsblv6_addr addr_again;
	struct dnsblv6_prefix prefix;
	struct dnsblv6_prefix prefix_again;

	const bool is_addr = dnsblv6_addr_parse(bytes, size, &addr) == DNSBLV6_OK;
	if (is_addr) {
		const size_t text_size = dnsblv6_addr_format(addr, text);
		expect(text_size < DNSBLV6_ADDR_TEXT_SIZE && text_size == strlen(text));
		expect(dnsblv6_addr_parse(text, text_size, &addr_again) == DNSBLV6_OK);
		expect(dnsblv6_addr_compare(addr, addr_again) == 0);
	}
	const bool is_prefix = dnsblv6_prefix_parse(bytes, size, &prefix) == DNSBLV6_OK;
	expect(!is_addr || is_prefix);
	if (is_prefix) {
		const size_t text_size = dnsblv6_prefix_format(prefix, text);
		expect(text_size < sizeof(text) && text_size == strlen(text));
		expect(dnsblv6_prefix_parse(text, text_size, &prefix_again) == DNSBLV6_OK);
		expect(dnsblv6_addr_compare(prefix.first, prefix_again.first) == 0 &&
		       prefix.prefix_len == prefix_again.prefix_len);
	}
	return 0;
}
