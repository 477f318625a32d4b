/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * responder.h - what udp.c and tcp.c ask of the program that they work for.
 *
 * Flow: udp.c and tcp.c have a query -> answer() of the program, once for each (udp.c
 *       shows it a batch before, lookahead()) ->
 *       a response in the engine's own buffer -> end() behind each batch.
 *
 *     static size_t answer(void *context, const struct responder_query *query,
 *                          uint8_t *ret_wire, size_t wire_max)
 *     {
 *             struct program *program = context;
 *             size_t size = answer_at_once(program, query, ret_wire, wire_max);
 *             if (size > 0)
 *                     return size;
 *             struct request *request = begin_request(program, query);
 *             if (request == NULL)
 *                     return refuse(query, ret_wire, wire_max);
 *             if (query->is_tcp)
 *                     tcp_defer(program->tcp, &request->tcp_asker);
 *             else
 *                     udp_defer(program->udp, &request->udp_asker);
 *             return 0;
 *     }
 *
 *     // In a later turn of the loop, once for each that was deferred.
 *     static void request_on_done(struct program *program, struct request *request)
 *     {
 *             if (request->is_tcp)
 *                     tcp_send(program->tcp, &request->tcp_asker, request->wire, request->size);
 *             else
 *                     udp_send(program->udp, &request->udp_asker, request->wire, request->size);
 *     }
 *
 * Neither engine allocates for a query, and neither counts what is deferred: the bound is
 * the program's, which needs memory for each of them anyway. An engine keeps a copy of
 * struct responder.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define RESPONDER_QUERY_MAX    4096  /* bytes of a query: more than any question and its options */
#define RESPONDER_PAYLOAD_MAX  4096  /* of a response over UDP */
#define RESPONDER_RESPONSE_MAX 65535 /* over TCP */

/* Everything is borrowed until answer() returns. */
struct responder_query {
	const uint8_t *wire;
	size_t size; /* of UDP one of any size up to RESPONDER_QUERY_MAX; 12 at least of TCP.
			What is longer comes cut, and so is malformed */
	const struct sockaddr *client;
	int fd; /* the socket it came from, for getsockname(); -1: of none */
	bool is_tcp;
	uint16_t keepalive; /* over TCP: how long a client may be silent, in units of 100 ms
			       (RFC 7828) */
	uint64_t now_s;	    /* Unix time */
	uint64_t now_ms;    /* of a clock that never goes back */
};

struct tcp_asker; /* tcp.h */

/* What an engine has to tell about itself. */
enum responder_event {
	RESPONDER_DROPPED,     /* a response that the kernel did not take */
	RESPONDER_TCP_CLIENT,  /* one has come */
	RESPONDER_TCP_CLOSED,  /* one was closed for silence, nonsense or want of room */
	RESPONDER_TCP_NETWORK, /* one of those, because its network had too many */
};

struct responder {
	void *context; /* for all of them */

	/*
	 * The queries of a batch, which answer() is then called for in this order: a
	 * program that has to wait for memory may begin with all of them. May be NULL; not for
	 * every query.
	 */
	void (*lookahead)(void *context, const struct responder_query *queries, size_t count);

	/*
	 * Returns the size of the response in ret_wire, at most wire_max bytes. 0: nothing
	 * is sent now. Over UDP that is silence, unless udp_defer() was called before it
	 * returned; over TCP the connection is closed behind the responses before, unless
	 * tcp_defer() or tcp_hand_over() was called.
	 */
	size_t (*answer)(void *context, const struct responder_query *query, uint8_t *ret_wire,
			 size_t wire_max);

	/* Behind the last query of a batch, before the loop waits. May be NULL. */
	void (*end)(void *context);

	/*
	 * What tcp_hand_over() announced: fd stays the engine's, which may close it, without a
	 * shutdown; a program that writes makes a duplicate. Everything before it has been
	 * written. asker is for tcp_give_back(). NULL: tcp_hand_over() is never called.
	 */
	void (*take_connection)(void *context, int fd, const struct tcp_asker *asker);

	/* May be NULL. */
	void (*count)(void *context, enum responder_event event);
};
