/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-store/exportname.h"

#include "lib/maildir/maildir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void exportname_make(uint64_t time_us, const struct mailid *id, char *ret_name)
{
	char text[MAILID_TEXT_SIZE];
	mailid_format(id, text);
	snprintf(ret_name, MAILDIR_NAME_SIZE, "%010" PRIu64 ".M%06" PRIu64 ".%s", time_us / 1000000,
		 time_us % 1000000, text);
}

int exportname_compare(const char *one, const char *other)
{
	const size_t size = strcspn(one, ":");
	const size_t other_size = strcspn(other, ":");
	const int order = memcmp(one, other, size < other_size ? size : other_size);
	return order != 0 ? order : (size > other_size) - (size < other_size);
}

bool exportname_parse(const char *name, uint64_t *ret_time_us, struct mailid *ret_id)
{
	char text[MAILID_TEXT_SIZE];
	char again[MAILDIR_NAME_SIZE];
	char *end = NULL;
	const unsigned long long seconds = strtoull(name, &end, 10);
	if (seconds >= UINT64_MAX / 1000000 || strncmp(end, ".M", 2) != 0)
		return false;
	const unsigned long long micros = strtoull(end + 2, &end, 10);
	if (micros >= 1000000 || *end != '.')
		return false;
	snprintf(text, sizeof(text), "%s", end + 1);
	if (mailid_parse(text, ret_id) != 0)
		return false;
	*ret_time_us = seconds * 1000000 + micros;
	exportname_make(*ret_time_us, ret_id, again);
	return exportname_compare(name, again) == 0;
}
