/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * session_facts.h - what an edge has found out about a session, and a worker and the log repeat.
 *
 * Flow: session.c begins it, greeting.c and the server's own commands fill it in -> into the
 *       session's line, or into a capsule for a worker, which adds its own part -> the line.
 *
 * A plain value, copied whole from one to the next.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/dnsblv6.h"
#include "integration/common/judge.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SESSION_ID_SIZE 13 /* 12 hexadecimal digits and a NUL */

struct session_facts {
	uint64_t id;
	struct dnsblv6_ip client_ip;
	struct dnsblv6_ip local_ip; /* that the client has connected to */
	uint16_t client_port;
	uint16_t local_port;
	unsigned refused_count; /* recipients, or logins: what a session has to bring */
	int64_t accepted_at_ms; /* since 1970 */
	bool is_xclient;	/* may say XCLIENT: of the client that it first came from */
	bool is_exempt;		/* own networks: no pause, and no blacklist was to be asked */
	bool has_verdict;	/* else none was asked, and none of these is known */
	enum judge_action action;
	enum dnsblv6_verdict verdict;
	int score;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t waited_ms;   /* accept to banner */
	uint64_t dns_ms;      /* accept to verdict */
	uint64_t dialogue_ms; /* banner to trust, or to the end */
	uint64_t edge_cpu_us;
};

/* The id as every line of the session has it. Returns ret_text, of SESSION_ID_SIZE bytes. */
const char *session_facts_format_id(uint64_t session_id, char *ret_text);

#ifdef __cplusplus
}
#endif
