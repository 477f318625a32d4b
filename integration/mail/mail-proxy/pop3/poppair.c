/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/pop3/poppair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "integration/mail/base/facts/text.h"
#include "integration/mail/mail-proxy/pop3/popfound.h"
#include "integration/mail/mail-proxy/pop3/popproxy.h"
#include "lib/common/log.h"

#define POOL_MS	 100  /* until it is asked again whether there is room for a scan */
#define LEAVE_MS 5000 /* for a server to see that a client has gone */
#define HOP_ROOM 80
/*
 * An object is looked at in blocks of 4096 bytes (inspection.h), which are less than this in base64 with its line
 * ends: what is held first goes when all of it was looked at.
 */
#define BLOCK_MAX 6144

static const char context[] = "mail-proxy";

/* What the time runs for. */
enum waits { FOR_CONNECT, FOR_TLS, FOR_COMMAND, FOR_REPLY, FOR_MAIL, FOR_POOL, FOR_VERDICT };

struct poppair {
	struct pair pair; /* the first */
	struct popproxy_limits limits;
	struct popproxy proxy;
	const char *recipients[1]; /* in proxy; peers ask for it while they scan */
	struct popproxy_verdict verdict;
	bool is_begun;
	bool is_tls_due; /* STLS is answered, and the answer on its way */
	bool is_leaving; /* the client has gone, and the server is to see that */
	enum waits waits;
	uint64_t moved;
	bool was_idle;
	uint64_t answer_count;
	uint64_t answer_ms; /* when the answer that is due began */
	uint64_t mail_count;
	uint64_t withheld_count;
};

static struct poppair *of_pair(struct pair *pair)
{
	return (struct poppair *)pair;
}

/* ---- the log ---- */

static void put_client(struct text *text, const struct poppair *own)
{
	text_put(text, ", client=");
	text_put(text, own->pair.client_text);
	text_put_word(text, " user=", own->proxy.user);
}

static void log_mail(const struct poppair *own, const struct popproxy_mail *mail)
{
	char line[LOG_LINE_MAX];
	struct text text = text_make(line, sizeof(line));
	text_put(&text, "mail ");
	text_put(&text, popproxy_fate_name(mail->fate));
	put_client(&text, own);
	text_put_count(&text, " number=", mail->number);
	text_put_word(&text, " uid=", mail->uid);
	text_put(&text, mail->is_top ? " by=top" : " by=retr");
	text_put_count(&text, " octets=", mail->octets);
	if (mail->fate == POPPROXY_MARKED)
		text_put(&text, mail->is_changed ? " field=added" : " field=late");
	if (mail->fate != POPPROXY_PASSED)
		text_put_word(&text, " found=", mail->name);
	log_info(own->pair.id, "%s", line);
}

static void log_session(const struct poppair *own)
{
	char line[LOG_LINE_MAX];
	const struct pair *pair = &own->pair;
	struct text text = text_make(line, sizeof(line));
	text_put(&text, "session ended");
	put_client(&text, own);
	text_put_word(&text, " way=", own->proxy.is_logged_in ? own->proxy.way : "");
	text_put_count(&text, " mails=", own->mail_count);
	text_put_count(&text, " withheld=", own->withheld_count);
	text_put_count(&text, " commands=", own->proxy.command_count);
	text_put_count(&text, " errors=", own->proxy.error_count);
	pair_put_end(pair, &text);
	log_info(pair->id, "%s", line);
}

/* ---- the calls of popproxy.h ---- */

static bool call_begin(void *own_context)
{
	struct poppair *own = own_context;
	own->recipients[0] = own->proxy.user;
	const struct scan_envelope envelope = {
		.client = own->pair.client_text,
		.recipients = own->recipients,
		.recipient_count = own->proxy.user[0] != '\0' ? 1 : 0,
		.id = own->pair.id,
	};
	return pair_scan_begin(&own->pair, &envelope) == 0;
}

static void call_push(void *own, const uint8_t *bytes, size_t size)
{
	pair_scan_push(own, bytes, size);
}

static void call_end(void *own, bool is_whole)
{
	pair_scan_end(own, is_whole);
}

static bool call_is_busy(void *own)
{
	return pair_scan_is_busy(own);
}

/* What is found and only marked for that does not end a mail early. */
static bool call_has_found(void *own)
{
	const struct pair *pair = own;
	const struct scan_settings *settings = &pair->loop->setup->scan;
	return pair_scan_has_found(pair) && settings->actions[INSPECT_SIGNATURE] >= SCAN_QUARANTINE;
}

static enum popproxy_action action_of(enum scan_action action)
{
	switch (action) {
	case SCAN_MARK:
		return POPPROXY_MARK;
	case SCAN_DEFER:
		return POPPROXY_DEFER;
	/* The mailbox is chosen already, and it is its user that asks. */
	case SCAN_QUARANTINE:
	case SCAN_REJECT:
		return POPPROXY_WITHHOLD;
	case SCAN_ACCEPT:
		break;
	}
	return POPPROXY_ACCEPT;
}

/* "5.7.1 Eicar-Signature in part 2" without the code, which is SMTP's. */
static const char *name_of(const struct scan_verdict *verdict)
{
	const char *blank = strchr(verdict->text, ' ');
	const bool has_code = verdict->text[0] >= '0' && verdict->text[0] <= '9';
	return has_code && blank != NULL ? blank + 1 : verdict->text;
}

static const struct popproxy_verdict *call_verdict(void *own_context)
{
	struct poppair *own = own_context;
	if (pair_scan_is_busy(&own->pair))
		return NULL;
	const struct scan_verdict *verdict = pair_scan_verdict(&own->pair);
	if (verdict->action != SCAN_ACCEPT || verdict->has_missed)
		log_info(own->pair.id, "mail scanned, action=%s %s",
			 scan_action_name(verdict->action), verdict->log);
	own->verdict = (struct popproxy_verdict){
		.action = action_of(verdict->action),
		.has_found = verdict->has_found,
		.name = name_of(verdict),
		.header = own->pair.loop->setup->scan.has_header ? verdict->header : "",
	};
	return &own->verdict;
}

static void call_free(void *own)
{
	pair_scan_free(own);
}

/*
 * A hold only shrinks, by a copy: realloc() would leave the rest of it between two that are in use,
 * where no other fits.
 */
static uint8_t *call_hold(void *own, uint8_t *old, size_t size)
{
	(void)own;
	uint8_t *hold = size > 0 ? malloc(size) : NULL;
	if (size > 0 && hold == NULL)
		return NULL;
	if (hold != NULL && old != NULL)
		memcpy(hold, old, size);
	free(old);
	return hold;
}

/* The server, as an address. */
static void name_hop(const struct pair *pair, char *ret_text)
{
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	if (pair->listener->mode != PROXY_TRANSPARENT) {
		snprintf(ret_text, HOP_ROOM, "%.*s", HOP_ROOM - 1, pair->listener->next_hop.text);
		return;
	}
	dnsblv6_addr_format(pair->ends.local_addr, text);
	snprintf(ret_text, HOP_ROOM, "%s@%u", text, (unsigned)pair->ends.local_port);
}

static bool call_key(void *own, const char *user, const char *uid, const uint8_t *first,
		     size_t first_size, uint8_t *ret_key)
{
	char hop[HOP_ROOM];
	name_hop(own, hop);
	return popfound_key(hop, user, uid, first, first_size, ret_key);
}

static uint64_t call_now(void *own)
{
	(void)own;
	return (uint64_t)time(NULL);
}

static bool call_knows(void *own, const uint8_t *key, char *ret_name)
{
	const struct pair *pair = own;
	return popfound_look(pair->loop->shared, key, call_now(own), ret_name);
}

static void call_remember(void *own, const uint8_t *key, const char *name)
{
	const struct pair *pair = own;
	popfound_put(pair->loop->shared, key, call_now(own), name);
}

static void call_told(void *own_context, const struct popproxy_mail *mail)
{
	static const enum proxycount_number numbers[] = {
		[POPPROXY_PASSED] = PROXY_RETRIEVED, [POPPROXY_MARKED] = PROXY_MARKED,
		[POPPROXY_NOTICED] = PROXY_NOTICES,  [POPPROXY_KNOWN] = PROXY_NOTICES,
		[POPPROXY_CUT_OFF] = PROXY_CUT,	     [POPPROXY_PUT_OFF] = PROXY_DEFERRED,
	};
	struct poppair *own = own_context;
	proxyloop_count(own->pair.loop, numbers[mail->fate], 1);
	if (mail->fate == POPPROXY_MARKED)
		proxyloop_count(own->pair.loop, PROXY_RETRIEVED, 1);
	own->mail_count++;
	own->withheld_count += mail->fate >= POPPROXY_NOTICED;
	log_mail(own, mail);
}

static const struct popproxy_calls calls = {
	.begin = call_begin,
	.push = call_push,
	.end = call_end,
	.is_busy = call_is_busy,
	.has_found = call_has_found,
	.verdict = call_verdict,
	.free = call_free,
	.hold = call_hold,
	.key = call_key,
	.knows = call_knows,
	.remember = call_remember,
	.now = call_now,
	.told = call_told,
};

/* ---- a step ---- */

static void fill_io(const struct pair *pair, struct popproxy_io *io)
{
	memset(io, 0, sizeof(*io));
	io->client = side_bytes(pair->client, &io->client_size);
	io->to_client = side_room(pair->client, &io->to_client_room);
	io->server = side_bytes(pair->server, &io->server_size);
	io->to_server = side_room(pair->server, &io->to_server_room);
}

/* Has anything come or gone? */
static bool use_io(const struct pair *pair, const struct popproxy_io *io)
{
	if (io->to_client != NULL)
		side_put(pair->client, io->to_client_size);
	if (io->to_server != NULL)
		side_put(pair->server, io->to_server_size);
	if (io->client_used > 0)
		side_take(pair->client, io->client_used);
	if (io->server_used > 0)
		side_take(pair->server, io->server_used);
	return io->client_used + io->server_used + io->to_client_size + io->to_server_size > 0;
}

static void stop(struct poppair *own, const char *text, const char *why)
{
	struct popproxy_io io;
	if (own->pair.server == NULL) {
		pair_close(&own->pair, why);
		return;
	}
	fill_io(&own->pair, &io);
	popproxy_stop(&own->proxy, &io, text, why);
	use_io(&own->pair, &io);
	pair_close(&own->pair, why);
}

/* ---- the server ---- */

static void miss_server(struct poppair *own, const char *reason)
{
	static const char text[] = "-ERR [SYS/TEMP] The server cannot be reached\r\n";
	struct pair *pair = &own->pair;
	char hop[HOP_ROOM];
	name_hop(pair, hop);
	proxyloop_count(pair->loop, PROXY_HOP_FAILED, 1);
	if (proxyloop_may_log(pair->loop, &pair->loop->failures))
		log_warning(context, "next hop not reached, id=%s next-hop=%s (%s)", pair->id, hop,
			    reason);
	side_say(pair->client, text, sizeof(text) - 1);
	pair_close(pair, "no-server");
}

/* Whether there is one. */
static bool has_server(struct poppair *own)
{
	const struct side *server = own->pair.server;
	if (server == NULL || server->state == SIDE_OPEN)
		own->is_begun = own->is_begun || server != NULL;
	else if (server->state == SIDE_FAILED && !own->is_begun)
		miss_server(own, strerror(-server->error));
	return own->pair.phase == PAIR_TALK && own->is_begun;
}

/* Nothing more comes of the server, and what has come is used as far as it can be. */
static void look_at_end(struct poppair *own)
{
	struct pair *pair = &own->pair;
	struct popproxy_io io;
	if (!pair->server->is_ended || side_waiting(pair->client) > 0)
		return;
	fill_io(pair, &io);
	popproxy_server_gone(&own->proxy, &io);
	use_io(pair, &io);
	if (!popproxy_is_idle(&own->proxy))
		proxyloop_count(pair->loop, PROXY_HOP_LOST, 1);
	pair_close(pair, own->proxy.why);
}

/* ---- the client ---- */

/* False: the client is to take what was said before, or the handshake goes on. */
static bool shake(struct poppair *own)
{
	struct pair *pair = &own->pair;
	if (!own->is_tls_due)
		return true;
	if (pair->client->state == SIDE_SHAKING)
		return false;
	if (pair->client->tls == NULL) {
		int ret = pair_begin_tls(pair);
		if (ret != 0 && ret != -EAGAIN)
			pair_close(pair, "tls");
		return false;
	}
	if (pair->client->state != SIDE_OPEN)
		return false;
	proxyloop_count(pair->loop, PROXY_TLS_SESSIONS, 1);
	own->is_tls_due = false;
	return true;
}

/* What the client has sent behind STLS in the clear may be another's (CVE-2011-0411). */
static void begin_tls(struct poppair *own)
{
	struct pair *pair = &own->pair;
	struct popproxy_io io;
	if (side_waiting(pair->client) > 0)
		return;
	fill_io(pair, &io);
	if (io.to_client_room < POPPROXY_ROOM_MIN) {
		use_io(pair, &io);
		return;
	}
	const bool is_fine = io.client_size == 0;
	popproxy_stls(&own->proxy, &io, is_fine);
	use_io(pair, &io);
	own->is_tls_due = is_fine;
	if (!is_fine)
		pair_close(pair, own->proxy.why);
	else
		(void)shake(own);
}

static void tunnel(struct poppair *own)
{
	struct pair *pair = &own->pair;
	log_warning(pair->id, "session passed on unscanned, client=%s (STLS)", pair->client_text);
	pair->server->is_paused = false;
	pair_tunnel(pair);
}

/* It has gone, and has asked for nothing more that could be said. */
static bool is_client_gone(const struct poppair *own)
{
	const struct side *client = own->pair.client;
	size_t unread = 0;
	if (!client->is_ended || own->is_tls_due)
		return false;
	(void)side_bytes(client, &unread);
	return popproxy_is_at_client(&own->proxy) || (!own->proxy.is_greeted && unread == 0);
}

/*
 * The server's end is waited for, before the client sees ours: behind that the maildrop is free, and
 * the client may log in again.
 */
static void leave(struct poppair *own)
{
	struct pair *pair = &own->pair;
	size_t size = 0;
	if (!own->is_leaving)
		pair_wait(pair, LEAVE_MS);
	own->is_leaving = true;
	side_shut(pair->server);
	(void)side_bytes(pair->server, &size);
	side_take(pair->server, size);
	if (pair->server->is_ended)
		pair_close(pair, "client-closed");
}

/* ---- time ---- */

static unsigned patience_of(const struct poppair *own)
{
	const struct proxysetup *setup = own->pair.loop->setup;
	switch (own->waits) {
	case FOR_CONNECT:
		return setup->limits.connect_ms;
	case FOR_TLS:
		return setup->limits.command_ms;
	case FOR_COMMAND:
		return setup->pop3.idle_ms;
	case FOR_REPLY:
		return setup->limits.reply_ms;
	case FOR_MAIL:
		return setup->limits.data_ms;
	case FOR_POOL:
		return POOL_MS;
	case FOR_VERDICT:
		break; /* the scanner's own */
	}
	return 0;
}

static enum waits waits_of(const struct poppair *own)
{
	if (!own->is_begun)
		return FOR_CONNECT;
	if (own->is_tls_due)
		return FOR_TLS;
	if (own->proxy.status == POPPROXY_WAITING)
		return pair_scan_is_busy(&own->pair) ? FOR_VERDICT : FOR_POOL;
	if (popproxy_is_in_mail(&own->proxy) || side_waiting(own->pair.client) > 0)
		return FOR_MAIL;
	/* Part of a line that the server was not asked for: no command is taken before that has an end. */
	size_t unread = 0;
	(void)side_bytes(own->pair.server, &unread);
	return popproxy_is_at_client(&own->proxy) && unread == 0 ? FOR_COMMAND : FOR_REPLY;
}

/* By which the time is begun anew: bytes of a mail, or else whole lines. */
static uint64_t moved_of(const struct poppair *own, enum waits waits)
{
	const struct pair *pair = &own->pair;
	if (waits != FOR_MAIL)
		return own->proxy.line_count;
	return pair->client->bytes_in + pair->client->bytes_out + pair->server->bytes_in +
	       pair->server->bytes_out;
}

/*
 * The time for a mail runs until a byte of it comes or goes, that for a command or another answer until a line
 * does, but any answer's ends with that for all of a mail.
 */
static void set_time(struct poppair *own)
{
	struct pair *pair = &own->pair;
	const uint64_t now_ms = proxyloop_now(pair->loop);
	const enum waits waits = waits_of(own);
	const uint64_t moved = moved_of(own, waits);
	if (own->was_idle || own->proxy.answer_count != own->answer_count)
		own->answer_ms = now_ms;
	own->was_idle = popproxy_is_idle(&own->proxy);
	own->answer_count = own->proxy.answer_count;
	if (waits == own->waits && waits != FOR_POOL && moved == own->moved)
		return;
	own->waits = waits;
	own->moved = moved;
	unsigned ms = patience_of(own);
	if (waits == FOR_MAIL || waits == FOR_REPLY) {
		const uint64_t end_ms = own->answer_ms + pair->loop->setup->limits.mail_ms;
		const uint64_t left_ms = end_ms > now_ms ? end_ms - now_ms : 1;
		ms = left_ms < ms ? (unsigned)left_ms : ms;
	}
	pair_wait(pair, ms);
}

static bool is_pool_slow(const struct poppair *own)
{
	const unsigned most_ms = own->pair.loop->setup->limits.reply_ms;
	if (proxyloop_now(own->pair.loop) - own->answer_ms < most_ms)
		return false;
	proxyloop_count(own->pair.loop, PROXY_BUSY, 1);
	return true;
}

static void expire(struct pair *pair)
{
	struct poppair *own = of_pair(pair);
	/* What the client has not taken is its own fault, anything else of a mail the server's. */
	const bool is_of_client = side_waiting(pair->client) > 0;
	if (own->is_leaving) {
		pair_close(pair, "client-closed");
		return;
	}
	switch (own->waits) {
	case FOR_POOL:
		if (is_pool_slow(own))
			stop(own, "Too many mails are scanned", "busy");
		return;
	case FOR_VERDICT:
		return;
	case FOR_CONNECT:
		miss_server(own, "timeout");
		return;
	case FOR_REPLY:
		proxyloop_count(pair->loop, PROXY_HOP_LOST, 1);
		stop(own, "The server does not answer", "server-timeout");
		return;
	case FOR_MAIL:
		proxyloop_count(pair->loop, is_of_client ? PROXY_TIMEOUTS : PROXY_HOP_LOST, 1);
		stop(own, "The mail takes too long", is_of_client ? "timeout" : "server-timeout");
		return;
	case FOR_TLS:
	case FOR_COMMAND:
		break;
	}
	/* Without a word (RFC 1939, part 3). */
	proxyloop_count(pair->loop, PROXY_TIMEOUTS, 1);
	pair_close(pair, "timeout");
}

/* ---- turns ---- */

/* Is there something to do at once? */
static bool turn_once(struct poppair *own)
{
	struct pair *pair = &own->pair;
	struct popproxy_io io;
	fill_io(pair, &io);
	const enum popproxy_status status = popproxy_step(&own->proxy, &io);
	const bool has_moved = use_io(pair, &io);
	switch (status) {
	case POPPROXY_MORE:
		if (has_moved)
			return true;
		look_at_end(own);
		break;
	case POPPROXY_WAITING:
		break;
	case POPPROXY_CLIENT_TLS:
		begin_tls(own);
		break;
	case POPPROXY_TUNNEL:
		tunnel(own);
		break;
	case POPPROXY_END:
	case POPPROXY_CUT:
		pair_close(pair, own->proxy.why);
		break;
	}
	return false;
}

static void turn(struct pair *pair)
{
	struct poppair *own = of_pair(pair);
	if (pair->client->state == SIDE_FAILED) {
		if (pair->client->tls != NULL && own->is_tls_due)
			proxyloop_count(pair->loop, PROXY_TLS_FAILED, 1);
		pair_close(pair, "client-lost");
		return;
	}
	if (!own->is_leaving && has_server(own) && shake(own)) {
		bool has_more = true;
		while (has_more && pair->phase == PAIR_TALK)
			has_more = turn_once(own);
	}
	if (pair->phase != PAIR_TALK)
		return;
	/* What a client does not take waits in one block, and not in the server's, too. */
	if (pair->server != NULL)
		pair->server->is_paused = side_waiting(pair->client) > 0 && !own->is_leaving;
	if (own->is_leaving || (own->is_begun && is_client_gone(own)))
		leave(own);
	else if (is_client_gone(own))
		pair_close(pair, "client-closed");
	else if (pair->loop->is_draining && own->is_begun && popproxy_is_idle(&own->proxy))
		stop(own, "Shutting down, try again later", "shutdown");
	else
		set_time(own);
}

static void begin(struct pair *pair)
{
	struct poppair *own = of_pair(pair);
	const struct proxysetup *setup = pair->loop->setup;
	const enum proxy_tls tls = pair->listener->tls;
	own->limits = (struct popproxy_limits){
		.hostname = setup->proxy.hostname,
		.stls = tls == PROXY_TLS_OWN	? POPPROXY_STLS_OWN
			: tls == PROXY_TLS_PASS ? POPPROXY_STLS_PASS
						: POPPROXY_STLS_NONE,
		.has_plain_logins = pair->listener->has_plain_logins,
		.is_scanning = pair->loop->scanner != NULL,
		.hold_first = setup->pop3.hold_first + BLOCK_MAX,
		.hold_last = setup->pop3.hold_last,
		.errors_max = setup->limits.errors_max,
		.commands_max = setup->limits.commands_max,
	};
	popproxy_init(&own->proxy, &own->limits, &calls, own);
	if (tls == PROXY_TLS_IMPLICIT)
		popproxy_tls(&own->proxy);
	own->waits = FOR_VERDICT;
	int ret = pair_connect(pair);
	if (ret != 0)
		miss_server(own, strerror(-ret));
}

static void drain(struct pair *pair)
{
	struct poppair *own = of_pair(pair);
	if (!own->is_begun)
		pair_close(pair, "shutdown");
	else if (popproxy_is_idle(&own->proxy))
		stop(own, "Shutting down, try again later", "shutdown");
}

static void end(struct pair *pair)
{
	struct poppair *own = of_pair(pair);
	log_session(own);
	popproxy_deinit(&own->proxy);
}

static size_t refuse(const struct proxysetup *setup, enum pair_refusal refusal, char *ret_text)
{
	static const char *const texts[] = {
		[PAIR_FULL] = "Too many connections, try again later",
		[PAIR_CONNECTIONS] = "Too many connections of your network",
		[PAIR_RATE] = "Too many connections of your network in a minute",
		[PAIR_STOPPING] = "Shutting down, try again later",
	};
	(void)setup;
	return (size_t)snprintf(ret_text, PAIR_REFUSAL_MAX, "-ERR [SYS/TEMP] %s\r\n",
				texts[refusal]);
}

const struct pair_protocol poppair_protocol = {
	.pair_size = sizeof(struct poppair),
	.begin = begin,
	.turn = turn,
	.expire = expire,
	.drain = drain,
	.end = end,
	.refuse = refuse,
};
