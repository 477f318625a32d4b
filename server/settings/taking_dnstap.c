/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/settings/taking.h"

#include <stdio.h>
#include <string.h>

/* The section "dnstap" of the file. */

bool settings_has_dnstap(void)
{
#ifdef DNSBLV6_DNSTAP
	return true;
#else
	return false;
#endif
}

static const char *take_path(struct taking *taking, const char *path, bool is_socket)
{
	struct settings_dnstap *dnstap = &taking->settings->dnstap;
	size_t max = sizeof(dnstap->path);
	if (!settings_has_dnstap())
		return "this build has no dnstap";
	if (dnstap->path[0] != '\0')
		return "there is one of \"socket\" and \"file\"";
	dnstap->is_socket = is_socket;
	int size = path[0] == '/' ? snprintf(dnstap->path, max, "%s", path)
				  : snprintf(dnstap->path, max, "%s/%s", taking->directory, path);
	if (is_socket)
		max = SETTINGS_CONTROL_MAX + 1;
	return size < 0 || (size_t)size >= max ? "path is too long" : NULL;
}

static const char *take_zone(struct settings_dnstap *dnstap, const struct conf_value *value)
{
	struct settings_name *zones =
		taking_grow(dnstap->zones, dnstap->zone_count, sizeof(*zones));
	if (zones == NULL)
		return taking_no_memory;
	dnstap->zones = zones;
	return taking_name(&zones[dnstap->zone_count++], value);
}

const char *taking_dnstap(struct taking *taking, const struct conf_value *value)
{
	struct settings_dnstap *dnstap = &taking->settings->dnstap;
	switch (value->item) {
	case DNSTAP_SOCKET:
		return take_path(taking, value->text, true);
	case DNSTAP_FILE:
		return take_path(taking, value->text, false);
	case DNSTAP_SAMPLE:
		dnstap->every = (unsigned)value->number;
		return NULL;
	case DNSTAP_MESSAGES:
		dnstap->has_queries = value->number == 0 || value->number == 2;
		dnstap->has_responses = value->number == 1 || value->number == 2;
		return NULL;
	case DNSTAP_ZONE:
		return take_zone(dnstap, value);
	case DNSTAP_IDENTITY:
		return taking_identity(dnstap->identity, value->text, false);
	default:
		return taking_identity(dnstap->version, value->text, true);
	}
}
