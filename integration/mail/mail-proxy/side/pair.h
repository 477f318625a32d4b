/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pair.h - a client, the next hop behind it, and what is scanned between: one session of a proxy.
 *
 * Flow: proxyworker.c accepts -> pair_open() -> a PROXY header, limits, the handshake where it comes
 *       first -> begin() of the protocol, then turn() each time that something has come, gone or
 *       changed -> pair_close() of the protocol -> end(), and all is freed.
 *
 * A protocol's own session begins with a struct pair:
 *
 *     struct mailpair {
 *             struct pair pair;       // the first
 *             struct mailtalk talk;
 *     };
 *
 * turn() does what it can with the bytes and the room that there are, and returns: it is called
 * again. It may call any function of here and of side.h. Only pair_close() ends a session.
 *
 *     static void turn(struct pair *pair)
 *     {
 *             if (pair->server == NULL)
 *                     pair_connect(pair);
 *             if (pair->server->state == SIDE_FAILED) ...       // no next hop
 *             ...
 *             pair_wait(pair, setup->limits.command_ms);
 *     }
 *
 * For the one thread of its process.
 */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/mail-proxy/side/side.h"
#include "lib/format/address.h"
#include "lib/wire/proxy.h"

#define PAIR_CLIENT_TEXT_SIZE 64
#define PAIR_ID_SIZE	      20
#define PAIR_REFUSAL_MAX      512

/* Why a client is turned away before its session begins. */
enum pair_refusal { PAIR_FULL, PAIR_CONNECTIONS, PAIR_RATE, PAIR_STOPPING };

struct pair;
struct text;

/* What a protocol is: a table of its functions. */
struct pair_protocol {
	size_t pair_size; /* of its struct, all zero when begin() is called but for the pair */
	void (*begin)(struct pair *pair);
	void (*turn)(struct pair *pair);
	/* The time of pair_wait() is over: something is to be said, or pair_close(). */
	void (*expire)(struct pair *pair);
	/* The process is to end: pair_close(), unless a mail is on its way. */
	void (*drain)(struct pair *pair);
	/* The session's line in the log; what is its own is freed. Only behind begin(). */
	void (*end)(struct pair *pair);
	/* What is said in place of a greeting. Its size, PAIR_REFUSAL_MAX at most. */
	size_t (*refuse)(const struct proxysetup *setup, enum pair_refusal refusal, char *ret_text);
};

enum pair_phase {
	PAIR_PROXY,  /* the header that names the client */
	PAIR_SHAKE,  /* the handshake in front of all */
	PAIR_TALK,   /* the protocol's */
	PAIR_TUNNEL, /* bytes both ways, not looked at */
	PAIR_LAST,   /* the last words to the client */
	PAIR_LINGER, /* its end, so that it can read them */
	PAIR_CLOSED, /* the loop, to let go of it */
};

/* The scan of a mail, and how the loop waits for it. For pairscan.c. */
struct pairscan {
	struct scan *scan;
	bool is_on;
	bool is_held; /* it is one of its network's share */
	int epoll_fd; /* what the scan waits for; 0: none */
	uv_poll_t *poll;
	int fds[SCAN_POLL_MAX];
	size_t fd_count;
	struct wheel_entry timer;
};

struct pair {
	struct proxyloop *loop;
	const struct proxysetup_listener *listener;
	const struct pair_protocol *protocol;
	TAILQ_ENTRY(pair) link;
	TAILQ_ENTRY(pair) again;
	bool is_again;
	bool is_begun;	 /* begin() was called */
	bool is_counted; /* in the limits, by client_ip */
	bool is_turning;
	enum pair_phase phase;
	struct side *client;
	struct side *server; /* NULL: not connected */
	struct wheel_entry timer;
	uint64_t begun_ms;	       /* by the loop's clock */
	struct proxy ends;	       /* both addresses: of the sockets, or of a PROXY header */
	struct sockaddr_storage local; /* the destination that the client had */
	struct dnsblv6_ip client_ip;
	char client_text[PAIR_CLIENT_TEXT_SIZE];
	char id[PAIR_ID_SIZE];
	const char *why; /* pair_close()'s word for the log */
	/* Bytes that a tunnel has passed, each way. */
	uint64_t tunnel_up;
	uint64_t tunnel_down;
	struct pairscan scanning;
};

/* fd is handed over. The session goes its way, and ends by itself. */
void pair_open(struct proxyloop *loop, const struct proxysetup_listener *listener,
	       const struct pair_protocol *protocol, int fd, const struct sockaddr *peer);
/* Of the loop's tick: times that are over. */
void pair_run_timers(struct proxyloop *loop);
/* Those that wanted another turn. */
void pair_run_again(struct proxyloop *loop);
/* The loop is to end: each may finish its mail. is_all: it may not. */
void pair_drain(struct proxyloop *loop, bool is_all);

/* ---- for protocols ---- */

/*
 * Begins to connect to the next hop: pair->server is SIDE_CONNECTING, then SIDE_OPEN, or
 * SIDE_FAILED. A PROXY header, where one is wanted, is in front of all. 0; or -errno, and
 * pair->server is NULL.
 */
int pair_connect(struct pair *pair);
/* Takes one that is not there. */
void pair_drop(struct pair *pair);
/*
 * What is written to the client goes out first, then the handshake begins: pair->client is
 * SIDE_SHAKING, then SIDE_OPEN or SIDE_FAILED. 0; -EAGAIN: it has not gone out yet; or a failure,
 * which is -EPROTO where bytes have come in the clear, as they would seem to be said under TLS.
 */
int pair_begin_tls(struct pair *pair);
/* The handshake has failed: counts it, and a line in the log says why. */
void pair_tell_tls_failure(struct pair *pair);
/* From here on bytes are passed both ways and not looked at; turn() is not called any more. */
void pair_tunnel(struct pair *pair);
/* What is written to the client goes out first. why is a word for the log, static. */
void pair_close(struct pair *pair, const char *why);
/* How the line about a session in the log ends: what was passed, how long it took, and why. */
void pair_put_end(const struct pair *pair, struct text *text);
/* expire() is called so many ms from now, unless this is called again; 0: never. */
void pair_wait(struct pair *pair, unsigned ms);

/* ---- the scan of one mail at a time (pairscan.c) ---- */

/* 0, or -EAGAIN: there are too many. Without a scanner all is clean. */
int pair_scan_begin(struct pair *pair, const struct scan_envelope *envelope);
void pair_scan_push(struct pair *pair, const uint8_t *bytes, size_t size);
void pair_scan_end(struct pair *pair, bool is_whole);
/* While it is nothing is to be pushed, and there is no verdict; turn() is called when it changes. */
bool pair_scan_is_busy(const struct pair *pair);
bool pair_scan_has_found(const struct pair *pair);
/* Behind pair_scan_end(), when it is not busy; borrowed until pair_scan_free(). Never NULL. */
const struct scan_verdict *pair_scan_verdict(const struct pair *pair);
/* Takes one that is not there. */
void pair_scan_free(struct pair *pair);

/* ---- pairscan.c's, for pair.c ---- */

/* Waits for what the scan names. */
void pair_scan_watch(struct pair *pair);
/* Its time is over, or one of its descriptors is ready. */
void pair_scan_turn(struct pair *pair);

/* pair.c's: all that there is to do, behind an event. */
void pair_turn(struct pair *pair);
