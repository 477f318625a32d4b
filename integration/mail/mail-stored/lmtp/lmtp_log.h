/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lmtp_log.h - the line that the log has about a mail.
 *
 * Flow: lmtp_session.c, when a mail was answered -> lmtp_log_mail() -> lib/common/log.h.
 *
 *     info: [5f0c3a9b1e42] mail accepted, number=1 from="a@example.net" to="john@example.org"
 *       recipients=1 mailboxes=1 size=1234 id=00112233445566778899aabbccddeeff
 *       reply="250 2.0.0 Ok: 00112233445566778899aabbccddeeff"
 *
 * in one line. The session's id is in its Received field too. The first recipient is named, and
 * id is the store's, when it has the mail.
 */

#include <stddef.h>
#include <stdint.h>

#include "lib/mailstore/mailid.h"

/* Texts are borrowed. */
struct lmtp_log {
	const char *session_id;
	unsigned number; /* of the mail in its session */
	const char *sender;
	const char *recipient; /* the first */
	unsigned recipient_count;
	unsigned refused_count; /* of them, as only some have it */
	size_t mailbox_count;
	uint64_t size;		 /* as it came, without our fields */
	const struct mailid *id; /* NULL: it was not taken */
	int code;
	const char *text; /* of the reply */
};

/* At level info. */
void lmtp_log_mail(const struct lmtp_log *mail);
