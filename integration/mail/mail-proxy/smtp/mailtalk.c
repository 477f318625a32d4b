/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/smtp/mailtalk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "integration/mail/mail-proxy/smtp/mailtalk_parts.h"

#define ROOM_OF_LINE 15500 /* of what is written to the next hop: above the longest line of AUTH */

/* ---- what is said ---- */

size_t mailtalk_client_room(const struct mailtalk_io *io)
{
	return io->to_client_room - io->to_client_size;
}

size_t mailtalk_server_room(const struct mailtalk_io *io)
{
	return io->to_server_room - io->to_server_size;
}

void mailtalk_say(struct mailtalk_io *io, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const size_t room = mailtalk_server_room(io);
	const int size =
		vsnprintf((char *)io->to_server + io->to_server_size, room, format, arguments);
	va_end(arguments);
	if (size > 0 && (size_t)size < room)
		io->to_server_size += (size_t)size;
}

void mailtalk_push(struct mailtalk *talk, enum mailtalk_kind kind, int code, const char *text)
{
	const unsigned place = (talk->pending_first + talk->pending_count) % MAILTALK_PENDING_MAX;
	talk->pending[place] =
		(struct mailtalk_pending){ .kind = kind, .code = code, .text = text };
	talk->pending_count++;
}

void mailtalk_answer_then(struct mailtalk *talk, enum mailtalk_at then)
{
	talk->at = MAILTALK_AT_ANSWER;
	talk->then = then;
}

void mailtalk_end_with(struct mailtalk *talk, int code, const char *text)
{
	mailtalk_push(talk, MAILTALK_OURS, code, text);
	mailtalk_answer_then(talk, MAILTALK_AT_CLOSED);
}

/* ---- mails that come to nothing ---- */

void mailtalk_reset(struct mailtalk *talk)
{
	talk->is_in_mail = false;
	talk->is_chunking = false;
	talk->is_utf8 = false;
	talk->recipient_count = 0;
	talk->spoilt_count = 0;
	talk->list_size = 0;
	talk->sender[0] = '\0';
}

void mailtalk_drop(struct mailtalk *talk)
{
	talk->wants_drop = talk->wants_drop || talk->has_server || talk->is_connecting;
	talk->has_server = false;
	talk->is_connecting = false;
	talk->wants_connect = false;
	replies_begin(&talk->replies);
}

static void drop_scan(struct mailtalk *talk)
{
	talk->wants_scan_drop = talk->wants_scan_drop || talk->is_scanning;
	talk->is_scanning = false;
}

void mailtalk_fail(struct mailtalk *talk, enum mailtalk_end end, int code, const char *text)
{
	if (talk->fail_code == 0) {
		talk->fail_code = code;
		talk->fail_end = end;
		snprintf(talk->fail_text, sizeof(talk->fail_text), "%s", text);
	}
	drop_scan(talk);
	mailtalk_drop(talk);
}

void mailtalk_set_outcome(struct mailtalk *talk, enum mailtalk_end end, int code, const char *text)
{
	struct mailtalk_outcome *outcome = &talk->outcome;
	outcome->end = end;
	outcome->code = code;
	outcome->recipient_count = talk->recipient_count;
	outcome->size = talk->body.size;
	snprintf(outcome->text, sizeof(outcome->text), "%s", text);
	talk->wants_mail = true;
}

static unsigned ends_of(const struct mailtalk *talk)
{
	return talk->rules->is_lmtp && talk->recipient_count > 0 ? talk->recipient_count : 1;
}

static void finish_failed(struct mailtalk *talk)
{
	const bool is_last = talk->fail_code == 521 || talk->fail_code == 421;
	talk->end_count = ends_of(talk);
	talk->refused_count++;
	mailtalk_set_outcome(talk, talk->fail_end, talk->fail_code, talk->fail_text);
	mailtalk_push(talk, MAILTALK_FAILURE, 0, NULL);
	mailtalk_answer_then(talk, is_last ? MAILTALK_AT_CLOSED : MAILTALK_AT_COMMAND);
}

/* ---- the end of a connection ---- */

static bool is_amid_mail(const struct mailtalk *talk)
{
	return talk->at == MAILTALK_AT_BODY || talk->at == MAILTALK_AT_CHUNK ||
	       talk->at == MAILTALK_AT_END || talk->at == MAILTALK_AT_JUDGED ||
	       talk->at == MAILTALK_AT_DOT;
}

/* The first reply that was waited for does not come. */
static void lose_reply(struct mailtalk *talk, const char *text)
{
	const enum mailtalk_kind kind = talk->pending[talk->pending_first].kind;
	const bool is_of_mail = kind == MAILTALK_TO_END || kind == MAILTALK_TO_DATA ||
				kind == MAILTALK_TO_DATA_OF_BDAT;
	const unsigned ends = talk->end_count;
	talk->pending_count = 0;
	if (!is_of_mail) {
		mailtalk_drop(talk);
		drop_scan(talk);
		if (talk->is_reply_open)
			talk->at = MAILTALK_AT_CLOSED;
		else
			mailtalk_end_with(talk, 421, text);
		return;
	}
	mailtalk_fail(talk, kind == MAILTALK_TO_END ? MAILTALK_UNKNOWN : MAILTALK_LOST, 451, text);
	if (kind == MAILTALK_TO_DATA_OF_BDAT) {
		talk->at = MAILTALK_AT_CHUNK; /* its bytes come all the same */
		return;
	}
	finish_failed(talk);
	/* DATA that is refused has one reply, and of a mail's replies some may have come. */
	talk->end_count = kind == MAILTALK_TO_END ? ends : 1;
	if (talk->is_reply_open) {
		talk->pending_count = 0;
		talk->at = MAILTALK_AT_CLOSED;
	}
}

void mailtalk_break(struct mailtalk *talk, enum mailtalk_end end, int code, const char *text)
{
	const bool is_whole = talk->at == MAILTALK_AT_JUDGED || talk->at == MAILTALK_AT_DOT;
	mailtalk_fail(talk, end, code, text);
	if (is_whole)
		finish_failed(talk);
}

void mailtalk_lose(struct mailtalk *talk, const char *text)
{
	if (is_amid_mail(talk)) {
		mailtalk_break(talk, MAILTALK_LOST, 451, text);
	} else if (talk->pending_count > 0) {
		lose_reply(talk, text);
	} else {
		mailtalk_drop(talk);
	}
}

static void lose_client(struct mailtalk *talk)
{
	if (is_amid_mail(talk) || talk->is_chunking) {
		mailtalk_fail(talk, MAILTALK_CUT, 451, "4.4.2 Client is gone");
		mailtalk_set_outcome(talk, MAILTALK_CUT, 0, "");
		talk->fail_code = 0;
	}
	drop_scan(talk);
	mailtalk_drop(talk);
	talk->pending_count = 0;
	talk->at = MAILTALK_AT_CLOSED;
}

/* ---- the bytes of a mail ---- */

/* What comes out of as many bytes with dots doubled: lines of a dot alone grow most, by a third. */
static size_t piece_max(const struct mailtalk *talk, const struct mailtalk_io *io)
{
	const size_t left = io->client_size - io->client_used;
	const size_t room = mailtalk_server_room(io);
	size_t size =
		left < io->scratch_room - BODY_END_MAX ? left : io->scratch_room - BODY_END_MAX;
	if (talk->fail_code != 0)
		return size;
	const size_t fit = room > 16 ? (room - 16) / 4 * 3 : 0;
	return size < fit ? size : fit;
}

static void put_dotted(struct mailtalk *talk, struct mailtalk_io *io, const uint8_t *bytes,
		       size_t size)
{
	uint8_t *out = io->to_server + io->to_server_size;
	const uint8_t *const end = bytes + size;
	while (bytes < end) {
		const uint8_t *lf = memchr(bytes, '\n', (size_t)(end - bytes));
		const uint8_t *next = lf != NULL ? lf + 1 : end;
		if (!talk->is_line_begun && *bytes == '.')
			*out++ = '.';
		memcpy(out, bytes, (size_t)(next - bytes));
		out += next - bytes;
		talk->is_line_begun = lf == NULL;
		bytes = next;
	}
	io->to_server_size = (size_t)(out - io->to_server);
}

/* io->scratch has size bytes of the mail. */
static enum mailtalk_ask pass_piece(struct mailtalk *talk, struct mailtalk_io *io, size_t size)
{
	if (talk->fail_code == 0 && talk->body.refusal != BODY_FINE)
		mailtalk_fail(talk, MAILTALK_SPOILT, body_code(talk->body.refusal),
			      body_text(talk->body.refusal));
	if (talk->fail_code != 0 || size == 0)
		return MAILTALK_WAIT;
	put_dotted(talk, io, io->scratch, size);
	io->piece_size = size;
	return MAILTALK_SCAN_PUSH;
}

/* True: something was done, of which *ret_ask is to be told. */
static bool take_lines(struct mailtalk *talk, struct mailtalk_io *io, enum mailtalk_ask *ret_ask)
{
	size_t used = 0;
	size_t out_size = 0;
	const size_t size = piece_max(talk, io);
	if (size == 0)
		return false;
	const enum body_status status = body_take(&talk->body, io->client + io->client_used, size,
						  &used, io->scratch, &out_size);
	io->client_used += used;
	if (status != BODY_MORE)
		talk->at = MAILTALK_AT_END;
	*ret_ask = pass_piece(talk, io, out_size);
	return true;
}

/* All bytes of a chunk have come. */
static void end_chunk(struct mailtalk *talk)
{
	if (talk->is_last) {
		talk->at = MAILTALK_AT_END;
	} else if (talk->fail_code != 0) {
		finish_failed(talk);
		talk->end_count = 1;
		talk->spoilt_count = ends_of(talk);
	} else {
		talk->is_chunking = true;
		mailtalk_push(talk, MAILTALK_OURS, 250, "2.0.0 Chunk received");
		mailtalk_answer_then(talk, MAILTALK_AT_COMMAND);
	}
}

static bool take_chunk(struct mailtalk *talk, struct mailtalk_io *io, enum mailtalk_ask *ret_ask)
{
	size_t out_size = 0;
	size_t size = piece_max(talk, io);
	if (size > talk->chunk_left)
		size = (size_t)talk->chunk_left;
	if (size == 0 && talk->chunk_left > 0)
		return false;
	/* The end of a line that is added needs room, too. */
	if (talk->fail_code == 0 && mailtalk_server_room(io) < size + size / 3 + 16)
		return false;
	body_take_chunk(&talk->body, io->client + io->client_used, size, io->scratch, &out_size);
	io->client_used += size;
	talk->chunk_left -= size;
	if (talk->chunk_left == 0 && talk->is_last) {
		size_t end_size = 0;
		(void)body_end(&talk->body, io->scratch + out_size, &end_size);
		out_size += end_size;
	}
	*ret_ask = pass_piece(talk, io, out_size);
	if (talk->chunk_left == 0) {
		end_chunk(talk);
	} else if (talk->body.refusal != BODY_FINE && talk->chunk_left > MAILTALK_SKIP_MAX) {
		finish_failed(talk);
		talk->end_count = talk->is_last ? talk->end_count : 1;
		talk->then = MAILTALK_AT_CLOSED;
	}
	return true;
}

static bool swallow(struct mailtalk *talk, struct mailtalk_io *io)
{
	size_t size = io->client_size - io->client_used;
	if (size > talk->chunk_left)
		size = (size_t)talk->chunk_left;
	io->client_used += size;
	talk->chunk_left -= size;
	if (talk->chunk_left > 0)
		return size > 0;
	talk->error_count++;
	talk->fail_code = 503;
	snprintf(talk->fail_text, sizeof(talk->fail_text), "%s", talk->refusal);
	/* RFC 2033, 4.3: refused or not, the last chunk has the replies of its recipients. */
	talk->end_count = talk->is_last && talk->spoilt_count > 0 ? talk->spoilt_count : 1;
	if (talk->is_last)
		talk->spoilt_count = 0;
	mailtalk_push(talk, MAILTALK_FAILURE, 0, NULL);
	mailtalk_answer_then(talk, MAILTALK_AT_COMMAND);
	return true;
}

/* The mail is whole and its verdict good. */
static bool put_end(struct mailtalk *talk, struct mailtalk_io *io)
{
	if (mailtalk_server_room(io) < 16)
		return false;
	mailtalk_say(io, ".\r\n");
	talk->end_count = ends_of(talk);
	talk->has_accepted = false;
	mailtalk_push(talk, MAILTALK_TO_END, 0, NULL);
	mailtalk_answer_then(talk, MAILTALK_AT_COMMAND);
	return true;
}

/*
 * A whole mail whose client has ended, before its end was sent: the client has no reply, and sends it again,
 * so that the next hop would have it once for each time. RFC 5321, 4.1.1.10, cancels a transaction whose
 * connection is closed, which a reset says for certain. An end without one is the same: it is how a client goes
 * that is tired of waiting, and one that only has nothing more to say has QUIT behind its mail, which is not
 * read yet.
 */
static bool give_up(struct mailtalk *talk)
{
	lose_client(talk);
	return true;
}

/* ---- turns ---- */

/* What was decided, and is the caller's to do. */
static enum mailtalk_ask take_wish(struct mailtalk *talk)
{
	if (talk->wants_reset) {
		const unsigned spoilt_count = talk->spoilt_count;
		mailtalk_reset(talk);
		talk->spoilt_count = spoilt_count;
	}
	talk->wants_reset = false;
	bool *const wishes[] = { &talk->wants_scan_drop, &talk->wants_drop, &talk->wants_connect,
				 &talk->wants_mail };
	static const enum mailtalk_ask asks[] = { MAILTALK_SCAN_DROP, MAILTALK_DROP,
						  MAILTALK_CONNECT, MAILTALK_MAIL };
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		if (!*wishes[i])
			continue;
		*wishes[i] = false;
		if (asks[i] == MAILTALK_CONNECT)
			talk->is_connecting = true;
		if (asks[i] == MAILTALK_MAIL) {
			talk->wants_reset = !talk->is_kept;
			talk->is_kept = false;
		}
		return asks[i];
	}
	return MAILTALK_WAIT;
}

/* The next hop is to hear of a mail. */
static bool put_data(struct mailtalk *talk, struct mailtalk_io *io)
{
	const bool is_chunked = talk->at == MAILTALK_AT_BEGIN_CHUNKS;
	if (!talk->has_server) {
		mailtalk_fail(talk, MAILTALK_LOST, 451,
			      "4.4.2 Next hop has broken off, try again later");
		if (!is_chunked) {
			finish_failed(talk);
			talk->end_count = 1;
		}
		talk->at = is_chunked ? MAILTALK_AT_CHUNK : MAILTALK_AT_ANSWER;
		return true;
	}
	if (mailtalk_server_room(io) < 16)
		return false;
	mailtalk_say(io, "DATA\r\n");
	mailtalk_push(talk, is_chunked ? MAILTALK_TO_DATA_OF_BDAT : MAILTALK_TO_DATA, 0, NULL);
	mailtalk_answer_then(talk, is_chunked ? MAILTALK_AT_CHUNK : MAILTALK_AT_BODY);
	return true;
}

static bool end_answer(struct mailtalk *talk)
{
	if (talk->pending_count > 0)
		return false;
	talk->at = talk->then;
	return true;
}

static bool take_bytes(struct mailtalk *talk, struct mailtalk_io *io, enum mailtalk_ask *ret_ask)
{
	if (talk->at == MAILTALK_AT_SWALLOW)
		return swallow(talk, io);
	const bool is_chunk = talk->at == MAILTALK_AT_CHUNK;
	const bool has_taken =
		is_chunk ? take_chunk(talk, io, ret_ask) : take_lines(talk, io, ret_ask);
	talk->is_stuck = !has_taken &&
			 (io->client_used < io->client_size || (is_chunk && talk->chunk_left == 0));
	return has_taken;
}

/* No command of an ended client is unread: neither a part of a line nor an empty one is a command. */
static bool is_gone(const struct mailtalk_io *io)
{
	bool is_empty = true;
	if (!io->is_client_ended)
		return false;
	for (size_t i = io->client_used; i < io->client_size; i++) {
		if (io->client[i] == '\n' && !is_empty)
			return false;
		is_empty = is_empty && (io->client[i] == '\r' || io->client[i] == '\n');
	}
	return true;
}

static bool step(struct mailtalk *talk, struct mailtalk_io *io, enum mailtalk_ask *ret_ask)
{
	const bool is_over = io->is_client_ended && io->client_used == io->client_size;
	switch ((enum mailtalk_at)talk->at) {
	case MAILTALK_AT_ANSWER:
		return end_answer(talk);
	case MAILTALK_AT_COMMAND:
	case MAILTALK_AT_AUTH:
		if (mailtalk_commands_take(talk, io))
			return true;
		/* A part of a line is no command. */
		if (io->is_client_ended && talk->pending_count == 0 &&
		    (!talk->has_server || mailtalk_server_room(io) >= ROOM_OF_LINE)) {
			lose_client(talk);
			return true;
		}
		return false;
	case MAILTALK_AT_BODY:
	case MAILTALK_AT_CHUNK:
	case MAILTALK_AT_SWALLOW:
		if (take_bytes(talk, io, ret_ask))
			return true;
		if (is_over)
			lose_client(talk);
		return is_over;
	case MAILTALK_AT_END:
		if (talk->fail_code != 0) {
			finish_failed(talk);
		} else {
			talk->at = MAILTALK_AT_JUDGED;
			*ret_ask = MAILTALK_SCAN_END;
		}
		return true;
	case MAILTALK_AT_BEGIN_BODY:
	case MAILTALK_AT_BEGIN_CHUNKS:
		return put_data(talk, io);
	case MAILTALK_AT_DOT:
		return is_gone(io) ? give_up(talk) : put_end(talk, io);
	case MAILTALK_AT_JUDGED:
		return is_gone(io) && give_up(talk);
	case MAILTALK_AT_SCAN_ASKED:
	case MAILTALK_AT_TUNNEL:
	case MAILTALK_AT_TLS:
	case MAILTALK_AT_CLOSED:
		return false;
	}
	return false;
}

/* Said each time, for as long as the caller has not done it. */
static enum mailtalk_ask standing_ask(const struct mailtalk *talk)
{
	if (talk->at == MAILTALK_AT_SCAN_ASKED)
		return MAILTALK_SCAN_BEGIN;
	if (talk->at == MAILTALK_AT_TLS)
		return MAILTALK_TLS;
	if (talk->at == MAILTALK_AT_TUNNEL)
		return MAILTALK_TUNNEL;
	return talk->at == MAILTALK_AT_CLOSED ? MAILTALK_CLOSE : MAILTALK_WAIT;
}

enum mailtalk_ask mailtalk_turn(struct mailtalk *talk, struct mailtalk_io *io)
{
	bool has_more = true;
	io->client_used = io->server_used = 0;
	io->to_client_size = io->to_server_size = 0;
	io->piece_size = 0;
	while (has_more) {
		enum mailtalk_ask ask = take_wish(talk);
		if (ask == MAILTALK_WAIT)
			ask = standing_ask(talk);
		if (ask != MAILTALK_WAIT)
			return ask;
		if (is_amid_mail(talk))
			mailtalk_replies_early(talk, io);
		else
			mailtalk_replies_pass(talk, io);
		if (talk->wants_drop || talk->wants_scan_drop)
			continue;
		has_more = step(talk, io, &ask);
		if (ask != MAILTALK_WAIT)
			return ask;
	}
	return MAILTALK_WAIT;
}

/* ---- begin and answers ---- */

void mailtalk_init(struct mailtalk *ret_talk, const struct mailtalk_rules *rules)
{
	memset(ret_talk, 0, sizeof(*ret_talk));
	ret_talk->rules = rules;
	ret_talk->wants_connect = true;
	mailtalk_push(ret_talk, MAILTALK_GREETING, 0, NULL);
	mailtalk_answer_then(ret_talk, MAILTALK_AT_COMMAND);
}

void mailtalk_connected(struct mailtalk *talk, bool is_connected)
{
	if (!talk->is_connecting)
		return;
	talk->is_connecting = false;
	talk->has_server = is_connected;
	replies_begin(&talk->replies);
	if (!is_connected)
		mailtalk_lose(talk, "4.4.1 Next hop is not reached, try again later");
}

void mailtalk_scan_begun(struct mailtalk *talk, bool is_begun)
{
	if (talk->at != MAILTALK_AT_SCAN_ASKED)
		return;
	talk->is_scanning = is_begun;
	talk->at = talk->then;
	if (is_begun)
		return;
	mailtalk_fail(talk, MAILTALK_BUSY, 451,
		      "4.3.2 Too many mails are scanned, try again later");
	if (talk->at == MAILTALK_AT_BEGIN_CHUNKS) {
		talk->at = MAILTALK_AT_CHUNK; /* its bytes come all the same */
		return;
	}
	finish_failed(talk);
	talk->end_count = 1;
}

void mailtalk_judge(struct mailtalk *talk, int code, const char *text)
{
	if (talk->at != MAILTALK_AT_JUDGED)
		return;
	drop_scan(talk);
	if (code >= 200 && code <= 299) {
		talk->at = MAILTALK_AT_DOT;
		return;
	}
	mailtalk_fail(talk, MAILTALK_JUDGED, code, text);
	finish_failed(talk);
}

void mailtalk_secured(struct mailtalk *talk)
{
	if (talk->at != MAILTALK_AT_TLS)
		return;
	talk->is_secure = true;
	/* RFC 3207, 4.2: what was said in the clear, such as a login, is to count for nothing. */
	if (talk->is_bound || talk->is_in_mail)
		mailtalk_drop(talk);
	talk->is_bound = false;
	talk->helo[0] = '\0';
	mailtalk_reset(talk);
	talk->at = MAILTALK_AT_COMMAND;
}

/* ---- from outside ---- */

enum mailtalk_waits mailtalk_waits(const struct mailtalk *talk)
{
	const struct mailtalk_pending *first = &talk->pending[talk->pending_first];
	if (talk->is_connecting)
		return MAILTALK_FOR_CONNECT;
	if (talk->pending_count > 0 && mailtalk_is_ours(first))
		return MAILTALK_FOR_DATA; /* that it takes */
	if (talk->pending_count > 0)
		return first->kind == MAILTALK_TO_END ? MAILTALK_FOR_END : MAILTALK_FOR_REPLY;
	switch ((enum mailtalk_at)talk->at) {
	case MAILTALK_AT_COMMAND:
	case MAILTALK_AT_AUTH:
		return MAILTALK_FOR_COMMAND;
	case MAILTALK_AT_BODY:
	case MAILTALK_AT_CHUNK:
		return talk->is_stuck ? MAILTALK_FOR_ROOM : MAILTALK_FOR_DATA;
	case MAILTALK_AT_SWALLOW:
		return MAILTALK_FOR_DATA;
	case MAILTALK_AT_BEGIN_BODY:
	case MAILTALK_AT_BEGIN_CHUNKS:
	case MAILTALK_AT_DOT:
		return MAILTALK_FOR_ROOM;
	case MAILTALK_AT_JUDGED:
		return MAILTALK_FOR_VERDICT;
	default:
		return MAILTALK_FOR_OTHER;
	}
}

void mailtalk_expire(struct mailtalk *talk)
{
	const enum mailtalk_waits waits = mailtalk_waits(talk);
	if (waits == MAILTALK_FOR_VERDICT || waits == MAILTALK_FOR_OTHER)
		return;
	if (waits != MAILTALK_FOR_COMMAND && waits != MAILTALK_FOR_DATA) {
		mailtalk_lose(talk, "4.4.2 Next hop has not answered in time");
		return;
	}
	lose_client(talk);
	mailtalk_end_with(talk, 421, "4.4.2 Waited too long, closing connection");
}

void mailtalk_drain(struct mailtalk *talk)
{
	talk->is_draining = true;
}

size_t mailtalk_recipients(const struct mailtalk *talk, const char **ret_recipients, size_t room)
{
	size_t count = 0;
	for (size_t at = 0; at < talk->list_size && count < room;
	     at += strlen(talk->list + at) + 1) {
		if (talk->list[at] != MAILTALK_LIST_REFUSED)
			ret_recipients[count++] = talk->list + at;
	}
	return count;
}

const char *mailtalk_end_name(enum mailtalk_end end)
{
	static const char *const names[] = {
		[MAILTALK_ACCEPTED] = "accepted", [MAILTALK_REFUSED] = "refused",
		[MAILTALK_JUDGED] = "judged",	  [MAILTALK_SPOILT] = "malformed",
		[MAILTALK_LOST] = "lost",	  [MAILTALK_UNKNOWN] = "unknown",
		[MAILTALK_BUSY] = "busy",	  [MAILTALK_CUT] = "cut",
	};
	return names[end];
}
