/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * bytes.h - integers and byte strings, big-endian and unaligned, in and out.
 *
 * Flow: record.c, journal.c and dnssec.c encode and decode with it; so does code
 *       that reads or writes DNS messages beside libknot.
 *
 * Nothing has to be aligned: an encoded record may lie anywhere in a mapped
 * page. What is put has room; that is for the caller to know.
 */

#include "lib/format/status.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The last size bytes of number; *out moves behind them. */
static inline void bytes_put(uint8_t **out, uint64_t number, unsigned size)
{
	for (unsigned i = size; i > 0; i--)
		*(*out)++ = (uint8_t)(number >> (8 * (i - 1)));
}

/* The same of 2 and 4 bytes in one store, for paths that are measured. */
static inline void bytes_put16(uint8_t **out, unsigned number)
{
	uint16_t wire = htobe16((uint16_t)number);
	memcpy(*out, &wire, sizeof(wire));
	*out += sizeof(wire);
}

static inline void bytes_put32(uint8_t **out, uint32_t number)
{
	uint32_t wire = htobe32(number);
	memcpy(*out, &wire, sizeof(wire));
	*out += sizeof(wire);
}

static inline void bytes_put_string(uint8_t **out, const uint8_t *bytes, size_t size)
{
	if (size > 0)
		memcpy(*out, bytes, size);
	*out += size;
}

/* The number in size bytes. */
static inline uint64_t bytes_get(const uint8_t *bytes, unsigned size)
{
	uint64_t number = 0;
	for (unsigned i = 0; i < size; i++)
		number = number << 8 | bytes[i];
	return number;
}

static inline unsigned bytes_get16(const uint8_t *bytes)
{
	return (unsigned)bytes[0] << 8 | bytes[1];
}

/* What is left to decode. has_failed is sticky: a chain of takes is checked once. */
struct bytes_input {
	const uint8_t *data;
	size_t size;
	bool has_failed;
};

/* NULL, and has_failed, when fewer than size bytes are left. */
static inline const uint8_t *bytes_take_string(struct bytes_input *input, size_t size)
{
	if (input->has_failed || size > input->size) {
		input->has_failed = true;
		return NULL;
	}
	const uint8_t *bytes = input->data;
	input->data += size;
	input->size -= size;
	return bytes;
}

/* 0, and has_failed, when fewer than size bytes are left. */
static inline uint64_t bytes_take(struct bytes_input *input, unsigned size)
{
	const uint8_t *bytes = bytes_take_string(input, size);
	return bytes != NULL ? bytes_get(bytes, size) : 0;
}

/* DNSBLV6_ERECORD when something was missing, or is left. */
static inline int bytes_finish(const struct bytes_input *input)
{
	return input->has_failed || input->size > 0 ? DNSBLV6_ERECORD : DNSBLV6_OK;
}
