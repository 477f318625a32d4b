/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/reading/difference.h"

#include <inttypes.h>

void difference_print(struct difference *difference, char sign, struct dnsblv6_addr first,
		      struct dnsblv6_addr last, const struct dnsblv6_labels *origin)
{
	char text[DNSBLV6_PREFIX_TEXT_SIZE];
	char list[DNSBLV6_NAME_TEXT_SIZE] = "";
	if (origin->size > 0)
		dnsblv6_name_format(origin->wire, origin->size, list);
	struct dnsblv6_prefix prefix = dnsblv6_prefix_of_range(first, last);
	do {
		dnsblv6_prefix_format(prefix, text);
		if (difference->count++ < difference->limit)
			fprintf(difference->stream, "  %c %s%s%s\n", sign, text,
				list[0] != '\0' ? "\t" : "", list);
	} while (dnsblv6_prefix_follow(&prefix, last));
}

void difference_end(const struct difference *difference)
{
	if (difference->count > difference->limit)
		fprintf(difference->stream, "  ... %" PRIu64 " more (--all prints them)\n",
			difference->count - difference->limit);
}
