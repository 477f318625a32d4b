/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lmtp_trace.h - the fields that final delivery puts before a mail (RFC 5321, 4.4).
 *
 *     Return-Path: <a@example.net>
 *     Received: from mx.example.org ([127.0.0.1])
 *             by mx.example.org (mail-stored) with LMTP id 5f0c3a9b1e42.1
 *             for <john@example.org>; Sun, 22 Nov 2026 04:42:54 +0000
 *
 * Flow: lmtp_session.c, when a mail begins -> lmtp_trace_make() -> storemail.h.
 *
 * "for" stands there with one recipient only: with several it would tell them of each other. The
 * id is that of the session in the log, and the number of the mail in it: the store gives the mail
 * its own when all of it is there. A client of a UNIX socket has no address.
 *
 * No function here allocates, logs, or reads a clock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sender, LHLO, our name and a recipient at their longest, and the rest. */
#define LMTP_TRACE_MAX 2048

/* Texts are borrowed; none is NULL, and all are as lib/smtp lets them through. */
struct lmtp_trace {
	const char *sender; /* "": <> */
	const char *helo;
	const char *client; /* an address literal without brackets; "": none */
	const char *hostname;
	const char *session_id;
	unsigned mail_number;
	bool is_utf8;
	const char *recipient; /* "": there are several */
	int64_t now_s;
};

/* With CRLF and NUL into ret_text, of LMTP_TRACE_MAX bytes. Returns the size without the NUL. */
size_t lmtp_trace_make(const struct lmtp_trace *trace, char *ret_text);
