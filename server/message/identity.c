/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/message/identity.h"

#include <strings.h>

/* No length of a label is a letter, so that folding the case of all bytes is good enough. */
static bool is_name(const uint8_t *name, size_t name_size, const char *wire, size_t wire_size)
{
	return name_size == wire_size && strncasecmp((const char *)name, wire, wire_size) == 0;
}

const char *identity_find(const struct settings *settings, const uint8_t *name, size_t name_size)
{
	static const char id_server[] = "\2id\6server";
	static const char hostname_bind[] = "\10hostname\4bind";
	static const char version_server[] = "\7version\6server";
	static const char version_bind[] = "\7version\4bind";
	const char *text = NULL;
	if (settings == NULL)
		return NULL;
	if (is_name(name, name_size, id_server, sizeof(id_server)) ||
	    is_name(name, name_size, hostname_bind, sizeof(hostname_bind)))
		text = settings->identity;
	else if (is_name(name, name_size, version_server, sizeof(version_server)) ||
		 is_name(name, name_size, version_bind, sizeof(version_bind)))
		text = settings->version;
	return text != NULL && text[0] != '\0' ? text : NULL;
}
