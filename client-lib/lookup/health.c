/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/lookup/health.h"

#include <sysexits.h>

#include "client-lib/lookup/print.h"

int health_run(struct lookup *lookup)
{
	int well = dnsblv6_probe(lookup->client, lookup->timeout_ms);

	if (well < 0)
		return lookup_fail(EX_SOFTWARE, "zones not probed (%s)", dnsblv6_strerror(well));
	lookup_load_zones(lookup);
	if (lookup->is_terminal && !lookup->is_json)
		printf("%-32s  %-15s  %-7s  %4s  %6s  %8s  %6s\n", "zone", "state", "mode",
		       "weight", "asked", "failures", "age_s");
	for (unsigned i = 0; i < lookup->zone_count; i++)
		print_zone(lookup, &lookup->zones[i]);
	if (fflush(stdout) != 0)
		return lookup_fail(EX_IOERR, "standard output: not written");
	return (unsigned)well == lookup->zone_count ? 0 : 1;
}
