/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/commands/rows.h"

#include <ctype.h>

#include "lib/format/name.h"

const char *rows_take_name(void *member, const char *argument)
{
	struct dnsblv6_labels *name = member;
	if (dnsblv6_name_from_text(argument, name) != DNSBLV6_OK || name->size == 0)
		return "not a domain name";
	/* Canonical form, RFC 4034 section 6.2; sizes of labels are below all letters. */
	for (unsigned i = 0; i < name->size; i++)
		name->wire[i] = (uint8_t)tolower(name->wire[i]);
	return NULL;
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
