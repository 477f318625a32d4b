/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hop.h - one connection to the next hop that asks about recipients and never sends a mail.
 *
 * Flow: callforward.c opens it and gives it questions, one at a time -> MAIL FROM:<>, RCPT TO:<x>,
 *       RSET -> the events below.
 *
 *     HOP_CLOSED -> HOP_OPENING -> HOP_IDLE <-> HOP_BUSY
 *                   each of them -> HOP_CLOSING -> HOP_CLOSED
 *
 * With PIPELINING (RFC 2920) the three commands go in one piece, else one after the other. EHLO,
 * then HELO where that is refused; to LMTP (RFC 2033) LHLO. A PROXY header, where the next hop
 * wants one, has the connection's own ends: the question is our own. No TLS: the next hop is next
 * to us.
 *
 * Lies in the memory of its owner, and is in use until on_closed(), which may come as the last
 * event of hop_close(), or without it. Events come out of the loop alone. A connection on which
 * something comes before it is asked for has failed, as one has whose server says no reply
 * (replies.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "integration/mail/smtp-front/recipients/answers.h"
#include "lib/smtp/replies.h"

#define HOP_COMMANDS_MAX 1024

enum hop_state { HOP_CLOSED, HOP_OPENING, HOP_IDLE, HOP_BUSY, HOP_CLOSING };

struct hop;

struct hop_events {
	/* It is HOP_IDLE: hop_ask() or hop_quit() may follow at once. */
	void (*on_ready)(struct hop *hop);
	/* To its question. code is 0 when MAIL was refused: then nothing is known. */
	void (*on_answer)(struct hop *hop, const struct callforward_answer *answer);
	/* The connection has failed, with the state it had; it is HOP_CLOSING now. */
	void (*on_failed)(struct hop *hop, enum hop_state state);
	void (*on_closed)(struct hop *hop);
};

struct hop {
	enum hop_state state;
	unsigned question_count; /* of this connection */
	unsigned refused_count;	 /* of them, with an answer of 4xx or 5xx */
	bool offers_utf8;
	bool is_lmtp;
	unsigned proxy_version; /* 0: no PROXY header */
	uint64_t deadline_ms;	/* the owner's */
	void *owner;		/* the same, as the next */
	void *question;

	/* hop.c's own from here on. */
	const struct hop_events *events;
	const char *hostname;
	uv_poll_t poll;
	int fd;
	int step;
	int mail_code;
	bool offers_pipelining;
	bool is_utf8;
	size_t out_start;
	size_t out_size;
	char out[HOP_COMMANDS_MAX];
	size_t address_size;
	char address[ENVELOPE_ADDRESS_MAX];
	struct replies replies;
	struct callforward_answer answer; /* the reply under way */
};

/*
 * Begins to connect a hop that is HOP_CLOSED; its owner, events, hostname, is_lmtp and
 * proxy_version are set. 0, or -errno, and it is still HOP_CLOSED.
 */
int hop_open(struct hop *hop, uv_loop_t *loop, const struct sockaddr *address, socklen_t size);
/* HOP_IDLE. address is copied. */
void hop_ask(struct hop *hop, const char *address, size_t size, bool is_utf8);
/* HOP_IDLE: says QUIT, and closes. */
void hop_quit(struct hop *hop);
/* In any state, without on_failed(). */
void hop_close(struct hop *hop);
