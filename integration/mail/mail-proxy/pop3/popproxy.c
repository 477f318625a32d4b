/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/pop3/popproxy.h"

#include <string.h>

#include "integration/mail/mail-proxy/pop3/popproxy_parts.h"

/* Less would be all calls, and no scan. */
#define HOLD_LAST_MIN 64

void popproxy_init(struct popproxy *ret_proxy, const struct popproxy_limits *limits,
		   const struct popproxy_calls *calls, void *context)
{
	memset(ret_proxy, 0, sizeof(*ret_proxy));
	ret_proxy->limits = limits;
	ret_proxy->calls = calls;
	ret_proxy->context = context;
	ret_proxy->way = "";
	ret_proxy->why = "";
	ret_proxy->hold_last =
		limits->hold_last > HOLD_LAST_MIN ? limits->hold_last : HOLD_LAST_MIN;
	/* Whole pieces of what is scanned at a time, so that a full hold is a scanned one. */
	ret_proxy->hold_first = (limits->hold_first + ret_proxy->hold_last - 1) /
				ret_proxy->hold_last * ret_proxy->hold_last;
}

void popproxy_deinit(struct popproxy *proxy)
{
	popproxy_mail_free(proxy);
}

/* ---- lines ---- */

bool popproxy_has_room(size_t room, size_t size)
{
	return room - size >= POPPROXY_ROOM_MIN;
}

void popproxy_to_client_bytes(struct popproxy_io *io, const void *bytes, size_t size)
{
	memcpy(io->to_client + io->to_client_size, bytes, size);
	io->to_client_size += size;
}

void popproxy_to_client(struct popproxy_io *io, const char *text)
{
	popproxy_to_client_bytes(io, text, strlen(text));
}

void popproxy_to_client_text(struct popproxy_io *io, struct pop3_text text)
{
	uint8_t *out = io->to_client + io->to_client_size;
	for (size_t i = 0; i < text.size; i++) {
		const uint8_t byte = (uint8_t)text.at[i];
		out[i] = byte < ' ' || byte == 0x7f ? ' ' : byte;
	}
	io->to_client_size += text.size;
}

void popproxy_to_client_answer(struct popproxy_io *io, const char *sign, struct pop3_text line)
{
	popproxy_to_client(io, sign);
	popproxy_to_client(io, line.size > 0 ? " " : "");
	popproxy_to_client_text(io, line);
	popproxy_to_client(io, "\r\n");
}

void popproxy_to_server_bytes(struct popproxy_io *io, const void *bytes, size_t size)
{
	memcpy(io->to_server + io->to_server_size, bytes, size);
	io->to_server_size += size;
}

bool popproxy_server_line(struct popproxy *proxy, struct popproxy_io *io,
			  struct pop3_text *ret_line)
{
	const uint8_t *bytes = io->server + io->server_used;
	size_t size = 0;
	const enum lines_status status =
		lines_take(bytes, io->server_size - io->server_used, POPPROXY_LINE_MAX, &size);
	if (status == LINES_MORE)
		return false;
	if (status != LINES_READY) {
		popproxy_broken(proxy, io);
		return false;
	}
	io->server_used += size + LINES_END_SIZE;
	proxy->line_count++;
	*ret_line = (struct pop3_text){ (const char *)bytes, size };
	return true;
}

enum popproxy_sign popproxy_sign(struct pop3_text *line)
{
	static const struct {
		const char *word;
		enum popproxy_sign sign;
	} signs[] = { { "+OK", POPPROXY_OK },
		      { "-ERR", POPPROXY_ERR },
		      { "+", POPPROXY_CONTINUE } };
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		const size_t size = strlen(signs[i].word);
		const bool is_it = line->size >= size && memcmp(line->at, signs[i].word, size) == 0;
		if (!is_it || (line->size > size && line->at[size] != ' '))
			continue;
		const size_t skipped = line->size > size ? size + 1 : size;
		*line = (struct pop3_text){ line->at + skipped, line->size - skipped };
		return signs[i].sign;
	}
	return POPPROXY_NO_SIGN;
}

bool popproxy_server_answer(struct popproxy *proxy, struct popproxy_io *io,
			    struct pop3_text *ret_line, enum popproxy_sign *ret_sign)
{
	if (!popproxy_has_room(io->to_client_room, io->to_client_size) ||
	    !popproxy_server_line(proxy, io, ret_line))
		return false;
	*ret_sign = popproxy_sign(ret_line);
	if (*ret_sign == POPPROXY_OK || *ret_sign == POPPROXY_ERR)
		return true;
	popproxy_broken(proxy, io);
	return false;
}

/* ---- the end ---- */

void popproxy_finish(struct popproxy *proxy, enum popproxy_status status, const char *why)
{
	proxy->status = status;
	proxy->why = why;
	popproxy_mail_free(proxy);
}

/* Has the client had no part of the answer that it waits for? */
static bool may_speak(const struct popproxy *proxy)
{
	if (proxy->ask_count == 0)
		return true;
	return popproxy_is_in_mail(proxy) ? popproxy_mail_is_silent(proxy) : !proxy->is_in_lines;
}

enum popproxy_status popproxy_stop(struct popproxy *proxy, struct popproxy_io *io, const char *text,
				   const char *why)
{
	if (proxy->status >= POPPROXY_TUNNEL)
		return proxy->status;
	if (popproxy_mail_is_answered(proxy)) {
		popproxy_finish(proxy, POPPROXY_END, why);
		return proxy->status;
	}
	const bool has_room = popproxy_has_room(io->to_client_room, io->to_client_size);
	if (!may_speak(proxy) || !has_room) {
		popproxy_finish(proxy, POPPROXY_CUT, why);
		return proxy->status;
	}
	popproxy_to_client(io, "-ERR [SYS/TEMP] ");
	popproxy_to_client(io, text);
	popproxy_to_client(io, "\r\n");
	popproxy_finish(proxy, POPPROXY_END, why);
	return proxy->status;
}

void popproxy_broken(struct popproxy *proxy, struct popproxy_io *io)
{
	popproxy_stop(proxy, io, "The server has said what is not POP3", "server-broken");
}

enum popproxy_status popproxy_server_gone(struct popproxy *proxy, struct popproxy_io *io)
{
	struct pop3_text line;
	if (proxy->status >= POPPROXY_TUNNEL)
		return proxy->status;
	if (proxy->is_greeted && proxy->ask_count == 0) {
		/* Some say why they close. */
		if (popproxy_has_room(io->to_client_room, io->to_client_size) &&
		    popproxy_server_line(proxy, io, &line) && popproxy_sign(&line) == POPPROXY_ERR)
			popproxy_to_client_answer(io, "-ERR", line);
		popproxy_finish(proxy, POPPROXY_END, "server-closed");
	}
	/* As the server itself would have: what it has made of QUIT is not known. */
	if (proxy->ask_count > 0 && proxy->asks[proxy->ask_begin].kind == POPPROXY_QUIT)
		popproxy_finish(proxy, POPPROXY_END, "server-closed");
	return popproxy_stop(proxy, io, "The server has closed the connection", "server-closed");
}

/* ---- the session ---- */

void popproxy_pop(struct popproxy *proxy)
{
	proxy->ask_begin = (proxy->ask_begin + 1) % POPPROXY_ASKS;
	proxy->ask_count--;
	proxy->sent_count--;
	proxy->answer_count++;
	proxy->is_in_lines = false;
}

static bool greet(struct popproxy *proxy, struct popproxy_io *io)
{
	struct pop3_text line;
	enum popproxy_sign sign;
	if (!popproxy_server_answer(proxy, io, &line, &sign))
		return false;
	/* APOP needs what stands in it. */
	popproxy_to_client_answer(io, sign == POPPROXY_OK ? "+OK" : "-ERR", line);
	proxy->is_greeted = true;
	if (sign == POPPROXY_ERR)
		popproxy_finish(proxy, POPPROXY_END, "server-refused");
	return true;
}

/*
 * The server says what it was not asked for, such as why it is to end, or a second answer to one command. That
 * would be taken for the answer to the next command, and each one from there on for that of another.
 */
static bool is_unasked(struct popproxy *proxy, const struct popproxy_io *io)
{
	/* A mail that has come goes its way first: nothing is asked meanwhile. */
	const bool is_mail = popproxy_is_in_mail(proxy) && popproxy_head(proxy)->is_sent;
	return !is_mail && !popproxy_is_at_server(proxy) && io->server_used < io->server_size;
}

static bool end_unasked(struct popproxy *proxy, struct popproxy_io *io)
{
	size_t size = 0;
	const enum lines_status status =
		lines_take(io->server + io->server_used, io->server_size - io->server_used,
			   POPPROXY_LINE_MAX, &size);
	/* Its words may be the last, and are waited for. */
	if (status != LINES_MORE)
		popproxy_server_gone(proxy, io);
	return false;
}

enum popproxy_status popproxy_step(struct popproxy *proxy, struct popproxy_io *io)
{
	bool has_moved = true;
	if (proxy->status == POPPROXY_WAITING)
		proxy->status = POPPROXY_MORE;
	while (has_moved && proxy->status == POPPROXY_MORE) {
		if (!proxy->is_greeted)
			has_moved = greet(proxy, io);
		else if (is_unasked(proxy, io))
			has_moved = end_unasked(proxy, io);
		else
			has_moved = popproxy_answer(proxy, io) ||
				    (proxy->status == POPPROXY_MORE &&
				     (popproxy_send(proxy, io) || popproxy_ask(proxy, io)));
	}
	return proxy->status;
}

void popproxy_stls(struct popproxy *proxy, struct popproxy_io *io, bool is_fine)
{
	if (proxy->status != POPPROXY_CLIENT_TLS)
		return;
	proxy->status = POPPROXY_MORE;
	if (!is_fine) {
		popproxy_stop(proxy, io, "STLS has to be the last command before TLS",
			      "early-input");
		return;
	}
	popproxy_to_client(io, "+OK Begin TLS\r\n");
	popproxy_pop(proxy);
	proxy->is_tls = true;
	/* What was said in the clear may have been another's (RFC 2595, part 4). */
	proxy->is_user_void = proxy->user[0] != '\0';
	proxy->user[0] = '\0';
}

void popproxy_tls(struct popproxy *proxy)
{
	proxy->is_tls = true;
}

bool popproxy_is_idle(const struct popproxy *proxy)
{
	return proxy->ask_count == 0;
}

bool popproxy_is_at_client(const struct popproxy *proxy)
{
	return (proxy->is_greeted && proxy->ask_count == 0) || proxy->is_sasl_due;
}

bool popproxy_is_at_server(const struct popproxy *proxy)
{
	if (popproxy_is_in_mail(proxy))
		return popproxy_mail_is_at_server(proxy);
	bool is_due = !proxy->is_greeted;
	for (size_t i = 0; i < proxy->sent_count && !proxy->is_sasl_due; i++)
		is_due = is_due ||
			 proxy->asks[(proxy->ask_begin + i) % POPPROXY_ASKS].kind != POPPROXY_LOCAL;
	return is_due;
}

bool popproxy_is_in_mail(const struct popproxy *proxy)
{
	const enum popproxy_kind kind = proxy->asks[proxy->ask_begin].kind;
	return proxy->ask_count > 0 && (kind == POPPROXY_MAIL || kind == POPPROXY_TOP);
}

const char *popproxy_fate_name(enum popproxy_fate fate)
{
	static const char *const names[] = {
		[POPPROXY_PASSED] = "passed",  [POPPROXY_MARKED] = "marked",
		[POPPROXY_NOTICED] = "notice", [POPPROXY_KNOWN] = "known",
		[POPPROXY_CUT_OFF] = "cut",    [POPPROXY_PUT_OFF] = "deferred",
	};
	return names[fate];
}
