/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/milterplace.h"

#include <stdio.h>
#include <string.h>

#include "lib/common/values.h"

/* libmilter looks for a port that is none in /etc/services. */
const char *milterplace_take(void *member, const struct conf_value *value)
{
	struct milterplace *milterplace = member;
	const char *text = value->text;
	const char *at = strchr(text, '@');
	struct place place;
	milterplace->path[0] = '\0';
	if (values_parse_place(text, &place) != NULL)
		return "permitted are an absolute path and ADDRESS@PORT, such as 127.0.0.1@8891";
	if (place.address.ss_family == AF_UNIX) {
		snprintf(milterplace->path, sizeof(milterplace->path), "%s", text);
		snprintf(milterplace->connection, sizeof(milterplace->connection), "local:%s",
			 text);
	} else {
		snprintf(milterplace->connection, sizeof(milterplace->connection), "%s:%s@%.*s",
			 place.address.ss_family == AF_INET ? "inet" : "inet6", at + 1,
			 (int)(at - text), text);
	}
	return NULL;
}
