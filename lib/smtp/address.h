/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * address.h - the syntax of addresses in MAIL and RCPT: RFC 5321, 4.1.2 and 4.1.3, with UTF-8 by
 *             RFC 6531, 3.3.
 *
 * Flow: command.c -> address_parse_path() -> the envelope; dialogue.c, for what comes out of a
 *       capsule -> address_is_mailbox().
 *
 *     <>                                 no mailbox
 *     <a.b@example.org>
 *     <"a b"@[192.0.2.1]>                a quoted local part stays quoted
 *     <@relay.example,@b:c@d.example>    is c@d.example: routes are dropped
 *     <Postmaster>                       the one that needs no domain
 *     a.b@example.org                    without "<" and ">"
 *     <a.b@example.org.>                 is a.b@example.org
 *
 * Looser than the RFC in the last two and in three things more, since such addresses are in use and other
 * servers take them: a label of a domain may have "_", a local part more than 64 octets (envelope.h), and
 * dots in front, at its end or beside one another, which providers of mobile phones have given to their users.
 *
 * No function here keeps a pointer but the one into the caller's text, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum address_status {
	ADDRESS_OK,
	ADDRESS_MALFORMED,
	ADDRESS_TOO_LONG, /* a part of it, or all */
};

struct address {
	const char *mailbox; /* into the text that was parsed; borrowed */
	size_t mailbox_size; /* 0: <> */
	bool is_utf8;	     /* has bytes beyond ASCII; they are well-formed */
	bool is_postmaster;  /* the one without a domain */
};

/*
 * A path at the beginning of text. *ret_used bytes are it, "<" and ">" included; without these a blank has to
 * follow.
 */
enum address_status address_parse_path(const char *text, size_t text_size,
				       struct address *ret_address, size_t *ret_used);

/* All of text is local-part@domain, or "postmaster". */
bool address_is_mailbox(const char *text, size_t text_size, bool allows_utf8);

#ifdef __cplusplus
}
#endif
