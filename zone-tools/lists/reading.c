/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/reading.h"

#include "zone-tools/plan/guard.h"

#include <stdio.h>

void reading_note_time(struct reading *reading, const char *path, uint64_t written_s)
{
	uint64_t now_s = reading->options->now_s;
	if (written_s > now_s)
		written_s = now_s;
	if (reading->listing->written_s < written_s)
		reading->listing->written_s = written_s;
	if (path != NULL)
		listages_note(&reading->listing->ages, path, written_s);
}

int reading_refuse_line(struct reading *reading, const char *reason)
{
	findings_add_bad_line(reading->findings, reading->place, reading->line, reading->line_size,
			      reason);
	return DNSBLV6_OK;
}

void reading_refuse(struct reading *reading, const char *what, const char *reason)
{
	findings_add(reading->findings, FINDING_REFUSAL, reading->place, what, reading->line,
		     reading->line_size, reason);
}

int reading_warn(struct reading *reading, const char *what, const char *reason)
{
	findings_add(reading->findings, FINDING_WARNING, reading->place, what, reading->line,
		     reading->line_size, reason);
	return DNSBLV6_OK;
}

/*
 * What one line lists others may exclude: that is seen when all is resolved, and then the place is
 * wanted. A copy, since the name of the file does not outlive the reading.
 */
static void note_clear_point(struct reading *reading, bool is_exclusion)
{
	struct listing *listing = reading->listing;
	struct findings_place *place = &listing->clear_point;
	if (is_exclusion && reading->has_named_point)
		*place = (struct findings_place){ .file = NULL };
	reading->excludes_point |= is_exclusion;
	if (reading->excludes_point || place->file != NULL)
		return;
	snprintf(listing->clear_point_file, sizeof(listing->clear_point_file), "%s",
		 reading->place.file);
	*place = (struct findings_place){ listing->clear_point_file, reading->place.line };
	reading->has_named_point = true;
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
	if (reason == NULL && guard_holds_clear_point(first, last))
		note_clear_point(reading, is_exclusion);
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
