/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/transfer/outward.h"

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/common/values.h"

/*
 * Secondaries know us by an address we listen at, and may take NOTIFY from no other. From loopback
 * there is no way to another machine. NULL: there is none of that family.
 */
static const struct sockaddr_storage *find_source(const struct settings *settings,
						  const struct sockaddr_storage *target)
{
	const struct sockaddr_storage *last = NULL;
	for (size_t i = 0; i < settings->listen.count; i++) {
		const struct sockaddr_storage *source = &settings->listen.all[i];
		if (source->ss_family != target->ss_family)
			continue;
		if (!values_is_loopback(source) || values_is_loopback(target))
			return source;
		last = last != NULL ? last : source;
	}
	return last;
}

static int bind_source(int fd, const struct sockaddr_storage *source)
{
	if (source == NULL)
		return 0;
	struct sockaddr_storage any_port = *source;
	if (source->ss_family == AF_INET)
		((struct sockaddr_in *)&any_port)->sin_port = 0;
	else
		((struct sockaddr_in6 *)&any_port)->sin6_port = 0;
	return bind(fd, (struct sockaddr *)&any_port, values_address_size(&any_port));
}

int outward_open(struct outward_turns *turns, const struct settings *settings,
		 const struct sockaddr_storage *address)
{
	int fd = socket(address->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	turns->open++;
	if (bind_source(fd, find_source(settings, address)) != 0 ||
	    connect(fd, (const struct sockaddr *)address, values_address_size(address)) != 0)
		outward_close(turns, &fd);
	return fd;
}

void outward_close(struct outward_turns *turns, int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	*fd = -1;
	turns->open--;
}

bool outward_is_full(const struct outward_turns *turns)
{
	return turns->max > 0 && turns->open >= turns->max;
}

void outward_wait(struct outward_turns *turns, size_t target)
{
	if (!turns->is_wanted)
		turns->first = target;
	turns->is_wanted = true;
}

size_t outward_begin(struct outward_turns *turns)
{
	turns->is_short = turns->is_wanted;
	turns->is_wanted = false;
	return turns->first;
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

size_t outward_count(const struct settings *settings)
{
	struct outward_address found;
	size_t count = 0;
	while (outward_find(settings, count, &found))
		count++;
	return count;
}
