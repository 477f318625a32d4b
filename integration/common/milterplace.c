/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/milterplace.h"

#include <stdio.h>
#include <string.h>

/* libmilter looks for a port that is none in /etc/services. */
const char *milterplace_take(void *member, const struct conf_value *value)
{
	struct milterplace *milterplace = member;
	const char *text = value->text;
	const char *at = strchr(text, '@');
	const int family = value->place.address.ss_family;
	milterplace->path[0] = '\0';
	if (family == AF_UNIX) {
		snprintf(milterplace->path, sizeof(milterplace->path), "%s", text);
		snprintf(milterplace->connection, sizeof(milterplace->connection), "local:%s",
			 text);
	} else {
		snprintf(milterplace->connection, sizeof(milterplace->connection), "%s:%s@%.*s",
			 family == AF_INET ? "inet" : "inet6", at + 1, (int)(at - text), text);
	}
	return NULL;
}
