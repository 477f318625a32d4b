/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "integration/mail/mail-proxy/pop3/popnotice.h"
#include "integration/mail/mail-proxy/pop3/popproxy_parts.h"
#include "lib/pop3/pop3_top.h"

/* "TOP", two numbers of 20 digits, blanks, CR LF and a NUL. */
#define COMMAND_ROOM 64

/* What a mail waits for; each leads to one that is below. */
enum phase {
	AT_START,
	AT_UID,	   /* the server's word */
	AT_SCAN,   /* that there may be one more */
	AT_ANSWER, /* the server's +OK */
	AT_BODY,
	AT_VERDICT,
	AT_REST,    /* the client, to take what was held */
	AT_SWALLOW, /* the end of a mail that the client does not get */
};

/* Bytes behind those that are held so that a piece can always be filled. */
#define SLACK (2 * (size_t)POP3_MULTI_ROOM_MIN)

bool popproxy_mail_is_silent(const struct popproxy *proxy)
{
	return !proxy->body.is_flowing;
}

bool popproxy_mail_is_at_server(const struct popproxy *proxy)
{
	const enum phase phase = (enum phase)proxy->body.phase;
	return phase == AT_UID || phase == AT_ANSWER || (phase >= AT_BODY && !proxy->body.is_ended);
}

bool popproxy_mail_is_answered(const struct popproxy *proxy)
{
	return proxy->body.phase == AT_SWALLOW;
}

static void scan_free(struct popproxy *proxy)
{
	if (proxy->body.is_scan)
		proxy->calls->free(proxy->context);
	proxy->body.is_scan = false;
}

void popproxy_mail_free(struct popproxy *proxy)
{
	scan_free(proxy);
	if (proxy->body.hold != NULL)
		proxy->calls->hold(proxy->context, proxy->body.hold, 0);
	memset(&proxy->body, 0, sizeof(proxy->body));
}

/* ---- what has become of it ---- */

static void tell(struct popproxy *proxy, enum popproxy_fate fate, bool is_changed)
{
	const struct popproxy_ask *ask = popproxy_head(proxy);
	const struct popproxy_mail mail = {
		.fate = fate,
		.is_top = ask->kind == POPPROXY_TOP,
		.is_changed = is_changed,
		.number = ask->number,
		.octets = proxy->body.octets,
		.uid = proxy->body.uid,
		.name = proxy->body.name,
	};
	proxy->calls->told(proxy->context, &mail);
}

static void done(struct popproxy *proxy)
{
	popproxy_mail_free(proxy);
	popproxy_pop(proxy);
}

/* The answer is complete for the client; the server may have more of the mail. */
static void swallow(struct popproxy *proxy, bool has_rest)
{
	scan_free(proxy);
	proxy->body.begin = proxy->body.end = proxy->body.free_to = proxy->body.scanned = 0;
	proxy->body.phase = AT_SWALLOW;
	if (!has_rest)
		done(proxy);
}

/* TOP gets of it what it would get of any mail. */
static size_t cut_notice(const struct popproxy *proxy, const char *text, size_t size)
{
	const struct popproxy_ask *ask = popproxy_head((struct popproxy *)proxy);
	struct pop3_top top;
	if (ask->kind != POPPROXY_TOP)
		return size;
	pop3_top_init(&top, ask->lines);
	return pop3_top_take(&top, (const uint8_t *)text, size);
}

static void say_notice(struct popproxy *proxy, struct popproxy_io *io, const char *header,
		       enum popproxy_fate fate)
{
	char text[POPNOTICE_ROOM];
	struct popnotice notice = {
		.hostname = proxy->limits->hostname,
		.name = proxy->body.name,
		.header = header,
		.number = popproxy_head(proxy)->number,
		.now = proxy->calls->now(proxy->context),
		.is_known = fate == POPPROXY_KNOWN,
	};
	if (proxy->body.hold != NULL)
		popnotice_look(proxy->body.hold, proxy->body.scanned, &notice.fields);
	const size_t size = popnotice_write(&notice, text);
	popproxy_to_client(io, "+OK A notice, as the mail was withheld\r\n");
	popproxy_to_client_bytes(io, text, cut_notice(proxy, text, size));
	popproxy_to_client(io, ".\r\n");
	tell(proxy, fate, false);
}

/* ---- the hold ---- */

/* The server's first line, which has waited till now. */
static void say_ok(struct popproxy *proxy, struct popproxy_io *io)
{
	const char *text = proxy->body.text;
	popproxy_to_client_answer(io, "+OK", (struct pop3_text){ text, strlen(text) });
	proxy->body.is_flowing = true;
}

/* As much as may go, as far as there is room. False: there is more of it. */
static bool release(struct popproxy *proxy, struct popproxy_io *io)
{
	struct popproxy_body *body = &proxy->body;
	if (body->begin == body->free_to)
		return true;
	if (!body->is_flowing) {
		if (!popproxy_has_room(io->to_client_room, io->to_client_size))
			return false;
		say_ok(proxy, io);
	}
	size_t used = 0;
	/* Where there is none there may be no memory at all. */
	if (io->to_client_room == io->to_client_size)
		return false;
	io->to_client_size += pop3_multi_put(
		&body->put, body->hold + body->begin, body->free_to - body->begin, &used,
		io->to_client + io->to_client_size, io->to_client_room - io->to_client_size);
	body->begin += used;
	return body->begin == body->free_to;
}

static void compact(struct popproxy_body *body)
{
	memmove(body->hold, body->hold + body->begin, body->end - body->begin);
	body->end -= body->begin;
	body->scanned -= body->begin;
	body->free_to -= body->begin;
	body->begin = 0;
}

/* A mail that flows needs no more than its end, and a piece to be scanned. */
static void shrink(struct popproxy *proxy)
{
	struct popproxy_body *body = &proxy->body;
	const size_t size = 2 * proxy->hold_last + SLACK;
	if (!body->is_flowing || body->is_small || body->end - body->begin > size)
		return;
	compact(body);
	uint8_t *hold = proxy->calls->hold(proxy->context, body->hold, size);
	if (hold != NULL) {
		body->hold = hold;
		body->hold_size = size;
	}
	body->is_small = true;
}

/* Of the server. False: nothing has come, or there is no room. */
static bool fill(struct popproxy *proxy, struct popproxy_io *io)
{
	struct popproxy_body *body = &proxy->body;
	size_t used = 0;
	size_t size = 0;
	if (body->is_ended)
		return false;
	shrink(proxy);
	if (body->begin > 0 && body->hold_size - body->end < proxy->hold_last)
		compact(body);
	const enum pop3_multi_status status = pop3_multi_take(
		&body->multi, io->server + io->server_used, io->server_size - io->server_used,
		&used, body->hold + body->end, body->hold_size - body->end, &size);
	io->server_used += used;
	body->end += size;
	body->octets += size;
	body->is_ended = status == POP3_MULTI_END;
	return used > 0 || size > 0;
}

/* ---- the scan ---- */

/* Is it the first time that something is about to be released, and is the mail known? */
static bool is_known_by_content(struct popproxy *proxy)
{
	struct popproxy_body *body = &proxy->body;
	if (body->has_key || body->is_flowing)
		return false;
	body->has_key = proxy->calls->key(proxy->context, proxy->user, NULL, body->hold,
					  proxy->hold_first, body->key);
	return body->has_key && proxy->calls->knows(proxy->context, body->key, body->name);
}

/*
 * The next piece, of one size wherever the bytes were cut, so that what was released before a hit
 * does not depend on that. False: there is none.
 */
static bool scan_piece(struct popproxy *proxy)
{
	struct popproxy_body *body = &proxy->body;
	const size_t left = body->end - body->scanned;
	const size_t size = left < proxy->hold_last ? left : proxy->hold_last;
	if (size == 0 || (size < proxy->hold_last && !body->is_ended))
		return false;
	if (body->is_scan)
		proxy->calls->push(proxy->context, body->hold + body->scanned, size);
	body->scanned += size;
	body->scanned_size += size;
	if (!body->is_scan)
		body->free_to = body->scanned;
	else if (body->scanned_size >= proxy->hold_first + proxy->hold_last)
		body->free_to = body->scanned - proxy->hold_last;
	return true;
}

static void end_scan(struct popproxy *proxy, bool is_early)
{
	proxy->body.is_early = is_early;
	proxy->body.phase = AT_VERDICT;
	if (proxy->body.is_scan)
		proxy->calls->end(proxy->context, !is_early);
}

static bool wait_for_scan(struct popproxy *proxy)
{
	proxy->status = POPPROXY_WAITING;
	return false;
}

/* A client that comes again for a mail that was cut off. */
static bool give_known(struct popproxy *proxy, struct popproxy_io *io)
{
	const bool has_rest = proxy->body.phase == AT_BODY && !proxy->body.is_ended;
	say_notice(proxy, io, "", POPPROXY_KNOWN);
	swallow(proxy, has_rest);
	return true;
}

static bool go_on(struct popproxy *proxy, struct popproxy_io *io)
{
	struct popproxy_body *body = &proxy->body;
	const bool is_scanning = body->is_scan;
	if (is_scanning && proxy->calls->is_busy(proxy->context))
		return wait_for_scan(proxy);
	if (is_scanning && proxy->calls->has_found(proxy->context)) {
		end_scan(proxy, true);
		return true;
	}
	/* Behind the question: what was found in the same piece is not to get away. */
	if (body->begin < body->free_to && !body->is_flowing) {
		if (!popproxy_has_room(io->to_client_room, io->to_client_size))
			return false;
		if (is_scanning && is_known_by_content(proxy))
			return give_known(proxy, io);
	}
	if (!release(proxy, io))
		return false;
	if (scan_piece(proxy))
		return true;
	if (body->is_ended) {
		end_scan(proxy, false);
		return true;
	}
	return fill(proxy, io);
}

/* ---- the verdict ---- */

static void cut_off(struct popproxy *proxy, const struct popproxy_verdict *verdict)
{
	const bool is_found = verdict->action == POPPROXY_WITHHOLD || proxy->body.is_early;
	if (is_found && proxy->body.has_key)
		proxy->calls->remember(proxy->context, proxy->body.key, proxy->body.name);
	tell(proxy, is_found ? POPPROXY_CUT_OFF : POPPROXY_PUT_OFF, false);
	popproxy_finish(proxy, POPPROXY_CUT, is_found ? "found" : "no-verdict");
}

static void withhold(struct popproxy *proxy, struct popproxy_io *io,
		     const struct popproxy_verdict *verdict)
{
	const bool has_rest = !proxy->body.is_ended;
	if (proxy->body.is_flowing) {
		cut_off(proxy, verdict);
		return;
	}
	if (verdict->action == POPPROXY_DEFER && !proxy->body.is_early) {
		popproxy_to_client(io, "-ERR [SYS/TEMP] The mail cannot be scanned now\r\n");
		tell(proxy, POPPROXY_PUT_OFF, false);
	} else {
		say_notice(proxy, io, verdict->header, POPPROXY_NOTICED);
	}
	swallow(proxy, has_rest);
}

static void pass(struct popproxy *proxy, struct popproxy_io *io, const char *header, bool is_marked)
{
	struct popproxy_body *body = &proxy->body;
	const bool is_changed = is_marked && !body->is_flowing && header[0] != '\0';
	body->fate = is_marked ? POPPROXY_MARKED : POPPROXY_PASSED;
	body->free_to = body->end;
	body->phase = AT_REST;
	tell(proxy, body->fate, is_changed);
	scan_free(proxy);
	if (body->is_flowing)
		return;
	say_ok(proxy, io);
	if (is_changed)
		popproxy_to_client(io, header);
}

/* Is it a piece of a mail, which may be damaged by that alone? */
static bool is_piece(const struct popproxy_ask *ask)
{
	return ask->kind == POPPROXY_TOP && ask->lines < POPPROXY_TOP_WHOLE;
}

static bool decide(struct popproxy *proxy, struct popproxy_io *io)
{
	static const struct popproxy_verdict unscanned = { POPPROXY_ACCEPT, false, "", "" };
	const struct popproxy_verdict *verdict = &unscanned;
	struct popproxy_body *body = &proxy->body;
	if (!popproxy_has_room(io->to_client_room, io->to_client_size))
		return false;
	if (body->is_scan)
		verdict = proxy->calls->verdict(proxy->context);
	if (verdict == NULL)
		return wait_for_scan(proxy);
	snprintf(body->name, sizeof(body->name), "%s", verdict->name);
	const bool is_harmless = is_piece(popproxy_head(proxy)) && !verdict->has_found &&
				 verdict->action == POPPROXY_WITHHOLD && !body->is_early;
	const bool is_through = verdict->action <= POPPROXY_MARK || is_harmless;
	if (is_through && !body->is_early)
		pass(proxy, io, verdict->header, verdict->action == POPPROXY_MARK);
	else
		withhold(proxy, io, verdict);
	return true;
}

/* ---- before the mail ---- */

static bool start(struct popproxy *proxy, struct popproxy_io *io)
{
	struct popproxy_body *body = &proxy->body;
	char line[COMMAND_ROOM];
	if (!popproxy_has_room(io->to_server_room, io->to_server_size))
		return false;
	body->phase = AT_SCAN;
	if (!proxy->limits->is_scanning || !proxy->is_logged_in || proxy->user[0] == '\0' ||
	    proxy->lacks_uids)
		return true;
	const int size = snprintf(line, sizeof(line), "UIDL %llu\r\n",
				  (unsigned long long)popproxy_head(proxy)->number);
	popproxy_to_server_bytes(io, line, (size_t)size);
	body->phase = AT_UID;
	return true;
}

/* A uid that is too long for us is none. */
static void take_uid(struct popproxy *proxy, struct pop3_text uid)
{
	struct popproxy_body *body = &proxy->body;
	uint64_t number = 0;
	if (!pop3_command_number(pop3_command_word(&uid), &number) ||
	    number != popproxy_head(proxy)->number || uid.size == 0 || uid.size > POPPROXY_UID_MAX)
		return;
	memcpy(body->uid, uid.at, uid.size);
	body->uid[uid.size] = '\0';
	body->has_key =
		proxy->calls->key(proxy->context, proxy->user, body->uid, NULL, 0, body->key);
}

static bool answer_uid(struct popproxy *proxy, struct popproxy_io *io)
{
	struct popproxy_body *body = &proxy->body;
	struct pop3_text line;
	enum popproxy_sign sign;
	if (!popproxy_server_answer(proxy, io, &line, &sign))
		return false;
	body->phase = AT_SCAN;
	body->is_uid_refused = sign == POPPROXY_ERR;
	if (sign == POPPROXY_OK)
		take_uid(proxy, line);
	if (body->has_key && proxy->calls->knows(proxy->context, body->key, body->name))
		return give_known(proxy, io);
	return true;
}

/* The pool, and RETR for the server. */
static bool open_scan(struct popproxy *proxy, struct popproxy_io *io)
{
	struct popproxy_body *body = &proxy->body;
	struct popproxy_ask *ask = popproxy_head(proxy);
	char line[COMMAND_ROOM];
	if (!popproxy_has_room(io->to_server_room, io->to_server_size))
		return false;
	const bool is_scanning = proxy->limits->is_scanning;
	const size_t first = is_scanning ? proxy->hold_first : proxy->hold_last;
	if (body->hold == NULL) {
		body->hold_size = first + proxy->hold_last + SLACK;
		body->hold = proxy->calls->hold(proxy->context, NULL, body->hold_size);
	}
	if (body->hold == NULL || (is_scanning && !proxy->calls->begin(proxy->context)))
		return wait_for_scan(proxy);
	body->is_scan = is_scanning;
	const int size =
		ask->kind == POPPROXY_TOP
			? snprintf(line, sizeof(line), "TOP %llu %llu\r\n",
				   (unsigned long long)ask->number, (unsigned long long)ask->lines)
			: snprintf(line, sizeof(line), "RETR %llu\r\n",
				   (unsigned long long)ask->number);
	popproxy_to_server_bytes(io, line, (size_t)size);
	ask->is_sent = true;
	body->phase = AT_ANSWER;
	return true;
}

static bool answer_mail(struct popproxy *proxy, struct popproxy_io *io)
{
	struct popproxy_body *body = &proxy->body;
	struct pop3_text line;
	enum popproxy_sign sign;
	if (!popproxy_server_answer(proxy, io, &line, &sign))
		return false;
	if (sign == POPPROXY_ERR) {
		popproxy_to_client_answer(io, "-ERR", line);
		done(proxy);
		return true;
	}
	proxy->lacks_uids = proxy->lacks_uids || body->is_uid_refused;
	const size_t size = line.size < sizeof(body->text) ? line.size : sizeof(body->text) - 1;
	memcpy(body->text, line.at, size);
	body->text[size] = '\0';
	pop3_multi_init(&body->multi);
	pop3_multi_put_init(&body->put);
	body->phase = AT_BODY;
	return true;
}

/* ---- behind it ---- */

static bool close_mail(struct popproxy *proxy, struct popproxy_io *io)
{
	if (!release(proxy, io) || !popproxy_has_room(io->to_client_room, io->to_client_size))
		return false;
	io->to_client_size +=
		pop3_multi_close(&proxy->body.put, io->to_client + io->to_client_size);
	done(proxy);
	return true;
}

static bool swallow_more(struct popproxy *proxy, struct popproxy_io *io)
{
	proxy->body.end = 0;
	const bool has_moved = fill(proxy, io);
	if (proxy->body.is_ended)
		done(proxy);
	return has_moved;
}

bool popproxy_mail(struct popproxy *proxy, struct popproxy_io *io)
{
	switch ((enum phase)proxy->body.phase) {
	case AT_START:
		/* The head is this mail, so that what is behind it is not sent. */
		proxy->sent_count = 1;
		return start(proxy, io);
	case AT_UID:
		return answer_uid(proxy, io);
	case AT_SCAN:
		return open_scan(proxy, io);
	case AT_ANSWER:
		return answer_mail(proxy, io);
	case AT_BODY:
		return go_on(proxy, io);
	case AT_VERDICT:
		return decide(proxy, io);
	case AT_REST:
		return close_mail(proxy, io);
	case AT_SWALLOW:
		return swallow_more(proxy, io);
	}
	return false;
}
