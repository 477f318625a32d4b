/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/reading.h"

#include "zone-tools/plan/guard.h"

void reading_refuse_line(struct reading *reading, const char *reason)
{
	findings_add_bad_line(reading->findings, reading->place, reading->line, reading->line_size,
			      reason);
}

void reading_warn(struct reading *reading, const char *what, const char *reason)
{
	findings_add(reading->findings, FINDING_WARNING, reading->place, what, reading->line,
		     reading->line_size, reason);
}

bool reading_accepts(struct reading *reading, struct dnsblv6_addr first, struct dnsblv6_addr last,
		     bool is_exclusion)
{
	const struct sources_options *options = reading->options;
	if (options->is_removal)
		return true;
	const char *reason = guard_entry(first, last, is_exclusion, options->allow_reserved);
	if (reason == NULL && !is_exclusion && guard_loses_part(first, last))
		reading_warn(reading, "entry not listed whole",
			     "127.0.1.0/25 to 127.0.5.0/25 have canaries, where no listing counts");
	if (reason == NULL)
		return true;
	/* Without an exclusion more would be listed than the list says. */
	bool is_skipped = options->skip_reserved && !is_exclusion;
	reading->findings->skipped_count += is_skipped;
	findings_add(reading->findings, is_skipped ? FINDING_WARNING : FINDING_REFUSAL,
		     reading->place, is_skipped ? "entry left out" : "entry refused", reading->line,
		     reading->line_size, reason);
	return false;
}
