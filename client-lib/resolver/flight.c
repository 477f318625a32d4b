/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/resolver/flight.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client-lib/base/waitset.h"
#include "client-lib/config/servers.h"

#define ROUND_MIN_MS  250 /* from round to round, doubled each time */
#define DOUBLINGS_MAX 10  /* no turn is so long that more would matter */
#define LACK_REST_MS  50  /* until descriptors are tried again */

/* ---- sockets ---- */

bool flight_is_lack(int status)
{
	switch (-status) {
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
	case ENOSPC: /* of a waitset: epoll's max_user_watches */
	case EAGAIN: /* no port or no entropy left, or a full send buffer */
		return true;
	default:
		return false;
	}
}

/* IPv4 by its own family: a machine may have IPv6 switched off. */
static socklen_t make_address(const struct sockaddr_in6 *server, struct sockaddr_storage *ret)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (!IN6_IS_ADDR_V4MAPPED(&server->sin6_addr)) {
		memcpy(ret, server, sizeof(*server));
		((struct sockaddr *)ret)->sa_family = AF_INET6;
		return sizeof(*server);
	}
	in.sin_port = server->sin6_port;
	memcpy(&in.sin_addr, server->sin6_addr.s6_addr + 12, 4);
	memcpy(ret, &in, sizeof(in));
	return sizeof(in);
}

/* The kernel chooses the port at random, out of ip_local_port_range, when it connects. */
static int open_socket(const struct config_server *server, int type, int *ret_fd)
{
	struct sockaddr_storage address;
	socklen_t address_size = make_address(&server->address, &address);
	int fd = socket(address.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, address_size) != 0 && errno != EINPROGRESS) {
		int ret = -errno;

		close(fd);
		return ret;
	}
	*ret_fd = fd;
	return 0;
}

static void close_fd(const struct flights *all, int fd)
{
	/* A child that was forked meanwhile may hold it open; then close() would leave it here. */
	waitset_remove(all->waitset, fd);
	close(fd);
}

static void close_socket(struct flights *all, struct flight *flight)
{
	if (flight->fd < 0)
		return;
	close_fd(all, flight->fd);
	flight->fd = -1;
	free(flight->tcp);
	flight->tcp = NULL;
}

/* Of a turn that ended with a reply: nothing that was asked with it is still to come. */
static void keep_or_close(struct flights *all, struct flight *flight,
			  const struct config_server *server)
{
	if (flight->is_tcp || flight->tag >= FLIGHT_KEPT_MAX ||
	    !servers_is_loopback(&server->address)) {
		close_socket(all, flight);
		return;
	}
	flight->kept_fd = flight->fd;
	flight->kept_address = server->address;
	flight->has_kept = true;
	LIST_INSERT_HEAD(&all->keeping, flight, keeping);
	flight->fd = -1;
}

static int take_kept(struct flight *flight)
{
	flight->has_kept = false;
	LIST_REMOVE(flight, keeping);
	return flight->kept_fd;
}

void flight_drop_kept(const struct flights *all, struct flight *flight)
{
	if (flight->has_kept)
		close_fd(all, take_kept(flight));
}

/* Whether the question is on its way. */
static bool send_by_kept(const struct flights *all, struct flight *flight,
			 const struct config_server *server, const uint8_t *query, size_t size)
{
	if (!flight->has_kept)
		return false;
	if (memcmp(&flight->kept_address, &server->address, sizeof(server->address)) != 0 ||
	    send(flight->kept_fd, query, size, MSG_NOSIGNAL) < 0) {
		flight_drop_kept(all, flight);
		return false;
	}
	flight->fd = take_kept(flight);
	return true;
}

/* ---- a turn begins ---- */

static int begin_udp(struct flights *all, struct flight *flight, const struct config_server *server)
{
	uint8_t query[MESSAGE_QUERY_MAX];
	uint8_t bits[(DNSBLV6_LABELS_MAX + 7) / 8];

	if (all->config->mixed_case) {
		int ret = entropy_take(&all->entropy, bits, sizeof(bits));

		if (ret != 0)
			return ret;
		message_mix_case(&flight->asked.name, bits, sizeof(bits));
	}
	size_t size = message_make(&flight->asked, query);

	flight->is_tcp = false;
	if (send_by_kept(all, flight, server, query, size)) {
		all->stats.sent_udp++;
		return 0;
	}
	int ret = open_socket(server, SOCK_DGRAM, &flight->fd);

	if (ret != 0)
		return ret;
	if (send(flight->fd, query, size, MSG_NOSIGNAL) < 0) {
		ret = -errno;
	} else {
		all->stats.sent_udp++;
		/* While the server works: a reply that is there already is an event too. */
		ret = waitset_add(all->waitset, flight->fd, flight->tag);
	}
	if (ret != 0)
		close_socket(all, flight);
	return ret;
}

static int begin_tcp(struct flights *all, struct flight *flight, const struct config_server *server)
{
	uint8_t *tcp = malloc(FLIGHT_TCP_MAX + 2);

	if (tcp == NULL)
		return -ENOMEM;
	size_t size = message_make(&flight->asked, tcp + 2);

	flight_drop_kept(all, flight);
	int ret = open_socket(server, SOCK_STREAM, &flight->fd);

	flight->is_tcp = ret == 0;
	if (ret == 0)
		ret = waitset_add_writer(all->waitset, flight->fd, flight->tag);
	if (ret != 0) {
		close_socket(all, flight);
		free(tcp);
		return ret;
	}
	tcp[0] = (uint8_t)(size >> 8);
	tcp[1] = (uint8_t)size;
	flight->tcp = tcp;
	flight->tcp_done = 0;
	flight->tcp_size = size + 2;
	flight->tcp_is_sent = false;
	all->stats.sent_tcp++;
	return 0;
}

/* For want of a descriptor with one that another flight keeps. */
static int begin_by(struct flights *all, struct flight *flight, const struct config_server *server,
		    bool is_tcp)
{
	for (;;) {
		int ret = is_tcp ? begin_tcp(all, flight, server) : begin_udp(all, flight, server);
		struct flight *keeping = LIST_FIRST(&all->keeping);

		if (!flight_is_lack(ret) || keeping == NULL)
			return ret;
		flight_drop_kept(all, keeping);
	}
}

static int begin_turn(struct flights *all, struct flight *flight, unsigned number, int64_t now_ms)
{
	const struct config_server *server = &all->config->servers[number];

	if (now_ms < all->lack_until_ms && LIST_EMPTY(&all->keeping))
		return all->lack_status;
	flight->wrong = 0;
	flight->asked.name = *flight->name;
	flight->asked.type = flight->type;
	/* Signatures are of use from a server that is believed to have checked them. */
	flight->asked.wants_proof = server->is_trusted && all->config->use_ranges;
	int ret = entropy_take(&all->entropy, &flight->asked.id, sizeof(flight->asked.id));

	if (ret == 0)
		ret = begin_by(all, flight, server, flight->wants_tcp & 1U << number);
	if (!flight_is_lack(ret) && flight->sent_ms < 0)
		flight->sent_ms = now_ms;
	if (flight_is_lack(ret)) {
		all->lack_until_ms = now_ms + LACK_REST_MS;
		all->lack_status = ret;
	}
	return ret;
}

static unsigned doublings(const struct flight *flight)
{
	return flight->round < DOUBLINGS_MAX ? flight->round : DOUBLINGS_MAX;
}

int64_t flight_round_ms(const struct flights *all, const struct flight *flight)
{
	return (int64_t)all->config->attempt_timeout_ms << doublings(flight);
}

/* Its time, of what is left for it and those behind it in this round. */
static int64_t turn_ms(const struct flights *all, const struct flight *flight, int64_t now_ms)
{
	int64_t ms = flight_round_ms(all, flight);
	int64_t askable = 1;

	for (unsigned i = flight->position + 1; i < all->config->server_count; i++) {
		if (!(flight->has_said & 1U << flight->order[i]))
			askable++;
	}
	int64_t share = (flight->deadline_ms - now_ms) / askable;

	if (ms > share)
		ms = share;
	return ms > 0 ? ms : 1;
}

/* ---- from turn to turn ---- */

static void blame(struct flights *all, struct flight *flight, int64_t now_ms, int status)
{
	flight->status = status;
	all->stats.timeouts++;
	upstream_failed(&all->servers[flight->order[flight->position]], now_ms);
}

static void rest_until(struct flights *all, struct flight *flight, int64_t when_ms)
{
	timers_set(all->timers, &flight->turn, when_ms);
}

/* 0, -EAGAIN for want of means of our own, or -ENOENT when no server is left in this round. */
static int ask_next_server(struct flights *all, struct flight *flight, int64_t now_ms)
{
	for (; flight->position < all->config->server_count; flight->position++) {
		unsigned number = flight->order[flight->position];

		if (flight->has_said & 1U << number)
			continue;
		int ret = begin_turn(all, flight, number, now_ms);

		if (ret == 0)
			return 0;
		if (flight_is_lack(ret)) {
			flight->status = ret;
			return -EAGAIN;
		}
		blame(all, flight, now_ms, ret);
	}
	return -ENOENT;
}

/* Has every server been asked that may still answer? */
static bool is_refused(const struct flights *all, const struct flight *flight)
{
	unsigned all_servers = (1U << all->config->server_count) - 1;

	return flight->has_said == all_servers || (flight->has_said != 0 && flight->round > 0);
}

static void begin_round(struct flight *flight, int64_t now_ms)
{
	int64_t pause_ms = (int64_t)ROUND_MIN_MS << doublings(flight);
	int64_t next_ms = flight->round_began_ms + pause_ms;

	flight->round++;
	flight->position = 0;
	flight->round_began_ms = next_ms > now_ms ? next_ms : now_ms;
}

/*
 * The server at position, or the first behind it, that can be asked is asked; if
 * there is none, then in the next round. This goes round once at most, since a round that
 * began now is followed by a rest.
 */
static enum flight_step take_turn(struct flights *all, struct flight *flight, int64_t now_ms)
{
	while (flight->round_began_ms <= now_ms) {
		int ret = ask_next_server(all, flight, now_ms);

		if (ret == 0) {
			rest_until(all, flight, now_ms + turn_ms(all, flight, now_ms));
			return FLIGHT_GOES_ON;
		}
		if (ret == -EAGAIN) {
			rest_until(all, flight, now_ms + LACK_REST_MS);
			return FLIGHT_GOES_ON;
		}
		if (is_refused(all, flight)) {
			flight_outcome(all, flight);
			return FLIGHT_ENDED;
		}
		begin_round(flight, now_ms);
	}
	rest_until(all, flight, flight->round_began_ms);
	return FLIGHT_GOES_ON;
}

/* The server gave no reply that can be used. */
static enum flight_step fail_turn(struct flights *all, struct flight *flight, int64_t now_ms,
				  int status)
{
	unsigned bit = 1U << flight->order[flight->position];

	/* What did not help is not done again. */
	if (flight->is_tcp)
		flight->wants_tcp &= ~bit;
	else if (flight->wrong > 0)
		flight->wants_tcp |= bit;
	close_socket(all, flight);
	blame(all, flight, now_ms, status);
	flight->position++;
	return take_turn(all, flight, now_ms);
}

static enum flight_step turn_to_tcp(struct flights *all, struct flight *flight, int64_t now_ms)
{
	flight->wants_tcp |= 1U << flight->order[flight->position];
	close_socket(all, flight);
	return take_turn(all, flight, now_ms);
}

/* ---- what comes ---- */

static enum flight_step take_reply(struct flights *all, struct flight *flight, int64_t now_ms)
{
	unsigned number = flight->order[flight->position];
	const struct config_server *server = &all->config->servers[number];

	if (all->reply.kind == MESSAGE_TRUNCATED) {
		if (flight->is_tcp)
			return fail_turn(all, flight, now_ms, -EBADMSG);
		return turn_to_tcp(all, flight, now_ms);
	}
	all->stats.replies++;
	upstream_answered(&all->servers[number]);
	keep_or_close(all, flight, server);
	if (all->reply.kind != MESSAGE_REFUSED && all->reply.kind != MESSAGE_FAILURE) {
		all->reply_is_trusted = server->is_trusted;
		all->reply_server = server;
		return FLIGHT_ENDED;
	}
	flight->refusal.kind = all->reply.kind;
	flight->refusal.rcode = all->reply.rcode;
	flight->refusal.ede = all->reply.ede;
	flight->refusal.is_trusted = server->is_trusted;
	flight->refusal.server = server;
	flight->has_said |= 1U << number;
	flight->position++;
	return take_turn(all, flight, now_ms);
}

static enum flight_step read_udp(struct flights *all, struct flight *flight, int64_t now_ms)
{
	uint8_t packet[FLIGHT_UDP_MAX];

	/* FLIGHT_WRONG_MAX times at most. */
	for (;;) {
		ssize_t size = recv(flight->fd, packet, sizeof(packet), 0);

		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return FLIGHT_GOES_ON;
		/* ICMP: the port is closed, the host or the network is out of reach. */
		if (size < 0)
			return fail_turn(all, flight, now_ms, -errno);
		int ret = message_parse(&flight->asked, packet, (size_t)size, &all->reply);

		if (ret == 0)
			return take_reply(all, flight, now_ms);
		if (ret != -ENOMSG)
			return fail_turn(all, flight, now_ms, ret);
		all->stats.dropped++;
		if (++flight->wrong >= FLIGHT_WRONG_MAX)
			return turn_to_tcp(all, flight, now_ms);
	}
}

/* Never 0: -EAGAIN as long as nothing went wrong, for the reply is still to come. */
static int write_tcp(const struct flights *all, struct flight *flight)
{
	ssize_t size = send(flight->fd, flight->tcp + flight->tcp_done,
			    flight->tcp_size - flight->tcp_done, MSG_NOSIGNAL);

	if (size < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	flight->tcp_done += (size_t)size;
	if (flight->tcp_done < flight->tcp_size)
		return -EAGAIN;
	int ret = waitset_turn(all->waitset, flight->fd, flight->tag);
	if (ret != 0)
		return ret;
	flight->tcp_is_sent = true;
	flight->tcp_done = 0;
	flight->tcp_size = 2;
	return -EAGAIN;
}

/* 0 when a whole message is there, -EAGAIN when not, or what went wrong. */
static int read_tcp(struct flight *flight)
{
	while (flight->tcp_done < flight->tcp_size) {
		ssize_t size = recv(flight->fd, flight->tcp + flight->tcp_done,
				    flight->tcp_size - flight->tcp_done, 0);

		if (size < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		if (size == 0)
			return -ECONNRESET;
		flight->tcp_done += (size_t)size;
		if (flight->tcp_done == 2)
			flight->tcp_size += (size_t)(flight->tcp[0] << 8 | flight->tcp[1]);
		if (flight->tcp_size > FLIGHT_TCP_MAX + 2)
			return -EMSGSIZE;
	}
	return 0;
}

enum flight_step flight_on_event(struct flights *all, struct flight *flight, int64_t now_ms)
{
	if (flight->fd < 0) {
		flight_drop_kept(all, flight);
		return FLIGHT_GOES_ON;
	}
	if (!flight->is_tcp)
		return read_udp(all, flight, now_ms);
	int ret = flight->tcp_is_sent ? read_tcp(flight) : write_tcp(all, flight);

	if (ret == -EAGAIN)
		return FLIGHT_GOES_ON;
	if (ret == 0)
		ret = message_parse(&flight->asked, flight->tcp + 2, flight->tcp_size - 2,
				    &all->reply);
	if (ret == 0)
		return take_reply(all, flight, now_ms);
	if (ret == -ENOMSG)
		all->stats.dropped++;
	return fail_turn(all, flight, now_ms, ret);
}

enum flight_step flight_on_time(struct flights *all, struct flight *flight, int64_t now_ms)
{
	if (flight->fd >= 0)
		return fail_turn(all, flight, now_ms, -ETIMEDOUT);
	return take_turn(all, flight, now_ms);
}

bool flight_is_round_over(const struct flights *all, const struct flight *flight)
{
	/* What a server has told, of itself or of how it wants to be asked, is not forgotten. */
	if (flight->has_said != 0 || flight->wants_tcp != 0 || flight->wrong > 0)
		return false;
	if (flight->fd < 0)
		return flight->round > 0 && flight->position == 0;
	return flight->position + 1 >= all->config->server_count;
}

void flight_give_up(struct flights *all, struct flight *flight, int64_t now_ms)
{
	if (flight->fd < 0)
		return;
	close_socket(all, flight);
	blame(all, flight, now_ms, -ETIMEDOUT);
	begin_round(flight, now_ms);
}

/* ---- beginning and end ---- */

void flight_prepare(struct flight *flight, unsigned round)
{
	flight->fd = -1;
	flight->tcp = NULL;
	flight->round = round;
	flight->position = 0;
	flight->wants_tcp = flight->has_said = flight->wrong = 0;
	flight->status = 0;
	flight->sent_ms = -1;
}

void flight_start(struct flights *all, struct flight *flight, const struct dnsblv6_labels *name,
		  uint16_t type, unsigned round, int64_t now_ms, int64_t deadline_ms)
{
	flight_prepare(flight, round);
	flight->name = name;
	flight->type = type;
	flight->deadline_ms = deadline_ms;
	flight->round_began_ms = now_ms;
	upstream_order(all->servers, all->config->server_count, now_ms, flight->order);
	/* It cannot end here: no server has said anything. */
	take_turn(all, flight, now_ms);
}

void flight_stop(struct flights *all, struct flight *flight)
{
	timers_clear(all->timers, &flight->turn);
	close_socket(all, flight);
}

int flight_outcome(struct flights *all, const struct flight *flight)
{
	if (flight->has_said == 0 && flight->sent_ms >= 0)
		return flight->status == 0 || flight_is_lack(flight->status) ? -ETIMEDOUT
									     : flight->status;
	if (flight->has_said == 0)
		return flight->status != 0 ? flight->status : -EAGAIN;
	memset(&all->reply, 0, sizeof(all->reply));
	all->reply.kind = flight->refusal.kind;
	all->reply.rcode = flight->refusal.rcode;
	all->reply.ede = flight->refusal.ede;
	all->reply_is_trusted = flight->refusal.is_trusted;
	all->reply_server = flight->refusal.server;
	return 0;
}

void flight_forget(struct flight *flight)
{
	if (flight->fd >= 0)
		close(flight->fd);
	flight->fd = -1;
	if (flight->has_kept)
		close(flight->kept_fd);
	flight->has_kept = false;
	free(flight->tcp);
	flight->tcp = NULL;
}
