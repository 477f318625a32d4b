/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * account.h - the one line that the log has about a session.
 *
 * Flow: edge.c for a session that ends there, worker.c for one that was handed over, also from
 *       what the capsule says of the edge's part -> account_log() -> lib/common/log.h.
 *
 *     info: [5f0c3a9b1e42] session {"client":"192.0.2.7","port":40112,"end":"quit", ...}
 *
 * What is behind "session" is a JSON object (RFC 8259), whole in every case: what is too long
 * for the line is cut before it is written, text from outside first. A key without a value is
 * left out. smtp-front(8) has the keys.
 *
 * A plain value; texts are borrowed until account_log() returns. Nothing here allocates.
 */

#include <stddef.h>
#include <stdint.h>

#include "client-lib/dnsblv6.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCOUNT_ID_MAX	 12
#define ACCOUNT_LINE_MAX 960 /* of the 1024 of log.h, less "info: [ID] " */

/* How a session ended. */
#define ACCOUNT_END_MAP(X)                                                                         \
	X(ACCOUNT_QUIT, "quit")		 /* the client said QUIT */                                \
	X(ACCOUNT_LOST, "lost")		 /* the client was gone without it */                      \
	X(ACCOUNT_TIMEOUT, "timeout")	 /* the client was silent for too long */                  \
	X(ACCOUNT_LIMITED, "limited")	 /* beyond a limit of its prefix */                        \
	X(ACCOUNT_FULL, "full")		 /* no slot for a session was free */                      \
	X(ACCOUNT_PROXY, "proxy")	 /* no PROXY header, or a bad one */                       \
	X(ACCOUNT_EARLY, "early-talker") /* spoke before the banner */                             \
	X(ACCOUNT_LISTED, "listed")	 /* refused as it is listed */                             \
	X(ACCOUNT_ERRORS, "errors")	 /* too many errors or commands */                         \
	X(ACCOUNT_BAD_LINE, "bad-line")	 /* a lone CR or LF, a NUL, or a line too long */          \
	X(ACCOUNT_TLS, "tls-failed")	 /* the handshake, or what came before it */               \
	X(ACCOUNT_QUEUE, "queue-full")	 /* no worker in time: 421 */                              \
	X(ACCOUNT_STOPPED, "stopped")	 /* smtp-front itself was stopped: 421 */                  \
	X(ACCOUNT_SINK, "sink")		 /* the sink asked for the end */                          \
	X(ACCOUNT_PASSED, "passed")	 /* the descriptor was given to Postfix */                 \
	X(ACCOUNT_INTERNAL, "internal")	 /* we failed, see the line before */

enum account_end {
#define X(number, name) number,
	ACCOUNT_END_MAP(X)
#undef X
		ACCOUNT_END_COUNT
};

/* "quit", ... Static. */
const char *account_end_name(enum account_end end);

struct account {
	uint64_t session_id;
	struct dnsblv6_ip client_ip;
	uint16_t client_port;
	enum account_end end;
	/* judge.h */
	enum dnsblv6_verdict verdict;
	int was_judged; /* 0: exempt, or nobody was asked; "verdict" and "score" are left out */
	int score;
	const char *zones; /* "bl6.example,bl.example"; "" and "-": none */
	/* What was said, as it came; NULL and "": not said */
	const char *helo;
	const char *sender; /* of the last mail; NULL: none, "" is <> */
	const char *tls_protocol;
	const char *tls_cipher;
	const char *reason; /* more about the end, e.g. a status in words */
	/* counted over the whole session */
	unsigned mails;	     /* committed */
	unsigned recipients; /* accepted */
	unsigned refusals;   /* recipients refused */
	unsigned errors;
	unsigned commands;
	uint64_t bytes_in;
	uint64_t bytes_out;
	/* milliseconds of each phase; negative: not reached */
	int64_t waited_ms;   /* accept to banner */
	int64_t dns_ms;	     /* accept to verdict */
	int64_t dialogue_ms; /* banner to trust, or the end */
	int64_t queued_ms;   /* trust to the worker's first word */
	int64_t worker_ms;   /* from there to the end */
	/* microseconds of processor time; negative: not that process */
	int64_t edge_cpu_us;
	int64_t worker_cpu_us;
};

/* The id as both log it: 12 hexadecimal digits and a NUL. Returns ret_text. */
const char *account_format_id(uint64_t session_id, char *ret_text);

/*
 * The JSON object with a NUL into ret_text, of ACCOUNT_LINE_MAX + 1 bytes. Returns its size.
 */
size_t account_format(const struct account *account, char *ret_text);

/* One line at level info. */
void account_log(const struct account *account);

#ifdef __cplusplus
}
#endif
