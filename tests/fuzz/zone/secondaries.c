/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * secondaries.c - any packet as a secondary's answer: none of it is read as a serial unless it is an
 * answer to the question that was put.
 */
#include "zone-tools/zones/secondaries.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ID = 0x1234, HEADER_SIZE = 12 };

static void expect(bool is_so)
{
	if (!is_so)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dnsblv6_labels zone;
	uint8_t question[512];
	uint32_t serial = 0;
	expect(dnsblv6_name_from_text("bl6.example", &zone) == 0);
	size_t question_size = secondaries_make_question(&zone, ID, question);
	expect(question_size == HEADER_SIZE + zone.size + 1U + 4);
	if (size > UINT16_MAX)
		return 0;
	uint8_t *copy = malloc(size + 1);
	expect(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	if (secondaries_read_answer(copy, size, &zone, ID, &serial))
		expect(size > question_size && data[0] == ID >> 8 && data[1] == (ID & 0xff) &&
		       (data[2] & 0x84) == 0x84);
	free(copy);
	return 0;
}
