/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mailtalk_replies.c - what clients hear: replies of the next hop, read and written again, and ours.
 */
#include <stdio.h>
#include <string.h>

#include "integration/mail/mail-proxy/smtp/mailtalk_parts.h"
#include "lib/smtp/reply.h"
#include "lib/wire/mechanism.h"
#include "lib/wire/word.h"

/* A line of a reply, the longest of ours, and what EHLO adds. */
#define ROOM_OF_LINE (REPLIES_TEXT_SIZE + REPLY_MAX)

/* ---- to the client ---- */

static void put_line(struct mailtalk_io *io, int code, char separator, const char *text)
{
	char *out = (char *)io->to_client + io->to_client_size;
	const int size =
		snprintf(out, mailtalk_client_room(io), "%03d%c%s\r\n", code, separator, text);
	/* What is no text is not passed on: nothing may look like another line. */
	for (char *c = out + 4; *c != '\0' && c < out + size - 2; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	io->to_client_size += (size_t)size;
}

static void put_ours(struct mailtalk_io *io, int code, const char *text)
{
	char reply[REPLY_MAX];
	const size_t size = reply_make(code, text, reply);
	memcpy(io->to_client + io->to_client_size, reply, size);
	io->to_client_size += size;
}

/* ---- EHLO ---- */

struct offer {
	const char *name;
	unsigned bit;	    /* of talk->offered */
	unsigned extension; /* that is not withheld any more */
	bool is_of_filter;
	bool is_kept; /* in the reply */
};

static const struct offer offers[] = {
	{ "SIZE", MAILTALK_OFFERS_SIZE, 0, false, true },
	{ "8BITMIME", 0, ENVELOPE_EXTENSION_8BITMIME, false, true },
	{ "SMTPUTF8", 0, ENVELOPE_EXTENSION_SMTPUTF8, false, true },
	{ "DSN", 0, ENVELOPE_EXTENSION_DSN, false, true },
	{ "ENHANCEDSTATUSCODES", 0, 0, false, true },
	{ "AUTH", MAILTALK_OFFERS_AUTH, 0, false, true },
	{ "XCLIENT", MAILTALK_OFFERS_XCLIENT, 0, true, true },
	{ "XFORWARD", MAILTALK_OFFERS_XFORWARD, 0, true, true },
	{ "STARTTLS", MAILTALK_OFFERS_STARTTLS, 0, false, false },
	{ "PIPELINING", MAILTALK_OFFERS_PIPELINING, 0, false, false },
};

static const struct offer *find_offer(const struct mailtalk *talk, const char *text)
{
	const size_t size = strcspn(text, " ");
	for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++)
		if (word_is(text, size, offers[i].name))
			return !offers[i].is_of_filter || talk->rules->is_filter ? &offers[i]
										 : NULL;
	return NULL;
}

/* The smaller of the next hop's limit and ours; 0 is none. */
static void put_size(const struct mailtalk *talk, struct mailtalk_io *io, const char *text)
{
	char line[64];
	unsigned long long size = 0;
	const unsigned long long own = talk->rules->size_max;
	if (sscanf(text + strlen("SIZE"), " %19llu", &size) != 1)
		size = 0;
	if (own > 0 && (size == 0 || own < size))
		size = own;
	snprintf(line, sizeof(line), "SIZE %llu", size);
	put_line(io, 250, '-', line);
}

/* "AUTH" with those of its mechanisms that may be passed on. False: there is none. */
static bool pick_mechanisms(const char *text, char *ret_line)
{
	size_t size = (size_t)snprintf(ret_line, REPLIES_TEXT_SIZE, "AUTH");
	const size_t bare = size;
	const char *word = text + strcspn(text, " ");
	while (*word != '\0') {
		word += strspn(word, " ");
		const size_t word_size = strcspn(word, " ");
		const char *mechanism = mechanism_find(word, word_size);
		/* No longer than the text is. */
		if (mechanism != NULL)
			size += (size_t)snprintf(ret_line + size, REPLIES_TEXT_SIZE - size, " %s",
						 mechanism);
		word += word_size;
	}
	return size > bare;
}

/* A line behind the first. */
static void take_offer(struct mailtalk *talk, struct mailtalk_io *io, bool is_said)
{
	char line[REPLIES_TEXT_SIZE];
	const char *text = talk->replies.text;
	const struct offer *offer = find_offer(talk, text);
	if (offer == NULL)
		return;
	if (offer->bit == MAILTALK_OFFERS_AUTH) {
		if (!pick_mechanisms(text, line))
			return;
		text = line;
	}
	talk->offered |= offer->bit;
	talk->withheld &= ~offer->extension;
	const bool is_barred = offer->bit == MAILTALK_OFFERS_AUTH && mailtalk_bars_logins(talk);
	if (!is_said || !offer->is_kept || is_barred)
		return;
	if (offer->bit == MAILTALK_OFFERS_SIZE)
		put_size(talk, io, text);
	else
		put_line(io, 250, '-', text);
}

static bool offers_tls(const struct mailtalk *talk)
{
	if (talk->rules->offers_tls)
		return !talk->is_secure;
	return talk->rules->passes_tls && (talk->offered & MAILTALK_OFFERS_STARTTLS) != 0;
}

static void pass_ehlo(struct mailtalk *talk, struct mailtalk_io *io, bool is_end)
{
	const struct replies *replies = &talk->replies;
	if (replies->code != 250) {
		put_line(io, replies->code, is_end ? ' ' : '-', replies->text);
		return;
	}
	if (replies->line_count == 1) {
		talk->offered = 0;
		talk->withheld = ENVELOPE_EXTENSION_ALL;
		put_line(io, 250, '-', replies->text);
	} else {
		take_offer(talk, io, true);
	}
	if (!is_end)
		return;
	if (talk->rules->size_max > 0 && (talk->offered & MAILTALK_OFFERS_SIZE) == 0)
		put_size(talk, io, "SIZE");
	if (offers_tls(talk))
		put_line(io, 250, '-', "STARTTLS");
	put_line(io, 250, '-', "PIPELINING");
	put_line(io, 250, ' ', "CHUNKING");
}

/* ---- whole replies ---- */

static bool is_good(const struct mailtalk *talk)
{
	return talk->replies.code >= 200 && talk->replies.code <= 299;
}

static void pop(struct mailtalk *talk)
{
	talk->pending_first = (talk->pending_first + 1) % MAILTALK_PENDING_MAX;
	talk->pending_count--;
}

static void say_helo_again(struct mailtalk *talk, struct mailtalk_io *io)
{
	const char *verb = talk->rules->is_lmtp ? "LHLO" : talk->is_esmtp ? "EHLO" : "HELO";
	mailtalk_say(io, "%s %s\r\n", verb, talk->helo);
}

static void end_greeting(struct mailtalk *talk, struct mailtalk_io *io, bool is_again)
{
	if (talk->replies.code != 220) {
		if (is_again)
			mailtalk_lose(talk, "4.3.2 Next hop takes no more mails now");
		else
			talk->then = MAILTALK_AT_CLOSED;
		return;
	}
	if (is_again && talk->pending_count > 1)
		say_helo_again(talk, io);
}

static void end_rcpt(struct mailtalk *talk, const struct mailtalk_pending *pending)
{
	if (is_good(talk))
		talk->recipient_count++;
	else if (pending->place != MAILTALK_NO_PLACE)
		talk->list[pending->place] = MAILTALK_LIST_REFUSED;
}

static void end_data(struct mailtalk *talk, bool is_chunked)
{
	const struct replies *replies = &talk->replies;
	if (replies->code == 354)
		return;
	if (is_chunked) {
		mailtalk_fail(talk, MAILTALK_REFUSED, replies->code, replies->text);
		return;
	}
	talk->wants_scan_drop = talk->is_scanning;
	talk->is_scanning = false;
	talk->refused_count++;
	mailtalk_set_outcome(talk, MAILTALK_REFUSED, replies->code, replies->text);
	talk->is_kept = true;
	talk->then = MAILTALK_AT_COMMAND;
}

/* One of the replies to a mail's end: LMTP has one for each recipient. False: there are more. */
static bool end_end(struct mailtalk *talk)
{
	const struct replies *replies = &talk->replies;
	if (is_good(talk) || !talk->has_accepted)
		mailtalk_set_outcome(talk,
				     is_good(talk) || talk->has_accepted ? MAILTALK_ACCEPTED
									 : MAILTALK_REFUSED,
				     replies->code, replies->text);
	talk->wants_mail = false;
	talk->has_accepted = talk->has_accepted || is_good(talk);
	talk->end_count--;
	if (talk->end_count > 0)
		return false;
	talk->wants_mail = true;
	talk->mail_count += talk->has_accepted ? 1 : 0;
	talk->refused_count += talk->has_accepted ? 0 : 1;
	return true;
}

static void end_auth(struct mailtalk *talk)
{
	if (talk->replies.code == 334)
		talk->then = MAILTALK_AT_AUTH;
	else if (is_good(talk))
		talk->is_bound = true;
}

static void end_xclient(struct mailtalk *talk)
{
	if (!is_good(talk))
		return;
	talk->is_bound = true;
	talk->helo[0] = '\0';
	mailtalk_reset(talk);
}

static void end_helo(struct mailtalk *talk, bool is_esmtp)
{
	if (!is_good(talk))
		return;
	talk->is_esmtp = is_esmtp;
	if (!is_esmtp)
		talk->offered = talk->withheld = 0; /* the next hop knows what it takes */
	mailtalk_reset(talk);
}

/* Of the first that is waited for. */
static void end_reply(struct mailtalk *talk, struct mailtalk_io *io)
{
	const struct mailtalk_pending pending = talk->pending[talk->pending_first];
	talk->steps++;
	/* A mail server asks for recipients of others, and may have many that are refused. */
	if (talk->replies.code >= 400 && !talk->rules->is_lmtp && !talk->rules->is_filter)
		talk->error_count++;
	switch ((enum mailtalk_kind)pending.kind) {
	case MAILTALK_GREETING:
	case MAILTALK_GREETING_AGAIN:
		end_greeting(talk, io, pending.kind == MAILTALK_GREETING_AGAIN);
		break;
	case MAILTALK_HELO_AGAIN:
		if (!is_good(talk))
			mailtalk_lose(talk, "4.3.2 Next hop takes no more mails now");
		break;
	case MAILTALK_HELO:
	case MAILTALK_EHLO:
		end_helo(talk, pending.kind == MAILTALK_EHLO);
		break;
	case MAILTALK_TO_MAIL:
		talk->is_in_mail = talk->is_in_mail || is_good(talk);
		break;
	case MAILTALK_TO_RCPT:
		end_rcpt(talk, &pending);
		break;
	case MAILTALK_TO_RSET:
		mailtalk_reset(talk);
		break;
	case MAILTALK_TO_DATA:
	case MAILTALK_TO_DATA_OF_BDAT:
		end_data(talk, pending.kind == MAILTALK_TO_DATA_OF_BDAT);
		break;
	case MAILTALK_TO_END:
		if (!end_end(talk))
			return;
		break;
	case MAILTALK_TO_AUTH:
		end_auth(talk);
		break;
	case MAILTALK_TO_XCLIENT:
		end_xclient(talk);
		break;
	case MAILTALK_TO_STARTTLS:
		if (is_good(talk))
			talk->then = MAILTALK_AT_TUNNEL;
		break;
	case MAILTALK_TO_QUIT:
	case MAILTALK_TO_OTHER:
	case MAILTALK_OURS:
	case MAILTALK_FAILURE:
		break;
	}
	/* One that is lost has taken all that was waited for with it. */
	if (talk->pending_count > 0 && talk->pending[talk->pending_first].kind == pending.kind)
		pop(talk);
}

static void pass_line(struct mailtalk *talk, struct mailtalk_io *io, bool is_end)
{
	const struct replies *replies = &talk->replies;
	switch ((enum mailtalk_kind)talk->pending[talk->pending_first].kind) {
	case MAILTALK_GREETING_AGAIN:
	case MAILTALK_TO_DATA_OF_BDAT:
		break;
	case MAILTALK_HELO_AGAIN:
		if (replies->line_count == 1) {
			talk->offered = 0;
			talk->withheld = ENVELOPE_EXTENSION_ALL;
		} else {
			take_offer(talk, io, false);
		}
		break;
	case MAILTALK_EHLO:
		pass_ehlo(talk, io, is_end);
		talk->is_reply_open = !is_end;
		break;
	default:
		put_line(io, replies->code, is_end ? ' ' : '-', replies->text);
		talk->is_reply_open = !is_end;
		break;
	}
}

/* ---- turns ---- */

static void say_ours(struct mailtalk *talk, struct mailtalk_io *io)
{
	const struct mailtalk_pending *pending = &talk->pending[talk->pending_first];
	talk->steps++;
	if (pending->kind == MAILTALK_OURS) {
		put_ours(io, pending->code, pending->text);
		pop(talk);
		return;
	}
	put_ours(io, talk->fail_code, talk->fail_text);
	if (talk->end_count > 1) {
		talk->end_count--;
		return;
	}
	talk->fail_code = 0;
	pop(talk);
}

/* A reply of 3xx answers AUTH and DATA alone, and one of 2xx never DATA: a client may begin its mail behind it. */
static bool is_answer(const struct mailtalk *talk)
{
	const enum mailtalk_kind kind = talk->pending[talk->pending_first].kind;
	const int code = talk->replies.code;
	if (kind == MAILTALK_TO_DATA || kind == MAILTALK_TO_DATA_OF_BDAT)
		return code == 354 || code >= 400;
	return code < 300 || code >= 400 || (code == 334 && kind == MAILTALK_TO_AUTH);
}

/* False: there is nothing more, now. */
static bool read_reply(struct mailtalk *talk, struct mailtalk_io *io)
{
	const size_t left = io->server_size - io->server_used;
	size_t used = 0;
	if (left == 0) {
		if (io->is_server_ended)
			mailtalk_lose(talk, "4.4.2 Next hop has broken off, try again later");
		return false;
	}
	const enum replies_status status =
		replies_feed(&talk->replies, io->server + io->server_used, left, &used);
	io->server_used += used;
	if (status == REPLIES_MORE)
		return true;
	if (status == REPLIES_BROKEN || !is_answer(talk)) {
		mailtalk_lose(talk, "4.5.0 Next hop has said what is no reply");
		return false;
	}
	/* Without its end it would be another. */
	if (talk->replies.code == 334 && talk->replies.is_full) {
		talk->has_long_challenge = true;
		mailtalk_lose(talk, "4.7.0 Challenge longer than is passed on");
		return false;
	}
	pass_line(talk, io, status == REPLIES_END);
	if (status == REPLIES_END)
		end_reply(talk, io);
	return !talk->wants_drop;
}

/*
 * It has gone while nothing was waited for, or says what it was not asked for, such as 421 when it is to
 * end, or a second reply to one command. That would be taken for the reply to the next command, and each
 * reply from there on for that of another: nothing more is said on this connection. A mail that begins
 * now has mailtalk_replies_early().
 */
static void drop_unasked(struct mailtalk *talk, const struct mailtalk_io *io)
{
	const bool is_due = talk->pending_count > 0 || talk->at == MAILTALK_AT_ANSWER ||
			    talk->at == MAILTALK_AT_TUNNEL;
	if (is_due || !talk->has_server ||
	    (!io->is_server_ended && io->server_used == io->server_size))
		return;
	mailtalk_drop(talk);
	/* Of a mail whose chunks have come in part: it will not be accepted. */
	talk->wants_scan_drop = talk->wants_scan_drop || talk->is_scanning;
	talk->is_scanning = false;
}

void mailtalk_replies_pass(struct mailtalk *talk, struct mailtalk_io *io)
{
	bool has_more = true;
	if (talk->pending_count > 0 && !mailtalk_is_ours(&talk->pending[talk->pending_first]) &&
	    !talk->has_server && !talk->is_connecting && !talk->wants_connect)
		mailtalk_lose(talk, "4.4.2 Next hop has broken off, try again later");
	while (has_more && talk->pending_count > 0 && mailtalk_client_room(io) >= ROOM_OF_LINE) {
		if (mailtalk_is_ours(&talk->pending[talk->pending_first])) {
			say_ours(talk, io);
		} else {
			/* What is said again, to one that is there. */
			has_more = talk->has_server &&
				   (io->is_server_ended || mailtalk_server_room(io) >= REPLY_MAX) &&
				   read_reply(talk, io);
		}
	}
	drop_unasked(talk, io);
}

void mailtalk_replies_early(struct mailtalk *talk, struct mailtalk_io *io)
{
	while (talk->has_server) {
		const size_t left = io->server_size - io->server_used;
		size_t used = 0;
		if (left == 0) {
			if (io->is_server_ended)
				mailtalk_lose(talk,
					      "4.4.2 Next hop has broken off, try again later");
			return;
		}
		const enum replies_status status =
			replies_feed(&talk->replies, io->server + io->server_used, left, &used);
		io->server_used += used;
		if (status == REPLIES_BROKEN || (status == REPLIES_END && talk->replies.code < 400))
			mailtalk_lose(talk, "4.5.0 Next hop has said what is no reply");
		else if (status == REPLIES_END)
			mailtalk_break(talk, MAILTALK_REFUSED, talk->replies.code,
				       talk->replies.text);
	}
}
