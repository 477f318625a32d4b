/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * soa.c - any packet as an answer about a zone's SOA: none of it is read as a serial unless it is an
 * answer to the question that was put.
 */
#include "lib/dns/soa.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ID = 0x1234 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t apex[] = "\3bl6\7example";
	uint8_t question[SOA_QUESTION_MAX];
	uint32_t serial = 0;
	size_t question_size = soa_make_question(apex, sizeof(apex), ID, question);
	expect(question_size == 12 + sizeof(apex) + 4);
	expect(!soa_read_serial(question, question_size, apex, sizeof(apex), ID, &serial));
	if (soa_read_serial(data, size, apex, sizeof(apex), ID, &serial))
		expect(size > question_size && data[0] == ID >> 8 && data[1] == (ID & 0xff) &&
		       (data[2] & 0x84) == 0x84 && (data[3] & 15) == 0);
	return 0;
}
