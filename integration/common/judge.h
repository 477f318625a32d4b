/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * judge.h - what is to be done with an SMTP client, and with which words.
 *
 * Flow: the program's table, with judge_items in the section "decision" -> lib/common/conf.c ->
 *       judge_finish() -> for each client: judge_exempts(), else
 *       judge_submit() and in its callback judge_decide() -> reply, header and log of a
 *       mail server.
 *
 *     decision:
 *         action: reject
 *         deadline: 2s
 *         exempt: [ 192.0.2.0/24, "2001:db8::/32" ]
 *         allow-file: /etc/dnsblv6/allow
 *         reject-text: "Service unavailable; {reason}"
 *
 * In a loop:
 *
 *     struct judgement judgement;
 *     if (judge_exempts(judge, &ip))
 *             pass();
 *     else if (judge_submit(judge, &ip, on_result, session, &session->id) != 0)
 *             pass();         // too many questions are open: as if DNS had said nothing
 *     ...
 *     static void on_result(void *session, const struct dnsblv6_result *result)
 *     {
 *             judge_decide(judge, &session->ip, result, 0, &judgement);
 *
 * In a thread that may wait, judge_check() stands for all behind judge_exempts().
 *
 * A client is never refused because DNS, a resolver or the cache daemon is down, unless
 * "on-failure" of the library says so: unknown is pass.
 *
 * Lies in the memory of its owner. judge_finish() is for one thread with no other call at the
 * same time. judge_reload() and judge_exchange() change what judge_exempts() reads, which must not
 * meet them; all others may be called by any number of threads.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/dnsblv6.h"
#include "integration/common/networks.h"
#include "integration/common/owner.h"
#include "lib/common/conf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a reply of one line: 512 with its code and the end of the line (RFC 5321 4.5.3.1.5). */
#define JUDGE_TEXT_MAX	   400
#define JUDGE_TEMPLATE_MAX 200
#define JUDGE_ZONES_MAX	   600
#define JUDGE_HEADER_MAX   640 /* below the 998 of RFC 5322 2.1.1, with a name before it */
#define JUDGE_CODE_MAX	   9   /* "5.123.123" */
#define JUDGE_PATH_MAX	   512

#define JUDGE_HEADER_NAME "X-DNSBLv6"

enum judge_action {
	JUDGE_PASS,    /* say nothing; never in a configuration */
	JUDGE_REJECT,  /* 5xx */
	JUDGE_DEFER,   /* 4xx */
	JUDGE_WARN,    /* let it pass, and say so in the mail server's log */
	JUDGE_PREPEND, /* let it pass, with a header */
};

/* "pass", "reject", "defer", "warn" or "prepend". Static. */
const char *judge_action_name(enum judge_action action);

/*
 * A plain value. All texts are printable ASCII without an end of line, and safe in a reply,
 * a header and a log.
 */
struct judgement {
	enum judge_action action;
	enum dnsblv6_verdict verdict;
	int score;
	char code[JUDGE_CODE_MAX +
		  1]; /* "5.7.1", "4.7.1"; of JUDGE_REJECT and JUDGE_DEFER, else "" */
	char text[JUDGE_TEXT_MAX + 1]; /* for the client; "" with JUDGE_PASS */
	/* "score=3 zones=bl6.example,bl.example; 192.0.2.66 is listed by bl6.example"; "" with
	   JUDGE_PASS */
	char header[JUDGE_HEADER_MAX + 1];
	/* Whose score it is: labels or names with commas, cut to whole ones; "-": none lists. */
	char zones[JUDGE_ZONES_MAX + 1];
};

#define JUDGE_ITEMS 8
/* The section "decision" of every adapter, of a struct judge; what they are is in its manual. */
extern const struct conf_item judge_items[JUDGE_ITEMS];

struct judge {
	struct dnsblv6 *client; /* borrowed */
	enum judge_action action;
	int deadline_ms;
	struct networks exempt;
	struct networks allowed;
	char allow_path[JUDGE_PATH_MAX + 1]; /* "": none */
	char reject_code[JUDGE_CODE_MAX + 1];
	char defer_code[JUDGE_CODE_MAX + 1];
	char reject_text[JUDGE_TEMPLATE_MAX + 1];
	char defer_text[JUDGE_TEMPLATE_MAX + 1];
};

/* Before conf_parse() with judge_items. client is borrowed, started or not. 0 or -ENOMEM. */
int judge_init(struct judge *ret_judge, struct dnsblv6 *client);
void judge_deinit(struct judge *judge);

/*
 * After conf_parse(): reads the allow list. 0, or a negative errno with
 * *reterr_error, whose reason has the place in that list.
 */
int judge_finish(struct judge *judge, struct conf_error *reterr_error);
/*
 * Reads the allow list again; when that fails, the old one stays. The same results, but that
 * *reterr_error is the place in the list.
 */
int judge_reload(struct judge *judge, struct networks_error *reterr_error);
/*
 * The same in two steps, of which the first may take long and meet any other call: the list is read,
 * and takes the place of the old one, which is in *allowed then. The caller owns what is there.
 */
int judge_read(const struct judge *judge, struct networks *ret_allowed,
	       struct networks_error *reterr_error);
void judge_exchange(struct judge *judge, struct networks *allowed);
/* Logs under context what judge_reload() has returned, and what holds now. */
void judge_log_reload(const struct judge *judge, const char *context, int ret,
		      const struct networks_error *error);

/* Warns of an allow list that this user cannot read: for one that has read it as root. */
void judge_warn_of_reload(const struct judge *judge);
/*
 * For --check: the same of the user that the program becomes, if this is root. It becomes that user for good.
 * An exit status, what is not EX_OK logged under context.
 */
int judge_check_as(const struct judge *judge, const struct owner *owner, const char *context);

/* Own networks, the allow list, 127.0.0.1 and ::1. */
bool judge_exempts(const struct judge *judge, const struct dnsblv6_ip *ip);

/*
 * dnsblv6_submit() with the configured deadline. It also answers what is cached, in the same
 * round of the loop, and has what is about to expire asked for again. When too many questions
 * are open, judge_peek() may still know.
 */
int judge_submit(const struct judge *judge, const struct dnsblv6_ip *ip, dnsblv6_fn callback,
		 void *context, uint64_t *ret_id);
/* What the cache alone says. false: nothing, and *ret_judgement is JUDGE_PASS. */
bool judge_peek(const struct judge *judge, const struct dnsblv6_ip *ip,
		struct judgement *ret_judgement);
/* reason_ms: how long the text of a classic zone may be waited for; 0 in a loop. */
void judge_decide(const struct judge *judge, const struct dnsblv6_ip *ip,
		  const struct dnsblv6_result *result, int reason_ms,
		  struct judgement *ret_judgement);
/* All of it, waiting for the deadline at most; for a thread of its own. ip is not exempt. */
void judge_check(const struct judge *judge, const struct dnsblv6_ip *ip,
		 struct judgement *ret_judgement);

#ifdef __cplusplus
}
#endif
