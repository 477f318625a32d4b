/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mailtalk_commands.c - what a client has said, and what of it the next hop hears.
 */
#include <stdio.h>
#include <string.h>

#include "integration/mail/mail-proxy/smtp/mailtalk_parts.h"
#include "lib/smtp/address.h"
#include "lib/smtp/command.h"
#include "lib/smtp/dialogue.h"
#include "lib/smtp/xclient.h"
#include "lib/wire/lines.h"
#include "lib/wire/mechanism.h"
#include "lib/wire/word.h"

#define AUTH_LINE_MAX  12288 /* RFC 4954, 4 */
#define AUTH_LINES_MAX 20
#define LINE_ROOM      3072 /* the longest of ours but AUTH's */
#define PENDING_ROOM   4    /* one command adds so many replies at most */

static const char not_response[] = "4.7.0 Not a response of AUTH";

/* A line, and what it was read as. */
struct call {
	struct mailtalk *talk;
	struct mailtalk_io *io;
	struct command command;
	const char *line;
	size_t line_size;
	bool has_more; /* something of the client's is behind it */
};

typedef void (*command_fn)(const struct call *call);

/* ---- answers of ours ---- */

static void answer(const struct call *call, int code, const char *text)
{
	if (code >= 400)
		call->talk->error_count++;
	mailtalk_push(call->talk, MAILTALK_OURS, code, text);
}

static bool is_there(const struct call *call)
{
	return call->command.arguments_size > 0;
}

/* ---- the next hop ---- */

/* Printable, with one blank between words, so that it is what it looks like. */
static bool is_plain(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] < ' ' || text[i] > '~' ||
		    (text[i] == ' ' && (i == 0 || i + 1 == size || text[i - 1] == ' ')))
			return false;
	return true;
}

static void connect_again(struct mailtalk *talk, bool says_helo)
{
	talk->wants_connect = true;
	mailtalk_push(talk, MAILTALK_GREETING_AGAIN, 0, NULL);
	if (says_helo)
		mailtalk_push(talk, MAILTALK_HELO_AGAIN, 0, NULL);
	mailtalk_answer_then(talk, MAILTALK_AT_COMMAND);
}

/* ---- each command ---- */

/* Code 0: it is none that is refused, and talk->helo is its name. */
static struct command_bad check_helo(const struct call *call)
{
	const struct command *command = &call->command;
	if (call->talk->rules->is_lmtp != (command->verb == COMMAND_LHLO))
		return (struct command_bad){ 500, "5.5.1 Not in this protocol" };
	if (!command_take_helo(command->arguments, command->arguments_size, call->talk->helo))
		return (struct command_bad){ 501,
					     "5.5.4 Syntax: a host name, or an address literal" };
	return (struct command_bad){ 0, NULL };
}

static void take_helo(const struct call *call)
{
	struct mailtalk *talk = call->talk;
	const struct command *command = &call->command;
	static const char *const verbs[] = {
		[COMMAND_HELO] = "HELO", [COMMAND_EHLO] = "EHLO", [COMMAND_LHLO] = "LHLO"
	};
	const struct command_bad bad = check_helo(call);
	if (bad.code != 0) {
		answer(call, bad.code, bad.text);
		return;
	}
	mailtalk_say(call->io, "%s %s\r\n", verbs[command->verb], talk->helo);
	mailtalk_push(talk, command->verb == COMMAND_HELO ? MAILTALK_HELO : MAILTALK_EHLO, 0, NULL);
	mailtalk_answer_then(talk, MAILTALK_AT_COMMAND);
}

/* Bytes of "FROM:" and the path, whose local part may have blanks in quotes. Without a path: all. */
static size_t path_size(const char *text, size_t size)
{
	struct address address;
	size_t used = 0;
	size_t at = strlen("FROM:");
	while (at < size && text[at] == ' ')
		at++;
	if (at >= size || address_parse_path(text + at, size - at, &address, &used) != ADDRESS_OK)
		return size;
	return at + used;
}

/*
 * AUTH= names what a client was let in as where the mail came from (RFC 4954, 5). It is for servers
 * that trust their clients in this, and is left out: which is as if AUTH=<> were said.
 */
static size_t cut_auth(const char *text, size_t size, char *ret_text)
{
	size_t kept = path_size(text, size);
	memcpy(ret_text, text, kept);
	for (size_t i = kept; i < size;) {
		const char *blank = memchr(text + i, ' ', size - i);
		const size_t end = blank != NULL ? (size_t)(blank - text) + 1 : size;
		if (text[i - 1] != ' ' || end - i < 5 || !word_is(text + i, 5, "AUTH=")) {
			memcpy(ret_text + kept, text + i, end - i);
			kept += end - i;
		}
		i = end;
	}
	return kept;
}

static void say_mail(const struct call *call, const struct envelope *envelope)
{
	char line[LINE_ROOM];
	static const char *const rets[] = { "", " RET=FULL", " RET=HDRS" };
	char size[32] = "";
	if (envelope->size_bytes > 0 && (call->talk->offered & MAILTALK_OFFERS_SIZE) != 0)
		snprintf(size, sizeof(size), " SIZE=%llu",
			 (unsigned long long)envelope->size_bytes);
	snprintf(line, sizeof(line), "MAIL FROM:<%s>%s%s%s%s%s%s", envelope->sender, size,
		 envelope->body == ENVELOPE_8BITMIME ? " BODY=8BITMIME" : "",
		 envelope->is_utf8 ? " SMTPUTF8" : "", rets[envelope->ret],
		 envelope->envid[0] != '\0' ? " ENVID=" : "", envelope->envid);
	mailtalk_say(call->io, "%s\r\n", line);
}

static void take_mail(const struct call *call)
{
	struct mailtalk *talk = call->talk;
	struct envelope envelope;
	struct command_bad bad;
	char text[DIALOGUE_LINE_MAX];
	const size_t size = cut_auth(call->command.arguments, call->command.arguments_size, text);
	if (!command_parse_mail(text, size, talk->withheld, &envelope, &bad)) {
		answer(call, bad.code, bad.text);
		return;
	}
	if (talk->rules->size_max > 0 && envelope.size_bytes > talk->rules->size_max) {
		answer(call, 552, "5.3.4 Mail larger than we take");
		return;
	}
	if (talk->is_in_mail) {
		answer(call, 503, "5.5.1 Nested MAIL command");
		return;
	}
	mailtalk_reset(talk);
	talk->is_utf8 = envelope.is_utf8;
	snprintf(talk->sender, sizeof(talk->sender), "%s", envelope.sender);
	say_mail(call, &envelope);
	mailtalk_push(talk, MAILTALK_TO_MAIL, 0, NULL);
}

static uint16_t keep_recipient(struct mailtalk *talk, const char *address)
{
	const size_t size = strlen(address) + 1;
	const size_t place = talk->list_size;
	if (size > MAILTALK_LIST_SIZE - place)
		return MAILTALK_NO_PLACE;
	memcpy(talk->list + place, address, size);
	talk->list_size += size;
	return (uint16_t)place;
}

static void say_rcpt(const struct call *call, const struct recipient *recipient)
{
	static const char *const names[] = { "NEVER", "SUCCESS", "FAILURE", "DELAY" };
	char notify[64] = "";
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((recipient->notify >> i & 1U) == 0)
			continue;
		strncat(notify, notify[0] == '\0' ? " NOTIFY=" : ",",
			sizeof(notify) - strlen(notify) - 1);
		strncat(notify, names[i], sizeof(notify) - strlen(notify) - 1);
	}
	mailtalk_say(call->io, "RCPT TO:<%s>%s%s%s\r\n", recipient->address, notify,
		     recipient->orcpt[0] != '\0' ? " ORCPT=" : "", recipient->orcpt);
}

static void take_rcpt(const struct call *call)
{
	struct mailtalk *talk = call->talk;
	struct recipient recipient;
	struct command_bad bad;
	if (!command_parse_rcpt(call->command.arguments, call->command.arguments_size,
				talk->withheld, talk->is_utf8, &recipient, &bad)) {
		answer(call, bad.code, bad.text);
		return;
	}
	say_rcpt(call, &recipient);
	mailtalk_push(talk, MAILTALK_TO_RCPT, 0, NULL);
	const unsigned last =
		(talk->pending_first + talk->pending_count - 1) % MAILTALK_PENDING_MAX;
	talk->pending[last].place = keep_recipient(talk, recipient.address);
}

/* Why there can be no mail now; NULL. */
static const char *refuse_data(const struct mailtalk *talk)
{
	if (!talk->is_in_mail)
		return "5.5.1 No mail has begun";
	return talk->recipient_count == 0 ? "5.5.1 No valid recipients" : NULL;
}

static void begin_mail(const struct call *call, enum mailtalk_at then)
{
	struct mailtalk *talk = call->talk;
	body_init(&talk->body, talk->rules->size_max);
	talk->is_line_begun = false;
	talk->fail_code = 0;
	talk->at = MAILTALK_AT_SCAN_ASKED;
	talk->then = then;
}

static void take_data(const struct call *call)
{
	const char *refusal = refuse_data(call->talk);
	if (is_there(call))
		answer(call, 501, "5.5.4 DATA has no parameter");
	else if (call->talk->is_chunking)
		answer(call, 503, "5.5.1 BDAT has begun this mail");
	else if (refusal != NULL)
		/* RFC 2033, 4.2: a client of LMTP knows 503 alone. */
		answer(call, call->talk->is_in_mail && !call->talk->rules->is_lmtp ? 554 : 503,
		       refusal);
	else
		begin_mail(call, MAILTALK_AT_BEGIN_BODY);
}

static void take_bdat(const struct call *call)
{
	struct mailtalk *talk = call->talk;
	const char *refusal = refuse_data(talk);
	uint64_t size = 0;
	bool is_last = false;
	/* How much comes is not known, and it would be taken for commands. */
	if (!command_parse_bdat(call->command.arguments, call->command.arguments_size, &size,
				&is_last)) {
		mailtalk_end_with(talk, 501, "5.5.4 Syntax: BDAT SIZE [LAST]");
		return;
	}
	talk->chunk_left = size;
	talk->is_last = is_last;
	if (talk->is_chunking) {
		talk->at = MAILTALK_AT_CHUNK;
		if (!talk->has_server)
			mailtalk_lose(talk, "4.4.2 Next hop has broken off, try again later");
	} else if (refusal == NULL) {
		begin_mail(call, MAILTALK_AT_BEGIN_CHUNKS);
	} else if (size > MAILTALK_SKIP_MAX) {
		talk->error_count++;
		mailtalk_end_with(talk, 503, refusal);
	} else {
		talk->refusal = refusal;
		talk->at = MAILTALK_AT_SWALLOW;
	}
}

/* A mail whose chunks have come in part is forgotten by the next hop when its connection ends. */
static void forget_chunks(struct mailtalk *talk)
{
	if (!talk->is_chunking)
		return;
	talk->wants_scan_drop = talk->is_scanning;
	talk->is_scanning = false;
	mailtalk_drop(talk);
	mailtalk_reset(talk);
}

static void take_rset(const struct call *call)
{
	struct mailtalk *talk = call->talk;
	forget_chunks(talk);
	if (talk->has_server) {
		mailtalk_say(call->io, "RSET\r\n");
		mailtalk_push(talk, MAILTALK_TO_RSET, 0, NULL);
	} else {
		mailtalk_reset(talk);
		answer(call, 250, "2.0.0 Ok");
	}
}

static void take_noop(const struct call *call)
{
	struct mailtalk *talk = call->talk;
	if (!talk->has_server || talk->is_chunking) {
		answer(call, 250, "2.0.0 Ok");
		return;
	}
	mailtalk_say(call->io, "NOOP\r\n");
	mailtalk_push(talk, MAILTALK_TO_OTHER, 0, NULL);
}

static void take_quit(const struct call *call)
{
	struct mailtalk *talk = call->talk;
	forget_chunks(talk);
	talk->is_told = true;
	if (talk->has_server) {
		mailtalk_say(call->io, "QUIT\r\n");
		mailtalk_push(talk, MAILTALK_TO_QUIT, 0, NULL);
	} else {
		answer(call, 221, "2.0.0 Bye");
	}
	mailtalk_answer_then(talk, MAILTALK_AT_CLOSED);
}

static void take_starttls(const struct call *call)
{
	struct mailtalk *talk = call->talk;
	const struct mailtalk_rules *rules = talk->rules;
	const bool is_passed = rules->passes_tls && (talk->offered & MAILTALK_OFFERS_STARTTLS) != 0;
	if (is_there(call)) {
		answer(call, 501, "5.5.4 STARTTLS has no parameter");
	} else if ((!rules->offers_tls && !is_passed) || talk->is_secure) {
		answer(call, 503, "5.5.1 TLS is not offered now");
	} else if (call->has_more) {
		/* What an attacker in between has put behind it would be taken as said under TLS. */
		mailtalk_end_with(talk, 521,
				  "5.5.1 Nothing may come before the answer to STARTTLS");
	} else if (rules->offers_tls) {
		answer(call, 220, "2.0.0 Ready to start TLS");
		mailtalk_answer_then(talk, MAILTALK_AT_TLS);
	} else {
		mailtalk_say(call->io, "STARTTLS\r\n");
		mailtalk_push(talk, MAILTALK_TO_STARTTLS, 0, NULL);
		mailtalk_answer_then(talk, MAILTALK_AT_COMMAND);
	}
}

static void take_auth(const struct call *call)
{
	struct mailtalk *talk = call->talk;
	const struct command *command = &call->command;
	if ((talk->offered & MAILTALK_OFFERS_AUTH) == 0) {
		answer(call, 502, "5.5.1 AUTH is not offered");
		return;
	}
	if (mailtalk_bars_logins(talk)) {
		answer(call, 530, "5.7.0 Send STARTTLS first");
		return;
	}
	if (!is_there(call) || !is_plain(command->arguments, command->arguments_size)) {
		answer(call, 501, "5.5.4 Syntax: AUTH MECHANISM [RESPONSE]");
		return;
	}
	const char *blank = memchr(command->arguments, ' ', command->arguments_size);
	const size_t name_size =
		blank != NULL ? (size_t)(blank - command->arguments) : command->arguments_size;
	if (mechanism_find(command->arguments, name_size) == NULL) {
		answer(call, 504, "5.5.4 Mechanism not passed on");
		return;
	}
	talk->auth_count = 0;
	mailtalk_say(call->io, "AUTH %.*s\r\n", (int)command->arguments_size, command->arguments);
	mailtalk_push(talk, MAILTALK_TO_AUTH, 0, NULL);
	mailtalk_answer_then(talk, MAILTALK_AT_COMMAND);
}

static void pass_attributes(const struct call *call, const char *verb, enum mailtalk_kind kind)
{
	const struct command *command = &call->command;
	if (!is_there(call) || !is_plain(command->arguments, command->arguments_size)) {
		answer(call, 501, "5.5.4 Syntax: ATTRIBUTE=VALUE ...");
		return;
	}
	mailtalk_say(call->io, "%s %.*s\r\n", verb, (int)command->arguments_size,
		     command->arguments);
	mailtalk_push(call->talk, kind, 0, NULL);
	mailtalk_answer_then(call->talk, MAILTALK_AT_COMMAND);
}

static void take_xclient(const struct call *call)
{
	struct xclient xclient;
	const struct command *command = &call->command;
	const char *reason = NULL;
	if (!call->talk->rules->is_filter || (call->talk->offered & MAILTALK_OFFERS_XCLIENT) == 0) {
		answer(call, 502, "5.5.1 XCLIENT is not offered");
		return;
	}
	reason = xclient_parse(command->arguments, command->arguments_size, &xclient);
	if (reason != NULL)
		answer(call, 501, "5.5.4 XCLIENT attribute not understood");
	else
		pass_attributes(call, "XCLIENT", MAILTALK_TO_XCLIENT);
}

static bool is_xforward(const struct call *call)
{
	const size_t size = strlen("XFORWARD");
	return call->line_size >= size && word_is(call->line, size, "XFORWARD") &&
	       (call->line_size == size || call->line[size] == ' ');
}

static void take_unknown(const struct call *call)
{
	struct mailtalk *talk = call->talk;
	if (!is_xforward(call) || !talk->rules->is_filter ||
	    (talk->offered & MAILTALK_OFFERS_XFORWARD) == 0) {
		answer(call, 500, "5.5.2 Command not known");
		return;
	}
	talk->is_bound = true;
	pass_attributes(call, "XFORWARD", MAILTALK_TO_OTHER);
}

static void take_help(const struct call *call)
{
	answer(call, 214, "2.0.0 See RFC 5321");
}

static void take_vrfy(const struct call *call)
{
	answer(call, 252, "2.1.5 Send some mail, and see");
}

static void take_refused(const struct call *call)
{
	answer(call, 502, "5.5.1 Command not passed on");
}

/* A browser that was made to send it here would go on with what it was given for commands. */
static void take_foreign(const struct call *call)
{
	mailtalk_end_with(call->talk, 521, "5.5.1 This is a mail server");
}

/* ---- which command ---- */

enum needs {
	NEEDS_NOTHING,
	NEEDS_HOP,  /* connected; HELO follows by itself */
	NEEDS_HELO, /* which was said, too */
};

static const struct rule {
	command_fn take;
	bool is_pipelined; /* may go on while replies are waited for */
	enum needs needs;
	bool is_amid_chunks; /* may be said between the chunks of a mail */
} rules[COMMAND_VERB_COUNT] = {
	[COMMAND_UNKNOWN] = { take_unknown, false, NEEDS_NOTHING, true },
	[COMMAND_HELO] = { take_helo, false, NEEDS_HOP, true },
	[COMMAND_EHLO] = { take_helo, false, NEEDS_HOP, true },
	[COMMAND_LHLO] = { take_helo, false, NEEDS_HOP, true },
	[COMMAND_MAIL] = { take_mail, false, NEEDS_HELO, false },
	[COMMAND_RCPT] = { take_rcpt, true, NEEDS_HELO, false },
	[COMMAND_DATA] = { take_data, false, NEEDS_HELO, true },
	[COMMAND_BDAT] = { take_bdat, false, NEEDS_NOTHING, true },
	[COMMAND_RSET] = { take_rset, true, NEEDS_NOTHING, true },
	[COMMAND_NOOP] = { take_noop, true, NEEDS_NOTHING, true },
	[COMMAND_HELP] = { take_help, true, NEEDS_NOTHING, true },
	[COMMAND_VRFY] = { take_vrfy, true, NEEDS_NOTHING, true },
	[COMMAND_QUIT] = { take_quit, false, NEEDS_NOTHING, true },
	[COMMAND_STARTTLS] = { take_starttls, false, NEEDS_HOP, false },
	[COMMAND_XCLIENT] = { take_xclient, false, NEEDS_HELO, false },
	[COMMAND_AUTH] = { take_auth, false, NEEDS_HELO, false },
	[COMMAND_EXPN] = { take_refused, true, NEEDS_NOTHING, true },
	[COMMAND_ETRN] = { take_refused, true, NEEDS_NOTHING, true },
	[COMMAND_TURN] = { take_refused, true, NEEDS_NOTHING, true },
	[COMMAND_FOREIGN] = { take_foreign, false, NEEDS_NOTHING, true },
};

/* ---- lines ---- */

static bool is_over_limits(const struct mailtalk *talk)
{
	const struct mailtalk_rules *own = talk->rules;
	return (own->errors_max > 0 && talk->error_count >= own->errors_max) ||
	       (own->commands_max > 0 && talk->command_count >= own->commands_max);
}

/* True: the command may be taken; else something else comes first, and it stays where it is. */
static bool has_hop(struct mailtalk *talk, const struct rule *rule)
{
	if (talk->has_server || rule->needs == NEEDS_NOTHING)
		return true;
	if (talk->pending_count > 0)
		return false;
	/* What the old one knew the new one does not. */
	if (talk->is_bound || talk->is_in_mail) {
		mailtalk_end_with(talk, 421, "4.3.2 Next hop has to be begun with anew, try again");
		return false;
	}
	connect_again(talk, rule->needs == NEEDS_HELO && talk->helo[0] != '\0');
	return false;
}

/* The line's own size is not known to be taken yet. True: something was done. */
static bool take_line(const struct call *call, size_t used)
{
	struct mailtalk *talk = call->talk;
	const struct rule *rule = &rules[call->command.verb];
	const unsigned before = talk->at;
	/* One that does not offer it may drop what comes before its reply, or the connection. */
	const bool is_pipelined =
		rule->is_pipelined && (talk->offered & MAILTALK_OFFERS_PIPELINING) != 0;
	if (!is_pipelined && talk->pending_count > 0)
		return false;
	/* RFC 5321, 4.1.4: as RSET; one that is refused changes nothing. */
	if (rule->take == take_helo && check_helo(call).code == 0)
		forget_chunks(talk);
	if (!has_hop(talk, rule))
		return talk->at != before;
	call->io->client_used += used;
	talk->steps++;
	talk->command_count++;
	if (talk->is_chunking && !rule->is_amid_chunks)
		answer(call, 503, "5.5.1 The mail is not whole: BDAT or RSET");
	else
		rule->take(call);
	return true;
}

/* What lines_take() refuses. */
static void take_malformed(struct mailtalk *talk, enum lines_status status)
{
	talk->error_count++;
	/* The next hop waits for a response, and would take the next command for one. */
	if (status == LINES_TOO_LONG && talk->at == MAILTALK_AT_AUTH) {
		mailtalk_end_with(talk, 421, not_response);
		return;
	}
	if (status == LINES_TOO_LONG) {
		talk->is_skipping = true;
		mailtalk_push(talk, MAILTALK_OURS, 500, "5.5.2 Line too long");
		return;
	}
	mailtalk_end_with(talk, 521,
			  status == LINES_NUL
				  ? "5.5.2 NUL received"
				  : "5.5.2 Lines end with CR LF, and with nothing else");
}

static bool skip_line(struct mailtalk *talk, struct mailtalk_io *io)
{
	size_t used = 0;
	const enum lines_status status = lines_skip(
		io->client + io->client_used, io->client_size - io->client_used, false, &used);
	io->client_used += used;
	talk->is_skipping = status == LINES_MORE;
	return used > 0 || status != LINES_MORE;
}

/* A response in AUTH: base64, "=" or "*". */
static bool is_response(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return true;
}

static void take_response(struct mailtalk *talk, struct mailtalk_io *io, const char *line,
			  size_t size)
{
	talk->steps++;
	if (!is_response(line, size) || ++talk->auth_count > AUTH_LINES_MAX || !talk->has_server) {
		mailtalk_end_with(talk, 421, not_response);
		return;
	}
	mailtalk_say(io, "%.*s\r\n", (int)size, line);
	mailtalk_push(talk, MAILTALK_TO_AUTH, 0, NULL);
	mailtalk_answer_then(talk, MAILTALK_AT_COMMAND);
}

static size_t line_max(const struct mailtalk *talk, const uint8_t *bytes, size_t size)
{
	if (talk->at == MAILTALK_AT_AUTH)
		return AUTH_LINE_MAX;
	return size > 5 && word_is((const char *)bytes, 4, "AUTH") && bytes[4] == ' '
		       ? AUTH_LINE_MAX
		       : DIALOGUE_LINE_MAX;
}

static bool may_read(struct mailtalk *talk)
{
	if (talk->pending_count + PENDING_ROOM > MAILTALK_PENDING_MAX)
		return false;
	if (talk->at == MAILTALK_AT_AUTH || talk->pending_count > 0)
		return talk->pending_count == 0 || !is_over_limits(talk);
	if (is_over_limits(talk))
		mailtalk_end_with(talk, 421, "4.7.0 Too many errors or commands");
	else if (talk->is_draining && !talk->is_in_mail)
		mailtalk_end_with(talk, 421, "4.3.2 Shutting down, try again later");
	return talk->at == MAILTALK_AT_COMMAND;
}

bool mailtalk_commands_take(struct mailtalk *talk, struct mailtalk_io *io)
{
	const unsigned before = talk->at;
	size_t line_size = 0;
	if (!may_read(talk))
		return talk->at != before;
	if (talk->is_skipping)
		return skip_line(talk, io);
	const uint8_t *bytes = io->client + io->client_used;
	const size_t size = io->client_size - io->client_used;
	const enum lines_status status =
		lines_take(bytes, size, line_max(talk, bytes, size), &line_size);
	if (status == LINES_MORE ||
	    (talk->has_server && mailtalk_server_room(io) < line_size + LINE_ROOM))
		return false;
	if (status != LINES_READY) {
		take_malformed(talk, status);
		return true;
	}
	const size_t used = line_size + LINES_END_SIZE;
	struct call call = { .talk = talk,
			     .io = io,
			     .line = (const char *)bytes,
			     .line_size = line_size,
			     .has_more = size > used };
	if (talk->at == MAILTALK_AT_AUTH) {
		io->client_used += used;
		take_response(talk, io, call.line, line_size);
		return true;
	}
	command_parse(call.line, line_size, &call.command);
	return take_line(&call, used);
}
