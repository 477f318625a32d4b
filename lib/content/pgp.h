/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pgp.h - messages of OpenPGP (RFC 9580) that are encrypted, by what they begin with.
 *
 * Flow: lib/inspect/object.c: the first bytes of an object -> pgp_is_encrypted() -> a finding.
 *
 *     if (pgp_is_encrypted(head, head_size))
 *             ...
 *
 * They are packets, the first of which has the key of the message, for a recipient or a password; or these in base64
 * behind "-----BEGIN PGP MESSAGE-----", on a line of its own, which may follow a text. What is signed or compressed
 * alone begins with another packet. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

bool pgp_is_encrypted(const uint8_t *head, size_t size);

#ifdef __cplusplus
}
#endif
