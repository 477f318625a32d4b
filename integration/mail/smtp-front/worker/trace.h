/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * trace.h - the Received header that a worker puts before every mail (RFC 5321 4.4).
 *
 *     Received: from mail.example.net ([192.0.2.7])
 *             (using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384)
 *             by mx.example.org (smtp-front) with ESMTPS id 5f0c3a9b1e42.1
 *             for <john@example.org>; Sun, 22 Nov 2026 04:42:54 +0000
 *
 * Flow: worker.c, when a mail begins -> trace_make() -> sink_append().
 *
 * "for" stands there with one recipient only: with several it would tell them of each other. The
 * id is that of the session in the log, and the number of the mail in it. Nothing that a client
 * has said can end a line or a comment.
 *
 * No function here allocates, logs, or reads a clock: the time is a parameter.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/edge/session_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* HELO, our name and a recipient at their longest, and the rest. */
#define TRACE_MAX 1536

/* Texts are borrowed; none is NULL. */
struct trace {
	const char *helo; /* as command_take_helo() has it */
	struct session_facts facts;
	const char *hostname;
	const char *tls_protocol; /* "": clear */
	const char *tls_cipher;
	bool is_esmtp;
	bool is_utf8;	       /* SMTPUTF8 was said with MAIL (RFC 6531 3.7.3) */
	unsigned mail_number;  /* in the session, from 1 */
	const char *recipient; /* of one only; NULL with several */
	int64_t now_s;	       /* since 1970 */
};

/* With CRLF and NUL into ret_text, of TRACE_MAX bytes. Returns the size without the NUL. */
size_t trace_make(const struct trace *trace, char *ret_text);

#ifdef __cplusplus
}
#endif
