/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * flight.h - one question on its way: servers in turns, over UDP and TCP.
 *
 * Flow: stub.c -> flight_start() -> a resolver -> flight_on_event(),
 *       flight_on_time() -> a reply for stub.c, which knows the askers.
 *
 * A round gives each server one turn. A turn is one socket: a UDP packet, or a TCP
 * connection where UDP did not do. It ends with a reply, an error, or its time:
 * attempt-timeout, twice that in the second round and so on, but never more than an equal share
 * of what is left until the deadline, so that the last server has a turn too. Rounds begin at
 * least 250 ms after one another, doubled as well: servers that refuse at once are not asked at
 * full speed.
 *
 * A server that says SERVFAIL, REFUSED or any other error is not asked again. When all
 * said so, or the second round is over, the last of these is the reply. EDNS is not
 * left out for a server that answers FORMERR: one that still does so has no DNSSEC and no large
 * packets either, and RFC 6891 is of 1999.
 *
 * A packet that does not fit is dropped and waited on. Of a connected socket it is
 * either the server's or a forger's, and each forged packet is a guess at id, port
 * and case: after FLIGHT_WRONG_MAX of them the question goes on over TCP, where guessing does
 * not help. So it does after a turn in which nothing but wrong packets came: a
 * server that answers in another case than it was asked in can still be used.
 *
 * A UDP socket ends with its turn. Only where the server has a loopback address, and has replied, do
 * the first flights keep theirs for the next question: what claims to come from there comes from this
 * machine, and none of its users but root and the server's own can send from the server's port.
 *
 * A flight does not end at its deadline by itself: stub.c stops it. It calls no callback.
 */

#include "client-lib/config/config.h"
#include "client-lib/base/entropy.h"
#include "client-lib/base/message.h"
#include "client-lib/base/queue.h"
#include "client-lib/resolver/stub.h"
#include "client-lib/base/timers.h"
#include "client-lib/resolver/upstream.h"

#define FLIGHT_WRONG_MAX 20
#define FLIGHT_KEPT_MAX	 8     /* the first flights keep a socket to a server on loopback */
#define FLIGHT_UDP_MAX	 4096  /* larger than we offer: not every server looks at that */
#define FLIGHT_TCP_MAX	 16384 /* no zone has an answer of that size; TCP allows for 65535 */

LIST_HEAD(flight_list, flight);

/* What all flights of a stub share. */
struct flights {
	const struct config *config;
	int waitset; /* its tags are those of the flights */
	struct timers *timers;
	struct entropy entropy;
	struct upstream servers[CONFIG_SERVERS_MAX];
	int64_t lack_until_ms; /* we ran out of descriptors, ports or memory: nothing new till then,
				  or till a socket is kept */
	int lack_status;
	struct stub_stats stats;
	struct flight_list keeping; /* those that keep a socket */

	struct message_reply reply; /* of the flight that ended last */
	bool reply_is_trusted;
	const struct config_server *reply_server; /* whose it is */
};

enum flight_step {
	FLIGHT_GOES_ON,
	FLIGHT_ENDED, /* with all->reply; the socket is closed */
};

struct flight {
	struct timer turn;		  /* kind is stub.c's; end of a turn or of a rest */
	uint64_t tag;			  /* stub.c's, for the waitset */
	int fd;				  /* -1: at rest */
	bool is_tcp;			  /* what fd is */
	bool has_kept;			  /* a socket of an earlier question; never beside fd */
	LIST_ENTRY(flight) keeping;	  /* has_kept */
	int kept_fd;			  /* in the waitset, by the same tag */
	struct sockaddr_in6 kept_address; /* of its peer */
	uint16_t type;
	const struct dnsblv6_labels *name; /* in lower case; borrowed until flight_stop() */
	int64_t deadline_ms;		   /* stub.c may move it */

	uint8_t order[CONFIG_SERVERS_MAX];
	unsigned position; /* in order */
	unsigned round;
	int64_t round_began_ms;
	unsigned wants_tcp; /* a bit for each server whose next turn is over TCP */
	unsigned has_said;  /* a bit for each server that refused or failed */

	struct message_question asked; /* in this turn */
	unsigned wrong;		       /* packets of this turn that did not fit */
	uint8_t *tcp;		       /* FLIGHT_TCP_MAX + 2 bytes: the query, then the reply */
	size_t tcp_done, tcp_size;
	bool tcp_is_sent;

	int64_t sent_ms; /* when a server was first asked, or out of reach; -1: none was */
	int status;	 /* of the last turn that failed, or 0 */
	struct {
		enum message_kind kind;
		uint16_t rcode;
		int32_t ede;
		bool is_trusted;
		const struct config_server *server;
	} refusal; /* the last; what has_said is not 0 for */
};

/* Is it a status of ours, which failed to ask, rather than of a server, which failed to answer? */
bool flight_is_lack(int status);

/* At rest, and never asked: for a question that is asked in another way, before flight_stop(). */
void flight_prepare(struct flight *flight, unsigned round);

/*
 * tag and turn.kind are set; all else is set here. round is 0, or that of an earlier flight of the
 * question which was given up.
 */
void flight_start(struct flights *all, struct flight *flight, const struct dnsblv6_labels *name,
		  uint16_t type, unsigned round, int64_t now_ms, int64_t deadline_ms);
void flight_stop(struct flights *all, struct flight *flight);

/* The end of a socket that was kept: after flight_stop(), or when the waitset has something for it. */
void flight_drop_kept(const struct flights *all, struct flight *flight);

/* The waitset has something for its socket; or its timer was due, and is not set any more. */
enum flight_step flight_on_event(struct flights *all, struct flight *flight, int64_t now_ms);
enum flight_step flight_on_time(struct flights *all, struct flight *flight, int64_t now_ms);

/* What a server has for its answer in this round, if there is time. */
int64_t flight_round_ms(const struct flights *all, const struct flight *flight);
/*
 * Its timer is due: has every server had a turn, and none a word? Then it may be given up, before
 * flight_stop(), and another one begin in flight->round.
 */
bool flight_is_round_over(const struct flights *all, const struct flight *flight);
void flight_give_up(struct flights *all, struct flight *flight, int64_t now_ms);

/*
 * What is known at the deadline: 0 with the last refusal in all->reply, or the
 * status of the last turn.
 */
int flight_outcome(struct flights *all, const struct flight *flight);

/*
 * After fork(), instead of flight_stop(): the socket is the parent's, and so is its place in the
 * waitset.
 */
void flight_forget(struct flight *flight);
