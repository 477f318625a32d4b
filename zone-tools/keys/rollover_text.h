/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rollover_text.h - the state of a rollover as a store remembers it: the fact "keys".
 *
 * Flow: the fact of a store -> rollover_text_parse() -> rollover.h -> rollover_text_write() -> the
 *       fact.
 *
 * Lines, each ended by a line feed:
 *
 *     rollover 1
 *     ttl dnskey=2100 zone=2100 ds=3600
 *     key active made=1764000000 since=1764000000 ds-seen=1764010000 dnskey=0101030d...
 *     key published made=1795536000 since=1795536000 ds-seen=0 dnskey=0101030d...
 *
 * The older key comes first. A DNSKEY is its RDATA in hexadecimal digits. No private key is here.
 */

#include "zone-tools/keys/rollover.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ROLLOVER_TEXT_SIZE 1024 /* with its NUL */

/* text need not have a NUL. NULL, or why it is refused; static text. */
const char *rollover_text_parse(const char *text, size_t size, struct rollover *ret_rollover);

/* Of a sound one. ret_text has ROLLOVER_TEXT_SIZE bytes and gets a NUL; returns the size without. */
size_t rollover_text_write(const struct rollover *rollover, char *ret_text);

#ifdef __cplusplus
}
#endif
