/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * soa.h - the question which serial of a zone a server has, what it answers, and the order of serials.
 *
 * Flow: dnsblv6-zone waits for secondaries, dnsblv6d tells of them -> soa_make_question() -> a socket
 *       of theirs -> soa_read_serial().
 *
 * All functions are pure. Names are in wire form with the root label; sizes are checked.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SOA_QUESTION_MAX 271 /* bytes: a header, the longest name, type and class */

/* Without recursion. apex has apex_size bytes. Returns the size of ret_wire. */
size_t soa_make_question(const uint8_t *apex, size_t apex_size, uint16_t id, uint8_t *ret_wire);
/*
 * The serial of the SOA that wire, size bytes, has for apex as its first answer. False for what is
 * no answer to that question, has an error or is no authority's (AA).
 */
bool soa_read_serial(const uint8_t *wire, size_t size, const uint8_t *apex, size_t apex_size,
		     uint16_t id, uint32_t *ret_serial);

/*
 * Is serial the other, or newer (RFC 1982, 3.2)? Of two that are 2^31 apart, of which the RFC says nothing, neither
 * is as new as the other.
 */
bool soa_is_as_new(uint32_t serial, uint32_t other);

#ifdef __cplusplus
}
#endif
