/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/values.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

/* ---- numbers ---- */

struct unit {
	const char *name;
	int64_t factor;
};

/* From large to small; one that divides a number is written with it. "" is for none, of 0 if that is all it may be. */
static const struct kind {
	const char *how;
	struct unit units[6];
} kinds[] = {
	[VALUES_COUNT] = { NULL, { { "", 1 } } },
	[VALUES_SECONDS] = { "s, m, h or d",
			     { { "d", 86400 },
			       { "h", 3600 },
			       { "m", 60 },
			       { "s", 1 },
			       { "", 1 } } },
	[VALUES_MS] = { "ms, s, m, h or d",
			{ { "d", 86400000 },
			  { "h", 3600000 },
			  { "m", 60000 },
			  { "s", 1000 },
			  { "ms", 1 },
			  { "", 1000 } } },
	[VALUES_AGE] = { "s, m, h or d behind the number, such as 365d",
			 { { "d", 86400 }, { "h", 3600 }, { "m", 60 }, { "s", 1 }, { "", 0 } } },
	[VALUES_BYTES] = { "K, M or G",
			   { { "G", 1 << 30 }, { "M", 1 << 20 }, { "K", 1 << 10 }, { "", 1 } } },
};

#define UNITS (sizeof(kinds[0].units) / sizeof(kinds[0].units[0]))

bool values_parse_number(const char *text, enum values_unit unit, int64_t min, int64_t max,
			 int64_t *ret_number)
{
	const struct unit *units = kinds[unit].units;
	char *rest = NULL;
	int64_t number = 0;
	if (!isdigit((unsigned char)text[text[0] == '-' ? 1 : 0]))
		return false;
	errno = 0;
	long long read = strtoll(text, &rest, 10);
	for (size_t i = 0; errno == 0 && i < UNITS && units[i].name != NULL; i++) {
		if (strcmp(rest, units[i].name) != 0)
			continue;
		if (units[i].factor == 0 && read != 0)
			return false;
		if (__builtin_mul_overflow(read, units[i].factor, &number) || number < min ||
		    number > max)
			return false;
		*ret_number = number;
		return true;
	}
	return false;
}

const char *values_print_number(enum values_unit unit, int64_t number, char *ret_text)
{
	const struct unit *with = kinds[unit].units;
	while (with->factor > 1 && (number == 0 || number % with->factor != 0))
		with++;
	snprintf(ret_text, VALUES_NUMBER_MAX, "%lld%s", (long long)(number / with->factor),
		 number == 0 ? "" : with->name);
	return ret_text;
}

const char *values_explain_number(enum values_unit unit, int64_t min, int64_t max, char *ret_reason)
{
	char least[VALUES_NUMBER_MAX];
	char most[VALUES_NUMBER_MAX];
	values_print_number(unit, min, least);
	values_print_number(unit, max, most);
	if (unit == VALUES_COUNT)
		snprintf(ret_reason, VALUES_REASON_MAX, "permitted are whole numbers from %s to %s",
			 least, most);
	else
		snprintf(ret_reason, VALUES_REASON_MAX, "permitted are %s to %s, with %s", least,
			 most, kinds[unit].how);
	return ret_reason;
}

bool values_parse_mode(const char *text, int64_t *ret_mode)
{
	char *rest = NULL;
	long mode = strtol(text, &rest, 8);
	if (strspn(text, "01234567") < 3 || *rest != '\0' || mode > 0777)
		return false;
	*ret_mode = mode;
	return true;
}

/* ---- addresses and places ---- */

static bool parse_port(const char *text, int64_t min, uint16_t *ret_port)
{
	int64_t port = 0;
	if (!values_parse_number(text, VALUES_COUNT, min, UINT16_MAX, &port))
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

bool values_parse_address(const char *text, uint16_t default_port, int64_t port_min,
			  struct sockaddr_storage *ret_address)
{
	struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&address;
	char host[INET6_ADDRSTRLEN];
	uint16_t port = default_port;
	size_t size = strcspn(text, "@");
	if (size >= sizeof(host) || (text[size] == '\0' && default_port == 0))
		return false;
	if (text[size] != '\0' && !parse_port(text + size + 1, port_min, &port))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)size, text);
	if (inet_pton(AF_INET, host, &ipv4->sin_addr) == 1) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, host, &ipv6->sin6_addr) == 1) {
		ipv6->sin6_family = AF_INET6;
		ipv6->sin6_port = htons(port);
	} else {
		return false;
	}
	*ret_address = address;
	return true;
}

socklen_t values_address_size(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET ? sizeof(struct sockaddr_in)
					     : sizeof(struct sockaddr_in6);
}

bool values_is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *ipv6 = (const void *)address;
	const struct sockaddr_in *ipv4 = (const void *)address;
	return address->ss_family == AF_INET6
		       ? IN6_IS_ADDR_LOOPBACK(&ipv6->sin6_addr)
		       : ntohl(ipv4->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

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

const char *values_parse_place(const char *text, struct place *ret_place)
{
	struct place place = { .address_size = 0 };
	if (strlen(text) >= sizeof(place.text))
		return "a path has 512 bytes at most";
	snprintf(place.text, sizeof(place.text), "%s", text);
	if (text[0] == '/')
		set_path(&place);
	else if (values_parse_address(text, 0, 1, &place.address))
		place.address_size = values_address_size(&place.address);
	else
		return "permitted are an absolute path, and an address with @ and a port";
	*ret_place = place;
	return NULL;
}
