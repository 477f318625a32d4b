/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * poppair.h - sessions of POP3 in a loop of mail-proxy.
 *
 * Flow: proxyworker.c accepts at a listener of protocol pop3 -> pair.h, with the table of here ->
 *       popproxy.h, which has the protocol.
 *
 * Here are what popproxy.h has none of: the two connections, TLS, the scanner, the clock, limits of
 * time, the log. loop->shared is the table of popfound.h.
 */

#include "integration/mail/mail-proxy/side/pair.h"

extern const struct pair_protocol poppair_protocol;
