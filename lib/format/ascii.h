/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * ascii.h - letters of ASCII, whatever the locale: names of DNS, keywords of protocols and files.
 *
 * Flow: a byte of a name -> ascii_lower() -> a comparison, or the key of a record.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline uint8_t ascii_lower(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + ('a' - 'A')) : byte;
}

#ifdef __cplusplus
}
#endif
