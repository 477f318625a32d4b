/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * values.h - times, sizes and places as front.conf has them, beside what conf.h knows.
 *
 * Flow: lib/common/conf.c gives setup.c a text -> one of these -> a number or an address, or why
 *       not, with what would be permitted.
 *
 *     300ms  6s  10m  1h  7d          a time; without a unit it is in seconds
 *     65536  512K  50M  2G            a size in bytes
 *     192.0.2.1@25  ::1@2525  /path   a place
 *
 * All are pure.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VALUES_REASON_MAX 128
#define PLACE_TEXT_MAX	  512

/* ADDRESS@PORT, or an absolute path: of a UNIX socket when it is short enough to be one. */
struct place {
	char text[PLACE_TEXT_MAX + 1];	 /* as written; "": not given */
	struct sockaddr_storage address; /* AF_INET, AF_INET6 or AF_UNIX; AF_UNSPEC: a long path */
	socklen_t address_size;
};

/*
 * NULL, or why not: static, or in ret_reason of VALUES_REASON_MAX bytes. *ret_ms and *ret_bytes
 * are from min to max, and are written on success only.
 */
const char *values_parse_time(const char *text, unsigned min_ms, unsigned max_ms, unsigned *ret_ms,
			      char *ret_reason);
const char *values_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret_bytes,
			      char *ret_reason);
const char *values_parse_place(const char *text, struct place *ret_place);

#ifdef __cplusplus
}
#endif
