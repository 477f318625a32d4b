/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/pop3_dialogue.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TO(state) (1U << (POP3_AT_##state))

#define AUTHORIZATION (TO(START) | TO(USER))
#define BETWEEN	      (AUTHORIZATION | TO(TRANSACTION))
#define LOGGING_IN    (AUTHORIZATION | TO(SASL) | TO(LOGIN_ASKED) | TO(TLS_ASKED) | TO(END))

/* ---- states ---- */

static const struct state_rule {
	unsigned next;	   /* states that may follow */
	const char *wrong; /* what is said about a command that may not; NULL: none can come */
} states[POP3_STATE_COUNT] = {
	[POP3_AT_START] = { LOGGING_IN, "log in first" },
	[POP3_AT_USER] = { LOGGING_IN, "send PASS first" },
	[POP3_AT_SASL] = { TO(START) | TO(LOGIN_ASKED) | TO(END), NULL },
	[POP3_AT_LOGIN_ASKED] = { TO(START) | TO(SASL) | TO(TRANSACTION) | TO(END), NULL },
	[POP3_AT_TLS_ASKED] = { AUTHORIZATION | TO(END), NULL },
	[POP3_AT_TRANSACTION] = { TO(TRANSACTION) | TO(RETR_ASKED) | TO(TOP_ASKED) |
					  TO(UPDATE_ASKED) | TO(END),
				  "you are logged in" },
	[POP3_AT_RETR_ASKED] = { TO(TRANSACTION) | TO(END), NULL },
	[POP3_AT_TOP_ASKED] = { TO(TRANSACTION) | TO(END), NULL },
	[POP3_AT_UPDATE_ASKED] = { TO(END), NULL },
	[POP3_AT_END] = { TO(END), NULL },
};

static bool is_at(const struct pop3_dialogue *dialogue, unsigned set)
{
	return (set >> dialogue->state & 1U) != 0;
}

static void move(struct pop3_dialogue *dialogue, enum pop3_state state)
{
	assert((states[dialogue->state].next >> state & 1U) != 0);
	dialogue->state = state;
}

static void forget_login(struct pop3_dialogue *dialogue)
{
	memset(dialogue->user, 0, sizeof(dialogue->user));
	dialogue->way = 0;
	dialogue->is_challenged = false;
}

/* A login that came to nothing. */
static void restart(struct pop3_dialogue *dialogue)
{
	forget_login(dialogue);
	move(dialogue, POP3_AT_START);
}

void pop3_dialogue_init(struct pop3_dialogue *ret_dialogue)
{
	memset(ret_dialogue, 0, sizeof(*ret_dialogue));
}

void pop3_dialogue_tls(struct pop3_dialogue *dialogue)
{
	assert(dialogue->state == POP3_AT_TLS_ASKED || dialogue->state == POP3_AT_START);
	dialogue->is_tls = true;
	restart(dialogue);
}

bool pop3_dialogue_is_asking(const struct pop3_dialogue *dialogue)
{
	return dialogue->state < POP3_STATE_COUNT && !is_at(dialogue, BETWEEN | TO(SASL) | TO(END));
}

size_t pop3_dialogue_line_max(const struct pop3_dialogue *dialogue)
{
	return dialogue->state == POP3_AT_SASL ? POP3_AUTH_LINE_MAX : POP3_LINE_MAX;
}

bool pop3_dialogue_name(struct pop3_dialogue *dialogue, const char *user)
{
	const size_t size = strlen(user);
	assert(dialogue->state == POP3_AT_LOGIN_ASKED);
	if (!sasl_is_text(user, size))
		return false;
	memset(dialogue->user, 0, sizeof(dialogue->user));
	memcpy(dialogue->user, user, size);
	return true;
}

/* ---- replies ---- */

/* What the functions below work on. */
struct step {
	struct pop3_dialogue *dialogue;
	const struct pop3_limits *limits;
	struct pop3_maildrop *maildrop;
	struct pop3_event *event;
	struct pop3_text arguments; /* of the command */
	struct pop3_text raw;
};

/* A line, with bytes that are not printable as "?". Returns the size without the NUL. */
static size_t make_line(const char *word, const char *text, char *ret_reply)
{
	size_t size = (size_t)snprintf(ret_reply, POP3_REPLY_MAX, "%s", word);
	if (text[0] != '\0')
		ret_reply[size++] = ' ';
	for (; *text != '\0' && size < POP3_REPLY_LINE_MAX; text++) {
		ret_reply[size++] = *text;
		if (*text < ' ' || *text > '~')
			ret_reply[size - 1] = '?';
	}
	memcpy(ret_reply + size, "\r\n", 3);
	return size + 2;
}

static enum pop3_action say(struct step *step, enum pop3_action action, const char *text)
{
	step->event->reply_size = make_line("+OK", text, step->event->reply);
	return action;
}

static enum pop3_action say_no(struct step *step, const char *text)
{
	step->event->reply_size = make_line("-ERR", text, step->event->reply);
	return POP3_REPLY;
}

/*
 * A refused command. The last one that a session may have ends it behind its own reply, since a
 * second reply would be one to the next command.
 */
static enum pop3_action say_error(struct step *step, const char *text)
{
	struct pop3_dialogue *dialogue = step->dialogue;
	const struct pop3_limits *limits = step->limits;
	(void)say_no(step, text);
	if (dialogue->error_count < UINT32_MAX)
		dialogue->error_count++;
	if ((limits->errors_max == 0 || dialogue->error_count < limits->errors_max) &&
	    (limits->logins_max == 0 || dialogue->login_count < limits->logins_max))
		return POP3_REPLY;
	move(dialogue, POP3_AT_END);
	return POP3_CLOSE;
}

static enum pop3_action say_close(struct step *step, const char *text)
{
	say_error(step, text);
	move(step->dialogue, POP3_AT_END);
	return POP3_CLOSE;
}

size_t pop3_dialogue_greet(const struct pop3_limits *limits, char *ret_reply)
{
	char line[POP3_REPLY_LINE_MAX];
	const bool has_stamp = (limits->ways & POP3_WAY_APOP) != 0 && limits->apop_stamp != NULL;
	int size = snprintf(line, sizeof(line), "%.220s POP3 ready", limits->hostname);
	if (has_stamp)
		snprintf(line + size, sizeof(line) - (size_t)size, " %.255s", limits->apop_stamp);
	return make_line("+OK", line, ret_reply);
}

/* ---- CAPA ---- */

static void add_line(struct step *step, bool is_offered, const char *line)
{
	struct pop3_event *event = step->event;
	const size_t room = sizeof(event->reply) - event->reply_size;
	if (!is_offered)
		return;
	const int size = snprintf(event->reply + event->reply_size, room, "%s\r\n", line);
	assert(size > 0 && (size_t)size < room);
	event->reply_size += (size_t)size;
}

static void add_number(struct step *step, const char *name, unsigned number)
{
	char line[64];
	snprintf(line, sizeof(line), "%s %u", name, number);
	add_line(step, true, line);
}

static enum pop3_action capa(struct step *step)
{
	char line[POP3_REPLY_LINE_MAX];
	const struct pop3_limits *limits = step->limits;
	const bool is_logged_in = is_at(step->dialogue, TO(TRANSACTION));
	/* RFC 2595, part 2.1: what is refused without TLS is not offered without it. */
	const bool is_secret = limits->requires_tls && !step->dialogue->is_tls;
	const unsigned ways = is_secret ? 0 : limits->ways;
	const bool has_scram = (ways & POP3_WAY_SCRAM) != 0;
	const bool has_plain = (ways & POP3_WAY_PLAIN) != 0;
	say(step, POP3_REPLY, "capabilities follow");
	add_line(step, true, "TOP\r\nUIDL\r\nRESP-CODES\r\nAUTH-RESP-CODE\r\nPIPELINING");
	add_line(step, limits->offers_tls && !step->dialogue->is_tls, "STLS");
	add_line(step, (ways & POP3_WAY_USER) != 0, "USER");
	snprintf(line, sizeof(line), "SASL%s%s", has_scram ? " SCRAM-SHA-256" : "",
		 has_plain ? " PLAIN" : "");
	add_line(step, has_scram || has_plain, line);
	add_line(step, limits->offers_utf8 && !is_secret, "UTF8 USER");
	if (limits->login_delay_s > 0)
		add_number(step, "LOGIN-DELAY", limits->login_delay_s);
	if (limits->expire_days > 0)
		add_number(step, "EXPIRE", limits->expire_days);
	else
		add_line(step, true, "EXPIRE NEVER");
	if (is_logged_in && limits->implementation != NULL) {
		snprintf(line, sizeof(line), "IMPLEMENTATION %.255s", limits->implementation);
		add_line(step, true, line);
	}
	add_line(step, true, ".");
	return POP3_REPLY;
}

/* ---- logging in ---- */

static bool is_offered(const struct step *step, unsigned way)
{
	return (step->limits->ways & way) != 0;
}

static void set_user(struct pop3_dialogue *dialogue, const char *user, size_t user_size)
{
	forget_login(dialogue);
	memcpy(dialogue->user, user, user_size);
}

/* The caller is asked; event->login has the rest. */
static enum pop3_action ask_login(struct step *step, enum pop3_way way)
{
	step->dialogue->way = way;
	step->event->login.way = way;
	step->event->login.user = step->dialogue->user;
	move(step->dialogue, POP3_AT_LOGIN_ASKED);
	return POP3_AUTHENTICATE;
}

/* Refused without asking, as what is wrong is. */
static enum pop3_action refuse_login(struct step *step)
{
	restart(step->dialogue);
	step->dialogue->login_count += step->dialogue->login_count < UINT32_MAX ? 1 : 0;
	return say_error(step, "[AUTH] Login failed");
}

static enum pop3_action user(struct step *step)
{
	const struct pop3_text name = step->arguments;
	if (!is_offered(step, POP3_WAY_USER))
		return say_error(step, "USER is not offered");
	if (!sasl_is_text(name.at, name.size))
		return say_error(step, "Syntax: USER name");
	set_user(step->dialogue, name.at, name.size);
	step->dialogue->way = POP3_WAY_USER;
	move(step->dialogue, POP3_AT_USER);
	return say(step, POP3_REPLY, "send PASS");
}

static enum pop3_action pass(struct step *step)
{
	const struct pop3_text password = step->raw;
	if (!sasl_is_text(password.at, password.size))
		return refuse_login(step);
	memcpy(step->event->login.password, password.at, password.size);
	step->event->login.password[password.size] = '\0';
	return ask_login(step, POP3_WAY_USER);
}

static bool is_digest(struct pop3_text word)
{
	for (size_t i = 0; i < word.size; i++)
		if (!(word.at[i] >= '0' && word.at[i] <= '9') &&
		    !(word.at[i] >= 'a' && word.at[i] <= 'f'))
			return false;
	return word.size == 32;
}

static enum pop3_action apop(struct step *step)
{
	struct pop3_text rest = step->arguments;
	const struct pop3_text name = pop3_command_word(&rest);
	if (!is_offered(step, POP3_WAY_APOP) || step->limits->apop_stamp == NULL)
		return say_error(step, "APOP is not offered");
	if (!sasl_is_text(name.at, name.size) || !is_digest(rest))
		return say_error(step, "Syntax: APOP name digest");
	set_user(step->dialogue, name.at, name.size);
	memcpy(step->event->login.password, rest.at, rest.size);
	step->event->login.password[rest.size] = '\0';
	return ask_login(step, POP3_WAY_APOP);
}

static enum pop3_action plain(struct step *step)
{
	struct pop3_login *login = &step->event->login;
	struct sasl_plain found;
	const enum sasl_status status =
		sasl_parse_plain(login->message, login->message_size, &found);
	explicit_bzero(login->message, login->message_size);
	login->message_size = 0;
	if (status == SASL_FOREIGN)
		return refuse_login(step);
	if (status != SASL_FINE) {
		restart(step->dialogue);
		return say_error(step, "Malformed message of PLAIN");
	}
	set_user(step->dialogue, found.user, strlen(found.user));
	memcpy(login->password, found.password, sizeof(login->password));
	explicit_bzero(&found, sizeof(found));
	return ask_login(step, POP3_WAY_PLAIN);
}

/* A message of the client, still in base64. */
static enum pop3_action take_message(struct step *step, const char *text, size_t size)
{
	struct pop3_login *login = &step->event->login;
	const enum pop3_way way = step->dialogue->way;
	if (!base64_decode(text, size, sizeof(login->message), login->message,
			   &login->message_size)) {
		restart(step->dialogue);
		return say_error(step, "Base64 is wanted");
	}
	return way == POP3_WAY_PLAIN ? plain(step) : ask_login(step, way);
}

static enum pop3_way find_mechanism(const struct step *step, struct pop3_text word)
{
	if (is_offered(step, POP3_WAY_PLAIN) && pop3_command_is(word, "PLAIN"))
		return POP3_WAY_PLAIN;
	const bool is_scram = pop3_command_is(word, "SCRAM-SHA-256");
	return is_scram && is_offered(step, POP3_WAY_SCRAM) ? POP3_WAY_SCRAM : 0;
}

static enum pop3_action auth(struct step *step)
{
	struct pop3_event *event = step->event;
	struct pop3_text rest = step->arguments;
	const struct pop3_text mechanism = pop3_command_word(&rest);
	const struct pop3_text initial = pop3_command_word(&rest);
	if (mechanism.size == 0 || rest.size > 0)
		return say_error(step, "Syntax: AUTH mechanism [message]");
	const enum pop3_way way = find_mechanism(step, mechanism);
	if (way == 0)
		return say_error(step, "That mechanism is not offered");
	forget_login(step->dialogue);
	step->dialogue->way = way;
	event->login.is_first = true;
	/* RFC 5034, part 4: "=" is a message of nothing. */
	if (initial.size > 0)
		return take_message(step, initial.at,
				    pop3_command_is(initial, "=") ? 0 : initial.size);
	move(step->dialogue, POP3_AT_SASL);
	event->reply_size = (size_t)snprintf(event->reply, sizeof(event->reply), "+ \r\n");
	return POP3_REPLY;
}

/* A line of the exchange, which is no command whatever it says. */
static enum pop3_action take_exchange(struct step *step, const char *line, size_t line_size)
{
	if (line_size == 1 && line[0] == '*') {
		restart(step->dialogue);
		return say_error(step, "AUTH is cancelled");
	}
	step->event->login.is_first = !step->dialogue->is_challenged;
	return take_message(step, line, line_size);
}

static enum pop3_action stls(struct step *step)
{
	if (step->dialogue->is_tls)
		return say_error(step, "TLS has begun already");
	if (!step->limits->offers_tls)
		return say_error(step, "TLS is not offered");
	/* RFC 6856, part 2.1: that would be forgotten, and the client may not know. */
	if (step->dialogue->is_utf8)
		return say_error(step, "STLS comes before UTF8");
	move(step->dialogue, POP3_AT_TLS_ASKED);
	return say(step, POP3_STLS, "begin TLS");
}

static enum pop3_action utf8(struct step *step)
{
	if (!step->limits->offers_utf8)
		return say_error(step, "UTF8 is not offered");
	step->dialogue->is_utf8 = true;
	return say(step, POP3_REPLY, "UTF8");
}

/* ---- transaction ---- */

/* The message that a word numbers. NULL, or what is said. ret_text has POP3_REPLY_LINE_MAX bytes. */
static const char *find_message(const struct step *step, struct pop3_text word, char *ret_text,
				size_t *ret_index)
{
	const struct pop3_maildrop *maildrop = step->maildrop;
	uint64_t number = 0;
	if (!pop3_command_number(word, &number))
		return "Syntax: the number of a message is wanted";
	if (number == 0)
		return "No such message, the first is 1";
	if (number > maildrop->message_count) {
		snprintf(ret_text, POP3_REPLY_LINE_MAX, "No such message, there are %zu",
			 maildrop->message_count);
		return ret_text;
	}
	if (maildrop->messages[number - 1].is_deleted) {
		snprintf(ret_text, POP3_REPLY_LINE_MAX, "Message %" PRIu64 " is deleted", number);
		return ret_text;
	}
	*ret_index = (size_t)(number - 1);
	return NULL;
}

static void make_summary(const struct pop3_maildrop *maildrop, char *ret_text)
{
	snprintf(ret_text, POP3_REPLY_LINE_MAX, "%zu %s (%" PRIu64 " octets)", maildrop->left_count,
		 maildrop->left_count == 1 ? "message" : "messages", maildrop->left_octets);
}

static enum pop3_action stat(struct step *step)
{
	char text[POP3_REPLY_LINE_MAX];
	snprintf(text, sizeof(text), "%zu %" PRIu64, step->maildrop->left_count,
		 step->maildrop->left_octets);
	return say(step, POP3_REPLY, text);
}

/* LIST and UIDL. */
static enum pop3_action list(struct step *step)
{
	const bool is_uidl = step->event->verb == POP3_VERB_UIDL;
	char text[POP3_REPLY_LINE_MAX];
	size_t i = 0;
	if (step->arguments.size == 0) {
		step->event->list = (struct pop3_list){ .is_uidl = is_uidl };
		make_summary(step->maildrop, text);
		return say(step, POP3_LIST, text);
	}
	const char *wrong = find_message(step, step->arguments, text, &i);
	if (wrong != NULL)
		return say_error(step, wrong);
	const struct pop3_message *message = &step->maildrop->messages[i];
	if (is_uidl)
		snprintf(text, sizeof(text), "%zu %.*s", i + 1, POP3_UID_MAX, message->uid);
	else
		snprintf(text, sizeof(text), "%zu %" PRIu64, i + 1, message->octets);
	return say(step, POP3_REPLY, text);
}

static enum pop3_action retr(struct step *step)
{
	char text[POP3_REPLY_LINE_MAX];
	const char *wrong = find_message(step, step->arguments, text, &step->event->index);
	if (wrong != NULL)
		return say_error(step, wrong);
	step->dialogue->octets = step->maildrop->messages[step->event->index].octets;
	move(step->dialogue, POP3_AT_RETR_ASKED);
	return POP3_RETR;
}

static enum pop3_action top(struct step *step)
{
	char text[POP3_REPLY_LINE_MAX];
	struct pop3_text rest = step->arguments;
	const struct pop3_text number = pop3_command_word(&rest);
	const char *wrong = find_message(step, number, text, &step->event->index);
	if (wrong != NULL)
		return say_error(step, wrong);
	if (!pop3_command_number(rest, &step->event->line_count))
		return say_error(step, "Syntax: TOP message lines");
	move(step->dialogue, POP3_AT_TOP_ASKED);
	return POP3_TOP;
}

static enum pop3_action dele(struct step *step)
{
	char text[POP3_REPLY_LINE_MAX];
	size_t i = 0;
	const char *wrong = find_message(step, step->arguments, text, &i);
	if (wrong != NULL)
		return say_error(step, wrong);
	pop3_maildrop_delete(step->maildrop, i);
	snprintf(text, sizeof(text), "message %zu deleted", i + 1);
	return say(step, POP3_REPLY, text);
}

static enum pop3_action noop(struct step *step)
{
	return say(step, POP3_REPLY, "");
}

static enum pop3_action rset(struct step *step)
{
	char text[POP3_REPLY_LINE_MAX];
	/* A client that says it for ever has the array gone through for what it has deleted only. */
	if (step->maildrop->left_count < step->maildrop->message_count)
		pop3_maildrop_reset(step->maildrop);
	make_summary(step->maildrop, text);
	return say(step, POP3_REPLY, text);
}

static enum pop3_action quit(struct step *step)
{
	const struct pop3_maildrop *maildrop = step->maildrop;
	const bool has_deleted = is_at(step->dialogue, TO(TRANSACTION)) &&
				 maildrop->left_count < maildrop->message_count;
	move(step->dialogue, has_deleted ? POP3_AT_UPDATE_ASKED : POP3_AT_END);
	return has_deleted ? POP3_UPDATE : say(step, POP3_QUIT, "Bye");
}

static enum pop3_action unknown(struct step *step)
{
	return say_error(step, "Command unknown");
}

/* A browser was told to speak to us. */
static enum pop3_action foreign(struct step *step)
{
	return say_close(step, "This is no web server");
}

/* ---- commands ---- */

static const struct verb_rule {
	enum pop3_action (*take)(struct step *step);
	unsigned states; /* in which it may be said */
	bool is_free;	 /* also without the TLS that is required */
	bool refuses_arguments;
} rules[POP3_VERB_COUNT] = {
	[POP3_VERB_UNKNOWN] = { unknown, BETWEEN, true, false },
	[POP3_VERB_USER] = { user, AUTHORIZATION, false, false },
	[POP3_VERB_PASS] = { pass, TO(USER), false, false },
	[POP3_VERB_APOP] = { apop, AUTHORIZATION, false, false },
	[POP3_VERB_AUTH] = { auth, AUTHORIZATION, false, false },
	[POP3_VERB_SASL] = { unknown, 0, false, false },
	[POP3_VERB_STLS] = { stls, AUTHORIZATION, true, true },
	[POP3_VERB_UTF8] = { utf8, AUTHORIZATION, false, true },
	[POP3_VERB_CAPA] = { capa, BETWEEN, true, true },
	[POP3_VERB_STAT] = { stat, TO(TRANSACTION), false, true },
	[POP3_VERB_LIST] = { list, TO(TRANSACTION), false, false },
	[POP3_VERB_UIDL] = { list, TO(TRANSACTION), false, false },
	[POP3_VERB_RETR] = { retr, TO(TRANSACTION), false, false },
	[POP3_VERB_TOP] = { top, TO(TRANSACTION), false, false },
	[POP3_VERB_DELE] = { dele, TO(TRANSACTION), false, false },
	[POP3_VERB_NOOP] = { noop, TO(TRANSACTION), false, true },
	[POP3_VERB_RSET] = { rset, TO(TRANSACTION), false, true },
	[POP3_VERB_QUIT] = { quit, BETWEEN, true, true },
	[POP3_VERB_FOREIGN] = { foreign, BETWEEN, true, false },
};

static enum pop3_action say_wrong(struct step *step)
{
	char text[80];
	const char *wrong = states[step->dialogue->state].wrong;
	if (step->event->verb == POP3_VERB_PASS && is_at(step->dialogue, TO(START)))
		wrong = "send USER first";
	snprintf(text, sizeof(text), "Bad sequence, %s", wrong);
	return say_error(step, text);
}

static enum pop3_action take_command(struct step *step)
{
	const struct verb_rule *rule = &rules[step->event->verb];
	const bool is_secret = step->limits->requires_tls && !step->dialogue->is_tls;
	if (is_secret && !rule->is_free)
		return say_error(step, "Send STLS first");
	if (!is_at(step->dialogue, rule->states))
		return say_wrong(step);
	if (rule->refuses_arguments && step->arguments.size > 0)
		return say_error(step, "Syntax: no arguments are wanted");
	return rule->take(step);
}

/* False: the session has ended, and nothing is said any more. */
static bool begin(const struct pop3_dialogue *dialogue, struct pop3_event *event)
{
	event->reply[0] = '\0';
	event->reply_size = 0;
	return dialogue->state != POP3_AT_END;
}

static void begin_line(enum pop3_verb verb, struct pop3_event *event)
{
	event->verb = verb;
	event->login.user = "";
	event->login.password[0] = '\0';
	event->login.message_size = 0;
	event->login.is_first = false;
}

enum pop3_action pop3_dialogue_step(struct pop3_dialogue *dialogue,
				    const struct pop3_limits *limits,
				    struct pop3_maildrop *maildrop, const char *line,
				    size_t line_size, struct pop3_event *ret_event)
{
	struct pop3_command command;
	const bool is_exchange = dialogue->state == POP3_AT_SASL;
	pop3_command_parse(line, line_size, &command);
	begin_line(is_exchange ? POP3_VERB_SASL : command.verb, ret_event);
	if (!begin(dialogue, ret_event))
		return POP3_CLOSE;
	assert(is_at(dialogue, BETWEEN | TO(SASL)));
	assert(maildrop != NULL || !is_at(dialogue, TO(TRANSACTION)));
	struct step step = { .dialogue = dialogue,
			     .limits = limits,
			     .maildrop = maildrop,
			     .event = ret_event,
			     .arguments = command.arguments,
			     .raw = command.raw };
	if (dialogue->command_count < UINT32_MAX)
		dialogue->command_count++;
	if (limits->commands_max > 0 && dialogue->command_count > limits->commands_max)
		return say_close(&step, "[SYS/TEMP] Too many commands");
	return is_exchange ? take_exchange(&step, line, line_size) : take_command(&step);
}

enum pop3_action pop3_dialogue_malformed(struct pop3_dialogue *dialogue,
					 const struct pop3_limits *limits, enum lines_status status,
					 struct pop3_event *ret_event)
{
	struct step step = { .dialogue = dialogue, .limits = limits, .event = ret_event };
	char text[80];
	begin_line(POP3_VERB_UNKNOWN, ret_event);
	if (!begin(dialogue, ret_event))
		return POP3_CLOSE;
	assert(is_at(dialogue, BETWEEN | TO(SASL)));
	if (status == LINES_TOO_LONG) {
		if (is_at(dialogue, TO(SASL)))
			restart(dialogue);
		return say_error(&step, "Line too long");
	}
	snprintf(text, sizeof(text), "Lines end with CR LF, %s received",
		 lines_status_text(status));
	return say_close(&step, text);
}

/* ---- answers ---- */

/* Behind a question, but for the state that follows. */
static enum pop3_action settle(struct step *step, bool is_accepted)
{
	struct pop3_dialogue *dialogue = step->dialogue;
	dialogue->octets = 0;
	switch (dialogue->state) {
	case POP3_AT_LOGIN_ASKED:
		if (is_accepted)
			move(dialogue, POP3_AT_TRANSACTION);
		else
			restart(dialogue);
		return POP3_REPLY;
	case POP3_AT_TLS_ASKED:
		move(dialogue, dialogue->user[0] != '\0' ? POP3_AT_USER : POP3_AT_START);
		return POP3_REPLY;
	case POP3_AT_UPDATE_ASKED:
		move(dialogue, POP3_AT_END);
		return POP3_QUIT;
	default:
		move(dialogue, POP3_AT_TRANSACTION);
		return POP3_REPLY;
	}
}

enum pop3_action pop3_dialogue_answer(struct pop3_dialogue *dialogue,
				      const struct pop3_limits *limits, bool is_accepted,
				      const char *text, struct pop3_event *ret_event)
{
	struct step step = { .dialogue = dialogue, .limits = limits, .event = ret_event };
	if (!begin(dialogue, ret_event))
		return POP3_CLOSE;
	assert(pop3_dialogue_is_asking(dialogue));
	assert(!is_accepted || dialogue->state != POP3_AT_TLS_ASKED);
	const bool is_wrong = !is_accepted && dialogue->state == POP3_AT_LOGIN_ASKED &&
			      strncmp(text, "[AUTH]", 6) == 0;
	/* A store that fails would fail for each mail, and a session has to end some time. */
	const bool is_gone = is_at(dialogue, TO(RETR_ASKED) | TO(TOP_ASKED)) &&
			     strncmp(text, "[SYS/TEMP]", 10) != 0;
	const enum pop3_action action = settle(&step, is_accepted);
	if (is_accepted)
		return say(&step, action, text);
	if (is_gone)
		return say_no(&step, text);
	if (is_wrong && dialogue->login_count < UINT32_MAX)
		dialogue->login_count++;
	const enum pop3_action refused = say_error(&step, text);
	return action == POP3_QUIT ? POP3_QUIT : refused;
}

enum pop3_action pop3_dialogue_accept(struct pop3_dialogue *dialogue,
				      const struct pop3_limits *limits,
				      const struct pop3_maildrop *maildrop,
				      struct pop3_event *ret_event)
{
	char text[POP3_REPLY_LINE_MAX] = "";
	switch (dialogue->state) {
	case POP3_AT_LOGIN_ASKED:
		make_summary(maildrop, text);
		break;
	case POP3_AT_RETR_ASKED:
		snprintf(text, sizeof(text), "%" PRIu64 " octets", dialogue->octets);
		break;
	case POP3_AT_UPDATE_ASKED:
		snprintf(text, sizeof(text), "Bye");
		break;
	default:
		break;
	}
	return pop3_dialogue_answer(dialogue, limits, true, text, ret_event);
}

enum pop3_action pop3_dialogue_challenge(struct pop3_dialogue *dialogue, const void *message,
					 size_t size, struct pop3_event *ret_event)
{
	if (!begin(dialogue, ret_event))
		return POP3_CLOSE;
	assert(dialogue->state == POP3_AT_LOGIN_ASKED && size <= POP3_CHALLENGE_MAX);
	memcpy(ret_event->reply, "+ ", 2);
	const size_t text_size = base64_encode(message, size, ret_event->reply + 2);
	memcpy(ret_event->reply + 2 + text_size, "\r\n", 3);
	ret_event->reply_size = text_size + 4;
	dialogue->is_challenged = true;
	move(dialogue, POP3_AT_SASL);
	return POP3_REPLY;
}

static const struct refusal_rule {
	const char *text;
	bool ends;
} refusals[POP3_REFUSAL_COUNT] = {
	[POP3_BAD_LOGIN] = { "[AUTH] Login failed", false },
	[POP3_IN_USE] = { "[IN-USE] Another session has this maildrop", false },
	[POP3_LOGIN_DELAY] = { "[LOGIN-DELAY] Too soon after the last login", false },
	[POP3_TRY_LATER] = { "[SYS/TEMP] Try again later", false },
	[POP3_DAMAGED] = { "[SYS/PERM] The message is damaged", false },
	[POP3_MALFORMED] = { "Malformed message of SASL", false },
	[POP3_NO_TLS] = { "[SYS/TEMP] TLS is not available now", false },
	[POP3_NOT_REMOVED] = { "[SYS/TEMP] Some deleted messages were not removed", false },
	[POP3_EARLY_INPUT] = { "You spoke before your turn", true },
	[POP3_BUSY] = { "[SYS/TEMP] Too busy, come again", true },
	[POP3_LIMITED] = { "[SYS/TEMP] Too many sessions from your network, come again", true },
	[POP3_SHUTTING_DOWN] = { "[SYS/TEMP] Shutting down, come again", true },
};

enum pop3_action pop3_dialogue_refuse(struct pop3_dialogue *dialogue,
				      const struct pop3_limits *limits, enum pop3_refusal refusal,
				      struct pop3_event *ret_event)
{
	const struct refusal_rule *rule = &refusals[refusal];
	struct step step = { .dialogue = dialogue, .limits = limits, .event = ret_event };
	if (!rule->ends)
		return pop3_dialogue_answer(dialogue, limits, false, rule->text, ret_event);
	if (!begin(dialogue, ret_event))
		return POP3_CLOSE;
	return say_close(&step, rule->text);
}
