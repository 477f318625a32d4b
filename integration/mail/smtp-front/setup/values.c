/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/setup/values.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

struct unit {
	const char *name;
	uint64_t factor;
};

/* From large to small; one that divides a number is written with it. */
static const struct unit times[] = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 },
				     { "s", 1000 },	{ "ms", 1 },	  { "", 1000 } };
static const struct unit sizes[] = {
	{ "G", 1 << 30 }, { "M", 1 << 20 }, { "K", 1 << 10 }, { "", 1 }
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* false: no number with one of these units, or one that no machine can hold. */
static bool parse(const char *text, const struct unit *units, size_t count, uint64_t *ret_value)
{
	char *rest = NULL;
	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	unsigned long long number = strtoull(text, &rest, 10);
	for (size_t i = 0; errno == 0 && i < count; i++) {
		if (strcmp(rest, units[i].name) == 0)
			return !__builtin_mul_overflow(number, units[i].factor, ret_value);
	}
	return false;
}

static void format(uint64_t value, const struct unit *units, char *ret_text, size_t size)
{
	const struct unit *unit = units;
	while (unit->factor > 1 && (value == 0 || value % unit->factor != 0))
		unit++;
	snprintf(ret_text, size, "%llu%s", (unsigned long long)(value / unit->factor),
		 value == 0 ? "" : unit->name);
}

static const char *refuse(uint64_t min, uint64_t max, const struct unit *units, const char *how,
			  char *ret_reason)
{
	char least[VALUES_REASON_MAX / 4];
	char most[VALUES_REASON_MAX / 4];
	format(min, units, least, sizeof(least));
	format(max, units, most, sizeof(most));
	snprintf(ret_reason, VALUES_REASON_MAX, "permitted are %s to %s, with %s", least, most,
		 how);
	return ret_reason;
}

const char *values_parse_time(const char *text, unsigned min_ms, unsigned max_ms, unsigned *ret_ms,
			      char *ret_reason)
{
	uint64_t value = 0;
	if (!parse(text, times, COUNT(times), &value) || value < min_ms || value > max_ms)
		return refuse(min_ms, max_ms, times, "ms, s, m, h or d", ret_reason);
	*ret_ms = (unsigned)value;
	return NULL;
}

const char *values_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret_bytes,
			      char *ret_reason)
{
	uint64_t value = 0;
	if (!parse(text, sizes, COUNT(sizes), &value) || value < min || value > max)
		return refuse(min, max, sizes, "K, M or G", ret_reason);
	*ret_bytes = value;
	return NULL;
}

/* ---- places ---- */

static void set_path(struct place *place)
{
	struct sockaddr_un *address = (struct sockaddr_un *)&place->address;
	size_t size = strlen(place->text);
	if (size >= sizeof(address->sun_path))
		return;
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, place->text, size + 1);
	place->address_size = sizeof(*address);
}

static bool set_address(struct place *place, const char *host, uint16_t port)
{
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&place->address;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&place->address;
	if (inet_pton(AF_INET, host, &ipv4->sin_addr) == 1) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons(port);
		place->address_size = sizeof(*ipv4);
		return true;
	}
	if (inet_pton(AF_INET6, host, &ipv6->sin6_addr) != 1)
		return false;
	ipv6->sin6_family = AF_INET6;
	ipv6->sin6_port = htons(port);
	place->address_size = sizeof(*ipv6);
	return true;
}

const char *values_parse_place(const char *text, struct place *ret_place)
{
	static const char permitted[] =
		"permitted are an address with @ and a port, and an absolute path";
	struct place place = { .address_size = 0 };
	char host[INET6_ADDRSTRLEN];
	char *rest = NULL;
	if (strlen(text) >= sizeof(place.text))
		return "a path has 512 bytes at most";
	snprintf(place.text, sizeof(place.text), "%s", text);
	if (text[0] == '/') {
		set_path(&place);
		*ret_place = place;
		return NULL;
	}
	const char *at = strchr(text, '@');
	if (at == NULL || (size_t)(at - text) >= sizeof(host) || at[1] < '1' || at[1] > '9')
		return permitted;
	unsigned long port = strtoul(at + 1, &rest, 10);
	snprintf(host, sizeof(host), "%.*s", (int)(at - text), text);
	if (*rest != '\0' || port > UINT16_MAX || !set_address(&place, host, (uint16_t)port))
		return permitted;
	*ret_place = place;
	return NULL;
}
