/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/lookup/lookup.h"

#include <ctype.h>
#include <stdarg.h>
#include <sysexits.h>

#define LINE_SIZE 1024

int lookup_fail(int status, const char *format, ...)
{
	char line[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	/* clang-tidy 14 does not see va_start() here, as it does elsewhere. */
	vsnprintf(line, sizeof(line), format, arguments); // NOLINT(clang-analyzer-valist*)
	va_end(arguments);
	/* Foreign bytes end up in a terminal: only what is printable. */
	for (char *at = line; *at != '\0'; at++) {
		if (!isprint((unsigned char)*at))
			*at = '?';
	}
	fprintf(stderr, LOOKUP_PROGRAM ": %s\n", line);
	return status;
}

int lookup_status(const struct lookup_tally *tally)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return lookup_fail(EX_IOERR, "standard output: not written");
	if (tally->has_bad)
		return EX_DATAERR;
	if (tally->has_listed)
		return 0;
	return tally->has_unknown ? EX_UNAVAILABLE : 1;
}

void lookup_load_zones(struct lookup *lookup)
{
	lookup->zone_count = 0;
	while (lookup->zone_count < LOOKUP_ZONES_MAX &&
	       dnsblv6_zone_get(lookup->client, lookup->zone_count,
				&lookup->zones[lookup->zone_count]) == 0)
		lookup->zone_count++;
}
