/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * values.h - numbers with a unit, permissions, addresses and places, as configurations have them.
 *
 * Flow: the text of an item -> conf.c -> one of these -> a value, or why not, with what would be
 *       permitted.
 *
 *     300ms  6s  10m  1h  7d          a time; without a unit it is in seconds, or refused
 *     65536  512K  50M  2G            a size in bytes
 *     192.0.2.1@25  ::1@2525  /path   a place
 *
 * This file alone knows units and ADDRESS@PORT. All functions are pure. What they return is
 * written on success only.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VALUES_REASON_MAX 128
#define VALUES_NUMBER_MAX 32 /* a number with its unit, and a NUL */
#define PLACE_TEXT_MAX	  512
#define PLACE_SOCKET_MAX  107 /* bytes of the path of a UNIX socket */

/* What a number counts, and so what may be behind it. */
enum values_unit {
	VALUES_COUNT,	/* nothing */
	VALUES_SECONDS, /* seconds: s, m, h, d */
	VALUES_MS,	/* milliseconds: ms, s, m, h, d; without a unit, seconds */
	VALUES_AGE,   /* seconds: s, m, h, d, which only 0 can be without: 365 is taken for days */
	VALUES_BYTES, /* bytes: K, M, G */
};

/* false: no number with such a unit, or one that is not from min to max. */
bool values_parse_number(const char *text, enum values_unit unit, int64_t min, int64_t max,
			 int64_t *ret_number);
/*
 * As values_parse_number() reads it again: with the largest unit that leaves a whole number, in
 * VALUES_NUMBER_MAX bytes. Returns ret_text.
 */
const char *values_print_number(enum values_unit unit, int64_t number, char *ret_text);
/* "permitted are 1s to 1h, with s, m, h or d", in VALUES_REASON_MAX bytes; returns ret_reason. */
const char *values_explain_number(enum values_unit unit, int64_t min, int64_t max,
				  char *ret_reason);

/* Permissions as chmod(1) takes them: three octal digits and zeros before them. */
bool values_parse_mode(const char *text, int64_t *ret_mode);

/*
 * ADDRESS@PORT, with a port from port_min on: 0 is one to listen on, and none to send to. With a
 * default_port other than 0 also ADDRESS alone.
 */
bool values_parse_address(const char *text, uint16_t default_port, int64_t port_min,
			  struct sockaddr_storage *ret_address);
/* The size of an IPv4 or IPv6 address as calls of the kernel take it. */
socklen_t values_address_size(const struct sockaddr_storage *address);
/* Is an IPv4 or IPv6 address the host's own, from which there is no way to another? */
bool values_is_loopback(const struct sockaddr_storage *address);

/* ADDRESS@PORT, or an absolute path: of a UNIX socket when it is short enough to be one. */
struct place {
	char text[PLACE_TEXT_MAX + 1];	 /* as written; "": not given */
	struct sockaddr_storage address; /* AF_INET, AF_INET6 or AF_UNIX; AF_UNSPEC: a long path */
	socklen_t address_size;
};

/* NULL, or why not: static text. */
const char *values_parse_place(const char *text, struct place *ret_place);

#ifdef __cplusplus
}
#endif
