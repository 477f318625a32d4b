/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/opensmtpd/filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/common/log.h"

static const char context[] = "dnsblv6-filter";

#define REPLY_MAX 512 /* RFC 5321 4.5.3.1.5 */

int filter_init(struct filter *ret_filter, const struct filter_options *options,
		const struct filter_means *means)
{
	memset(ret_filter, 0, sizeof(*ret_filter));
	ret_filter->means = *means;
	ret_filter->options = *options;
	return sessions_init(&ret_filter->sessions, options->sessions_max);
}

static void stop_asking(struct filter *filter, struct session *session)
{
	if (session->is_asking)
		filter->means.cancel(filter->means.context, session->request);
	session->is_asking = false;
}

void filter_deinit(struct filter *filter)
{
	struct session *at = TAILQ_FIRST(&filter->sessions.all);
	for (; at != NULL; at = TAILQ_NEXT(at, of_all))
		stop_asking(filter, at);
	sessions_deinit(&filter->sessions);
}

/* ---- answers ---- */

static void answer(struct filter *filter, const struct line *request, const char *decision,
		   const char *parameter)
{
	char text[LINE_ANSWER_MAX];
	size_t size = line_format_answer(request, decision, parameter, text);
	filter->means.say(filter->means.context, text, size);
}

/*
 * To a client that has just connected 554 says that there is no service for it, and 421 is the
 * reply of a server that closes the connection and may be tried again (RFC 5321 3.1, 3.8).
 */
static void refuse(struct filter *filter, const struct line *request,
		   const struct judgement *judgement)
{
	char reply[REPLY_MAX];
	bool is_first = request->phase == LINE_AT_CONNECT;
	bool is_end = is_first || filter->options.is_disconnecting;
	const char *status = is_first ? "554" : "550";
	if (judgement->action == JUDGE_DEFER)
		status = is_end ? "421" : "451";
	snprintf(reply, sizeof(reply), "%s %s %s", status, judgement->code, judgement->text);
	answer(filter, request, is_end ? "disconnect" : "reject", reply);
	filter->counters.refused++;
}

static void answer_by(struct filter *filter, const struct line *request,
		      const struct judgement *judgement)
{
	enum judge_action action = judgement != NULL ? judgement->action : JUDGE_PASS;
	if (action == JUDGE_REJECT || action == JUDGE_DEFER)
		refuse(filter, request, judgement);
	else
		answer(filter, request, action == JUDGE_PREPEND ? "junk" : "proceed", NULL);
}

/* OpenSMTPD may be waiting for it. */
static void settle(struct filter *filter, struct session *session)
{
	if (!session->is_waiting)
		return;
	session->is_waiting = false;
	answer_by(filter, &session->waiting, session->judgement);
}

/* Nothing more is known about the session than that it may pass. */
static void let_pass(struct filter *filter, struct session *session)
{
	stop_asking(filter, session);
	free(session->judgement);
	session->judgement = NULL;
	settle(filter, session);
}

static void forget(struct filter *filter, struct session *session)
{
	let_pass(filter, session);
	sessions_remove(&filter->sessions, session);
}

static void log_judgement(const struct session *session, const struct judgement *judgement)
{
	char text[DNSBLV6_IP_TEXT_SIZE];
	dnsblv6_ip_format(&session->ip, text);
	log_info(context,
		 "client listed, session=%016" PRIx64 " client=%s action=%s score=%d "
		 "zones=%s (%s)",
		 session->id, text, judge_action_name(judgement->action), judgement->score,
		 judgement->zones, dnsblv6_verdict_name((int)judgement->verdict));
}

void filter_judge(struct filter *filter, struct session *session, const struct judgement *judgement)
{
	session->is_asking = false;
	if (judgement->action != JUDGE_PASS && !session->is_authenticated) {
		session->judgement = malloc(sizeof(*judgement));
		/* Without memory it passes. */
		if (session->judgement != NULL)
			*session->judgement = *judgement;
		filter->counters.listed++;
		log_judgement(session, judgement);
	}
	settle(filter, session);
}

/* ---- events ---- */

static void say(struct filter *filter, const char *line)
{
	filter->means.say(filter->means.context, line, strlen(line));
}

static void take_ready(struct filter *filter)
{
	static const char *const phases[] = {
		[LINE_AT_CONNECT] = "register|filter|smtp-in|connect\n",
		[LINE_AT_HELO] = "register|filter|smtp-in|helo\nregister|filter|smtp-in|ehlo\n",
		[LINE_AT_MAIL_FROM] = "register|filter|smtp-in|mail-from\n",
		[LINE_AT_RCPT_TO] = "register|filter|smtp-in|rcpt-to\n",
	};
	if (filter->is_ready) {
		log_warning(context, "line ignored (config|ready for the second time)");
		return;
	}
	filter->is_ready = true;
	say(filter, "register|report|smtp-in|link-connect\n"
		    "register|report|smtp-in|link-disconnect\n"
		    "register|report|smtp-in|link-auth\n");
	say(filter, phases[filter->options.phase]);
	say(filter, "register|ready\n");
}

static void make_room(struct filter *filter)
{
	struct sessions *sessions = &filter->sessions;
	if (sessions->count < sessions->count_max)
		return;
	filter->counters.dropped++;
	if (!filter->has_said_full)
		log_warning(context,
			    "more sessions than configured, sessions=%zu (the oldest pass)",
			    sessions->count_max);
	filter->has_said_full = true;
	forget(filter, TAILQ_FIRST(&sessions->all));
}

static void take_connect(struct filter *filter, const struct line *line)
{
	struct session *session = sessions_find(&filter->sessions, line->session);
	if (session != NULL) {
		log_warning(context, "session begins twice, session=%016" PRIx64, line->session);
		forget(filter, session);
	}
	if (!line->has_ip)
		return;
	make_room(filter);
	session = sessions_add(&filter->sessions, line->session);
	if (session == NULL)
		return;
	filter->counters.sessions++;
	session->ip = line->ip;
	session->owner = filter;
	session->is_asking = filter->means.ask(filter->means.context, session, &session->request) ==
			     FILTER_ASKED;
}

static void take_request(struct filter *filter, const struct line *line)
{
	struct session *session = sessions_find(&filter->sessions, line->session);
	if (!filter->is_ready) {
		/* An answer now would be the end of OpenSMTPD. */
		log_warning(context,
			    "request not answered, session=%016" PRIx64
			    " (it comes before config|ready)",
			    line->session);
		return;
	}
	filter->counters.requests++;
	if (session == NULL || line->phase != filter->options.phase) {
		answer(filter, line, "proceed", NULL);
		return;
	}
	if (session->is_waiting) {
		log_warning(context, "second request, the first passes, session=%016" PRIx64,
			    line->session);
		session->is_waiting = false;
		answer(filter, &session->waiting, "proceed", NULL);
	}
	session->waiting = *line;
	session->is_waiting = true;
	if (!session->is_asking)
		settle(filter, session);
}

static void log_newer(struct filter *filter, struct line_version version)
{
	if (filter->has_said_newer || !line_is_newer(version))
		return;
	filter->has_said_newer = true;
	log_warning(context, "protocol is newer than this filter, version=%u.%u (read as 0.%u)",
		    version.major, version.minor, LINE_NEWEST_MINOR);
}

void filter_take(struct filter *filter, const char *text, size_t text_size, bool is_cut)
{
	struct line line;
	char quoted[LOG_QUOTE_MAX];
	const char *reason = line_parse(text, text_size, is_cut, &line);
	if (reason != NULL) {
		filter->counters.lines_refused++;
		log_warning(context, "line ignored, text=%s (%s)",
			    log_quote(text, text_size, quoted), reason);
		return;
	}
	log_newer(filter, line.version);
	struct session *session = sessions_find(&filter->sessions, line.session);
	if (line.kind == LINE_READY)
		take_ready(filter);
	else if (line.kind == LINE_CONNECT)
		take_connect(filter, &line);
	else if (line.kind == LINE_FILTER)
		take_request(filter, &line);
	else if (line.kind == LINE_DISCONNECT && session != NULL)
		forget(filter, session);
	else if (line.kind == LINE_AUTH && session != NULL && line.is_authenticated) {
		session->is_authenticated = true;
		let_pass(filter, session);
	}
}
