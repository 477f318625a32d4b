/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * little.h - numbers that begin with their least byte, as files of PCs have them.
 *
 * Flow: pe.h and kind.h, and readers of lib/mstream and lib/unpack: bytes, unaligned -> a number. Those
 *       that begin with their greatest are lib/format/bytes.h.
 *
 * The bytes are there; that is for the caller to know.
 */

#include <stdint.h>

static inline uint16_t little_get16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t little_get32(const uint8_t *bytes)
{
	return little_get16(bytes) | (uint32_t)little_get16(bytes + 2) << 16;
}

static inline uint64_t little_get64(const uint8_t *bytes)
{
	return little_get32(bytes) | (uint64_t)little_get32(bytes + 4) << 32;
}
