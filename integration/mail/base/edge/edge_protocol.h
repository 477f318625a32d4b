/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * edge_protocol.h - what a server's protocol is, to an edge: a table of its functions.
 *
 * Flow: edge_run() has the table -> edge.c, session.c, greeting.c, exchange.c, handout.c call it,
 *       always in the edge's one thread -> the server's functions, which say their replies with
 *       channel_say() and what is next with session->next.
 *
 * A server's own edge begins with a struct edge, its session with a struct session, its far part
 * with a struct session_kept:
 *
 *     struct pop_edge {
 *             struct edge edge;               // the first
 *             struct users *users;
 *     };
 *     struct pop_session {
 *             struct session session;         // the first
 *             char name[64];
 *     };
 *     struct pop_kept {
 *             struct session_kept kept;       // the first
 *             char password[256];
 *     };
 *     union pop_far {
 *             struct session_far far;
 *             struct pop_kept kept;
 *     };
 *
 * The near part is zero when a session begins. The far part is not, its pages are not even there;
 * and it is gone when hand_over() has returned 0.
 *
 * Functions may be NULL where that is said. None may end a session but by session_end(),
 * session_refuse() or session->next, and after the first two it touches nothing of it any more.
 */

#include <stdbool.h>
#include <stddef.h>

#include "integration/mail/base/handover/handover.h"
#include "lib/common/counts.h"

struct edge;
struct session;

/* Longest text of refuse(), and of what take() may say at a time. */
#define EDGE_REPLY_MAX 1024

/* Why a session is ended by the edge and not by its own dialogue. */
enum edge_refusal {
	EDGE_BUSY,	    /* no worker had time */
	EDGE_LIMITED,	    /* its network has its share of workers */
	EDGE_CONNECTIONS,   /* its network has too many connections */
	EDGE_RATE,	    /* they come too fast */
	EDGE_FULL,	    /* the edge has no slot; there is no session */
	EDGE_TIMED_OUT,	    /* no command has come */
	EDGE_SHUTTING_DOWN, /* the edge drains */
	EDGE_EARLY_INPUT,   /* it has spoken before the banner */
};

/*
 * Each for one time more; and how many there are now. A server's counters begin with these rows, and
 * so do its gauges: edges count into a block by these numbers.
 */
#define EDGE_EVENT_MAP(X)                                                                          \
	X(EDGE_ACCEPTED, "sessions-accepted", "Connections that an edge has accepted.")            \
	X(EDGE_ACCEPTED_LIMITED, "sessions-limited",                                               \
	  "Of them, those beyond a limit of their prefix.")                                        \
	X(EDGE_ACCEPTED_FULL, "sessions-full",                                                     \
	  "Of them, those refused as all session slots were taken.")                               \
	X(EDGE_PROXY_BAD, "proxy-bad", "Of them, those with a PROXY header missing or wrong.")     \
	X(EDGE_EXEMPT, "exempt", "Clients of own networks or on the allow list.")                  \
	X(EDGE_JUDGED_LISTED, "listed", "Clients whose score reached the threshold.")              \
	X(EDGE_JUDGED_CLEAR, "clear", "Clients whose score did not.")                              \
	X(EDGE_JUDGED_UNKNOWN, "unknown", "Clients that some zone gave no answer about.")          \
	X(EDGE_TIMEOUT, "timeouts", "Sessions that an edge ended as they were silent.")            \
	X(EDGE_TLS_BEGUN, "tls-sessions", "TLS sessions that were begun.")                         \
	X(EDGE_TLS_FAILED, "tls-failed", "TLS handshakes that failed.")                            \
	X(EDGE_HANDED_OVER, "sessions-handed-over", "Sessions that went to the queue.")            \
	X(EDGE_QUEUE_FULL, "queue-full", "Sessions that found no worker idle.")                    \
	X(EDGE_QUEUE_REFUSED, "queue-refused", "Of them, those that were put off.")                \
	X(EDGE_SHARE_FULL, "share-full",                                                           \
	  "Sessions that found their network with as many workers as it may have.")                \
	X(EDGE_SHARE_REFUSED, "share-refused", "Of them, those that were put off.")

#define EDGE_GAUGE_MAP(X)                                                                          \
	X(EDGE_SESSIONS, "sessions", "Sessions that edges hold.")                                  \
	X(EDGE_PARKED, "sessions-waiting", "Of them, those that wait for a worker.")               \
	X(EDGE_RELAYED, "sessions-relayed", "Of them, TLS sessions that a worker has.")            \
	X(EDGE_HELD, "sessions-held",                                                              \
	  "Of them, others that a worker has and that count for their network.")

enum edge_event {
	EDGE_EVENT_MAP(COUNTS_NUMBER)
	/* A server has rows of its own for these, or none. */
	EDGE_EARLY_TALKER,
	EDGE_PAUSE_SPARED,
	EDGE_JUDGED_REFUSED,   /* besides listed, clear or unknown */
	EDGE_ENDED_BOUNCED,    /* without trust, and something was refused: facts.refused_count */
	EDGE_ENDED_UNFINISHED, /* without trust, and nothing was */
	EDGE_EVENT_COUNT,
	EDGE_EVENT_OWN = EDGE_EARLY_TALKER, /* the first of them */
};

enum edge_gauge { EDGE_GAUGE_MAP(COUNTS_NUMBER) EDGE_GAUGE_COUNT };

struct edge_protocol {
	const char *context; /* in the log: the program's name */
	size_t edge_size;    /* of what begins with a struct edge; zero at first */
	size_t near_size;    /* of what begins with a struct session */
	size_t far_size;     /* of a union with a struct session_far */
	/*
	 * What the shortest message of hand_over() takes of the kernel's buffer, with the kernel's own
	 * book-keeping (handover_used()): with more, sessions go to workers that are not there.
	 */
	size_t message_least;

	/* ---- of the process; each may be NULL ---- */

	/*
	 * Opens what is read by name, before any handle: edge->start and edge->rules are there. An
	 * exit status; the reason for one that is not EX_OK is logged.
	 */
	int (*open_files)(struct edge *edge);
	/* Handles in edge->loop, before the process is confined. 0, or a negative errno or libuv's. */
	int (*open_handles)(struct edge *edge);
	/* Closes these, also when not all were opened; the loop runs once more. */
	void (*close_handles)(struct edge *edge);
	/* The files, and what else is left. */
	void (*close_files)(struct edge *edge);

	/* ---- of a session ---- */

	/* Its slot is zero but for the base's part. May be NULL. */
	void (*open)(struct session *session);
	/* Says the banner; under TLS where the client begins so. */
	void (*greet)(struct session *session);
	/*
	 * Takes one command out of edge->in, [in_start, in_end), and answers it with EDGE_REPLY_MAX
	 * bytes at most. session->next says what is to be done when the replies are sent;
	 * exchange_delay() makes a refusal wait for the tarpit. False: there is no whole command, and
	 * nothing was done but, perhaps, bytes thrown away. Is not called again while next is not
	 * NEXT_TALK.
	 */
	bool (*take)(struct session *session);
	/*
	 * NEXT_ASK, all replies are sent: asks another about the session. Either it calls
	 * exchange_wait(), and the answer comes with an event, which calls exchange_take_up();
	 * or the answer is there, and it calls that now. May be NULL when next is never NEXT_ASK.
	 */
	void (*ask)(struct session *session);
	/* The question is not to be answered any more: the session ends while it waits. */
	void (*cancel)(struct session *session);
	/* The handshake is over; a banner or the next command follows. May be NULL. */
	void (*on_tls)(struct session *session);
	/* NEXT_JUDGE: the client that was named in place of the first is judged. Says a reply. */
	void (*on_verdict)(struct session *session);
	/* Is it for a worker before the banner? Asked with the verdict. NULL: none is. */
	bool (*is_passed_on)(const struct session *session);
	/*
	 * The text that tells it, with its end of line, to ret_text of EDGE_REPLY_MAX bytes; its size,
	 * 0: nothing is said. session is NULL for EDGE_FULL.
	 */
	size_t (*refuse)(struct edge *edge, struct session *session, enum edge_refusal refusal,
			 char *ret_text);
	/*
	 * Makes a capsule of the session, with handout_facts(), handout_queued_at_us() and the bytes
	 * that are kept in the far part, and sends it to edge->child->queue_fd with fds. 0, or a
	 * negative status of seal.h or of handover_send(); then the session is as before.
	 */
	int (*hand_over)(struct session *session, const struct handover_fds *fds);
	/* The line about a session that ends in the edge, after session_reckon(). */
	void (*log_end)(const struct session *session, const char *end);

	/* ---- the counters ---- */

	void (*count)(struct edge *edge, enum edge_event event);
	void (*set)(struct edge *edge, enum edge_gauge gauge, unsigned value);
};
