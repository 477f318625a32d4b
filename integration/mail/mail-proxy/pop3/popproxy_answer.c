/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "integration/mail/mail-proxy/pop3/popproxy_parts.h"
#include "lib/wire/mechanism.h"

/* Two numbers of 20 digits, a blank, CR LF and a NUL. */
#define NUMBERS_ROOM 48

static void line_to_client(struct popproxy_io *io, const char *begin, struct pop3_text line)
{
	popproxy_to_client(io, begin);
	popproxy_to_client_text(io, line);
	popproxy_to_client(io, "\r\n");
}

/* ---- lines of an answer; false: the server must not say that ---- */

/* Some servers have more behind them (RFC 1939, part 5, "scan listing"): it stays away. */
static bool numbers_line(struct popproxy_io *io, struct pop3_text rest)
{
	char text[NUMBERS_ROOM];
	uint64_t number = 0;
	uint64_t octets = 0;
	if (!pop3_command_number(pop3_command_word(&rest), &number) ||
	    !pop3_command_number(pop3_command_word(&rest), &octets))
		return false;
	snprintf(text, sizeof(text), "%llu %llu\r\n", (unsigned long long)number,
		 (unsigned long long)octets);
	popproxy_to_client(io, text);
	return true;
}

/* An id has no blanks (RFC 1939), but where a server has some its first word alone may be that of another mail, too. */
static bool uid_line(struct popproxy_io *io, struct pop3_text uid)
{
	char text[NUMBERS_ROOM];
	uint64_t number = 0;
	if (!pop3_command_number(pop3_command_word(&uid), &number) || uid.size == 0)
		return false;
	snprintf(text, sizeof(text), "%llu ", (unsigned long long)number);
	line_to_client(io, text, uid);
	return true;
}

/* Those of SASL that may be passed on; the line stays away when none is. */
static void sasl_line(struct popproxy_io *io, struct pop3_text rest)
{
	bool is_first = true;
	while (rest.size > 0) {
		const struct pop3_text word = pop3_command_word(&rest);
		const char *mechanism = mechanism_find(word.at, word.size);
		if (mechanism == NULL)
			continue;
		popproxy_to_client(io, is_first ? "SASL " : " ");
		popproxy_to_client(io, mechanism);
		is_first = false;
	}
	if (!is_first)
		popproxy_to_client(io, "\r\n");
}

/* Only what we know how to pass on is offered. STLS is said at the end, where it is ours. */
static void capa_line(struct popproxy *proxy, struct popproxy_io *io, struct pop3_text rest)
{
	static const char *const known[] = {
		"TOP",	      "UIDL",	"USER",	       "RESP-CODES",	 "AUTH-RESP-CODE",
		"PIPELINING", "EXPIRE", "LOGIN-DELAY", "IMPLEMENTATION", "UTF8",
		"LANG"
	};
	const struct pop3_text word = pop3_command_word(&rest);
	if (popproxy_bars_logins(proxy) &&
	    (pop3_command_is(word, "SASL") || pop3_command_is(word, "USER")))
		return;
	if (pop3_command_is(word, "SASL"))
		sasl_line(io, rest);
	if (pop3_command_is(word, "STLS") && proxy->limits->stls == POPPROXY_STLS_PASS &&
	    !proxy->is_tls)
		popproxy_to_client(io, "STLS\r\n");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (pop3_command_is(word, known[i])) {
			const char *begin = rest.size > 0 ? " " : "";
			popproxy_to_client(io, known[i]);
			line_to_client(io, begin, rest);
		}
}

static void capa_end(struct popproxy *proxy, struct popproxy_io *io)
{
	if (proxy->limits->stls == POPPROXY_STLS_OWN && !proxy->is_tls)
		popproxy_to_client(io, "STLS\r\n");
	popproxy_to_client(io, ".\r\n");
}

static void any_line(struct popproxy_io *io, struct pop3_text line)
{
	const bool has_dot = line.size > 0 && line.at[0] == '.';
	/* Without its first dot, and with one again where what is left has one. */
	if (has_dot)
		line = (struct pop3_text){ line.at + 1, line.size - 1 };
	line_to_client(io, line.size > 0 && line.at[0] == '.' ? "." : "", line);
}

static bool answer_lines(struct popproxy *proxy, struct popproxy_io *io, enum popproxy_kind kind)
{
	struct pop3_text line;
	bool is_fine = true;
	if (!popproxy_server_line(proxy, io, &line))
		return false;
	if (line.size == 1 && line.at[0] == '.') {
		if (kind == POPPROXY_CAPA)
			capa_end(proxy, io);
		else
			popproxy_to_client(io, ".\r\n");
		popproxy_pop(proxy);
		return true;
	}
	if (kind == POPPROXY_NUMBERS)
		is_fine = numbers_line(io, line);
	else if (kind == POPPROXY_UIDS)
		is_fine = uid_line(io, line);
	else if (kind == POPPROXY_CAPA)
		capa_line(proxy, io, line);
	else
		any_line(io, line);
	if (!is_fine)
		popproxy_broken(proxy, io);
	return is_fine;
}

/* ---- the first line ---- */

static bool has_lines(enum popproxy_kind kind)
{
	return kind == POPPROXY_LINES || kind == POPPROXY_NUMBERS || kind == POPPROXY_UIDS ||
	       kind == POPPROXY_CAPA;
}

/* A challenge, which the client has to answer. */
static bool answer_challenge(struct popproxy *proxy, struct popproxy_io *io, struct pop3_text line)
{
	line_to_client(io, "+ ", line);
	proxy->is_sasl_due = true;
	return true;
}

/* Servers without CAPA (RFC 2449 is an extension) are offered TLS of ours all the same. */
static bool answer_own_capa(struct popproxy *proxy, struct popproxy_io *io)
{
	popproxy_to_client(io, popproxy_bars_logins(proxy) ? "+OK\r\n" : "+OK\r\nUSER\r\n");
	capa_end(proxy, io);
	popproxy_pop(proxy);
	return true;
}

static bool answer_first(struct popproxy *proxy, struct popproxy_io *io, enum popproxy_kind kind)
{
	struct pop3_text line;
	if (!popproxy_server_line(proxy, io, &line))
		return false;
	const enum popproxy_sign sign = popproxy_sign(&line);
	if (sign == POPPROXY_CONTINUE && kind == POPPROXY_SASL)
		return answer_challenge(proxy, io, line);
	if (sign != POPPROXY_OK && sign != POPPROXY_ERR) {
		popproxy_broken(proxy, io);
		return false;
	}
	if (kind == POPPROXY_CAPA && sign == POPPROXY_ERR &&
	    proxy->limits->stls == POPPROXY_STLS_OWN && !proxy->is_tls)
		return answer_own_capa(proxy, io);
	popproxy_to_client_answer(io, sign == POPPROXY_OK ? "+OK" : "-ERR", line);
	if (sign == POPPROXY_OK && has_lines(kind)) {
		proxy->is_in_lines = true;
		return true;
	}
	if (sign == POPPROXY_OK && (kind == POPPROXY_LOGIN || kind == POPPROXY_SASL))
		proxy->is_logged_in = true;
	popproxy_pop(proxy);
	if (kind == POPPROXY_QUIT)
		popproxy_finish(proxy, POPPROXY_END, "quit");
	if (kind == POPPROXY_STLS && sign == POPPROXY_OK)
		popproxy_finish(proxy, POPPROXY_TUNNEL, "tunnel");
	return true;
}

static bool answer_local(struct popproxy *proxy, struct popproxy_io *io)
{
	const struct popproxy_ask ask = *popproxy_head(proxy);
	popproxy_to_client(io, ask.text);
	popproxy_to_client(io, "\r\n");
	popproxy_pop(proxy);
	if (ask.is_last)
		popproxy_finish(proxy, POPPROXY_END, proxy->why);
	return true;
}

bool popproxy_answer(struct popproxy *proxy, struct popproxy_io *io)
{
	const struct popproxy_ask *ask = popproxy_head(proxy);
	if (ask == NULL)
		return false;
	const enum popproxy_kind kind = ask->kind;
	if (kind == POPPROXY_MAIL || kind == POPPROXY_TOP)
		return popproxy_mail(proxy, io);
	if (!ask->is_sent || !popproxy_has_room(io->to_client_room, io->to_client_size))
		return false;
	if (kind == POPPROXY_LOCAL)
		return answer_local(proxy, io);
	/* The server waits for the client. */
	if (proxy->is_sasl_due)
		return false;
	return proxy->is_in_lines ? answer_lines(proxy, io, kind) : answer_first(proxy, io, kind);
}
