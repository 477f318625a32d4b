/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/lmtp/lmtp_trace.h"

#include "lib/smtp/envelope.h"
#include "lib/wire/date.h"

#include <stdio.h>

size_t lmtp_trace_make(const struct lmtp_trace *trace, char *ret_text)
{
	char client[80] = "";
	char recipient[ENVELOPE_ADDRESS_MAX + 16] = "";
	char date[DATE_TEXT_SIZE];
	if (trace->client[0] != '\0')
		snprintf(client, sizeof(client), " ([%.64s])", trace->client);
	if (trace->recipient[0] != '\0')
		snprintf(recipient, sizeof(recipient), "\r\n\tfor <%.320s>", trace->recipient);
	/* RFC 3848, and RFC 6531 3.7.3 where the mail is SMTPUTF8. */
	int size = snprintf(ret_text, LMTP_TRACE_MAX,
			    "Return-Path: <%.320s>\r\n"
			    "Received: from %.255s%s\r\n"
			    "\tby %.255s (mail-stored) with %s id %.32s.%u%s;\r\n\t%s\r\n",
			    trace->sender, trace->helo, client, trace->hostname,
			    trace->is_utf8 ? "UTF8LMTP" : "LMTP", trace->session_id,
			    trace->mail_number, recipient, date_format(trace->now_s, date));
	return (size_t)size;
}
