/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/side/pair.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/common/networks.h"
#include "integration/mail/base/facts/text.h"
#include "lib/common/log.h"

#define ROUNDS_MAX    16    /* of a turn, before others have theirs */
#define FILLS_MAX     4	    /* of them, those that read */
#define HEADER_MS     5000  /* a balancer sends its header with its first segment */
#define LAST_MS	      30000 /* for the last words to be taken */
#define LINGER_MS     2000  /* for the client's end, behind them */
#define TUNNEL_MS     600000
#define TLS_ALERT     21 /* as its first byte has it, what a record of TLS is */
#define TLS_HANDSHAKE 22
#define ORIGINAL_IPV6 80 /* IP6T_SO_ORIGINAL_DST, whose header cannot be included with libc's */

static const char context[] = "mail-proxy";

/* ---- the end ---- */

static void finish(struct pair *pair)
{
	struct proxyloop *loop = pair->loop;
	if (pair->phase == PAIR_CLOSED)
		return;
	pair->phase = PAIR_CLOSED;
	if (pair->is_begun)
		pair->protocol->end(pair);
	pair_scan_free(pair);
	side_close(pair->client);
	side_close(pair->server);
	pair->client = NULL;
	pair->server = NULL;
	wheel_clear(&pair->timer);
	if (pair->is_counted)
		limits_leave(loop->limits, &pair->client_ip);
	if (pair->is_again)
		TAILQ_REMOVE(&loop->again, pair, again);
	TAILQ_REMOVE(&loop->pairs, pair, link);
	loop->pair_count--;
	bank_set(loop->counters, PROXY_SESSIONS, loop->pair_count);
	bank_set(loop->counters, PROXY_BLOCKS, loop->block_count);
}

static void set_timer(struct pair *pair, unsigned ms)
{
	if (ms == 0)
		wheel_clear(&pair->timer);
	else
		wheel_set(&pair->loop->wheel, &pair->timer, proxyloop_now(pair->loop) + ms);
}

void pair_put_end(const struct pair *pair, struct text *text)
{
	text_put_count(text, " bytes_in=", pair->client != NULL ? pair->client->bytes_in : 0);
	text_put_count(text, " bytes_out=", pair->client != NULL ? pair->client->bytes_out : 0);
	if (pair->tunnel_up + pair->tunnel_down > 0) {
		text_put_count(text, " unscanned_up=", pair->tunnel_up);
		text_put_count(text, " unscanned_down=", pair->tunnel_down);
	}
	text_put_count(text, " ms=", proxyloop_now(pair->loop) - pair->begun_ms);
	text_put(text, " end=");
	text_put(text, pair->why != NULL ? pair->why : "cut");
}

/* turn() once more without an event. */
static void turn_again(struct pair *pair)
{
	if (pair->is_again || pair->phase == PAIR_CLOSED)
		return;
	pair->is_again = true;
	TAILQ_INSERT_TAIL(&pair->loop->again, pair, again);
}

void pair_close(struct pair *pair, const char *why)
{
	if (pair->phase >= PAIR_LAST)
		return;
	pair->why = why;
	pair->phase = PAIR_LAST;
	pair_scan_free(pair);
	pair_drop(pair);
	set_timer(pair, LAST_MS);
	turn_again(pair);
}

/* Before there is a session, or where nothing can be said. */
static void cut(struct pair *pair, const char *why)
{
	pair->why = why;
	pair_drop(pair);
	finish(pair);
}

/* ---- the next hop ---- */

static void find_next_hop(const struct pair *pair, const struct sockaddr **ret_address,
			  socklen_t *ret_size)
{
	const struct place *place = &pair->listener->next_hop;
	const bool is_transparent = pair->listener->mode == PROXY_TRANSPARENT;
	*ret_address = (const struct sockaddr *)(is_transparent ? &pair->local : &place->address);
	*ret_size = is_transparent
			    ? (pair->local.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								 : sizeof(struct sockaddr_in))
			    : place->address_size;
}

/* In front of all that is said to the next hop. */
static bool put_header(struct pair *pair)
{
	uint8_t header[PROXY_MADE_MAX];
	if (pair->listener->proxy_to == 0)
		return true;
	return side_say(pair->server, header,
			proxy_make(pair->listener->proxy_to, &pair->ends, header));
}

int pair_connect(struct pair *pair)
{
	const struct sockaddr *address = NULL;
	socklen_t size = 0;
	pair_drop(pair);
	find_next_hop(pair, &address, &size);
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int ret = connect(fd, address, size) == 0 ? 0 : -errno;
	if (ret != 0 && ret != -EINPROGRESS) {
		close(fd);
		return ret;
	}
	pair->server = side_open(pair->loop, pair, fd, ret != 0);
	if (pair->server == NULL || !put_header(pair)) {
		pair_drop(pair);
		return -ENOMEM;
	}
	return 0;
}

void pair_drop(struct pair *pair)
{
	side_close(pair->server);
	pair->server = NULL;
}

/* ---- what a session goes through ---- */

void pair_wait(struct pair *pair, unsigned ms)
{
	if (pair->phase == PAIR_TALK)
		set_timer(pair, ms);
}

static void refuse(struct pair *pair, enum pair_refusal refusal)
{
	char text[PAIR_REFUSAL_MAX];
	/* Behind the handshake there is nothing that would cost less than the session. */
	if (pair->listener->tls != PROXY_TLS_IMPLICIT)
		side_say(pair->client, text,
			 pair->protocol->refuse(pair->loop->setup, refusal, text));
	pair->phase = PAIR_TALK;
	pair_close(pair, "refused");
}

/* The refusal in *ret_refusal, when false. */
static bool count_client(struct pair *pair, enum pair_refusal *ret_refusal)
{
	struct proxyloop *loop = pair->loop;
	/* Clients of these are mail servers of ours, and all come from a few addresses. */
	if (pair->listener->mode == PROXY_FILTER || pair->listener->speech == PROXY_LMTP ||
	    networks_contain(&loop->setup->limits.unlimited, pair->ends.client_addr))
		return true;
	dnsblv6_addr_to_bytes(pair->ends.client_addr, pair->client_ip.bytes);
	const enum limits_answer answer = limits_enter(loop->limits, &pair->client_ip,
						       proxyloop_now(loop), &pair->is_counted);
	*ret_refusal = answer == LIMITS_RATE ? PAIR_RATE : PAIR_CONNECTIONS;
	return answer == LIMITS_FINE;
}

static void name_client(struct pair *pair)
{
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	dnsblv6_addr_format(pair->ends.client_addr, text);
	snprintf(pair->client_text, sizeof(pair->client_text), "%s", text);
}

static void begin_talk(struct pair *pair)
{
	pair->phase = PAIR_TALK;
	pair->is_begun = true;
	pair->protocol->begin(pair);
	if (pair->phase == PAIR_TALK)
		pair->protocol->turn(pair);
}

/* The client is known. */
static void admit(struct pair *pair)
{
	enum pair_refusal refusal = PAIR_CONNECTIONS;
	name_client(pair);
	if (!count_client(pair, &refusal)) {
		proxyloop_count(pair->loop, PROXY_LIMITED, 1);
		if (proxyloop_may_log(pair->loop, &pair->loop->refusals))
			log_info(context, "connection refused, id=%s client=%s why=%s", pair->id,
				 pair->client_text, refusal == PAIR_RATE ? "rate" : "connections");
		refuse(pair, refusal);
		return;
	}
	if (pair->listener->tls != PROXY_TLS_IMPLICIT) {
		begin_talk(pair);
		return;
	}
	pair->phase = PAIR_SHAKE;
	set_timer(pair, pair->loop->setup->limits.command_ms);
	if (side_begin_tls(pair->client) != 0)
		cut(pair, "tls");
}

static void take_header(struct pair *pair)
{
	size_t size = 0;
	size_t used = 0;
	struct proxy ends;
	const uint8_t *bytes = side_bytes(pair->client, &size);
	if (size == 0 && !pair->client->is_ended)
		return;
	const enum proxy_status status = proxy_parse(bytes, size, &ends, &used);
	if (status == PROXY_MORE && !pair->client->is_ended)
		return;
	if (status != PROXY_DONE) {
		proxyloop_count(pair->loop, PROXY_HEADER_BAD, 1);
		name_client(pair);
		if (proxyloop_may_log(pair->loop, &pair->loop->refusals))
			log_info(context, "PROXY header missing or wrong, id=%s peer=%s", pair->id,
				 pair->client_text);
		cut(pair, "proxy");
		return;
	}
	side_take(pair->client, used);
	pair->client->is_header = false;
	if (!ends.is_local)
		pair->ends = ends;
	admit(pair);
}

void pair_tell_tls_failure(struct pair *pair)
{
	proxyloop_count(pair->loop, PROXY_TLS_FAILED, 1);
	if (proxyloop_may_log(pair->loop, &pair->loop->refusals))
		log_info(context, "TLS failed, id=%s client=%s (%s)", pair->id, pair->client_text,
			 tls_reason(pair->client->tls, pair->client->error));
}

static void shake(struct pair *pair)
{
	if (pair->client->state == SIDE_OPEN) {
		proxyloop_count(pair->loop, PROXY_TLS_SESSIONS, 1);
		begin_talk(pair);
	} else if (pair->client->state == SIDE_FAILED) {
		pair_tell_tls_failure(pair);
		cut(pair, "tls");
	}
}

int pair_begin_tls(struct pair *pair)
{
	size_t early_size = 0;
	/* What is said before the handshake is little, and a socket's buffer is large. */
	(void)side_flush(pair->client);
	(void)side_bytes(pair->client, &early_size);
	if (early_size > 0)
		return -EPROTO;
	if (side_waiting(pair->client) > 0)
		return -EAGAIN;
	return side_begin_tls(pair->client);
}

/* ---- tunnels ---- */

static uint64_t pass(struct side *from, struct side *to)
{
	uint64_t passed = 0;
	for (;;) {
		size_t size = 0;
		size_t room = 0;
		const uint8_t *bytes = side_bytes(from, &size);
		if (size == 0)
			break;
		uint8_t *out = side_room(to, &room);
		if (out == NULL)
			break;
		const size_t part = size < room ? size : room;
		memcpy(out, bytes, part);
		side_put(to, part);
		side_take(from, part);
		passed += part;
	}
	size_t left = 0;
	(void)side_bytes(from, &left);
	if (from->is_ended && left == 0)
		side_shut(to);
	return passed;
}

/* What is said behind STARTTLS, or its answer, in the clear would seem to be said under TLS (CVE-2011-0411). */
static bool is_in_the_clear(const struct side *from, uint64_t passed)
{
	size_t size = 0;
	const uint8_t *bytes = side_bytes(from, &size);
	return passed == 0 && size > 0 && bytes[0] != TLS_ALERT && bytes[0] != TLS_HANDSHAKE;
}

static void pass_both(struct pair *pair)
{
	if (is_in_the_clear(pair->client, pair->tunnel_up) ||
	    is_in_the_clear(pair->server, pair->tunnel_down)) {
		cut(pair, "early-input");
		return;
	}
	const uint64_t up = pass(pair->client, pair->server);
	const uint64_t down = pass(pair->server, pair->client);
	pair->tunnel_up += up;
	pair->tunnel_down += down;
	if (up + down > 0)
		set_timer(pair, TUNNEL_MS);
	if (pair->client->state == SIDE_FAILED || pair->server->state == SIDE_FAILED ||
	    (pair->client->is_shut && pair->server->is_shut))
		cut(pair, "tunnel");
}

void pair_tunnel(struct pair *pair)
{
	pair->phase = PAIR_TUNNEL;
	proxyloop_count(pair->loop, PROXY_TUNNELS, 1);
	set_timer(pair, TUNNEL_MS);
	turn_again(pair);
}

/* ---- turns ---- */

static void linger(struct pair *pair)
{
	size_t size = 0;
	(void)side_bytes(pair->client, &size);
	side_take(pair->client, size);
	if (pair->client->is_ended)
		finish(pair);
}

static void say_last(struct pair *pair)
{
	if (pair->client->state == SIDE_FAILED) {
		finish(pair);
		return;
	}
	if (side_waiting(pair->client) > 0)
		return;
	side_shut(pair->client);
	pair->phase = PAIR_LINGER;
	set_timer(pair, LINGER_MS);
	linger(pair);
}

static void step(struct pair *pair)
{
	switch (pair->phase) {
	case PAIR_PROXY:
		take_header(pair);
		break;
	case PAIR_SHAKE:
		shake(pair);
		break;
	case PAIR_TALK:
		pair->protocol->turn(pair);
		break;
	case PAIR_TUNNEL:
		pass_both(pair);
		break;
	case PAIR_LAST:
		say_last(pair);
		break;
	case PAIR_LINGER:
		linger(pair);
		break;
	case PAIR_CLOSED:
		break;
	}
}

static bool read_sides(struct pair *pair, bool may_fill)
{
	bool has_moved = false;
	if (pair->server != NULL) {
		has_moved = side_advance(pair->server);
		has_moved = (may_fill && side_fill(pair->server)) || has_moved;
	}
	has_moved = side_advance(pair->client) || has_moved;
	return (may_fill && side_fill(pair->client)) || has_moved;
}

static bool write_sides(struct pair *pair)
{
	bool has_moved = false;
	if (pair->phase == PAIR_CLOSED)
		return false;
	if (pair->server != NULL)
		has_moved = side_flush(pair->server);
	return side_flush(pair->client) || has_moved;
}

/* What TLS has decrypted is not seen by waiting for the socket. */
static bool has_pending(const struct side *side)
{
	return side != NULL && side->tls != NULL && side->state == SIDE_OPEN &&
	       side->in.end - side->in.begin < SIDE_BUFFER_SIZE && tls_has_pending(side->tls);
}

static void watch(struct pair *pair)
{
	side_watch(pair->client);
	if (pair->server != NULL)
		side_watch(pair->server);
	pair_scan_watch(pair);
	bank_set(pair->loop->counters, PROXY_BLOCKS, pair->loop->block_count);
}

void pair_turn(struct pair *pair)
{
	bool has_moved = true;
	if (pair == NULL || pair->is_turning || pair->phase == PAIR_CLOSED)
		return;
	pair->is_turning = true;
	for (unsigned round = 0;
	     (round == 0 || has_moved) && round < ROUNDS_MAX && pair->phase != PAIR_CLOSED;
	     round++) {
		has_moved = read_sides(pair, round < FILLS_MAX);
		step(pair);
		has_moved = write_sides(pair) || has_moved;
	}
	pair->is_turning = false;
	if (pair->phase == PAIR_CLOSED) {
		free(pair);
		return;
	}
	if (has_moved || has_pending(pair->client))
		turn_again(pair);
	watch(pair);
}

void pair_run_again(struct proxyloop *loop)
{
	/* Those that want another turn meanwhile have it with the next. */
	unsigned count = 0;
	struct pair *pair = NULL;
	TAILQ_FOREACH(pair, &loop->again, again)
	count++;
	while (count-- > 0 && (pair = TAILQ_FIRST(&loop->again)) != NULL) {
		TAILQ_REMOVE(&loop->again, pair, again);
		pair->is_again = false;
		pair_turn(pair);
	}
}

static void run_timer(struct pair *pair)
{
	pair->is_turning = true;
	if (pair->phase == PAIR_TALK) {
		pair->protocol->expire(pair);
	} else if (pair->phase == PAIR_LAST || pair->phase == PAIR_LINGER) {
		finish(pair);
	} else {
		proxyloop_count(pair->loop, PROXY_TIMEOUTS, 1);
		cut(pair, "timeout");
	}
	pair->is_turning = false;
	if (pair->phase == PAIR_CLOSED)
		free(pair);
	else
		pair_turn(pair);
}

#define OF_ENTRY(entry, member)                                                                    \
	((struct pair *)(void *)((char *)(entry)-offsetof(struct pair, member)))

void pair_run_timers(struct proxyloop *loop)
{
	struct wheel_entry *entry = NULL;
	while ((entry = wheel_take(&loop->wheel, proxyloop_now(loop))) != NULL)
		run_timer(OF_ENTRY(entry, timer));
	while ((entry = wheel_take(&loop->scan_wheel, proxyloop_now(loop))) != NULL) {
		struct pair *pair = OF_ENTRY(entry, scanning.timer);
		pair_scan_turn(pair);
		pair_turn(pair);
	}
}

void pair_drain(struct proxyloop *loop, bool is_all)
{
	struct pair *next = NULL;
	for (struct pair *pair = TAILQ_FIRST(&loop->pairs); pair != NULL; pair = next) {
		next = TAILQ_NEXT(pair, link);
		if (pair->phase == PAIR_TALK && pair->is_begun)
			pair->protocol->drain(pair);
		if (is_all && pair->phase != PAIR_CLOSED) {
			cut(pair, "drained");
			free(pair);
		} else {
			pair_turn(pair);
		}
	}
}

/* ---- the begin ---- */

/* What the client wanted to connect to, before nftables has redirected it. */
static void find_destination(struct pair *pair, int fd)
{
	socklen_t size = sizeof(pair->local);
	struct sockaddr *local = (struct sockaddr *)&pair->local;
	if (getsockname(fd, local, &size) != 0 || pair->listener->mode != PROXY_TRANSPARENT)
		return;
	const bool is_ipv6 = pair->local.ss_family == AF_INET6;
	size = sizeof(pair->local);
	if (is_ipv6 && getsockopt(fd, IPPROTO_IPV6, ORIGINAL_IPV6, local, &size) == 0)
		return;
	/* A client of IPv4 at a socket of IPv6, too. */
	size = sizeof(pair->local);
	struct sockaddr_storage original;
	if (getsockopt(fd, IPPROTO_IP, SO_ORIGINAL_DST, &original, &size) == 0)
		pair->local = original;
}

/* A connection of which nftables knows nothing would be to ourselves, for ever. */
static bool is_loop(const struct pair *pair, int fd)
{
	struct sockaddr_storage own;
	socklen_t size = sizeof(own);
	struct proxy ends;
	if (pair->listener->mode != PROXY_TRANSPARENT ||
	    getsockname(fd, (struct sockaddr *)&own, &size) != 0)
		return false;
	proxy_of_socket((const struct sockaddr *)&own, (const struct sockaddr *)&pair->local,
			&ends);
	return ends.client_port == ends.local_port &&
	       dnsblv6_addr_compare(ends.client_addr, ends.local_addr) == 0;
}

static void turn_away(struct proxyloop *loop, const struct proxysetup_listener *listener,
		      const struct pair_protocol *protocol, int fd)
{
	char text[PAIR_REFUSAL_MAX];
	proxyloop_count(loop, PROXY_FULL, 1);
	if (listener->tls != PROXY_TLS_IMPLICIT)
		(void)send(fd, text, protocol->refuse(loop->setup, PAIR_FULL, text),
			   MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void begin(struct pair *pair, int fd, const struct sockaddr *peer)
{
	const bool is_looped = is_loop(pair, fd);
	pair->client = side_open(pair->loop, pair, fd, false);
	if (pair->client == NULL || is_looped) {
		name_client(pair);
		if (proxyloop_may_log(pair->loop, &pair->loop->failures))
			log_warning(context, "connection dropped, id=%s client=%s (%s)", pair->id,
				    pair->client_text,
				    is_looped ? "its destination is this proxy" : "no memory");
		cut(pair, "dropped");
		return;
	}
	struct proxy peer_ends;
	proxy_of_socket(peer, peer, &peer_ends);
	if (networks_contain(&pair->listener->proxy_of, peer_ends.client_addr)) {
		pair->phase = PAIR_PROXY;
		pair->client->is_header = pair->listener->tls == PROXY_TLS_IMPLICIT;
		set_timer(pair, HEADER_MS);
	} else {
		admit(pair);
	}
}

void pair_open(struct proxyloop *loop, const struct proxysetup_listener *listener,
	       const struct pair_protocol *protocol, int fd, const struct sockaddr *peer)
{
	struct pair *pair =
		loop->pair_count < loop->pair_max ? calloc(1, protocol->pair_size) : NULL;
	proxyloop_count(loop, PROXY_ACCEPTED, 1);
	if (pair == NULL) {
		turn_away(loop, listener, protocol, fd);
		return;
	}
	pair->loop = loop;
	pair->listener = listener;
	pair->protocol = protocol;
	pair->begun_ms = proxyloop_now(loop);
	snprintf(pair->id, sizeof(pair->id), "%012" PRIx64,
		 loop->next_id++ & UINT64_C(0xffffffffffff));
	TAILQ_INSERT_TAIL(&loop->pairs, pair, link);
	loop->pair_count++;
	bank_set(loop->counters, PROXY_SESSIONS, loop->pair_count);
	find_destination(pair, fd);
	proxy_of_socket(peer, (const struct sockaddr *)&pair->local, &pair->ends);
	pair->is_turning = true;
	begin(pair, fd, peer);
	pair->is_turning = false;
	if (pair->phase == PAIR_CLOSED)
		free(pair);
	else
		pair_turn(pair);
}
