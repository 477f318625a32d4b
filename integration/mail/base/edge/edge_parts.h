/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * edge_parts.h - what an edge and its sessions are made of.
 *
 * Flow: edge.c makes the one, session.c the others; channel.c, greeting.c, exchange.c, handout.c
 *       and the server's own functions (edge_protocol.h) work on them. For these alone.
 *
 * A session has a near part, which is resident as long as it is open, and a far part, whose
 * pages are written to when there is something to keep: half a command, replies that the
 * client does not take, the words of a verdict, the relay of a TLS session. While an event is
 * dealt with, bytes are in the edge's own buffers; channel_load() and channel_store() are the way
 * between.
 *
 * What a server may write: next, end, since_ms, trusted_ms, is_skipping, skip_count, has_paused and
 * facts of a session, and the edge's in_start. All else it reads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "integration/common/uvhandle.h"
#include "integration/mail/base/edge/edge_protocol.h"
#include "integration/mail/base/edge/edge_rules.h"
#include "integration/mail/base/handover/nanny_child.h"
#include "integration/mail/base/edge/session_facts.h"
#include "integration/mail/base/loop/arena.h"
#include "integration/mail/base/loop/batching.h"
#include "integration/mail/base/loop/limits.h"
#include "integration/mail/base/loop/stall.h"
#include "integration/mail/base/loop/wheel.h"
#include "integration/mail/base/tls/relay.h"
#include "integration/mail/base/tls/tls.h"
#include "lib/process/doors.h"
#include "lib/process/ration.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Above the longest command and the longest PROXY header; what is pipelined goes into a capsule. */
#define EDGE_IN_SIZE 2048
/* Replies of a pipelined group: as long as one more fits, the next command is looked at. */
#define EDGE_OUT_SIZE (2 * EDGE_REPLY_MAX)

/* What a session waits for. It begins in the first; session_enter() moves it. */
enum session_phase {
	SESSION_PROXY,	 /* the header of a balancer */
	SESSION_PAUSE,	 /* the end of the pause, or a verdict; nothing was said */
	SESSION_TALK,	 /* a command, or that the client takes its replies */
	SESSION_ASKED,	 /* the answer of another process, which was asked about it */
	SESSION_TLS,	 /* the handshake */
	SESSION_TARPIT,	 /* the time at which it may have its refusal */
	SESSION_QUEUED,	 /* an idle worker, or its network's share of workers */
	SESSION_RELAYED, /* the worker that has it, under TLS */
	SESSION_HELD,	 /* the same in the clear: nothing but its end is our business */
	SESSION_LINGER,	 /* the client's end, so that it can read our last words */
	SESSION_CLOSED,	 /* the loop, to let go of it */
	SESSION_PHASE_COUNT,
};

/* What follows when all replies have gone out. */
enum session_next {
	NEXT_TALK,   /* the next command */
	NEXT_TLS,    /* the handshake; what the client has sent ahead of it must be refused */
	NEXT_ASK,    /* another's word about it, of the server's ask() */
	NEXT_JUDGE,  /* the verdict about facts.client_ip, which was named in place of the first */
	NEXT_QUEUE,  /* the hand-over */
	NEXT_LINGER, /* the end, of which the client did not know */
	NEXT_CLOSE,  /* the end that it asked for */
};

struct session {
	struct edge *edge;
	TAILQ_ENTRY(session) link;    /* edge->sessions */
	TAILQ_ENTRY(session) waiting; /* edge->waiting, while it is SESSION_QUEUED */
	struct wheel_entry timer;
	uv_poll_t poll;
	int fd;			  /* -1: the relay or a worker has it */
	int watched;		  /* events of poll that are waited for; 0: none */
	int want;		  /* events without which the last read or write cannot go on */
	unsigned handle_count;	  /* open: poll, and the hold or the relay of the far part */
	enum session_phase phase; /* session_enter() alone sets it */
	enum session_next next;
	const char *end; /* a word for the log; how it came to NEXT_LINGER or NEXT_CLOSE */

	bool is_counted;       /* in edge->limits, for facts.client_ip */
	bool is_held;	       /* there too: it is in the queue, or a worker's */
	bool lacks_share;      /* in SESSION_QUEUED: its network has its share of workers */
	bool is_pausing;       /* the pause is not yet over */
	bool has_paused;       /* it was, for the client of facts.client_ip, which was silent */
	bool is_judging;       /* judge_id is open */
	bool is_early;	       /* spoke before the banner, and was let */
	bool is_ended;	       /* the client sends nothing more */
	bool is_flood;	       /* beyond a limit: not each has a line in the log */
	bool is_skipping;      /* the rest of a line that is too long */
	bool is_delayed;       /* what is to be said waits for the tarpit */
	bool has_judgement;    /* the far part has it, as it is not JUDGE_PASS */
	bool has_refusal_line; /* in the log; others share what lines there may be */
	bool begins_with_tls;  /* of such a place: nothing may be said in the clear */

	struct session_facts facts; /* its times and cpu are reckoned when they are told */
	uint64_t judge_id;
	/* By the loop's clock; 0: not yet. */
	uint64_t accepted_ms;
	uint64_t verdict_ms;
	uint64_t banner_ms; /* later verdicts are about another client, which this one has named */
	uint64_t trusted_ms;
	uint64_t since_ms; /* when the command that is waited for was begun to be */
	uint64_t cpu_ns;
	uint64_t skip_count; /* bytes that were thrown away: of a long line, or behind the end */
	struct tls *tls;     /* NULL: in the clear */
	uint16_t in_size;    /* bytes in the far part */
	uint16_t out_start;
	uint16_t out_size;
};

TAILQ_HEAD(session_list, session);

/* A page: all that most sessions have that need any. */
struct session_kept {
	uint8_t in[EDGE_IN_SIZE];
	struct judgement judgement;
	char out[EDGE_OUT_SIZE];
};

/* The reading end of the pipe of handover.h. */
struct session_hold {
	uv_poll_t poll;
	int fd;
};

/* The relay, or the hold, is begun when the capsule has all that was kept. */
struct session_far {
	union {
		struct session_kept kept;
		struct relay relay;
		struct session_hold hold;
	};
};

struct edge {
	const struct nanny_child *child;
	const struct edge_rules *rules;
	const struct edge_protocol *protocol;
	void *own;	     /* the server's */
	uv_poll_cb on_event; /* of a session */
	uv_loop_t loop;
	struct doors *doors;
	uv_timer_t tick;
	struct stall stall;
	uv_timer_t drain;
	uv_prepare_t wait;
	struct batching batching;
	uv_signal_t term;
	uv_signal_t cut;
	uv_poll_t queue; /* for an idle worker, or room in it */
	struct uvhandle uvhandle;
	struct arena *arena;
	struct limits *limits;
	struct wheel wheel;
	struct tls_context *tls_context; /* NULL: there is no certificate */
	struct session_list sessions;
	struct session_list waiting; /* for a worker, the one that has waited longest first */
	unsigned session_max;
	unsigned session_count; /* not SESSION_CLOSED */
	unsigned waiting_count;
	unsigned relayed_count;
	unsigned held_count;
	uint64_t next_id;
	struct ration flood;	/* lines about connections beyond a limit */
	struct ration refusals; /* and about refused commands */
	uint64_t key_logged_ms; /* when the keyholder was last said not to sign; 0: never */
	uint64_t cpu_ns;	/* of the process, when the last event was over */
	bool is_stressed;	/* many sessions: timeouts are short */
	bool is_draining;
	bool counts_held;   /* limits are for sessions that a worker has, too */
	bool is_queue_full; /* when it was last written to */
	bool is_blocked;    /* the same, or the system lacked something: the others wait too */
	int queue_watched;  /* events of queue that are waited for; 0: none */

	/* Of the session in hand, for the time of one event. */
	uint8_t in[EDGE_IN_SIZE];
	size_t in_start;
	size_t in_end;
	char out[EDGE_OUT_SIZE];
	size_t out_size;
	struct judgement judgement;
};

/* The loop's clock. */
static inline uint64_t session_now(const struct session *session)
{
	return uv_now(&session->edge->loop);
}

static inline struct session_far *session_far(const struct session *session)
{
	return (struct session_far *)arena_far(session->edge->arena, session);
}

static inline void session_count(const struct session *session, enum edge_event event)
{
	session->edge->protocol->count(session->edge, event);
}

#ifdef __cplusplus
}
#endif
