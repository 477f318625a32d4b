/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * envelope.h - the sender and the recipients of a mail, with what RFC 5321 and its extensions say
 *              about both.
 *
 * Flow: command.c fills them from MAIL and RCPT -> dialogue.h keeps the one and shows the other
 *       -> capsule.c carries them to a worker -> the sinks.
 *
 * Texts are as the client wrote them but for source routes, which are dropped (RFC 5321
 * appendix C): a quoted local part is still quoted, xtext is still encoded. No text has a blank
 * outside of a quoted local part, a control character, "<" or ">" outside of quotes, or anything
 * but well-formed UTF-8; beyond ASCII only when is_utf8. They may be written into a command of
 * SMTP again as they are.
 *
 * Plain values: copy them. Zero is the envelope of <>, of which nothing else was said.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * RFC 5321, 4.5.3.1: 64 octets, "@", 255 octets; the path around it, "<" and ">" included, has
 * 256. Octets, also when they are UTF-8. The 64 are what every server must take; more are
 * taken as long as the path is, since bounce addresses that name their recipient (VERP, SRS) have
 * more, and other servers take them.
 */
#define ENVELOPE_DOMAIN_MAX  255
#define ENVELOPE_PATH_MAX    256
#define ENVELOPE_ADDRESS_MAX 320
#define ENVELOPE_ENVID_MAX   100 /* RFC 3461, 4.4 */
#define ENVELOPE_ORCPT_MAX   500 /* RFC 3461, 4.2 */
#define ENVELOPE_HELO_MAX    255

enum envelope_body {
	ENVELOPE_7BIT, /* or nothing said */
	ENVELOPE_8BITMIME,
};

enum envelope_ret {
	ENVELOPE_RET_NONE, /* nothing said */
	ENVELOPE_RET_FULL,
	ENVELOPE_RET_HDRS,
};

/*
 * What a mail may ask of each server on its way: a set of extensions that a client is not offered,
 * as the next hop lacks them.
 */
#define ENVELOPE_EXTENSION_8BITMIME 1U
#define ENVELOPE_EXTENSION_SMTPUTF8 2U
#define ENVELOPE_EXTENSION_DSN	    4U
#define ENVELOPE_EXTENSION_ALL	    7U

/* Bits of recipient.notify; NEVER stands alone. */
#define ENVELOPE_NOTIFY_NEVER	1U
#define ENVELOPE_NOTIFY_SUCCESS 2U
#define ENVELOPE_NOTIFY_FAILURE 4U
#define ENVELOPE_NOTIFY_DELAY	8U
#define ENVELOPE_NOTIFY_ALL	15U

struct envelope {
	char sender[ENVELOPE_ADDRESS_MAX + 1]; /* "" is <> */
	uint64_t size_bytes;		       /* 0: not said */
	enum envelope_body body;
	bool is_utf8; /* SMTPUTF8 */
	enum envelope_ret ret;
	char envid[ENVELOPE_ENVID_MAX + 1]; /* xtext; "": not said */
};

struct recipient {
	/* "postmaster" without a domain is one (RFC 5321, 4.1.1.3), in lower case then. */
	char address[ENVELOPE_ADDRESS_MAX + 1];
	unsigned notify;		    /* 0: not said */
	char orcpt[ENVELOPE_ORCPT_MAX + 1]; /* "type;xtext"; "": not said */
};
