/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * bytes.h - integers and byte strings, big-endian and unaligned, in and out.
 *
 * Flow: record.c and journal.c alone; all other files have their structs.
 *
 * Everything is copied byte by byte: an encoded record may lie anywhere in a
 * mapped page.
 */

#include "lib/format/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The last size bytes of number; *out moves behind them. */
static inline void bytes_put(uint8_t **out, uint64_t number, unsigned size)
{
	for (unsigned i = size; i > 0; i--)
		*(*out)++ = (uint8_t)(number >> (8 * (i - 1)));
}

static inline void bytes_put_string(uint8_t **out, const uint8_t *bytes, size_t size)
{
	if (size > 0)
		memcpy(*out, bytes, size);
	*out += size;
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
	uint64_t number = 0;
	const uint8_t *bytes = bytes_take_string(input, size);
	for (unsigned i = 0; bytes != NULL && i < size; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* DNSBLV6_ERECORD when something was missing, or is left. */
static inline int bytes_finish(const struct bytes_input *input)
{
	return input->has_failed || input->size > 0 ? DNSBLV6_ERECORD : DNSBLV6_OK;
}

#ifdef __cplusplus
}
#endif
