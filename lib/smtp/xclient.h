/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * xclient.h - what a trusted relay says about its client by XCLIENT, as Postfix' XCLIENT_README
 *             has it.
 *
 * Flow: dialogue.c -> xclient_parse() -> event.xclient -> talk.c of smtp-front takes the attributes for
 *       those of the session.
 *
 *     XCLIENT NAME=spike.example.org ADDR=168.100.189.2 PORT=[UNAVAILABLE]
 *
 *     ATTRIBUTE   VALUE
 *     ADDR        an IPv4 address, or IPV6: and one of IPv6 (Postfix takes it without, so do we)
 *     PORT        a decimal without leading zeros
 *     DESTADDR    as ADDR
 *     DESTPORT    as PORT
 *     NAME, PROTO, HELO, LOGIN    any text, which is not kept
 *
 * Values are xtext. [UNAVAILABLE] is "there is none", [TEMPUNAVAIL] "it is not known now"; of an
 * attribute that is not named nothing changes.
 *
 * A plain value. No function here keeps a pointer, allocates or logs.
 */

#include <stddef.h>
#include <stdint.h>

#include "lib/format/address.h"

#ifdef __cplusplus
extern "C" {
#endif

#define XCLIENT_TEXT_MAX 255

enum xclient_attribute {
	XCLIENT_NAME,
	XCLIENT_ADDR,
	XCLIENT_PORT,
	XCLIENT_PROTO,
	XCLIENT_HELO,
	XCLIENT_LOGIN,
	XCLIENT_DESTADDR,
	XCLIENT_DESTPORT,
	XCLIENT_COUNT,
};

struct xclient {
	unsigned named; /* bit n: attribute n was named */
	unsigned known; /* bit n: with a value, which is below if it is kept; a part of named */
	struct dnsblv6_addr client_addr;
	uint16_t client_port;
	struct dnsblv6_addr local_addr;
	uint16_t local_port;
};

/* What stands behind "XCLIENT ". NULL, or what is wrong with it: static text. */
const char *xclient_parse(const char *text, size_t text_size, struct xclient *ret_xclient);

#ifdef __cplusplus
}
#endif
