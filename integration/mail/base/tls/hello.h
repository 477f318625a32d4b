/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hello.h - how large the first messages of a TLS client claim to be, before OpenSSL believes it.
 *
 * Flow: tls.c has bytes of the socket -> hello_take() -> OpenSSL.
 *
 * OpenSSL sets the whole size of a message aside when it has read the four bytes that say it, and
 * fills it with zeros; for a ClientHello it takes up to 131396. Nine bytes for 128 KiB is too
 * much for a stranger: with ten thousand sessions it is a gigabyte. So records and the messages
 * in them are followed as far as they are in the clear (RFC 8446, 4 and 5.1):
 *
 *     record     type, 0x03, version, size of two bytes   20 ChangeCipherSpec, 21 Alert,
 *                                                         22 Handshake, 23 encrypted
 *     message    type, size of three bytes                1 ClientHello, 16 ClientKeyExchange
 *
 * There may be two ClientHellos, the second after a HelloRetryRequest and perhaps a
 * ChangeCipherSpec. ClientKeyExchange is the last in the clear in TLS 1.2.
 *
 * Lies in the memory of its owner, and begins with zeros. Nothing here allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hello {
	bool is_done; /* what follows is encrypted, or no TLS at all: OpenSSL's business */
	uint8_t record_head[5];
	uint8_t record_head_size;
	uint8_t message_head[4];
	uint8_t message_head_size;
	uint16_t record_left;
	uint32_t message_left;
};

/* False when a message is larger than size_max. */
bool hello_take(struct hello *hello, const uint8_t *bytes, size_t size, size_t size_max);

#ifdef __cplusplus
}
#endif
