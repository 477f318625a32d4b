/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/smtp/dialogue.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TO(state) (1U << (DIALOGUE_AT_##state))

#define IN_MAIL	       (TO(MAIL) | TO(RCPT) | TO(CHUNKS) | TO(SPOILT))
#define OUT_OF_MAIL    (TO(START) | TO(HELO))
#define BETWEEN	       (OUT_OF_MAIL | IN_MAIL)
#define AFTER_COMMANDS (TO(START) | TO(HELO) | TO(END))

/* ---- states ---- */

static const struct state_rule {
	unsigned next;	   /* states that may follow */
	const char *wrong; /* what is said about a command that may not; NULL: none can come */
} states[DIALOGUE_STATE_COUNT] = {
	[DIALOGUE_AT_START] = { AFTER_COMMANDS | TO(TLS_ASKED) | TO(XCLIENT_ASKED),
				"send HELO or EHLO first" },
	[DIALOGUE_AT_HELO] = { AFTER_COMMANDS | TO(MAIL_ASKED) | TO(TLS_ASKED) | TO(XCLIENT_ASKED),
			       "send MAIL first" },
	[DIALOGUE_AT_MAIL_ASKED] = { TO(MAIL) | TO(HELO) | TO(END), NULL },
	[DIALOGUE_AT_MAIL] = { TO(HELO) | TO(RCPT_ASKED) | TO(END), "send RCPT first" },
	[DIALOGUE_AT_RCPT_ASKED] = { TO(MAIL) | TO(RCPT) | TO(END), NULL },
	[DIALOGUE_AT_RCPT] = { TO(HELO) | TO(RCPT_ASKED) | TO(DATA_ASKED) | TO(BDAT_ASKED) |
				       TO(SPOILT) | TO(END),
			       "a mail has begun" },
	[DIALOGUE_AT_DATA_ASKED] = { TO(HELO) | TO(END), NULL },
	[DIALOGUE_AT_BDAT_ASKED] = { TO(HELO) | TO(CHUNKS) | TO(SPOILT) | TO(END), NULL },
	[DIALOGUE_AT_CHUNKS] = { TO(HELO) | TO(BDAT_ASKED) | TO(SPOILT) | TO(END),
				 "a mail comes by BDAT" },
	[DIALOGUE_AT_SPOILT] = { TO(HELO) | TO(MAIL_ASKED) | TO(END),
				 "the mail was refused, send MAIL or RSET" },
	[DIALOGUE_AT_TLS_ASKED] = { AFTER_COMMANDS, NULL },
	[DIALOGUE_AT_XCLIENT_ASKED] = { AFTER_COMMANDS, NULL },
	[DIALOGUE_AT_END] = { TO(END), NULL },
};

static bool is_at(const struct dialogue *dialogue, unsigned set)
{
	return (set >> dialogue->state & 1U) != 0;
}

static void move(struct dialogue *dialogue, enum dialogue_state state)
{
	assert((states[dialogue->state].next >> state & 1U) != 0);
	dialogue->state = state;
}

static enum dialogue_state outside(const struct dialogue *dialogue)
{
	return dialogue->helo[0] != '\0' ? DIALOGUE_AT_HELO : DIALOGUE_AT_START;
}

static void end_transaction(struct dialogue *dialogue)
{
	memset(&dialogue->envelope, 0, sizeof(dialogue->envelope));
	dialogue->recipient_count = 0;
	dialogue->refused_count = 0;
	dialogue->mail_size = 0;
	dialogue->chunk_size = 0;
	dialogue->is_last = false;
}

/* As a new connection is, but for TLS and the counters. */
static void restart(struct dialogue *dialogue)
{
	end_transaction(dialogue);
	memset(dialogue->helo, 0, sizeof(dialogue->helo));
	dialogue->is_esmtp = false;
	dialogue->withheld = 0;
	move(dialogue, DIALOGUE_AT_START);
}

void dialogue_init(struct dialogue *ret_dialogue)
{
	memset(ret_dialogue, 0, sizeof(*ret_dialogue));
}

void dialogue_tls(struct dialogue *dialogue)
{
	assert(dialogue->state == DIALOGUE_AT_TLS_ASKED);
	dialogue->is_tls = true;
	restart(dialogue);
}

bool dialogue_is_asking(const struct dialogue *dialogue)
{
	return dialogue->state < DIALOGUE_STATE_COUNT && !is_at(dialogue, BETWEEN | TO(END));
}

/* ---- replies ---- */

/* What the functions below work on. */
struct step {
	struct dialogue *dialogue;
	const struct dialogue_limits *limits;
	struct dialogue_event *event;
	const char *arguments; /* of the command */
	size_t arguments_size;
};

static enum dialogue_action say(struct step *step, enum dialogue_action action, int code,
				const char *text)
{
	step->event->reply_code = code;
	step->event->reply_size = reply_make(code, text, step->event->reply);
	return action;
}

/* The session ends. The host is named, as RFC 5321, 4.2.3 wants it for 421. */
static enum dialogue_action say_end(struct step *step, int code, const char *status,
				    const char *text)
{
	char line[REPLY_LINE_MAX];
	snprintf(line, sizeof(line), "%s %.255s %s", status, step->limits->hostname, text);
	move(step->dialogue, DIALOGUE_AT_END);
	return say(step, DIALOGUE_CLOSE, code, line);
}

/*
 * A refused command. With the last one that a session may have, its own reply is said all the same,
 * for it may be what the sender has to know, and the end of the session behind it.
 */
static enum dialogue_action say_error(struct step *step, enum dialogue_action action, int code,
				      const char *text)
{
	struct dialogue *dialogue = step->dialogue;
	unsigned errors_max = step->limits->errors_max;
	say(step, action, code, text);
	if (dialogue->error_count < UINT32_MAX)
		dialogue->error_count++;
	struct dialogue_event *event = step->event;
	if (errors_max == 0 || dialogue->error_count < errors_max || action == DIALOGUE_CLOSE)
		return action;
	/* That is said more than once, and the end would be too: the next error has it. */
	if (event->reply_count > 1)
		return action;
	char end[REPLY_MAX];
	char line[REPLY_LINE_MAX];
	snprintf(line, sizeof(line), "4.7.0 %.255s too many errors", step->limits->hostname);
	size_t end_size = reply_make(421, line, end);
	if (event->reply_size + end_size < DIALOGUE_REPLY_MAX) {
		memcpy(event->reply + event->reply_size, end, end_size + 1);
		event->reply_size += end_size;
	}
	move(dialogue, DIALOGUE_AT_END);
	return DIALOGUE_CLOSE;
}

static enum dialogue_action say_close(struct step *step, int code, const char *text)
{
	say_error(step, DIALOGUE_CLOSE, code, text);
	move(step->dialogue, DIALOGUE_AT_END);
	return DIALOGUE_CLOSE;
}

/* ret_line has REPLY_LINE_MAX bytes. */
static void make_greeting(const struct dialogue_limits *limits, char *ret_line)
{
	snprintf(ret_line, REPLY_LINE_MAX, "%.255s %s", limits->hostname,
		 limits->is_lmtp ? "LMTP" : "ESMTP");
}

size_t dialogue_greet(const struct dialogue_limits *limits, char *ret_reply)
{
	char line[REPLY_LINE_MAX];
	make_greeting(limits, line);
	return reply_make(220, line, ret_reply);
}

/* A line of the offer; there is always room. */
struct offer {
	char text[REPLY_MAX];
	size_t size;
};

static void add_line(struct offer *offer, bool is_offered, const char *line)
{
	size_t line_size = strlen(line);
	if (!is_offered || offer->size + line_size + 2 > sizeof(offer->text))
		return;
	if (offer->size > 0)
		offer->text[offer->size++] = '\n';
	memcpy(offer->text + offer->size, line, line_size + 1);
	offer->size += line_size;
}

static void add_numbers(struct offer *offer, const struct dialogue_limits *limits)
{
	char line[80] = "SIZE";
	size_t size = 0;
	if (limits->size_max > 0)
		snprintf(line, sizeof(line), "SIZE %" PRIu64, limits->size_max);
	add_line(offer, true, line);
	size = (size_t)snprintf(line, sizeof(line), "LIMITS");
	if (limits->mails_max > 0)
		size += (size_t)snprintf(line + size, sizeof(line) - size, " MAILMAX=%u",
					 limits->mails_max);
	if (limits->recipients_max > 0)
		snprintf(line + size, sizeof(line) - size, " RCPTMAX=%u", limits->recipients_max);
	add_line(offer, limits->mails_max > 0 || limits->recipients_max > 0, line);
}

/* What EHLO is answered now: STARTTLS only when it is offered and TLS has not begun. */
static size_t make_offer(const struct dialogue *dialogue, const struct dialogue_limits *limits,
			 char *ret_reply)
{
	struct offer offer = { .size = 0 };
	char name[256];
	snprintf(name, sizeof(name), "%s", limits->hostname);
	add_line(&offer, true, name);
	add_line(&offer, true, "PIPELINING");
	add_numbers(&offer, limits);
	add_line(&offer, limits->offers_tls && !dialogue->is_tls, "STARTTLS");
	add_line(&offer, true, "ENHANCEDSTATUSCODES");
	add_line(&offer, (limits->withheld & ENVELOPE_EXTENSION_8BITMIME) == 0, "8BITMIME");
	add_line(&offer, (limits->withheld & ENVELOPE_EXTENSION_SMTPUTF8) == 0, "SMTPUTF8");
	add_line(&offer, (limits->withheld & ENVELOPE_EXTENSION_DSN) == 0, "DSN");
	add_line(&offer, limits->offers_xclient,
		 "XCLIENT NAME ADDR PORT PROTO HELO LOGIN DESTADDR DESTPORT");
	add_line(&offer, true, "CHUNKING");
	return reply_make(250, offer.text, ret_reply);
}

/* ---- commands ---- */

static enum dialogue_action hello(struct step *step)
{
	struct dialogue *dialogue = step->dialogue;
	struct dialogue_event *event = step->event;
	/* RFC 2033, 4.1: in LMTP the others must not succeed, so that a client of SMTP finds its mistake. */
	if (step->limits->is_lmtp && event->verb != COMMAND_LHLO)
		return say_error(step, DIALOGUE_REPLY, 500, "5.5.1 This is LMTP, send LHLO");
	if (!command_take_helo(step->arguments, step->arguments_size, dialogue->helo))
		return say_error(step, DIALOGUE_REPLY, 501, "5.5.4 Syntax: a host name is wanted");
	enum dialogue_action action = is_at(dialogue, IN_MAIL) ? DIALOGUE_RESET : DIALOGUE_REPLY;
	end_transaction(dialogue);
	dialogue->is_esmtp = event->verb != COMMAND_HELO;
	dialogue->withheld = step->limits->withheld;
	move(dialogue, DIALOGUE_AT_HELO);
	if (!dialogue->is_esmtp)
		return say(step, action, 250, step->limits->hostname);
	event->reply_code = 250;
	event->reply_size = make_offer(dialogue, step->limits, event->reply);
	return action;
}

static enum dialogue_action mail(struct step *step)
{
	struct dialogue *dialogue = step->dialogue;
	const struct dialogue_limits *limits = step->limits;
	struct command_bad bad = { 0, NULL };
	struct envelope envelope;
	if (limits->mails_max > 0 && dialogue->mail_count >= limits->mails_max)
		return say_end(step, 421, "4.7.0", "too many mails, come again");
	if (!command_parse_mail(step->arguments, step->arguments_size, dialogue->withheld,
				&envelope, &bad))
		return say_error(step, DIALOGUE_REPLY, bad.code, bad.text);
	if (limits->size_max > 0 && envelope.size_bytes > limits->size_max)
		return say_error(step, DIALOGUE_REPLY, 552, "5.3.4 Mail larger than we take");
	end_transaction(dialogue);
	dialogue->envelope = envelope;
	step->event->envelope = &dialogue->envelope;
	move(dialogue, DIALOGUE_AT_MAIL_ASKED);
	return DIALOGUE_MAIL;
}

static enum dialogue_action rcpt(struct step *step)
{
	struct dialogue *dialogue = step->dialogue;
	const struct dialogue_limits *limits = step->limits;
	struct command_bad bad = { 0, NULL };
	/* No error: a client may send the rest in another mail, as RFC 5321 says. */
	if (limits->recipients_max > 0 && dialogue->recipient_count >= limits->recipients_max)
		return say(step, DIALOGUE_REPLY, 452, "4.5.3 Too many recipients");
	if (!command_parse_rcpt(step->arguments, step->arguments_size, dialogue->withheld,
				dialogue->envelope.is_utf8, &step->event->recipient, &bad))
		return say_error(step, DIALOGUE_REPLY, bad.code, bad.text);
	move(dialogue, DIALOGUE_AT_RCPT_ASKED);
	return DIALOGUE_RECIPIENT;
}

static enum dialogue_action data(struct step *step)
{
	move(step->dialogue, DIALOGUE_AT_DATA_ASKED);
	return say(step, DIALOGUE_DATA, 354, "End the mail with <CRLF>.<CRLF>");
}

static enum dialogue_action bdat(struct step *step)
{
	struct dialogue *dialogue = step->dialogue;
	struct dialogue_event *event = step->event;
	uint64_t size_max = step->limits->size_max > 0 ? step->limits->size_max : UINT64_MAX;
	bool fits = dialogue->mail_size <= size_max &&
		    event->chunk_size <= size_max - dialogue->mail_size;
	if (!fits) {
		bool is_last = event->is_last;
		if (is_last)
			end_transaction(dialogue);
		move(dialogue, is_last ? DIALOGUE_AT_HELO : DIALOGUE_AT_SPOILT);
		return say_error(step, DIALOGUE_SWALLOW, 552, "5.3.4 Mail larger than we take");
	}
	dialogue->chunk_size = event->chunk_size;
	dialogue->is_last = event->is_last;
	event->is_first = dialogue->state == DIALOGUE_AT_RCPT;
	move(dialogue, DIALOGUE_AT_BDAT_ASKED);
	return DIALOGUE_BDAT;
}

static enum dialogue_action rset(struct step *step)
{
	const unsigned mails_max = step->limits->mails_max;
	/* A sender that asks so before its next mail loses none by the answer. */
	if (mails_max > 0 && step->dialogue->mail_count >= mails_max &&
	    is_at(step->dialogue, TO(HELO)))
		return say_end(step, 421, "4.7.0", "too many mails, come again");
	end_transaction(step->dialogue);
	move(step->dialogue, outside(step->dialogue));
	return say(step, DIALOGUE_RESET, 250, "2.0.0 Ok");
}

static enum dialogue_action noop(struct step *step)
{
	return say(step, DIALOGUE_REPLY, 250, "2.0.0 Ok");
}

static enum dialogue_action help(struct step *step)
{
	return say(step, DIALOGUE_REPLY, 214, "2.0.0 See RFC 5321");
}

static enum dialogue_action vrfy(struct step *step)
{
	if (step->arguments_size == 0)
		return say_error(step, DIALOGUE_REPLY, 501, "5.5.4 Syntax: VRFY address");
	return say(step, DIALOGUE_REPLY, 252, "2.0.0 Not told here, try RCPT");
}

static enum dialogue_action quit(struct step *step)
{
	move(step->dialogue, DIALOGUE_AT_END);
	return say(step, DIALOGUE_QUIT, 221, "2.0.0 Bye");
}

static enum dialogue_action starttls(struct step *step)
{
	if (step->dialogue->is_tls)
		return say_error(step, DIALOGUE_REPLY, 503, "5.5.1 TLS has begun already");
	if (!step->limits->offers_tls)
		return say_error(step, DIALOGUE_REPLY, 502, "5.5.1 TLS is not offered");
	move(step->dialogue, DIALOGUE_AT_TLS_ASKED);
	return say(step, DIALOGUE_STARTTLS, 220, "2.0.0 Begin TLS");
}

static enum dialogue_action xclient(struct step *step)
{
	char text[128];
	if (!step->limits->offers_xclient)
		return say_error(step, DIALOGUE_REPLY, 550, "5.7.0 XCLIENT is not for you");
	const char *wrong =
		xclient_parse(step->arguments, step->arguments_size, &step->event->xclient);
	if (wrong != NULL) {
		snprintf(text, sizeof(text), "5.5.4 %s", wrong);
		return say_error(step, DIALOGUE_REPLY, 501, text);
	}
	move(step->dialogue, DIALOGUE_AT_XCLIENT_ASKED);
	return DIALOGUE_XCLIENT;
}

static enum dialogue_action unimplemented(struct step *step)
{
	return say_error(step, DIALOGUE_REPLY, 502, "5.5.1 Command not implemented");
}

static enum dialogue_action unknown(struct step *step)
{
	return say_error(step, DIALOGUE_REPLY, 500, "5.5.2 Command unknown");
}

/* A browser was told to speak to us, and a mail would be in what follows. */
static enum dialogue_action foreign(struct step *step)
{
	return say_close(step, 521, "5.7.0 This is no web server");
}

static const struct verb_rule {
	enum dialogue_action (*take)(struct step *step);
	unsigned states; /* in which it may be said */
	bool is_free;	 /* also without the TLS that is required */
	bool refuses_arguments;
	bool is_junk; /* may be said for ever without bringing a mail nearer */
} rules[COMMAND_VERB_COUNT] = {
	[COMMAND_UNKNOWN] = { unknown, BETWEEN, false, false, false },
	[COMMAND_HELO] = { hello, BETWEEN, false, false, true },
	[COMMAND_EHLO] = { hello, BETWEEN, true, false, true },
	[COMMAND_LHLO] = { hello, BETWEEN, true, false, true },
	[COMMAND_MAIL] = { mail, TO(HELO) | TO(SPOILT), false, false, false },
	[COMMAND_RCPT] = { rcpt, TO(MAIL) | TO(RCPT), false, false, false },
	[COMMAND_DATA] = { data, TO(RCPT), false, true, false },
	[COMMAND_BDAT] = { bdat, TO(RCPT) | TO(CHUNKS), false, false, false },
	[COMMAND_RSET] = { rset, BETWEEN, false, true, true },
	[COMMAND_NOOP] = { noop, BETWEEN, true, false, true },
	[COMMAND_HELP] = { help, BETWEEN, false, false, true },
	[COMMAND_VRFY] = { vrfy, BETWEEN, false, false, true },
	[COMMAND_QUIT] = { quit, BETWEEN, true, true, false },
	[COMMAND_STARTTLS] = { starttls, OUT_OF_MAIL, true, true, false },
	[COMMAND_XCLIENT] = { xclient, OUT_OF_MAIL, false, false, false },
	[COMMAND_AUTH] = { unimplemented, BETWEEN, false, false, false },
	[COMMAND_EXPN] = { unimplemented, BETWEEN, false, false, false },
	[COMMAND_ETRN] = { unimplemented, BETWEEN, false, false, false },
	[COMMAND_TURN] = { unimplemented, BETWEEN, false, false, false },
	[COMMAND_FOREIGN] = { foreign, BETWEEN, true, false, false },
};

static enum dialogue_action say_wrong(struct step *step, enum dialogue_action action)
{
	const struct dialogue *dialogue = step->dialogue;
	char text[80];
	bool wants_recipient =
		step->event->verb == COMMAND_DATA || step->event->verb == COMMAND_BDAT;
	bool is_lmtp = step->limits->is_lmtp;
	/* RFC 2033, 4.2: 503 is the only code that an LMTP client knows for it. */
	if (dialogue->state == DIALOGUE_AT_MAIL && wants_recipient && dialogue->refused_count > 0)
		return say_error(step, action, is_lmtp ? 503 : 554, "5.5.1 No valid recipients");
	bool wants_lhlo = is_lmtp && dialogue->state == DIALOGUE_AT_START;
	snprintf(text, sizeof(text), "5.5.1 Bad sequence, %s",
		 wants_lhlo ? "send LHLO first" : states[dialogue->state].wrong);
	return say_error(step, action, 503, text);
}

/* The mail ends here, and LMTP answers for each recipient that it has. */
static void count_replies(struct step *step)
{
	if (step->limits->is_lmtp && step->dialogue->recipient_count > 0)
		step->event->reply_count = step->dialogue->recipient_count;
}

static enum dialogue_action take_command(struct step *step)
{
	struct dialogue *dialogue = step->dialogue;
	struct dialogue_event *event = step->event;
	const struct verb_rule *rule = &rules[event->verb];
	bool is_chunk = event->verb == COMMAND_BDAT;
	enum dialogue_action refused = is_chunk ? DIALOGUE_SWALLOW : DIALOGUE_REPLY;
	/* The size says how much of what follows is no command; a wrong one ends the session. */
	if (is_chunk && !command_parse_bdat(step->arguments, step->arguments_size,
					    &event->chunk_size, &event->is_last))
		return say_close(step, 501, "5.5.4 Syntax: BDAT size [LAST]");
	/* RFC 2033, 4.3: refused or not, the last chunk has the replies of its recipients. */
	if (is_chunk && event->is_last)
		count_replies(step);
	if (step->limits->requires_tls && !dialogue->is_tls && !rule->is_free)
		return say_error(step, refused, 530, "5.7.0 Send STARTTLS first");
	if (rule->refuses_arguments && step->arguments_size > 0)
		return say_error(step, refused, 501, "5.5.4 Syntax: no arguments are wanted");
	if (!is_at(dialogue, rule->states))
		return say_wrong(step, refused);
	return rule->take(step);
}

/*
 * Counts the command, and says whether it is one too many. The first HELO, and the first under TLS,
 * is what a mail needs. A transaction that is given up is found by its RSET or its HELO.
 */
static bool is_too_much_junk(struct dialogue *dialogue, const struct dialogue_limits *limits,
			     enum command_verb verb)
{
	const bool is_helo = verb == COMMAND_HELO || verb == COMMAND_EHLO || verb == COMMAND_LHLO;
	if (!rules[verb].is_junk || (is_helo && dialogue->helo[0] == '\0'))
		return false;
	if (dialogue->junk_count < UINT32_MAX)
		dialogue->junk_count++;
	return limits->junk_max > 0 && dialogue->junk_count > limits->junk_max;
}

/*
 * Each mail that was accepted has the room of another session. Recipients of the mail under way need
 * none: where recipients_max is no less than commands_max, no other session could bring a full mail.
 */
static bool is_too_many(const struct dialogue *dialogue, const struct dialogue_limits *limits)
{
	const uint64_t room =
		(uint64_t)limits->commands_max * ((uint64_t)dialogue->mail_count + 1) +
		dialogue->recipient_count;
	return limits->commands_max > 0 && dialogue->command_count > room;
}

/* False: the session has ended, and nothing is said any more. */
static bool begin(const struct dialogue *dialogue, struct dialogue_event *event)
{
	event->reply_code = 0;
	event->reply_size = 0;
	event->reply_count = 1;
	event->reply[0] = '\0';
	event->envelope = NULL;
	event->chunk_size = 0;
	event->is_first = false;
	event->is_last = false;
	return dialogue->state != DIALOGUE_AT_END;
}

enum dialogue_action dialogue_step(struct dialogue *dialogue, const struct dialogue_limits *limits,
				   const char *line, size_t line_size,
				   struct dialogue_event *ret_event)
{
	struct command command;
	command_parse(line, line_size, &command);
	/* To SMTP it is a word like any other. */
	if (command.verb == COMMAND_LHLO && !limits->is_lmtp)
		command.verb = COMMAND_UNKNOWN;
	ret_event->verb = command.verb;
	if (!begin(dialogue, ret_event))
		return DIALOGUE_CLOSE;
	assert(is_at(dialogue, BETWEEN));
	struct step step = { .dialogue = dialogue, .limits = limits, .event = ret_event };
	step.arguments = command.arguments;
	step.arguments_size = command.arguments_size;
	if (dialogue->command_count < UINT32_MAX)
		dialogue->command_count++;
	if (is_too_many(dialogue, limits))
		return say_end(&step, 421, "4.7.0", "too many commands");
	if (is_too_much_junk(dialogue, limits, command.verb))
		return say_end(&step, 421, "4.7.0", "too many commands without a mail");
	return take_command(&step);
}

enum dialogue_action dialogue_malformed(struct dialogue *dialogue,
					const struct dialogue_limits *limits,
					enum lines_status status, struct dialogue_event *ret_event)
{
	struct step step = { .dialogue = dialogue, .limits = limits, .event = ret_event };
	char text[80];
	ret_event->verb = COMMAND_UNKNOWN;
	if (!begin(dialogue, ret_event))
		return DIALOGUE_CLOSE;
	assert(is_at(dialogue, BETWEEN));
	if (status == LINES_TOO_LONG)
		return say_error(&step, DIALOGUE_REPLY, 500, "5.5.2 Line too long");
	snprintf(text, sizeof(text), "5.5.2 Lines end with CR LF, %s received",
		 lines_status_text(status));
	return say_close(&step, 521, text);
}

/* ---- answers ---- */

static bool is_mail_asked(const struct dialogue *dialogue)
{
	return dialogue->state == DIALOGUE_AT_DATA_ASKED ||
	       (dialogue->state == DIALOGUE_AT_BDAT_ASKED && dialogue->is_last);
}

/* The state behind a question. */
static enum dialogue_state settle(struct dialogue *dialogue, bool is_accepted)
{
	bool is_mail = is_mail_asked(dialogue);
	switch (dialogue->state) {
	case DIALOGUE_AT_RCPT_ASKED:
		dialogue->recipient_count += is_accepted ? 1 : 0;
		dialogue->refused_count += is_accepted ? 0 : 1;
		return dialogue->recipient_count > 0 ? DIALOGUE_AT_RCPT : DIALOGUE_AT_MAIL;
	case DIALOGUE_AT_MAIL_ASKED:
		if (is_accepted)
			return DIALOGUE_AT_MAIL;
		break;
	case DIALOGUE_AT_BDAT_ASKED:
		/* Its bytes are what the limits of a mail are about. */
		if (!is_mail && is_accepted && dialogue->chunk_size >= DIALOGUE_FREE_CHUNK &&
		    dialogue->command_count > 0)
			dialogue->command_count--;
		dialogue->mail_size += dialogue->chunk_size;
		dialogue->chunk_size = 0;
		if (!is_mail)
			return is_accepted ? DIALOGUE_AT_CHUNKS : DIALOGUE_AT_SPOILT;
		break;
	default:
		break;
	}
	if (is_mail && is_accepted) {
		dialogue->mail_count++;
		dialogue->junk_count = 0;
	}
	end_transaction(dialogue);
	return outside(dialogue);
}

enum dialogue_action dialogue_answer(struct dialogue *dialogue,
				     const struct dialogue_limits *limits, int code,
				     const char *text, struct dialogue_event *ret_event)
{
	struct step step = { .dialogue = dialogue, .limits = limits, .event = ret_event };
	bool is_accepted = code >= 200 && code < 300;
	if (!begin(dialogue, ret_event))
		return DIALOGUE_CLOSE;
	assert(dialogue_is_asking(dialogue));
	assert(!is_accepted || dialogue->state != DIALOGUE_AT_TLS_ASKED);
	bool is_restart = is_accepted && dialogue->state == DIALOGUE_AT_XCLIENT_ASKED;
	/* As in rcpt(): no error, so that the client can send the others in another mail. */
	bool is_put_off = code == 452 && dialogue->state == DIALOGUE_AT_RCPT_ASKED;
	if (is_mail_asked(dialogue))
		count_replies(&step);
	move(dialogue, settle(dialogue, is_accepted));
	if (is_restart)
		restart(dialogue);
	if (is_accepted || is_put_off)
		return say(&step, DIALOGUE_REPLY, code, text);
	if (code < 400 || code > 599)
		return say_error(&step, DIALOGUE_REPLY, 451, "4.3.0 Try again later");
	if (code == 421 || code == 521)
		return say_close(&step, code, text);
	return say_error(&step, DIALOGUE_REPLY, code, text);
}

enum dialogue_action dialogue_accept(struct dialogue *dialogue,
				     const struct dialogue_limits *limits,
				     struct dialogue_event *ret_event)
{
	char text[REPLY_LINE_MAX];
	switch (dialogue->state) {
	case DIALOGUE_AT_MAIL_ASKED:
		return dialogue_answer(dialogue, limits, 250, "2.1.0 Ok", ret_event);
	case DIALOGUE_AT_RCPT_ASKED:
		return dialogue_answer(dialogue, limits, 250, "2.1.5 Ok", ret_event);
	case DIALOGUE_AT_XCLIENT_ASKED:
		make_greeting(limits, text);
		return dialogue_answer(dialogue, limits, 220, text, ret_event);
	case DIALOGUE_AT_BDAT_ASKED:
		snprintf(text, sizeof(text), "2.0.0 Ok, %" PRIu64 " octets", dialogue->chunk_size);
		return dialogue_answer(dialogue, limits, 250, text, ret_event);
	default:
		return dialogue_answer(dialogue, limits, 250, "2.0.0 Ok", ret_event);
	}
}

static const struct refusal_rule {
	int code;
	const char
		*text; /* with the enhanced code; of one that ends the session without the host */
	const char *status; /* its enhanced code; NULL: an answer */
} refusals[DIALOGUE_REFUSAL_COUNT] = {
	[DIALOGUE_NO_SUCH_USER] = { 550, "5.1.1 No such user here", NULL },
	[DIALOGUE_NOT_OURS] = { 550, "5.7.1 We do not relay", NULL },
	[DIALOGUE_TRY_LATER] = { 451, "4.3.0 Try again later", NULL },
	[DIALOGUE_NO_TLS] = { 454, "4.7.0 TLS is not available now", NULL },
	[DIALOGUE_EARLY_INPUT] = { 521, "you spoke before your turn", "5.5.1" },
	[DIALOGUE_BUSY] = { 421, "too busy, come again", "4.3.2" },
	[DIALOGUE_OTHER_CLIENT] = { 421, "another client, come again", "4.3.2" },
	[DIALOGUE_LIMITED] = { 421, "too many sessions from your network, come again", "4.7.0" },
	[DIALOGUE_SHUTTING_DOWN] = { 421, "shutting down, come again", "4.3.2" },
	[DIALOGUE_TIMED_OUT] = { 421, "timed out", "4.4.2" },
};

enum dialogue_action dialogue_refuse(struct dialogue *dialogue,
				     const struct dialogue_limits *limits,
				     enum dialogue_refusal refusal,
				     struct dialogue_event *ret_event)
{
	const struct refusal_rule *rule = &refusals[refusal];
	struct step step = { .dialogue = dialogue, .limits = limits, .event = ret_event };
	if (rule->status == NULL)
		return dialogue_answer(dialogue, limits, rule->code, rule->text, ret_event);
	if (!begin(dialogue, ret_event))
		return DIALOGUE_CLOSE;
	return say_end(&step, rule->code, rule->status, rule->text);
}
