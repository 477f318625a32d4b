/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/worker/trace.h"

#include <stdio.h>
#include <string.h>

#include "lib/smtp/envelope.h"
#include "lib/wire/date.h"

/* RFC 3848, and RFC 6531 3.7.3 where the mail is SMTPUTF8. */
static const char *protocol_of(const struct trace *trace)
{
	const bool is_tls = trace->tls_protocol[0] != '\0';
	if (trace->is_utf8)
		return is_tls ? "UTF8SMTPS" : "UTF8SMTP";
	if (trace->is_esmtp)
		return is_tls ? "ESMTPS" : "ESMTP";
	return "SMTP";
}

static void format_for(const struct trace *trace, char *ret_text, size_t room)
{
	ret_text[0] = '\0';
	if (trace->recipient != NULL)
		(void)snprintf(ret_text, room, "\r\n\tfor <%s>", trace->recipient);
}

size_t trace_make(const struct trace *trace, char *ret_text)
{
	char ip[DNSBLV6_IP_TEXT_SIZE];
	char tls[160] = "";
	char recipient[ENVELOPE_ADDRESS_MAX + 16];
	char id[SESSION_ID_SIZE];
	char date[DATE_TEXT_SIZE];

	(void)dnsblv6_ip_format(&trace->facts.client_ip, ip);
	if (trace->tls_protocol[0] != '\0')
		(void)snprintf(tls, sizeof(tls), "\r\n\t(using %.32s with cipher %.80s)",
			       trace->tls_protocol, trace->tls_cipher);
	format_for(trace, recipient, sizeof(recipient));
	const int size = snprintf(ret_text, TRACE_MAX,
				  "Received: from %s ([%s%s])%s\r\n"
				  "\tby %s (smtp-front) with %s id %s.%u%s;\r\n\t%s\r\n",
				  trace->helo, strchr(ip, ':') != NULL ? "IPv6:" : "", ip, tls,
				  trace->hostname, protocol_of(trace),
				  session_facts_format_id(trace->facts.id, id), trace->mail_number,
				  recipient, date_format(trace->now_s, date));
	return (size_t)size;
}
