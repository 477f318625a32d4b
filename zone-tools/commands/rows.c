/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/commands/rows.h"

#include "zone-tools/base/spec.h"
#include "zone-tools/keys/anchor.h"

const char *rows_take_name(void *member, const char *argument)
{
	return anchor_parse_zone(argument, member) == DNSBLV6_OK ? NULL
								 : spec_explain_name(argument);
}

const char *rows_take_except(void *member, const char *argument)
{
	return sources_add_except(member, argument) ? NULL : "more than 16 files";
}

const char *rows_take_value(void *member, const char *argument)
{
	const char *fault = sources_check_value(argument);
	if (fault == NULL)
		*(const char **)member = argument;
	return fault;
}

const char *rows_take_all(void *member, const char *argument)
{
	(void)argument;
	*(uint64_t *)member = UINT64_MAX;
	return NULL;
}
