/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * request.h - what dnsblv6ctl may say to the server, and what it hears.
 *
 * Flow: ctl.c writes one line -> control.c -> request_parse() -> parent.c does
 *       it, report.c writes the answer.
 *
 *     request   VERB [NUMBER] LF             at most REQUEST_MAX bytes
 *     answer    "ok" SP SIZE LF TEXT         SIZE bytes of text in decimal
 *               "error" SP REASON LF
 *
 * One request and one answer for each connection. With the size a client
 * knows whether it has got all of it. Blanks stand singly, and nothing behind
 * the line.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REQUEST_MAX	    256 /* with the line feed; no request has a tenth of that */
#define REQUEST_TOP_MAX	    1000
#define REQUEST_TOP_DEFAULT 20
#define REQUEST_ANSWER_MAX  ((size_t)4 << 20) /* bytes of TEXT: the metrics of 2000 zones */

#define REQUEST_VERB_MAP(X)                                                                        \
	X(STATUS, "status")                                                                        \
	X(ZONES, "zones")                                                                          \
	X(STATS, "stats")                                                                          \
	X(METRICS, "metrics")                                                                      \
	X(TOP, "top") /* with a number: how many */                                                \
	X(DRIVER, "driver")                                                                        \
	X(RELOAD, "reload")                                                                        \
	X(STOP, "stop")

#define X(name, text) REQUEST_##name,
enum request_verb { REQUEST_VERB_MAP(X) REQUEST_VERB_COUNT };
#undef X

struct request {
	enum request_verb verb;
	unsigned number; /* of REQUEST_TOP */
};

/*
 * line is without its line feed, and may be any bytes. NULL, or why it is no
 * request: static text.
 */
const char *request_parse(const char *line, size_t line_size, struct request *ret_request);

#ifdef __cplusplus
}
#endif
