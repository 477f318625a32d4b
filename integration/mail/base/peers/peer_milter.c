/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A milter, to which we are the mail server: version 6 of the protocol that libmilter's mfdef.h names.
 * One packet after the other, each when the reply to the one before is there, where there is one.
 *
 * Changes of a mail are offered, as most milters refuse a server that does not, but not made: mails
 * here have been forwarded when a milter asks for them. One that wants a mail quarantined has found
 * something, and one that would have it thrown away refuses it: nothing is lost silently. A recipient
 * that it refuses has been taken already, so that this counts only when it refuses all.
 */
#include <stdio.h>
#include <string.h>

#include "integration/mail/base/peers/peer_parts.h"
#include "lib/format/bytes.h"

/* ---- the protocol's numbers ---- */

#define VERSION_OLDEST 2
#define VERSION	       6
#define ALL_ACTIONS    0x1FFU

#define NO_CONNECT 0x1U
#define NO_HELO	   0x2U
#define NO_MAIL	   0x4U
#define NO_RCPT	   0x8U
#define NO_BODY	   0x10U
#define NO_HEADERS 0x20U
#define NO_EOH	   0x40U
#define NR_HEADER  0x80U
#define NO_UNKNOWN 0x100U
#define NO_DATA	   0x200U
#define HAS_SKIP   0x400U
#define NR_CONNECT 0x1000U
#define NR_HELO	   0x2000U
#define NR_MAIL	   0x4000U
#define NR_RCPT	   0x8000U
#define NR_DATA	   0x10000U
#define NR_UNKNOWN 0x20000U
#define NR_EOH	   0x40000U
#define NR_BODY	   0x80000U
#define LEAD_SPACE 0x100000U

#define ALL_STEPS                                                                                  \
	(NO_CONNECT | NO_HELO | NO_MAIL | NO_RCPT | NO_BODY | NO_HEADERS | NO_EOH | NR_HEADER |    \
	 NO_UNKNOWN | NO_DATA | HAS_SKIP | NR_CONNECT | NR_HELO | NR_MAIL | NR_RCPT | NR_DATA |    \
	 NR_UNKNOWN | NR_EOH | NR_BODY | LEAD_SPACE)

#define BODY_MAX 65535

enum stage {
	AT_OPTIONS,
	AT_CONNECT,
	AT_HELO,
	AT_MAIL,
	AT_RCPT,
	AT_DATA,
	AT_FIELDS,
	AT_EOH,
	AT_BODY,
	AT_END,
	AT_VERDICT,
};

struct state {
	enum stage stage; /* what is to be said next */
	char waits_for;	  /* letter of the packet whose reply is not there, or 0 */
	uint32_t steps;	  /* of ALL_STEPS, that the milter wants */
	size_t recipient;
	bool has_recipient; /* one is not refused */
	bool is_refused;    /* one was, the first of them with: */
	enum scan_action refusal;
	char refusal_text[REPLY_TEXT_MAX];
	bool is_quarantined;
	char quarantine_text[REPLY_TEXT_MAX];
	bool is_skipping; /* the body */
	struct milter_reply reply;
	size_t raw_from, raw_size;
	uint8_t raw[SCAN_PIECE_MAX]; /* of the mail, not said yet */
	struct peer_fields fields;
};

/* ---- packets ---- */

#define HEAD_SIZE 5

/* Where size bytes of data are to be written, of a packet that goes out then. NULL: it has failed. */
static uint8_t *add_packet(struct peer *peer, char letter, size_t size)
{
	uint8_t *packet = peer_make(peer, HEAD_SIZE + size);
	if (packet == NULL) {
		peer_fail(peer, "a packet was too long");
		return NULL;
	}
	bytes_put32(&packet, (uint32_t)size + 1);
	*packet++ = (uint8_t)letter;
	peer_made(peer, HEAD_SIZE + size);
	return packet;
}

/* A text with its NUL. */
static void add_text(struct peer *peer, char letter, const char *text)
{
	const size_t size = strlen(text) + 1;
	uint8_t *data = add_packet(peer, letter, size);
	if (data != NULL)
		memcpy(data, text, size);
}

/* One macro, for the command that follows; there is no reply to it. */
static void add_macro(struct peer *peer, char command, const char *name, const char *value)
{
	const size_t name_size = strlen(name) + 1;
	const size_t value_size = value == NULL ? 0 : strlen(value) + 1;
	uint8_t *data = value == NULL ? NULL : add_packet(peer, 'D', 1 + name_size + value_size);
	if (data == NULL)
		return;
	data[0] = (uint8_t)command;
	memcpy(data + 1, name, name_size);
	memcpy(data + 1 + name_size, value, value_size);
}

/* no_reply: the milter's word for that it says nothing to this. */
static bool await(struct state *state, char letter, uint32_t no_reply)
{
	if ((state->steps & no_reply) == 0)
		state->waits_for = letter;
	return true;
}

/* ---- the envelope; each function says whether it has made a packet ---- */

static bool say_options(struct peer *peer, struct state *state)
{
	uint8_t *data = add_packet(peer, 'O', 12);
	if (data == NULL)
		return false;
	bytes_put32(&data, VERSION);
	bytes_put32(&data, ALL_ACTIONS);
	bytes_put32(&data, ALL_STEPS);
	return await(state, 'O', 0);
}

/* Its name, which is not known, is its address in brackets, as mail servers have it then. */
static bool say_connect(struct peer *peer, struct state *state)
{
	const char *client = peer->envelope.client;
	char name[80];
	if ((state->steps & NO_CONNECT) != 0)
		return false;
	snprintf(name, sizeof(name), client == NULL ? "localhost" : "[%s]", client);
	const size_t name_size = strlen(name) + 1;
	const size_t client_size = client == NULL ? 0 : 2 + strlen(client) + 1;
	add_macro(peer, 'C', "{client_addr}", client);
	uint8_t *data = add_packet(peer, 'C', name_size + 1 + client_size);
	if (data == NULL)
		return false;
	memcpy(data, name, name_size);
	data += name_size;
	if (client == NULL) {
		data[0] = 'U';
	} else {
		data[0] = strchr(client, ':') != NULL ? '6' : '4';
		data[1] = data[2] = 0; /* the port, which is not known */
		memcpy(data + 3, client, strlen(client) + 1);
	}
	return await(state, 'C', NR_CONNECT);
}

static bool say_helo(struct peer *peer, struct state *state)
{
	if ((state->steps & NO_HELO) != 0 || peer->envelope.helo == NULL)
		return false;
	add_text(peer, 'H', peer->envelope.helo);
	return await(state, 'H', NR_HELO);
}

#define ADDRESS_SIZE 1024

/* With <>. */
static bool say_address(struct peer *peer, char letter, const char *address)
{
	char path[ADDRESS_SIZE];
	const int size = snprintf(path, sizeof(path), "<%s>", address);
	if (size >= (int)sizeof(path)) {
		peer_fail(peer, "an address was too long");
		return false;
	}
	add_text(peer, letter, path);
	return true;
}

static bool say_mail(struct peer *peer, struct state *state)
{
	const char *sender = peer->envelope.sender == NULL ? "" : peer->envelope.sender;
	if ((state->steps & NO_MAIL) != 0)
		return false;
	add_macro(peer, 'M', "i", peer->envelope.id);
	add_macro(peer, 'M', "{mail_addr}", sender);
	return say_address(peer, 'M', sender) && await(state, 'M', NR_MAIL);
}

/* The next one. */
static bool say_rcpt(struct peer *peer, struct state *state)
{
	const char *recipient = peer->envelope.recipients[state->recipient++];
	if ((state->steps & (NO_RCPT | NR_RCPT)) != 0)
		state->has_recipient = true;
	if ((state->steps & NO_RCPT) != 0)
		return false;
	add_macro(peer, 'R', "{rcpt_addr}", recipient);
	return say_address(peer, 'R', recipient) && await(state, 'R', NR_RCPT);
}

static bool say_data(struct peer *peer, struct state *state)
{
	if (state->is_refused && !state->has_recipient) {
		peer_finish(peer, state->refusal, false, state->refusal_text);
		return false;
	}
	if ((state->steps & NO_DATA) != 0)
		return false;
	add_macro(peer, 'T', "i", peer->envelope.id);
	return add_packet(peer, 'T', 0) != NULL && await(state, 'T', NR_DATA);
}

/* ---- the mail ---- */

static void use_raw(struct state *state, size_t size)
{
	state->raw_from += size;
	state->raw_size -= size;
}

/* One blank behind the colon is the mail server's, unless the milter wants it. */
static bool say_field(struct peer *peer, struct state *state)
{
	const struct peer_fields *fields = &state->fields;
	const char *value = fields->text + fields->value_from;
	size_t size = fields->size - fields->value_from;
	if ((state->steps & NO_HEADERS) != 0)
		return false;
	if ((state->steps & LEAD_SPACE) == 0 && size > 0 && value[0] == ' ') {
		value++;
		size--;
	}
	uint8_t *data = add_packet(peer, 'L', fields->name_size + 1 + size + 1);
	if (data == NULL)
		return false;
	memcpy(data, fields->text, fields->name_size);
	data[fields->name_size] = '\0';
	memcpy(data + fields->name_size + 1, value, size);
	data[fields->name_size + 1 + size] = '\0';
	return await(state, 'L', NR_HEADER);
}

/* One field, if there is one. The stage goes on when there are no more. */
static bool say_fields(struct peer *peer, struct state *state)
{
	size_t used = 0;
	enum fields_step step = peer_fields_push(&state->fields, state->raw + state->raw_from,
						 state->raw_size, &used);
	use_raw(state, used);
	if (step == FIELDS_MORE && peer->is_ended)
		step = peer_fields_end(&state->fields);
	if (step == FIELDS_BODY)
		state->stage = AT_EOH;
	return step == FIELDS_FIELD && say_field(peer, state);
}

static bool say_eoh(struct peer *peer, struct state *state)
{
	if ((state->steps & NO_EOH) != 0)
		return false;
	return add_packet(peer, 'N', 0) != NULL && await(state, 'N', NR_EOH);
}

/* What the fields have left of a line that was none, and then the rest. */
static bool say_body(struct peer *peer, struct state *state)
{
	const bool is_rest = state->fields.size > 0;
	const void *bytes = is_rest ? (const void *)state->fields.text
				    : (const void *)(state->raw + state->raw_from);
	size_t size = is_rest ? state->fields.size : state->raw_size;
	size = size < BODY_MAX ? size : BODY_MAX;
	const bool is_wanted = (state->steps & NO_BODY) == 0 && !state->is_skipping && size > 0;
	uint8_t *data = is_wanted ? add_packet(peer, 'B', size) : NULL;
	if (data != NULL)
		memcpy(data, bytes, size);
	if (is_rest)
		state->fields.size = 0;
	else
		use_raw(state, size);
	if (size == 0 && peer->is_ended)
		state->stage = AT_END;
	return data != NULL && await(state, 'B', NR_BODY);
}

static bool say_end(struct peer *peer, struct state *state)
{
	add_macro(peer, 'E', "i", peer->envelope.id);
	return add_packet(peer, 'E', 0) != NULL && await(state, 'E', 0);
}

/* One of the steps between the options and the fields, or behind them, and to the next. */
static bool say_step(struct peer *peer, struct state *state)
{
	const enum stage stage = state->stage;
	if (stage != AT_RCPT || state->recipient == peer->envelope.recipient_count)
		state->stage++;
	switch (stage) {
	case AT_OPTIONS:
		return say_options(peer, state);
	case AT_CONNECT:
		return say_connect(peer, state);
	case AT_HELO:
		return say_helo(peer, state);
	case AT_MAIL:
		return say_mail(peer, state);
	case AT_RCPT:
		return state->stage == AT_RCPT && say_rcpt(peer, state);
	case AT_DATA:
		return say_data(peer, state);
	case AT_EOH:
		return say_eoh(peer, state);
	case AT_END:
		return say_end(peer, state);
	case AT_FIELDS:
	case AT_BODY:
	case AT_VERDICT:
		break;
	}
	return false;
}

static bool has_to_say(const struct peer *peer, const struct state *state)
{
	const bool has_bytes = state->raw_size > 0 || peer->is_ended;
	if (peer->end != PEER_OPEN || state->waits_for != 0 || state->stage == AT_VERDICT)
		return false;
	return has_bytes || (state->stage != AT_FIELDS && state->stage != AT_BODY);
}

static bool produce(struct peer *peer)
{
	struct state *state = peer->state;
	bool has_said = false;
	while (!has_said && has_to_say(peer, state)) {
		if (state->stage == AT_FIELDS)
			has_said = say_fields(peer, state);
		else if (state->stage == AT_BODY)
			has_said = say_body(peer, state);
		else
			has_said = say_step(peer, state);
	}
	return has_said;
}

/* ---- replies ---- */

static void refuse(struct peer *peer, struct state *state, enum scan_action action,
		   const char *text)
{
	if (state->waits_for != 'R') {
		peer_finish(peer, action, false, text);
		return;
	}
	if (!state->is_refused) {
		state->refusal = action;
		snprintf(state->refusal_text, sizeof(state->refusal_text), "%s", text);
	}
	state->is_refused = true;
	state->waits_for = 0;
}

static void refuse_by_code(struct peer *peer, struct state *state)
{
	unsigned code;
	char text[REPLY_TEXT_MAX];
	if (milter_reply_code(&state->reply, &code, text))
		refuse(peer, state, code < 500 ? SCAN_DEFER : SCAN_REJECT, text);
	else
		peer_fail(peer, "reply code is none");
}

static void accept_mail(struct peer *peer, const struct state *state)
{
	if (state->is_quarantined)
		peer_finish(peer, SCAN_REJECT, true, state->quarantine_text);
	else
		peer_finish(peer, SCAN_ACCEPT, false, "");
}

static void go_on(struct peer *peer, struct state *state)
{
	if (state->waits_for == 'R')
		state->has_recipient = true;
	if (state->waits_for == 'E')
		accept_mail(peer, state);
	state->waits_for = 0;
}

static void take_options(struct peer *peer, struct state *state)
{
	uint32_t numbers[3];
	if (state->reply.letter != 'O' || !milter_reply_options(&state->reply, numbers)) {
		peer_fail(peer, "no reply to the negotiation");
	} else if (numbers[0] < VERSION_OLDEST || numbers[0] > VERSION) {
		peer_fail(peer, "version %u of the protocol", numbers[0]);
	} else if ((numbers[2] & ~ALL_STEPS) != 0) {
		peer_fail(peer, "steps %#x of the protocol were not offered", numbers[2]);
	} else {
		state->steps = numbers[2];
		state->waits_for = 0;
	}
}

/* Of a mail's end: headers, the body, addresses, which are not changed here. */
static bool is_change(char letter)
{
	return letter != '\0' && strchr("+2-bemhiq", letter) != NULL;
}

static void take_change(struct state *state)
{
	if (state->reply.letter != 'q')
		return;
	const uint8_t *data = state->reply.data;
	const size_t size = milter_reply_kept(&state->reply);
	state->is_quarantined = true;
	reply_copy_text(data, strnlen((const char *)data, size), state->quarantine_text);
}

static void take_reply(struct peer *peer, struct state *state)
{
	const char letter = state->reply.letter;
	if (state->waits_for == 'O') {
		take_options(peer, state);
	} else if (state->waits_for == 0) {
		peer_fail(peer, "a reply came that was not asked for");
	} else if (letter == 'c') {
		go_on(peer, state);
	} else if (letter == 'a') {
		accept_mail(peer, state);
	} else if (letter == 'r') {
		refuse(peer, state, SCAN_REJECT, "rejected by policy");
	} else if (letter == 't' || letter == '4' || letter == 'f') {
		refuse(peer, state, SCAN_DEFER, "not now, by policy");
	} else if (letter == 'd') {
		peer_finish(peer, SCAN_REJECT, false, "rejected by policy");
	} else if (letter == 'y') {
		refuse_by_code(peer, state);
	} else if (letter == 's' && state->waits_for == 'B') {
		state->is_skipping = true;
		state->waits_for = 0;
	} else if (state->waits_for == 'E' && is_change(letter)) {
		take_change(state);
	} else if (letter != 'p') {
		peer_fail(peer, "a reply that does not belong there");
	}
}

static void take(struct peer *peer, const uint8_t *bytes, size_t size)
{
	struct state *state = peer->state;
	if (size == 0)
		peer_fail(peer, "connection was closed");
	while (size > 0 && peer->end == PEER_OPEN) {
		size_t used;
		const enum reply_status status =
			milter_reply_push(&state->reply, bytes, size, &used);
		if (status == REPLY_BAD)
			peer_fail(peer, "a packet's size is none");
		else if (status == REPLY_WHOLE)
			take_reply(peer, state);
		bytes += used;
		size -= used;
	}
}

/* ---- bytes of the mail ---- */

static void push(struct peer *peer, const uint8_t *bytes, size_t size)
{
	struct state *state = peer->state;
	memcpy(state->raw, bytes, size);
	state->raw_from = 0;
	state->raw_size = size;
}

static bool has_kept(const struct peer *peer)
{
	const struct state *state = peer->state;
	return state->raw_size > 0;
}

/* It need not come across. */
static void leave(struct peer *peer)
{
	static const uint8_t quit[HEAD_SIZE] = { 0, 0, 0, 1, 'Q' };
	peer_send(peer, quit, sizeof(quit), NULL, 0, NULL, 0);
}

const struct peer_kind peer_milter = {
	.state_size = sizeof(struct state),
	.push = push,
	.take = take,
	.produce = produce,
	.has_kept = has_kept,
	.leave = leave,
};
