/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/lmtp/lmtp_log.h"

#include "lib/common/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void lmtp_log_mail(const struct lmtp_log *mail)
{
	char sender[LOG_QUOTE_MAX];
	char recipient[LOG_QUOTE_MAX];
	char id[MAILID_TEXT_SIZE] = "";
	char refused[24] = "";
	if (mail->refused_count > 0)
		snprintf(refused, sizeof(refused), " refused=%u", mail->refused_count);
	if (mail->id != NULL)
		mailid_format(mail->id, id);
	log_info(mail->session_id,
		 "mail %s, number=%u from=%s to=%s recipients=%u%s mailboxes=%zu size=%" PRIu64
		 "%s%s reply=\"%d %s\"",
		 mail->id != NULL ? "accepted" : "refused", mail->number,
		 log_quote(mail->sender, strlen(mail->sender), sender),
		 log_quote(mail->recipient, strlen(mail->recipient), recipient),
		 mail->recipient_count, refused, mail->mailbox_count, mail->size,
		 mail->id != NULL ? " id=" : "", id, mail->code, mail->text);
}
