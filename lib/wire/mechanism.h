/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mechanism.h - mechanisms of SASL that a proxy may pass on between a client and a server.
 *
 * Flow: what a server offers, or a client says, in a word -> mechanism_find() -> it is written on, or left out.
 *
 * They end with a login and nothing else. Others may put a layer of their own around all that follows
 * (GSSAPI, DIGEST-MD5), or want the TLS of the server's (SCRAM-...-PLUS).
 */

#include <stddef.h>

/* Its name as it is written on, in whichever case word is; NULL: it is none of these. */
const char *mechanism_find(const char *word, size_t word_size);
