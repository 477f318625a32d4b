/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/verdict.h"

#include <stdio.h>
#include <string.h>

/* The settings have no action for findings of this. */
#define CLEAN (-1)

/* What decided. */
struct reason {
	enum scan_action action;
	int class_; /* CLEAN, or of a finding */
	const struct inspect_finding *finding;
	const char *peer; /* its kind */
	const char *name;
};

static const char *const peer_names[SCAN_PEER_COUNT] = { "clamd", "rspamd", "milter" };

static void take_findings(const struct scan_settings *settings, const struct inspect_result *result,
			  struct reason *reason)
{
	/* The first finding is the gravest one, and stays when an action is no stricter. */
	for (unsigned i = 0; i < result->finding_count; i++) {
		const struct inspect_finding *finding = &result->findings[i];
		const enum scan_action action = settings->actions[finding->class_];
		if (reason->class_ != CLEAN && action <= reason->action)
			continue;
		reason->action = action;
		reason->class_ = (int)finding->class_;
		reason->finding = finding;
	}
	/* Those that there was no room for. */
	for (unsigned i = 0; i < INSPECT_CLASS_COUNT; i++) {
		if (result->counts[i] == 0 || settings->actions[i] <= reason->action)
			continue;
		*reason = (struct reason){ .action = settings->actions[i],
					   .class_ = (int)i,
					   .name = inspect_class_name((enum inspect_class)i) };
	}
}

static void take_peer(const struct scan_settings *settings, enum scan_peer kind,
		      const struct verdict_peer *peer, struct reason *reason)
{
	enum scan_action action = peer->action;
	if (!peer->is_asked)
		return;
	if (peer->has_failed)
		action = settings->on_unavailable;
	else if (peer->is_found)
		action = settings->actions[INSPECT_SIGNATURE];
	if (action < reason->action || (action == reason->action && action == SCAN_ACCEPT))
		return;
	/* Our own finding is the better text for the same. */
	if (action == reason->action && reason->finding != NULL)
		return;
	*reason = (struct reason){ .action = action,
				   .class_ = peer->has_failed ? (int)INSPECT_BUSY
							      : (int)INSPECT_SIGNATURE,
				   .peer = peer_names[kind],
				   .name = peer->name != NULL ? peer->name : "" };
}

/* A mail that passes without a peer is not one that all have found clean. */
static bool take_missed(const struct verdict_peer *peers, struct reason *reason)
{
	bool has_missed = false;
	for (unsigned i = SCAN_PEER_COUNT; i-- > 0 && reason->action == SCAN_ACCEPT;) {
		if (!peers[i].is_asked || !peers[i].has_failed)
			continue;
		*reason = (struct reason){ .action = SCAN_ACCEPT,
					   .class_ = (int)INSPECT_BUSY,
					   .peer = peer_names[i],
					   .name = peers[i].name };
		has_missed = true;
	}
	return has_missed;
}

static bool has_found(const struct scan_settings *settings, const struct inspect_result *result,
		      const struct verdict_peer *peers)
{
	struct reason reason = { .action = SCAN_ACCEPT, .class_ = CLEAN };
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++)
		take_peer(settings, (enum scan_peer)i, &peers[i], &reason);
	for (unsigned i = 0; i < INSPECT_CLASS_COUNT; i++) {
		const bool is_of_cut = i == INSPECT_SUSPICIOUS || i == INSPECT_AMBIGUOUS;
		if (result->counts[i] > 0 && !is_of_cut && settings->actions[i] > reason.action)
			reason.action = settings->actions[i];
	}
	return result->counts[INSPECT_SIGNATURE] > 0 || reason.action > SCAN_MARK;
}

/* ASCII that can be seen, and may stand in quotes. */
static void make_safe(char *text)
{
	for (; *text != '\0'; text++) {
		if ((uint8_t)*text < 0x20 || (uint8_t)*text > 0x7e || *text == '"' || *text == '\\')
			*text = '?';
	}
}

static const char *name_of(const struct reason *reason)
{
	if (reason->finding != NULL)
		return reason->finding->name;
	return reason->name != NULL && reason->name[0] != '\0' ? reason->name : "refused";
}

/* "NAME in PATH", "NAME by clamd". */
static void format_what(const struct reason *reason, char *ret_text, size_t size)
{
	const char *path = reason->finding != NULL ? reason->finding->path : "";
	const char *between = path[0] != '\0' ? " in " : "";
	if (reason->peer != NULL)
		snprintf(ret_text, size, "%.150s by %s", name_of(reason), reason->peer);
	else
		snprintf(ret_text, size, "%.120s%s%.180s", name_of(reason), between, path);
	make_safe(ret_text);
}

static void format_log(const struct reason *reason, struct scan_verdict *verdict)
{
	char name[MATCH_NAME_MAX + 1];
	char path[INSPECT_PATH_SIZE];
	const struct inspect_finding *finding = reason->finding;
	if (reason->class_ == CLEAN) {
		snprintf(verdict->log, sizeof(verdict->log), "clean");
		return;
	}
	snprintf(name, sizeof(name), "%s", name_of(reason));
	snprintf(path, sizeof(path), "%s", finding != NULL ? finding->path : "");
	make_safe(name);
	make_safe(path);
	const char *quote = strchr(name, ' ') != NULL ? "\"" : "";
	snprintf(verdict->log, sizeof(verdict->log),
		 "found=%s%.120s%s class=%s%s%s path=\"%.180s\" offset=%llu", quote, name, quote,
		 inspect_class_name((enum inspect_class)reason->class_),
		 reason->peer != NULL ? " peer=" : "", reason->peer != NULL ? reason->peer : "",
		 path, finding != NULL ? (unsigned long long)finding->offset : 0ULL);
}

void verdict_make(const struct scan_settings *settings, const struct inspect_result *result,
		  const struct verdict_peer *peers, struct scan_verdict *ret_verdict)
{
	struct reason reason = { .action = SCAN_ACCEPT, .class_ = CLEAN };
	char what[SCAN_TEXT_MAX - 80];
	memset(ret_verdict, 0, sizeof(*ret_verdict));
	take_findings(settings, result, &reason);
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++)
		take_peer(settings, (enum scan_peer)i, &peers[i], &reason);
	ret_verdict->has_missed = take_missed(peers, &reason);
	ret_verdict->has_found = has_found(settings, result, peers);
	ret_verdict->result = result;
	ret_verdict->action = reason.action;
	ret_verdict->code = reason.action == SCAN_REJECT  ? 550
			    : reason.action == SCAN_DEFER ? 451
							  : 250;
	format_log(&reason, ret_verdict);
	if (reason.class_ == CLEAN)
		return;
	format_what(&reason, what, sizeof(what));
	if (reason.action == SCAN_REJECT || reason.action == SCAN_QUARANTINE)
		snprintf(ret_verdict->text, SCAN_TEXT_MAX, "5.7.1 %s", what);
	else if (reason.action == SCAN_DEFER)
		snprintf(ret_verdict->text, SCAN_TEXT_MAX, "4.7.1 Not scanned now: %s", what);
	else if (reason.action == SCAN_MARK)
		snprintf(ret_verdict->text, SCAN_TEXT_MAX, "2.0.0 %s", what);
	if (reason.action == SCAN_MARK || reason.action == SCAN_QUARANTINE)
		snprintf(ret_verdict->header, SCAN_TEXT_MAX, "X-Mail-Scan: %s: %s\r\n",
			 inspect_class_name((enum inspect_class)reason.class_), what);
}
