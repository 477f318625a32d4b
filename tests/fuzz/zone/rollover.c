/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rollover.c - any bytes as the state of a rollover: refused, or one that is written again as it
 * was, and whose steps lead to sound ones until none is due.
 */
#include "zone-tools/keys/rollover_text.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends: each turn makes the step that comes next, and a rollover has six. */
static void go_on(struct rollover *rollover)
{
	static const struct rollover_policy policy = { .propagation_s = 60 };
	for (unsigned i = 0; i < 6; i++) {
		struct rollover_role roles[ROLLOVER_KEYS_MAX];
		struct rollover_next next = rollover_find_next(rollover, &policy);
		rollover_assign_roles(rollover, roles);
		expect(roles[0].is_first != roles[1].is_first);
		expect(roles[0].is_published || roles[1].is_published);
		if (next.step == ROLLOVER_NONE || next.step == ROLLOVER_START)
			return;
		expect(next.at_s == 0 || rollover_check(rollover, &policy, next.step,
							next.at_s - 1) == ROLLOVER_EEARLY);
		expect(rollover_make(rollover, &policy, next.step, next.at_s + 1, NULL) ==
		       DNSBLV6_OK);
		expect(rollover_is_sound(rollover));
	}
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[ROLLOVER_TEXT_SIZE];
	struct rollover rollover;
	if (rollover_text_parse((const char *)data, size, &rollover) != NULL)
		return 0;
	expect(rollover_text_write(&rollover, text) == size && memcmp(text, data, size) == 0);
	go_on(&rollover);
	return 0;
}
