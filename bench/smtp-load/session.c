/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/smtp-load/session.h"

#include "bench/smtp-load/message.h"
#include "bench/smtp-load/pop.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum step {
	STEP_GREETING, /* sends a PROXY header, if any */
	STEP_FIRST_HELO,
	STEP_XCLIENT,
	STEP_HELO,
	STEP_STARTTLS,
	STEP_MAIL,
	STEP_RCPT,
	STEP_DATA,
	STEP_MESSAGE,
	STEP_QUIT,
};

#define PROXY_PORT 41234 /* of a client; nobody looks at it */
#define SMTP_PORT  25

/* Destinations for a PROXY header, which has both ends of one family (RFC 5737, RFC 3849). */
static const uint8_t destination_4[4] = { 192, 0, 2, 25 };
static const uint8_t destination_6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 0x25 };

static const char dot[] = { '.', '\r', '\n' };

/* ---- what is sent ---- */

/* Bytes that are appended; what does not fit is cut, and sizes see to it that all fits. */
struct out {
	char *bytes;
	size_t size;
};

static void put_bytes(struct out *out, const void *bytes, size_t size)
{
	if (size <= SESSION_OUTPUT_MAX - out->size) {
		memcpy(out->bytes + out->size, bytes, size);
		out->size += size;
	}
}

__attribute__((format(printf, 2, 3))) static void put_text(struct out *out, const char *format, ...)
{
	char text[3 * SESSION_TEXT_MAX];
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (size > 0 && (size_t)size < sizeof(text))
		put_bytes(out, text, (size_t)size);
}

static void put_proxy1(struct out *out, struct dnsblv6_addr client)
{
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	dnsblv6_addr_format(client, text);
	if (dnsblv6_addr_is_ipv4(client))
		put_text(out, "PROXY TCP4 %s 192.0.2.25 %d %d\r\n", text, PROXY_PORT, SMTP_PORT);
	else
		put_text(out, "PROXY TCP6 %s 2001:db8::25 %d %d\r\n", text, PROXY_PORT, SMTP_PORT);
}

/* The binary one of haproxy's proxy-protocol.txt: signature, version and command, TCP, size. */
static void put_proxy2(struct out *out, struct dnsblv6_addr client)
{
	static const char signature[] = "\r\n\r\n\0\r\nQUIT\n";
	static const uint8_t ports[] = { PROXY_PORT >> 8, PROXY_PORT & 255, 0, SMTP_PORT };
	bool is_ipv4 = dnsblv6_addr_is_ipv4(client);
	uint8_t bytes[16];

	dnsblv6_addr_to_bytes(client, bytes);
	put_bytes(out, signature, 12);
	put_bytes(out, is_ipv4 ? "\x21\x11\0\x0c" : "\x21\x21\0\x24", 4);
	put_bytes(out, is_ipv4 ? bytes + 12 : bytes, is_ipv4 ? 4 : 16);
	put_bytes(out, is_ipv4 ? destination_4 : destination_6, is_ipv4 ? 4 : 16);
	put_bytes(out, ports, sizeof(ports));
}

static void put_xclient(struct out *out, struct dnsblv6_addr client)
{
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	dnsblv6_addr_format(client, text);
	put_text(out, "XCLIENT ADDR=%s%s NAME=[UNAVAILABLE]\r\n",
		 dnsblv6_addr_is_ipv4(client) ? "" : "IPV6:", text);
}

static void put_rcpt(struct out *out, const struct session *session,
		     const struct session_rules *rules, unsigned index)
{
	if (session->mail != NULL) {
		char address[SESSION_TEXT_MAX];
		rules->source->recipient(session->mail, index, address);
		put_text(out, "RCPT TO:<%s>\r\n", address);
		return;
	}
	const struct session_template *template =
		session->plan.kind == TRACE_BOUNCE ? &rules->invalid : &rules->valid;
	put_text(out, "RCPT TO:<%s%u%s>\r\n", template->before,
		 (session->plan.first_user + index) % rules->users, template->behind);
}

static bool is_piping(const struct session *session, const struct session_rules *rules)
{
	/* Who leaves after a reply waits for it. */
	return rules->has_pipelining && session->has_server_piping &&
	       session->plan.kind != TRACE_UNFINISHED;
}

static void put_step(struct out *out, const struct session *session,
		     const struct session_rules *rules)
{
	switch (session->flight) {
	case STEP_GREETING:
		if (rules->tell == SESSION_TELL_PROXY1)
			put_proxy1(out, session->plan.client);
		else if (rules->tell == SESSION_TELL_PROXY2)
			put_proxy2(out, session->plan.client);
		break;
	case STEP_XCLIENT:
		put_xclient(out, session->plan.client);
		break;
	case STEP_STARTTLS:
		put_text(out, "STARTTLS\r\n");
		break;
	case STEP_MAIL:
		put_text(out, "MAIL FROM:<%s>\r\n",
			 session->mail != NULL ? rules->source->sender(session->mail)
					       : rules->sender);
		if (!is_piping(session, rules))
			break;
		for (unsigned i = 0; i < session->plan.recipients; i++)
			put_rcpt(out, session, rules, i);
		put_text(out, "DATA\r\n");
		break;
	case STEP_RCPT:
		put_rcpt(out, session, rules, session->rcpt_index);
		break;
	case STEP_DATA:
		put_text(out, "DATA\r\n");
		break;
	case STEP_QUIT:
		put_text(out, "QUIT\r\n");
		break;
	default:
		put_text(out, "%s %s\r\n", rules->is_lmtp ? "LHLO" : "EHLO", rules->helo);
	}
}

static size_t output_mail(struct session *session, const struct session_source *source,
			  char *ret_bytes)
{
	const size_t size = source->size(session->mail);
	size_t copied = 0;
	session->flight_size = size + sizeof(dot);
	if (session->sent_bytes < size)
		copied = source->copy(session->mail, session->sent_bytes, ret_bytes,
				      SESSION_OUTPUT_MAX);
	const size_t at = session->sent_bytes + copied;
	if (at < size || SESSION_OUTPUT_MAX - copied < sizeof(dot))
		return copied;
	memcpy(ret_bytes + copied, dot + (at - size), sizeof(dot) - (at - size));
	return copied + sizeof(dot) - (at - size);
}

/* A server may say 354 where it has taken no recipient; then there is a dot alone. */
static size_t output_message(struct session *session, const struct session_rules *rules,
			     char *ret_bytes)
{
	size_t size = session->plan.size_bytes;
	if (session->accepted > 0 && session->mail != NULL)
		return output_mail(session, rules->source, ret_bytes);
	if (session->accepted > 0) {
		session->flight_size = message_wire_size(size);
		return message_copy(session->plan.number, size, session->sent_bytes, ret_bytes,
				    SESSION_OUTPUT_MAX);
	}
	session->flight_size = sizeof(dot);
	memcpy(ret_bytes, dot + session->sent_bytes, sizeof(dot) - session->sent_bytes);
	return sizeof(dot) - session->sent_bytes;
}

size_t session_output(struct session *session, const struct session_rules *rules, char *ret_bytes)
{
	if (session->sent_bytes >= session->flight_size && session->flight_size > 0)
		return 0;
	if (session->flight == STEP_MESSAGE && !rules->is_pop)
		return output_message(session, rules, ret_bytes);
	struct out out = { ret_bytes, 0 };
	if (rules->is_pop && session->flight != STEP_GREETING)
		out.size = pop_command(session, rules, ret_bytes);
	else
		put_step(&out, session, rules);
	session->flight_size = out.size;
	size_t left = out.size - session->sent_bytes;
	if (session->sent_bytes > 0)
		memmove(ret_bytes, ret_bytes + session->sent_bytes, left);
	return left;
}

void session_sent(struct session *session, size_t size_bytes)
{
	session->sent_bytes += size_bytes;
}

/* ---- what comes back ---- */

static void begin_flight(struct session *session, const struct session_rules *rules, enum step step)
{
	session->flight = session->step = (uint8_t)step;
	session->flight_size = session->sent_bytes = 0;
	session->pending = 1;
	if (step == STEP_MAIL && is_piping(session, rules))
		session->pending = 1 + session->plan.recipients + 1;
	if (step == STEP_MESSAGE && rules->is_lmtp && session->accepted > 0)
		session->pending = session->accepted;
}

static void decide(struct session *session, enum session_outcome outcome)
{
	if (session->outcome == SESSION_OPEN)
		session->outcome = outcome;
}

static void refuse(struct session *session, int code)
{
	if (code >= 500)
		decide(session, SESSION_REFUSED);
	else
		decide(session, code >= 400 ? SESSION_DEFERRED : SESSION_BROKEN);
}

static bool leaves_after(const struct session *session, enum trace_point point)
{
	return session->plan.kind == TRACE_UNFINISHED && session->plan.point == point;
}

/* Each returns the step that the next reply, or the next flight, is about. */

static enum step answer_first(struct session *session, const struct session_rules *rules, int code)
{
	if (code != 220) {
		refuse(session, code);
		return STEP_QUIT;
	}
	if (leaves_after(session, TRACE_AFTER_CONNECT))
		decide(session, SESSION_LEFT);
	return rules->tell == SESSION_TELL_XCLIENT ? STEP_FIRST_HELO : STEP_HELO;
}

static enum step answer_helo(struct session *session, const struct session_rules *rules, int code)
{
	if (code != 250) {
		refuse(session, code);
		return STEP_QUIT;
	}
	if (leaves_after(session, TRACE_AFTER_HELO))
		decide(session, SESSION_LEFT);
	return rules->has_starttls && !session->is_secure ? STEP_STARTTLS : STEP_MAIL;
}

static enum step answer_mail(struct session *session, int code)
{
	if (code / 100 != 2)
		refuse(session, code);
	else if (leaves_after(session, TRACE_AFTER_MAIL))
		decide(session, SESSION_LEFT);
	/* Commands behind it may be on their way. */
	return session->outcome == SESSION_OPEN || session->pending > 0 ? STEP_RCPT : STEP_QUIT;
}

static enum step answer_rcpt(struct session *session, int code)
{
	if (code / 100 == 2)
		session->accepted++;
	else if (code >= 500)
		session->rejected++;
	else
		session->deferred++;
	if (++session->rcpt_index < session->plan.recipients)
		return STEP_RCPT;
	if (leaves_after(session, TRACE_AFTER_RCPT))
		decide(session, SESSION_LEFT);
	else if (session->accepted == 0)
		decide(session, session->deferred > 0 ? SESSION_DEFERRED : SESSION_BOUNCED);
	return session->accepted > 0 || session->pending > 0 ? STEP_DATA : STEP_QUIT;
}

static enum step answer_data(struct session *session, int code)
{
	if (code == 354)
		return STEP_MESSAGE;
	refuse(session, code);
	return STEP_QUIT;
}

static enum step answer_message(struct session *session, int code)
{
	if (code / 100 != 2)
		refuse(session, code);
	else if (session->pending == 0)
		decide(session, SESSION_DELIVERED);
	return session->pending > 0 ? STEP_MESSAGE : STEP_QUIT;
}

static enum step answer(struct session *session, const struct session_rules *rules, int code)
{
	switch (session->step) {
	case STEP_GREETING:
		return answer_first(session, rules, code);
	case STEP_FIRST_HELO:
		if (code == 250)
			return STEP_XCLIENT;
		break;
	case STEP_XCLIENT:
		if (code == 220)
			return STEP_HELO;
		break;
	case STEP_HELO:
		return answer_helo(session, rules, code);
	case STEP_STARTTLS:
		if (code == 220)
			return STEP_HELO;
		break;
	case STEP_MAIL:
		return answer_mail(session, code);
	case STEP_RCPT:
		if (session->mail != NULL)
			rules->source->answered(session->mail, session->rcpt_index, code);
		return answer_rcpt(session, code);
	case STEP_DATA:
		return answer_data(session, code);
	default:
		return answer_message(session, code);
	}
	refuse(session, code);
	return STEP_QUIT;
}

/* A reply has ended. */
static enum session_status take(struct session *session, const struct session_rules *rules,
				int code)
{
	bool is_sent = session->flight_size == 0 || session->sent_bytes >= session->flight_size;
	if (session->step == STEP_QUIT)
		return SESSION_OVER;
	if (code == 421) { /* RFC 5321 3.8: it hangs up, whatever it was asked */
		decide(session, SESSION_DEFERRED);
		return SESSION_OVER;
	}
	session->pending--;
	const bool is_tls_due = session->step == STEP_STARTTLS && code == 220;
	enum step next = answer(session, rules, code);
	session->step = (uint8_t)next;
	if (is_tls_due)
		return SESSION_SECURE;
	if (session->outcome == SESSION_LEFT || session->outcome == SESSION_BROKEN)
		return SESSION_OVER;
	if (session->pending > 0)
		return SESSION_GOES_ON;
	/* Who answers before a message has ended does not want the rest, nor can be told so. */
	if (!is_sent && session->outcome != SESSION_OPEN)
		return SESSION_OVER;
	if (session->outcome == SESSION_DELIVERED && session->reused < rules->reuse)
		return SESSION_DONE;
	begin_flight(session, rules, next);
	return SESSION_GOES_ON;
}

/* A line has ended. The first one of a reply to EHLO is a name. */
static void note_feature(struct session *session)
{
	const struct replies *replies = &session->replies;
	if (session->step != STEP_FIRST_HELO && session->step != STEP_HELO)
		return;
	if (replies->line_count == 1)
		session->has_server_piping = false;
	else if (strcasecmp(replies->text, "PIPELINING") == 0)
		session->has_server_piping = true;
}

enum session_status session_input(struct session *session, const struct session_rules *rules,
				  const char *bytes, size_t size)
{
	enum session_status status = SESSION_GOES_ON;
	if (rules->is_pop)
		return pop_input(session, rules, bytes, size);
	for (size_t at = 0; at < size && status == SESSION_GOES_ON;) {
		size_t taken = 0;
		enum replies_status heard =
			replies_feed(&session->replies, bytes + at, size - at, &taken);
		at += taken;
		if (heard == REPLIES_BROKEN) {
			decide(session, SESSION_BROKEN);
			status = SESSION_OVER;
			continue;
		}
		if (heard != REPLIES_MORE)
			note_feature(session);
		if (heard == REPLIES_END)
			status = take(session, rules, session->replies.code);
		/* Said in the clear, to seem said under TLS (CVE-2011-0411). */
		if (status == SESSION_SECURE && at < size) {
			decide(session, SESSION_BROKEN);
			status = SESSION_OVER;
		}
	}
	return status;
}

/* ---- the rest ---- */

int session_parse_template(const char *text, struct session_template *ret_template)
{
	const char *place = strstr(text, "%d");
	if (place == NULL || strchr(place + 1, '%') != NULL || strchr(text, '%') != place)
		return -1;
	size_t before = (size_t)(place - text);
	size_t behind = strlen(place + 2);
	/* With a number of ten digits it is still a path of RFC 5321. */
	if (before + behind + 10 >= SESSION_TEXT_MAX)
		return -1;
	memset(ret_template, 0, sizeof(*ret_template));
	memcpy(ret_template->before, text, before);
	memcpy(ret_template->behind, place + 2, behind);
	return 0;
}

static void set_plan(struct session *session, const struct trace_session *plan)
{
	session->plan = *plan;
	if (session->plan.size_bytes < MESSAGE_SIZE_MIN)
		session->plan.size_bytes = MESSAGE_SIZE_MIN;
}

void session_begin(struct session *ret_session, const struct session_rules *rules,
		   const struct trace_session *plan)
{
	memset(ret_session, 0, sizeof(*ret_session));
	set_plan(ret_session, plan);
	begin_flight(ret_session, rules, STEP_GREETING);
}

void session_again(struct session *session, const struct session_rules *rules,
		   const struct trace_session *plan)
{
	const struct session before = *session;
	memset(session, 0, sizeof(*session));
	session->has_server_piping = before.has_server_piping;
	session->reused = before.reused + 1;
	session->is_secure = before.is_secure;
	set_plan(session, plan);
	begin_flight(session, rules, STEP_MAIL);
}

void session_secured(struct session *session, const struct session_rules *rules)
{
	session->is_secure = true;
	session->has_server_piping = false;
	begin_flight(session, rules, STEP_HELO);
}

void session_give(struct session *session, void *mail)
{
	session->mail = mail;
}

void session_quit(struct session *session, const struct session_rules *rules)
{
	begin_flight(session, rules, STEP_QUIT);
}

bool session_is_greeted(const struct session *session)
{
	return session->step != STEP_GREETING;
}
