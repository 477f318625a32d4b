/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailpair.h - SMTP and LMTP as a protocol of pair.h.
 *
 * Flow: proxyworker.c accepts -> pair.h -> here: mailtalk.h decides, pair.h does, and the log has a
 *       line for each mail and for each session.
 */

#include "integration/mail/mail-proxy/side/pair.h"

extern const struct pair_protocol mailpair_protocol;
