/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * metadata.c - any bytes as RDATA of the metadata TXT: refused, or what was
 * read is written and read as the same.
 */
#include "lib/format/wellknown.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dnsblv6_metadata metadata;
	struct dnsblv6_metadata again;
	uint8_t rdata[DNSBLV6_METADATA_RDATA_MAX];
	if (dnsblv6_metadata_decode(data, size, &metadata) != DNSBLV6_OK)
		return 0;
	const size_t rdata_size = dnsblv6_metadata_encode(&metadata, rdata);
	expect(rdata_size <= sizeof(rdata));
	expect(dnsblv6_metadata_decode(rdata, rdata_size, &again) == DNSBLV6_OK);
	expect(metadata.style == again.style && metadata.has_ipv4 == again.has_ipv4 &&
	       metadata.has_ipv6 == again.has_ipv6);
	expect(strcmp(metadata.classic, again.classic) == 0);
	expect(strcmp(metadata.reason, again.reason) == 0);
	return 0;
}
