/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/ration.h"

#define SECOND_MS 1000

bool ration_take(struct ration *ration, uint64_t now_ms, unsigned max)
{
	uint64_t second = now_ms / SECOND_MS;
	if (second != ration->second)
		ration->used = 0;
	ration->second = second;
	if (ration->used < max) {
		ration->used++;
		return true;
	}
	ration->left_out++;
	return false;
}

unsigned ration_settle(struct ration *ration, uint64_t now_ms)
{
	unsigned left_out = ration->left_out;
	if (now_ms / SECOND_MS == ration->second)
		return 0;
	ration->left_out = 0;
	return left_out;
}
