/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parent.c - any bytes as the answer of a server of the zone above: refused, or DS records.
 */
#include "zone-tools/keys/parent.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct dnsblv6_labels zone = { 12, "\003bl6\007example" };
	struct rollover_key key = { .dnskey = { 1, 1, 3, KEY_ED25519 }, .dnskey_size = 36 };
	struct parent_answer answer;
	if (size > PARENT_WIRE_MAX)
		return 0;
	uint8_t *wire = malloc(size > 0 ? size : 1);
	expect(wire != NULL);
	memcpy(wire, data, size);
	int ret = parent_read_answer(wire, size, &zone, 0x1234, &answer);
	free(wire);
	if (ret != DNSBLV6_OK) {
		expect(ret == PARENT_EFOREIGN || ret == PARENT_ECUT || ret == PARENT_EREFUSED ||
		       ret == PARENT_EDOUBTED);
		return 0;
	}
	expect(answer.ds_count <= PARENT_DS_MAX);
	(void)parent_judge(&answer, &zone, &key, NULL);
	return 0;
}
