/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * trace.h - which sessions a load consists of.
 *
 * Flow: setup.c has the options -> driver.c has session number 0, 1, 2 ... made -> session.c
 *       plays it.
 *
 * The workload is that of Pathak, Jafri and Hu, "The Case for Spam-Aware High Performance Mail
 * Server Architecture" (ICDCS 2009): some sessions name invalid recipients only (they bounce),
 * some are left by the client before there is a message, spam has 5 to 15 recipients and
 * other mail hardly more than one.
 *
 * A session of POP3 looks for so many mails as mailboxes of SPECmail2001 have (its Architecture White
 * Paper, part 4.3, as programs after it quote the table): 26.5 % none, 16.1 % one. From two on the
 * shares fall by the same factor from each number to the next, and end at 28: here they are that
 * geometric series, which begins with 12.25 % and is all the rest.
 *
 * A session follows from the options and its number alone: whoever is slow or fast, and however
 * many are open at a time, number 4711 is the same. Each property has random numbers of its own,
 * so that another share of bounces leaves sizes, recipients and addresses as they are.
 *
 * Values are plain. No function here allocates, logs or keeps a pointer.
 */

#include "bench/smtp-load/clients.h"

#ifdef __cplusplus
extern "C" {
#endif

/* RFC 5321 4.5.3.1.8: what every server takes. */
#define TRACE_RECIPIENTS_MAX 100
#define TRACE_SIZE_MAX	     (64u << 20)
#define TRACE_MESSAGES_MAX   28

enum trace_kind {
	TRACE_MAIL,
	TRACE_BOUNCE,	  /* no recipient is valid */
	TRACE_UNFINISHED, /* the client leaves, without QUIT */
};

/* After which reply it leaves. */
enum trace_point {
	TRACE_AFTER_CONNECT, /* the greeting */
	TRACE_AFTER_HELO,
	TRACE_AFTER_MAIL,
	TRACE_AFTER_RCPT, /* the last of them */
	TRACE_POINTS,
};

struct trace_options {
	uint64_t seed;
	/* shares of all sessions, 0 to 1; the first two together at most 1 */
	double bounces;
	double unfinished;
	double spam;
	unsigned points; /* set of 1 << enum trace_point, each as likely; not empty */
	/* recipients: spam evenly from min to max, others one and a geometric rest */
	unsigned spam_min;
	unsigned spam_max;
	double ham_mean; /* at least 1 */
	unsigned users;	 /* valid recipients have numbers below it */
	/* log-normal about the median, cut at both ends; sigma 0 is a fixed size */
	unsigned size_bytes;
	double size_sigma;
	unsigned size_min;
	unsigned size_max;
	const struct clients *clients; /* borrowed */
};

struct trace_session {
	uint64_t number;
	enum trace_kind kind;
	enum trace_point point; /* of TRACE_UNFINISHED */
	bool is_spam;
	bool has_client;
	unsigned recipients;
	unsigned first_user; /* the others follow it, round and round */
	unsigned size_bytes; /* of the message, with its header */
	unsigned messages;   /* of POP3: it looks for */
	struct dnsblv6_addr client;
};

/* What the paper has, but without bounces, unfinished sessions, spam and addresses. */
void trace_set_defaults(struct trace_options *ret_options);

/* NULL, or what is wrong with them, as static text. */
const char *trace_check(const struct trace_options *options);

void trace_make(const struct trace_options *options, uint64_t number,
		struct trace_session *ret_session);

/* The time from when the session with that place in line is due to the next, for Poisson arrivals.
 */
double trace_gap_s(const struct trace_options *options, uint64_t number, double rate);

/* "mail", "bounce", "unfinished"; "connect", "helo", "mail", "rcpt". */
const char *trace_kind_name(enum trace_kind kind);
const char *trace_point_name(enum trace_point point);

#ifdef __cplusplus
}
#endif
