/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/transfer/outward.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_any(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ((const struct sockaddr_in *)address)->sin_addr.s_addr == INADDR_ANY;
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static socklen_t size_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET ? sizeof(struct sockaddr_in)
					     : sizeof(struct sockaddr_in6);
}

/* Secondaries know us by an address we listen at, and may take NOTIFY from no other. */
static int bind_source(const struct settings *settings, int fd, sa_family_t family)
{
	for (size_t i = 0; i < settings->listen.count; i++) {
		struct sockaddr_storage source = settings->listen.all[i];
		if (source.ss_family != family)
			continue;
		if (is_any(&source))
			return 0;
		if (family == AF_INET)
			((struct sockaddr_in *)&source)->sin_port = 0;
		else
			((struct sockaddr_in6 *)&source)->sin6_port = 0;
		return bind(fd, (struct sockaddr *)&source, size_of(&source));
	}
	return 0;
}

int outward_open(const struct settings *settings, const struct sockaddr_storage *address)
{
	sa_family_t family = address->ss_family;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (bind_source(settings, fd, family) == 0 &&
	    connect(fd, (const struct sockaddr *)address, size_of(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

size_t outward_count(const struct settings *settings)
{
	size_t count = 0;
	for (size_t i = 0; i < settings->zone_count; i++) {
		const struct settings_zone *zone = &settings->zones[i];
		for (size_t k = 0; k < zone->secondaries.count; k++)
			count += settings->secondaries[zone->secondaries.indices[k]].address_count;
	}
	return count;
}

bool outward_find(const struct settings *settings, size_t index, struct outward_address *ret_found)
{
	for (size_t i = 0; i < settings->zone_count; i++) {
		const struct settings_zone *zone = &settings->zones[i];
		for (size_t k = 0; k < zone->secondaries.count; k++) {
			const struct settings_secondary *secondary =
				&settings->secondaries[zone->secondaries.indices[k]];
			if (index < secondary->address_count) {
				*ret_found =
					(struct outward_address){ i, secondary,
								  &secondary->addresses[index] };
				return true;
			}
			index -= secondary->address_count;
		}
	}
	return false;
}
