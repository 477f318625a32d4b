/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * line.h - the lines that OpenSMTPD and a filter say to each other.
 *
 * Flow: lines.c cuts standard input into lines -> line_parse() -> filter.c decides ->
 *       line_format_answer() -> standard output.
 *
 *     config|ready
 *     report|0.6|1576146008.006099|smtp-in|link-connect|7641df9771b4ed00|
 *                                      mail.example|pass|192.0.2.66:33174|198.51.100.1:25
 *     filter|0.6|1576146009.012345|smtp-in|mail-from|7641df9771b4ed00|1ef1c203cc576e5d|user@example
 *     filter-result|7641df9771b4ed00|1ef1c203cc576e5d|reject|550 5.7.1 no
 *
 * What differs between versions is known here alone:
 *
 *     before 0.5  an answer has the token before the session
 *     before 0.7  link-auth is USERNAME|RESULT, since then RESULT|USERNAME
 *
 * Later versions are read as LINE_NEWEST.
 *
 * A name in the reverse zone of a client and a name to log in with are theirs to choose. A '|'
 * in one of them must not move the fields behind it, so these are counted from the end of the line.
 *
 * Nothing here allocates, logs or keeps a pointer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/dnsblv6.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LINE_NEWEST_MINOR 7 /* 0.7 */

enum line_kind {
	LINE_CONFIG,
	LINE_READY, /* config|ready: now the filter registers itself */
	LINE_CONNECT,
	LINE_DISCONNECT,
	LINE_AUTH,
	LINE_REPORT, /* any other event */
	LINE_FILTER, /* wants an answer */
};

enum line_phase {
	LINE_AT_CONNECT,
	LINE_AT_HELO,
	LINE_AT_MAIL_FROM,
	LINE_AT_RCPT_TO,
	LINE_ELSEWHERE
};

struct line_version {
	unsigned major;
	unsigned minor;
};

/* A plain value. */
struct line {
	enum line_kind kind;
	struct line_version version; /* of all but LINE_CONFIG and LINE_READY */
	uint64_t session;
	uint64_t token;	       /* LINE_FILTER */
	enum line_phase phase; /* LINE_FILTER */
	bool has_ip;	       /* LINE_CONNECT: false for a UNIX socket */
	struct dnsblv6_ip ip;
	bool is_authenticated; /* LINE_AUTH: the attempt has succeeded */
};

/*
 * NULL with *ret_line, or why not: static text. text has no end of line. is_cut: there was
 * more, and what is behind a cut is not believed.
 */
const char *line_parse(const char *text, size_t text_size, bool is_cut, struct line *ret_line);

bool line_is_newer(struct line_version version);

/*
 * "filter-result|...\n" for a LINE_FILTER into LINE_ANSWER_MAX bytes: decision is "proceed" or
 * "junk" with parameter NULL, or "reject" or "disconnect" with a reply of SMTP, of at most 512
 * bytes. Returns the length.
 */
#define LINE_ANSWER_MAX 640
size_t line_format_answer(const struct line *request, const char *decision, const char *parameter,
			  char *ret_text);
/* Whether text is an answer to request; it has no end of line. */
bool line_answers(const char *text, size_t text_size, const struct line *request);

#ifdef __cplusplus
}
#endif
