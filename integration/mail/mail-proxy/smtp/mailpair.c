/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/smtp/mailpair.h"

#include <errno.h>
#include <string.h>

#include "integration/mail/base/facts/text.h"
#include "integration/mail/mail-proxy/smtp/mailtalk.h"
#include "lib/common/log.h"
#include "lib/smtp/reply.h"

#define RECIPIENTS_TOLD 64 /* to those that scan, and so many there are in the list at most */

static const char context[] = "mail-proxy";

struct mailpair {
	struct pair pair; /* the first */
	struct mailtalk_rules rules;
	struct mailtalk talk;
	bool is_asked;	  /* talk waits for the scan that has ended */
	bool is_late;	  /* its client was: the session ends, also when that cannot be said */
	uint64_t mail_ms; /* when the mail on its way began; 0: there is none */
	/* What the time runs for: it begins anew when one of these is another. */
	enum mailtalk_waits waits;
	uint64_t steps;
	uint64_t moved;
	const char *recipients[RECIPIENTS_TOLD]; /* in talk; peers ask for them while they scan */
};

/* ---- the log ---- */

static void put_client(struct text *text, const struct mailpair *own)
{
	text_put(text, ", client=");
	text_put(text, own->pair.client_text);
	text_put_word(text, " helo=", own->talk.helo);
}

static void log_mail(struct mailpair *own)
{
	char line[LOG_LINE_MAX];
	struct text text = text_make(line, sizeof(line));
	const struct mailtalk_outcome *outcome = &own->talk.outcome;
	const char *first[1] = { "" };
	(void)mailtalk_recipients(&own->talk, first, 1);
	text_put(&text, "mail ");
	text_put(&text, mailtalk_end_name(outcome->end));
	put_client(&text, own);
	text_put_word(&text, " from=", own->talk.sender);
	text_put_word(&text, " to=", first[0]);
	text_put_count(&text, " recipients=", outcome->recipient_count);
	text_put_count(&text, " size=", outcome->size);
	text_put_count(&text, " code=", (uint64_t)outcome->code);
	text_put_word(&text, " reply=", outcome->text);
	log_info(own->pair.id, "%s", line);
}

static void log_session(struct mailpair *own)
{
	char line[LOG_LINE_MAX];
	struct text text = text_make(line, sizeof(line));
	const struct pair *pair = &own->pair;
	text_put(&text, "session ended");
	put_client(&text, own);
	text_put_count(&text, " mails=", own->talk.mail_count);
	text_put_count(&text, " refused=", own->talk.refused_count);
	text_put_count(&text, " commands=", own->talk.command_count);
	text_put_count(&text, " errors=", own->talk.error_count);
	pair_put_end(pair, &text);
	log_info(pair->id, "%s", line);
}

static void count_mail(const struct mailpair *own)
{
	static const enum proxycount_number numbers[] = {
		[MAILTALK_ACCEPTED] = PROXY_MAILS,  [MAILTALK_REFUSED] = PROXY_REFUSED,
		[MAILTALK_JUDGED] = PROXY_REJECTED, [MAILTALK_SPOILT] = PROXY_SPOILT,
		[MAILTALK_LOST] = PROXY_HOP_LOST,   [MAILTALK_UNKNOWN] = PROXY_UNKNOWN,
		[MAILTALK_BUSY] = PROXY_BUSY,	    [MAILTALK_CUT] = PROXY_CLIENT_LOST,
	};
	const struct mailtalk_outcome *outcome = &own->talk.outcome;
	enum proxycount_number number = numbers[outcome->end];
	if (outcome->end == MAILTALK_JUDGED && outcome->code < 500)
		number = PROXY_DEFERRED;
	proxyloop_count(own->pair.loop, number, 1);
	if (outcome->end == MAILTALK_ACCEPTED)
		proxyloop_count(own->pair.loop, PROXY_MAIL_BYTES, outcome->size);
}

/* ---- the scan ---- */

static int begin_scan(struct mailpair *own)
{
	const struct scan_envelope envelope = {
		.client = own->pair.client_text,
		.helo = own->talk.helo,
		.sender = own->talk.sender,
		.recipients = own->recipients,
		.recipient_count =
			mailtalk_recipients(&own->talk, own->recipients, RECIPIENTS_TOLD),
		.id = own->pair.id,
	};
	own->mail_ms = proxyloop_now(own->pair.loop);
	return pair_scan_begin(&own->pair, &envelope);
}

/* What has been passed on can have no other recipient, and no header field any more. */
static void judge(struct mailpair *own)
{
	struct pair *pair = &own->pair;
	const struct scan_verdict *verdict = pair_scan_verdict(pair);
	if (verdict->action != SCAN_ACCEPT || verdict->has_missed)
		log_info(pair->id, "mail scanned, action=%s %s", scan_action_name(verdict->action),
			 verdict->log);
	own->is_asked = false;
	switch (verdict->action) {
	case SCAN_MARK:
		proxyloop_count(pair->loop, PROXY_MARKED, 1);
		mailtalk_judge(&own->talk, 250, verdict->text);
		break;
	case SCAN_ACCEPT:
		mailtalk_judge(&own->talk, 250, verdict->text);
		break;
	case SCAN_QUARANTINE:
	case SCAN_REJECT:
		mailtalk_judge(&own->talk, 550, verdict->text);
		break;
	case SCAN_DEFER:
		mailtalk_judge(&own->talk, 451, verdict->text);
		break;
	}
}

/* ---- the next hop ---- */

static void miss_hop(struct mailpair *own, int error)
{
	struct pair *pair = &own->pair;
	proxyloop_count(pair->loop, PROXY_HOP_FAILED, 1);
	if (proxyloop_may_log(pair->loop, &pair->loop->failures))
		log_warning(context, "next hop not reached, id=%s next-hop=%s (%s)", pair->id,
			    pair->listener->next_hop.text, strerror(-error));
	mailtalk_connected(&own->talk, false);
}

static void connect_hop(struct mailpair *own)
{
	int ret = pair_connect(&own->pair);
	if (ret != 0)
		miss_hop(own, ret);
}

static void look_at_hop(struct mailpair *own)
{
	struct pair *pair = &own->pair;
	if (mailtalk_waits(&own->talk) != MAILTALK_FOR_CONNECT || pair->server == NULL ||
	    pair->server->state == SIDE_CONNECTING)
		return;
	if (pair->server->state == SIDE_OPEN)
		mailtalk_connected(&own->talk, true);
	else
		miss_hop(own, pair->server->error);
}

/* ---- turns ---- */

static void fill_io(struct mailpair *own, struct mailtalk_io *io)
{
	struct pair *pair = &own->pair;
	memset(io, 0, sizeof(*io));
	io->is_client_ended = pair->client->is_ended;
	io->scratch = pair->loop->scratch;
	io->scratch_room = sizeof(pair->loop->scratch);
	if (pair->client->state != SIDE_FAILED) {
		io->client = side_bytes(pair->client, &io->client_size);
		io->to_client = side_room(pair->client, &io->to_client_room);
	} else {
		/* No bytes come from there, and what the next hop says goes where those of a mail were. */
		io->client = io->scratch;
		io->to_client = io->scratch;
		io->to_client_room = io->scratch_room;
	}
	if (pair->server == NULL)
		return;
	io->server = side_bytes(pair->server, &io->server_size);
	io->is_server_ended = pair->server->is_ended;
	if (pair->server->state == SIDE_OPEN)
		io->to_server = side_room(pair->server, &io->to_server_room);
}

static void use_io(struct mailpair *own, const struct mailtalk_io *io)
{
	struct pair *pair = &own->pair;
	if (io->to_client != NULL && pair->client->state != SIDE_FAILED)
		side_put(pair->client, io->to_client_size);
	if (io->client_used > 0)
		side_take(pair->client, io->client_used);
	if (pair->server == NULL)
		return;
	if (io->to_server != NULL)
		side_put(pair->server, io->to_server_size);
	if (io->server_used > 0)
		side_take(pair->server, io->server_used);
}

static void begin_tls(struct mailpair *own)
{
	struct pair *pair = &own->pair;
	if (pair->client->state == SIDE_SHAKING)
		return;
	if (pair->client->state == SIDE_FAILED) {
		if (pair->client->tls != NULL)
			pair_tell_tls_failure(pair);
		pair_close(pair, "tls");
		return;
	}
	if (pair->client->tls != NULL && pair->client->state == SIDE_OPEN) {
		proxyloop_count(pair->loop, PROXY_TLS_SESSIONS, 1);
		mailtalk_secured(&own->talk);
		return;
	}
	int ret = pair_begin_tls(pair);
	if (ret != 0 && ret != -EAGAIN)
		pair_close(pair, "tls");
}

/* True: the talk has to have another turn. */
static bool do_ask(struct mailpair *own, enum mailtalk_ask ask, const struct mailtalk_io *io)
{
	struct pair *pair = &own->pair;
	switch (ask) {
	case MAILTALK_WAIT:
		return false;
	case MAILTALK_CONNECT:
		connect_hop(own);
		break;
	case MAILTALK_DROP:
		pair_drop(pair);
		break;
	case MAILTALK_SCAN_BEGIN:
		mailtalk_scan_begun(&own->talk, begin_scan(own) == 0);
		break;
	case MAILTALK_SCAN_PUSH:
		pair_scan_push(pair, io->scratch, io->piece_size);
		break;
	case MAILTALK_SCAN_END:
		pair_scan_end(pair, true);
		own->is_asked = true;
		break;
	case MAILTALK_SCAN_DROP:
		pair_scan_free(pair);
		own->is_asked = false;
		break;
	case MAILTALK_MAIL:
		count_mail(own);
		log_mail(own);
		break;
	case MAILTALK_TLS:
		begin_tls(own);
		return pair->client->tls != NULL && pair->client->state == SIDE_OPEN;
	case MAILTALK_TUNNEL:
		log_warning(pair->id,
			    "session passed on unscanned, client=%s helo=\"%s\" (STARTTLS)",
			    pair->client_text, own->talk.helo);
		pair_tunnel(pair);
		return false;
	case MAILTALK_CLOSE:
		pair_close(pair, own->talk.is_told		? "quit"
				 : own->talk.has_long_challenge ? "challenge"
								: "closed");
		return false;
	}
	return true;
}

/* A client whose bytes are not taken, as the scan is behind, need not send any. */
static enum mailtalk_waits waits_of(const struct mailpair *own)
{
	const enum mailtalk_waits waits = mailtalk_waits(&own->talk);
	const bool is_held = waits == MAILTALK_FOR_DATA && pair_scan_is_busy(&own->pair);
	return is_held ? MAILTALK_FOR_VERDICT : waits;
}

/* How long what is waited for may take. */
static unsigned patience_of(const struct mailpair *own)
{
	const struct proxysetup_limits *limits = &own->pair.loop->setup->limits;
	switch (own->waits) {
	case MAILTALK_FOR_COMMAND:
		return limits->command_ms;
	case MAILTALK_FOR_DATA:
	case MAILTALK_FOR_ROOM:
		return limits->data_ms;
	case MAILTALK_FOR_CONNECT:
		return limits->connect_ms;
	case MAILTALK_FOR_REPLY:
		return limits->reply_ms;
	case MAILTALK_FOR_END:
		return limits->end_ms;
	case MAILTALK_FOR_OTHER:
		return limits->command_ms; /* the handshake */
	case MAILTALK_FOR_VERDICT:
		break; /* the scanner's own */
	}
	return 0;
}

/*
 * The time for a command runs until it is whole, that for a mail until a byte of it comes, but ends
 * with that for all of it, as does that for a command between its chunks.
 */
static void set_time(struct mailpair *own)
{
	struct pair *pair = &own->pair;
	const struct proxysetup_limits *limits = &pair->loop->setup->limits;
	const enum mailtalk_waits waits = waits_of(own);
	const bool is_of_hop = waits == MAILTALK_FOR_ROOM && pair->server != NULL;
	const bool is_flow = waits == MAILTALK_FOR_DATA || waits == MAILTALK_FOR_ROOM;
	const uint64_t moved = is_of_hop ? pair->server->bytes_out
					 : pair->client->bytes_in + pair->client->bytes_out;
	const uint64_t now_ms = proxyloop_now(pair->loop);
	const bool has_moved = is_flow && moved != own->moved;
	if (!own->talk.is_in_mail)
		own->mail_ms = 0;
	if (own->is_late)
		return;
	if (waits == own->waits && own->talk.steps == own->steps && !has_moved)
		return;
	own->waits = waits;
	own->steps = own->talk.steps;
	own->moved = moved;
	unsigned ms = patience_of(own);
	const bool is_between = waits == MAILTALK_FOR_COMMAND && own->talk.is_chunking;
	if ((is_flow || is_between) && own->mail_ms != 0) {
		const uint64_t end_ms = own->mail_ms + limits->mail_ms;
		const uint64_t left_ms = end_ms > now_ms ? end_ms - now_ms : 1;
		ms = left_ms < ms ? (unsigned)left_ms : ms;
	}
	pair_wait(pair, ms);
}

static void turn(struct pair *pair)
{
	struct mailpair *own = (struct mailpair *)pair;
	struct mailtalk_io io;
	bool has_more = true;
	while (has_more && pair->phase == PAIR_TALK) {
		look_at_hop(own);
		if (own->is_asked && !pair_scan_is_busy(pair))
			judge(own);
		/* Nothing more of a mail is taken while its scan is behind. */
		if (pair_scan_is_busy(pair) && !own->is_asked)
			break;
		fill_io(own, &io);
		const enum mailtalk_ask ask = mailtalk_turn(&own->talk, &io);
		use_io(own, &io);
		has_more = do_ask(own, ask, &io);
	}
	if (pair->phase == PAIR_TALK)
		set_time(own);
}

static void begin(struct pair *pair)
{
	struct mailpair *own = (struct mailpair *)pair;
	const struct proxysetup *setup = pair->loop->setup;
	own->rules = (struct mailtalk_rules){
		.is_lmtp = pair->listener->speech == PROXY_LMTP,
		.is_filter = pair->listener->mode == PROXY_FILTER,
		.offers_tls = pair->listener->tls == PROXY_TLS_OWN,
		.has_plain_logins = pair->listener->has_plain_logins,
		.passes_tls = pair->listener->tls == PROXY_TLS_PASS,
		.size_max = setup->limits.size_max,
		.errors_max = setup->limits.errors_max,
		.commands_max = setup->limits.commands_max,
	};
	mailtalk_init(&own->talk, &own->rules);
	own->waits = MAILTALK_FOR_OTHER;
	/* Its handshake or its PROXY header came behind the word to end. */
	if (pair->loop->is_draining)
		mailtalk_drain(&own->talk);
}

static void expire(struct pair *pair)
{
	struct mailpair *own = (struct mailpair *)pair;
	const enum mailtalk_waits waits = mailtalk_waits(&own->talk);
	if (waits == MAILTALK_FOR_OTHER || own->is_late) {
		pair_close(pair, "timeout");
		return;
	}
	own->is_late = waits == MAILTALK_FOR_COMMAND || waits == MAILTALK_FOR_DATA;
	mailtalk_expire(&own->talk);
	if (!own->is_late)
		return;
	proxyloop_count(pair->loop, PROXY_TIMEOUTS, 1);
	/* The turn that follows has the last words, if there is room for them. */
	pair_wait(pair, 1);
}

static void drain(struct pair *pair)
{
	mailtalk_drain(&((struct mailpair *)pair)->talk);
}

static void end(struct pair *pair)
{
	log_session((struct mailpair *)pair);
}

static size_t refuse(const struct proxysetup *setup, enum pair_refusal refusal, char *ret_text)
{
	static const char *const texts[] = {
		[PAIR_FULL] = "4.3.2 Too many connections, try again later",
		[PAIR_CONNECTIONS] = "4.7.0 Too many connections of your network",
		[PAIR_RATE] = "4.7.0 Too many connections of your network in a minute",
		[PAIR_STOPPING] = "4.3.2 Shutting down, try again later",
	};
	char reply[REPLY_MAX];
	(void)setup;
	const size_t size = reply_make(421, texts[refusal], reply);
	memcpy(ret_text, reply, size);
	return size;
}

const struct pair_protocol mailpair_protocol = {
	.pair_size = sizeof(struct mailpair),
	.begin = begin,
	.turn = turn,
	.expire = expire,
	.drain = drain,
	.end = end,
	.refuse = refuse,
};
