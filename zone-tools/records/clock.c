/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/clock.h"

#include "lib/common/utc.h"

bool clock_check(const char *store, const struct before *before, uint64_t now_s,
		 uint32_t lifetime_s, struct findings *findings)
{
	uint64_t changed_s = before->facts.built_s; /* 0 in a new store */
	char now[UTC_TEXT_SIZE];
	char changed[UTC_TEXT_SIZE];
	char what[160];
	struct findings_place place = { store, 0 };
	bool is_back = now_s + CLOCK_BACK_S < changed_s;
	bool is_far = before->is_signed && !is_back && now_s > changed_s + lifetime_s;
	if (!is_back && !is_far)
		return true;
	utc_format(now_s, now);
	utc_format(changed_s, changed);
	snprintf(what, sizeof(what), "%s the store was changed last, clock=%s changed=%s",
		 is_back ? "clock is before" : "clock is long after", now, changed);
	findings_add(findings, is_back ? FINDING_REFUSAL : FINDING_WARNING, place, what, NULL, 0,
		     is_back ? "set the clock, or --trust-clock"
			     : "all signatures had ended, or the clock is wrong");
	return !is_back;
}
