/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "integration/mail/mail-proxy/pop3/popproxy_parts.h"
#include "lib/format/ascii.h"
#include "lib/pop3/base64.h"
#include "lib/wire/mechanism.h"

/* "TOP", two numbers of 20 digits, blanks, CR LF and a NUL. */
#define COMMAND_ROOM 64

static const struct pop3_text none = { "", 0 };

static struct popproxy_ask *push(struct popproxy *proxy, enum popproxy_kind kind)
{
	const size_t at = (proxy->ask_begin + proxy->ask_count) % POPPROXY_ASKS;
	struct popproxy_ask *ask = &proxy->asks[at];
	*ask = (struct popproxy_ask){ .kind = kind };
	proxy->ask_count++;
	return ask;
}

/* ---- answers of ours ---- */

static void answer(struct popproxy *proxy, const char *text)
{
	push(proxy, POPPROXY_LOCAL)->text = text;
}

static void answer_last(struct popproxy *proxy, const char *text, const char *why)
{
	struct popproxy_ask *ask = push(proxy, POPPROXY_LOCAL);
	ask->text = text;
	ask->is_last = true;
	proxy->why = why;
	proxy->is_closing = true;
}

static void refuse(struct popproxy *proxy, const char *text)
{
	proxy->error_count++;
	if (proxy->limits->errors_max > 0 && proxy->error_count >= proxy->limits->errors_max)
		answer_last(proxy, "-ERR Too many errors", "errors");
	else
		answer(proxy, text);
}

/* ---- commands that are one line at once ---- */

/* To the server; its answer is due then. */
static void say(struct popproxy *proxy, struct popproxy_io *io, enum popproxy_kind kind,
		const char *verb, struct pop3_text first, struct pop3_text second)
{
	const struct pop3_text words[] = { first, second };
	popproxy_to_server_bytes(io, verb, strlen(verb));
	for (size_t i = 0; i < 2 && words[i].size > 0; i++) {
		popproxy_to_server_bytes(io, " ", 1);
		popproxy_to_server_bytes(io, words[i].at, words[i].size);
	}
	popproxy_to_server_bytes(io, "\r\n", 2);
	push(proxy, kind)->is_sent = true;
	proxy->sent_count = proxy->ask_count;
}

static void know_user(struct popproxy *proxy, const char *name, size_t size, const char *way)
{
	if (proxy->is_logged_in)
		return;
	proxy->way = way;
	proxy->user[0] = '\0';
	if (size >= sizeof(proxy->user) || !sasl_is_text(name, size))
		return;
	memcpy(proxy->user, name, size);
	proxy->user[size] = '\0';
}

static void ask_user(struct popproxy *proxy, struct popproxy_io *io,
		     const struct pop3_command *command)
{
	if (command->arguments.size == 0) {
		refuse(proxy, "-ERR A name is missing");
		return;
	}
	proxy->is_user_void = false;
	know_user(proxy, command->arguments.at, command->arguments.size, "user");
	say(proxy, io, POPPROXY_USER, "USER", command->arguments, none);
}

static void ask_pass(struct popproxy *proxy, struct popproxy_io *io,
		     const struct pop3_command *command)
{
	if (command->raw.size == 0)
		refuse(proxy, "-ERR A password is missing");
	else if (proxy->is_user_void)
		refuse(proxy, "-ERR USER comes first");
	else
		say(proxy, io, POPPROXY_LOGIN, "PASS", command->raw, none);
}

static void ask_apop(struct popproxy *proxy, struct popproxy_io *io,
		     const struct pop3_command *command)
{
	struct pop3_text rest = command->arguments;
	const struct pop3_text name = pop3_command_word(&rest);
	const struct pop3_text digest = pop3_command_word(&rest);
	if (digest.size == 0 || rest.size > 0) {
		refuse(proxy, "-ERR APOP has a name and a digest");
		return;
	}
	know_user(proxy, name.at, name.size, "apop");
	say(proxy, io, POPPROXY_LOGIN, "APOP", name, digest);
}

/* ---- AUTH ---- */

/* Base64 by its characters: what it means is between the two. */
static bool is_message(struct pop3_text word)
{
	for (size_t i = 0; i < word.size; i++) {
		const char c = word.at[i];
		if (!ascii_is_alnum(c) && c != '+' && c != '/' && c != '=')
			return false;
	}
	return true;
}

/* Who it is, as far as a message of this mechanism tells. */
static void look_at_message(struct popproxy *proxy, struct pop3_text word)
{
	uint8_t message[SASL_MESSAGE_MAX];
	struct sasl_plain plain;
	size_t size = 0;
	if (!base64_decode(word.at, word.size, sizeof(message), message, &size))
		size = 0;
	if (proxy->is_user_next)
		know_user(proxy, (const char *)message, size, proxy->way);
	else if (strcmp(proxy->way, "plain") == 0 &&
		 sasl_parse_plain(message, size, &plain) == SASL_FINE)
		know_user(proxy, plain.user, strlen(plain.user), proxy->way);
	proxy->is_user_next = false;
	explicit_bzero(message, sizeof(message));
	explicit_bzero(&plain, sizeof(plain));
}

static void ask_auth(struct popproxy *proxy, struct popproxy_io *io,
		     const struct pop3_command *command)
{
	struct pop3_text rest = command->arguments;
	const struct pop3_text name = pop3_command_word(&rest);
	const char *mechanism = mechanism_find(name.at, name.size);
	const struct pop3_text message = pop3_command_word(&rest);
	if (mechanism == NULL || rest.size > 0 || !is_message(message)) {
		refuse(proxy, "-ERR That is no mechanism of those that are passed on");
		return;
	}
	const struct pop3_text word = { mechanism, strlen(mechanism) };
	say(proxy, io, POPPROXY_SASL, "AUTH", word, message);
	const bool is_plain = strcmp(mechanism, "PLAIN") == 0;
	know_user(proxy, "", 0, is_plain ? "plain" : "auth");
	proxy->is_user_next = strcmp(mechanism, "LOGIN") == 0;
	if (message.size > 0)
		look_at_message(proxy, message);
}

/* A line of the exchange that the server waits for. */
static bool ask_sasl(struct popproxy *proxy, struct popproxy_io *io, struct pop3_text line)
{
	const bool is_cancel = line.size == 1 && line.at[0] == '*';
	proxy->is_sasl_due = false;
	if (!is_cancel && !is_message(line)) {
		/* The server waits for the end of it in either case. */
		line = (struct pop3_text){ "*", 1 };
	} else if (!is_cancel) {
		look_at_message(proxy, line);
	}
	popproxy_to_server_bytes(io, line.at, line.size);
	popproxy_to_server_bytes(io, "\r\n", 2);
	return true;
}

/* ---- commands with numbers, which wait for their turn ---- */

static const struct numbered {
	enum pop3_verb verb;
	const char *name;
	enum popproxy_kind kind; /* with a number, or where there is none */
	enum popproxy_kind bare; /* without one where it may be left out */
	unsigned least, most;	 /* numbers */
} numbered[] = {
	{ POP3_VERB_STAT, "STAT", POPPROXY_LINE, POPPROXY_LINE, 0, 0 },
	{ POP3_VERB_LIST, "LIST", POPPROXY_LINE, POPPROXY_NUMBERS, 0, 1 },
	{ POP3_VERB_UIDL, "UIDL", POPPROXY_LINE, POPPROXY_UIDS, 0, 1 },
	{ POP3_VERB_RETR, "RETR", POPPROXY_MAIL, POPPROXY_MAIL, 1, 1 },
	{ POP3_VERB_TOP, "TOP", POPPROXY_TOP, POPPROXY_TOP, 2, 2 },
	{ POP3_VERB_DELE, "DELE", POPPROXY_LINE, POPPROXY_LINE, 1, 1 },
	{ POP3_VERB_NOOP, "NOOP", POPPROXY_LINE, POPPROXY_LINE, 0, 0 },
	{ POP3_VERB_RSET, "RSET", POPPROXY_LINE, POPPROXY_LINE, 0, 0 },
	{ POP3_VERB_CAPA, "CAPA", POPPROXY_CAPA, POPPROXY_CAPA, 0, 0 },
};

static void ask_numbered(struct popproxy *proxy, const struct numbered *row,
			 struct pop3_text arguments)
{
	uint64_t numbers[2] = { 0, 0 };
	unsigned count = 0;
	bool is_fine = true;
	while (arguments.size > 0 && is_fine && count <= row->most) {
		uint64_t number = 0;
		is_fine = pop3_command_number(pop3_command_word(&arguments), &number) &&
			  count < row->most;
		if (is_fine)
			numbers[count++] = number;
	}
	if (!is_fine || count < row->least) {
		refuse(proxy, "-ERR The numbers are wrong");
		return;
	}
	struct popproxy_ask *ask = push(proxy, count > 0 ? row->kind : row->bare);
	ask->text = row->name;
	ask->has_number = count > 0;
	ask->number = numbers[0];
	ask->lines = numbers[1];
}

static bool is_mail(const struct popproxy_ask *ask)
{
	return ask->kind == POPPROXY_MAIL || ask->kind == POPPROXY_TOP;
}

bool popproxy_send(struct popproxy *proxy, struct popproxy_io *io)
{
	const struct popproxy_ask *head = popproxy_head(proxy);
	bool has_moved = false;
	if (head != NULL && is_mail(head))
		return false;
	while (proxy->sent_count < proxy->ask_count) {
		struct popproxy_ask *ask =
			&proxy->asks[(proxy->ask_begin + proxy->sent_count) % POPPROXY_ASKS];
		/* What is behind a mail waits until that is through: it may want to ask more. */
		if (is_mail(ask))
			break;
		if (ask->kind != POPPROXY_LOCAL) {
			char line[COMMAND_ROOM];
			if (!popproxy_has_room(io->to_server_room, io->to_server_size))
				break;
			const int size =
				ask->has_number
					? snprintf(line, sizeof(line), "%s %llu\r\n", ask->text,
						   (unsigned long long)ask->number)
					: snprintf(line, sizeof(line), "%s\r\n", ask->text);
			popproxy_to_server_bytes(io, line, (size_t)size);
		}
		ask->is_sent = true;
		proxy->sent_count++;
		has_moved = true;
	}
	return has_moved;
}

/* ---- the rest ---- */

static void ask_stls(struct popproxy *proxy, struct popproxy_io *io)
{
	if (proxy->is_tls) {
		refuse(proxy, "-ERR TLS has begun");
	} else if (proxy->is_logged_in) {
		refuse(proxy, "-ERR STLS comes before the login");
	} else if (proxy->limits->stls == POPPROXY_STLS_NONE) {
		refuse(proxy, "-ERR There is no TLS here");
	} else if (proxy->limits->stls == POPPROXY_STLS_PASS) {
		say(proxy, io, POPPROXY_STLS, "STLS", none, none);
	} else {
		push(proxy, POPPROXY_STLS)->is_sent = true;
		proxy->sent_count = proxy->ask_count;
		proxy->status = POPPROXY_CLIENT_TLS;
	}
}

static bool is_lang(const uint8_t *line, size_t size)
{
	const struct pop3_text verb = { (const char *)line, size < 4 ? size : 4 };
	return pop3_command_is(verb, "LANG") && (size == 4 || line[4] == ' ');
}

static void ask_lang(struct popproxy *proxy, struct popproxy_io *io,
		     const struct pop3_command *command)
{
	struct pop3_text rest = command->arguments;
	const struct pop3_text tag = pop3_command_word(&rest);
	if (rest.size > 0)
		refuse(proxy, "-ERR LANG has one word");
	else
		say(proxy, io, tag.size > 0 ? POPPROXY_LINE : POPPROXY_LINES, "LANG", tag, none);
}

static void ask_quit(struct popproxy *proxy, struct popproxy_io *io)
{
	say(proxy, io, POPPROXY_QUIT, "QUIT", none, none);
	proxy->is_closing = true;
}

static bool is_login(enum pop3_verb verb)
{
	return verb == POP3_VERB_USER || verb == POP3_VERB_PASS || verb == POP3_VERB_APOP ||
	       verb == POP3_VERB_AUTH;
}

/* Those with words, which go out at once, as no state is kept for them. */
static void ask_words(struct popproxy *proxy, struct popproxy_io *io,
		      const struct pop3_command *command, bool is_language)
{
	const bool is_bare = command->arguments.size == 0;
	if (is_login(command->verb) && popproxy_bars_logins(proxy))
		refuse(proxy, "-ERR Send STLS first");
	else if (is_language)
		ask_lang(proxy, io, command);
	else if (command->verb == POP3_VERB_USER)
		ask_user(proxy, io, command);
	else if (command->verb == POP3_VERB_PASS)
		ask_pass(proxy, io, command);
	else if (command->verb == POP3_VERB_APOP)
		ask_apop(proxy, io, command);
	else if (command->verb == POP3_VERB_AUTH)
		ask_auth(proxy, io, command);
	else if (!is_bare)
		refuse(proxy, "-ERR It has no arguments");
	else if (command->verb == POP3_VERB_STLS)
		ask_stls(proxy, io);
	else if (command->verb == POP3_VERB_UTF8)
		say(proxy, io, POPPROXY_LINE, "UTF8", none, none);
	else
		ask_quit(proxy, io);
}

static bool is_with_words(enum pop3_verb verb)
{
	return is_login(verb) || verb == POP3_VERB_STLS || verb == POP3_VERB_UTF8 ||
	       verb == POP3_VERB_QUIT;
}

/* False: it has to wait until all before it are answered. */
static bool ask_command(struct popproxy *proxy, struct popproxy_io *io, const uint8_t *line,
			size_t size)
{
	struct pop3_command command;
	pop3_command_parse((const char *)line, size, &command);
	const bool is_language = is_lang(line, size);
	if (is_language || is_with_words(command.verb)) {
		if (proxy->ask_count > 0)
			return false;
		ask_words(proxy, io, &command, is_language);
		return true;
	}
	if (command.verb == POP3_VERB_FOREIGN) {
		answer_last(proxy, "-ERR This is POP3", "foreign");
		return true;
	}
	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++)
		if (numbered[i].verb == command.verb) {
			ask_numbered(proxy, &numbered[i], command.arguments);
			return true;
		}
	refuse(proxy, "-ERR The command is not known");
	return true;
}

/* Is something on its way that decides what the next line is? */
static bool is_shut(const struct popproxy *proxy)
{
	if (proxy->is_closing || proxy->ask_count == POPPROXY_ASKS)
		return true;
	if (proxy->ask_count == 0)
		return false;
	const enum popproxy_kind kind = proxy->asks[proxy->ask_begin].kind;
	return kind >= POPPROXY_USER && !(kind == POPPROXY_SASL && proxy->is_sasl_due);
}

/* What is no line is the last that is read. */
static bool ask_nothing(struct popproxy *proxy, struct popproxy_io *io)
{
	if (!proxy->is_sasl_due)
		answer_last(proxy, "-ERR A line ends in CR LF, and is not so long", "bad-line");
	else if (popproxy_has_room(io->to_client_room, io->to_client_size))
		popproxy_stop(proxy, io, "A line ends in CR LF, and is not so long", "bad-line");
	return !proxy->is_sasl_due;
}

bool popproxy_ask(struct popproxy *proxy, struct popproxy_io *io)
{
	const uint8_t *line = io->client + io->client_used;
	size_t size = 0;
	if (is_shut(proxy) || !popproxy_has_room(io->to_server_room, io->to_server_size))
		return false;
	const enum lines_status status =
		lines_take(line, io->client_size - io->client_used, POPPROXY_LINE_MAX, &size);
	if (status == LINES_MORE)
		return false;
	if (status != LINES_READY)
		return ask_nothing(proxy, io);
	if (proxy->is_sasl_due) {
		ask_sasl(proxy, io, (struct pop3_text){ (const char *)line, size });
	} else if (!ask_command(proxy, io, line, size)) {
		return false;
	}
	io->client_used += size + LINES_END_SIZE;
	proxy->command_count++;
	proxy->line_count++;
	if (proxy->limits->commands_max > 0 && !proxy->is_closing && !proxy->is_sasl_due &&
	    proxy->command_count >= proxy->limits->commands_max && proxy->ask_count < POPPROXY_ASKS)
		answer_last(proxy, "-ERR [SYS/TEMP] Too many commands", "commands");
	return true;
}
