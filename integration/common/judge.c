/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/judge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/common/log.h"

#define REASON_MAX 600 /* as dnsblv6_reason() has it */
#define PLACE_SIZE (JUDGE_PATH_MAX + 32)

static const char *const actions[] = { "reject", "defer", "warn", "prepend", NULL };

const char *judge_action_name(enum judge_action action)
{
	return action == JUDGE_PASS ? "pass" : actions[action - JUDGE_REJECT];
}

/* ---- the configuration ---- */

int judge_init(struct judge *ret_judge, struct dnsblv6 *client)
{
	static const char *const always[] = { "127.0.0.1", "::1" };
	struct judge *judge = ret_judge;
	memset(judge, 0, sizeof(*judge));
	judge->client = client;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (networks_add(&judge->exempt, always[i], strlen(always[i])) != NULL)
			return -ENOMEM;
	networks_sort(&judge->exempt);
	return 0;
}

void judge_deinit(struct judge *judge)
{
	networks_deinit(&judge->exempt);
	networks_deinit(&judge->allowed);
}

static const char *take_action(void *member, const struct conf_value *value)
{
	*(enum judge_action *)member = JUDGE_REJECT + (enum judge_action)value->number;
	return NULL;
}

/* Of one to three digits; returns what is behind them, or NULL. */
static const char *skip_number(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	return digits >= 1 && digits <= 3 ? text + digits : NULL;
}

/* RFC 3463: class.subject.detail; the class is that of the default. */
static const char *take_code(void *member, const struct conf_value *value)
{
	const char *text = value->text;
	char class = value->item->preset[0];
	const char *rest = text[0] == class && text[1] == '.' ? skip_number(text + 2) : NULL;
	if (rest != NULL)
		rest = rest[0] == '.' ? skip_number(rest + 1) : NULL;
	if (rest == NULL || rest[0] != '\0')
		return class == '5' ? "permitted is such as 5.7.1" : "permitted is such as 4.7.1";
	snprintf(member, JUDGE_CODE_MAX + 1, "%s", text);
	return NULL;
}

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

enum placeholder { REASON, ADDRESS, ZONES, SCORE, PLACEHOLDER_COUNT };

static const char *const placeholders[PLACEHOLDER_COUNT] = {
	[REASON] = "{reason}",
	[ADDRESS] = "{address}",
	[ZONES] = "{zones}",
	[SCORE] = "{score}",
};

/* Which one text begins with; PLACEHOLDER_COUNT: none. */
static unsigned find_placeholder(const char *text)
{
	unsigned i = 0;
	while (i < PLACEHOLDER_COUNT &&
	       strncmp(text, placeholders[i], strlen(placeholders[i])) != 0)
		i++;
	return i;
}

static const char *take_template(void *member, const struct conf_value *value)
{
	for (const char *c = value->text; *c != '\0'; c++)
		if (!is_printable(*c) || (*c == '{' && find_placeholder(c) == PLACEHOLDER_COUNT))
			return "permitted are printable ASCII and {reason}, {address}, {zones} and "
			       "{score}";
	snprintf(member, JUDGE_TEMPLATE_MAX + 1, "%s", value->text);
	return NULL;
}

const struct conf_item judge_items[JUDGE_ITEMS] = {
	{ "action", CONF_CHOICE, CONF_AT(struct judge, action), .choices = actions,
	  .take = take_action, .preset = "reject" },
	{ "deadline", CONF_MS, CONF_AT(struct judge, deadline_ms), .min = 1, .max = 60000,
	  .preset = "2s" },
	NETWORKS_ROW("exempt", struct judge, exempt),
	{ "allow-file", CONF_PATH, CONF_AT(struct judge, allow_path) },
	{ "reject-code", CONF_TEXT, CONF_AT(struct judge, reject_code), .take = take_code,
	  .preset = "5.7.1" },
	{ "defer-code", CONF_TEXT, CONF_AT(struct judge, defer_code), .take = take_code,
	  .preset = "4.7.1" },
	{ "reject-text", CONF_TEXT, CONF_AT(struct judge, reject_text), .take = take_template,
	  .preset = "Service unavailable; {reason}" },
	{ "defer-text", CONF_TEXT, CONF_AT(struct judge, defer_text), .take = take_template,
	  .preset = "Service unavailable, try again later; {reason}" },
};

int judge_read(const struct judge *judge, struct networks *ret_allowed,
	       struct networks_error *reterr_error)
{
	if (judge->allow_path[0] != '\0')
		return networks_read(judge->allow_path, ret_allowed, reterr_error);
	*ret_allowed = (struct networks){ 0 };
	return 0;
}

void judge_exchange(struct judge *judge, struct networks *allowed)
{
	struct networks before = judge->allowed;
	judge->allowed = *allowed;
	*allowed = before;
}

int judge_reload(struct judge *judge, struct networks_error *reterr_error)
{
	struct networks allowed;
	int ret = judge_read(judge, &allowed, reterr_error);
	if (ret != 0)
		return ret;
	judge_exchange(judge, &allowed);
	networks_deinit(&allowed);
	return 0;
}

/* Where the allow list is wrong. */
static const char *format_place(const struct judge *judge, const struct networks_error *error,
				char ret_place[PLACE_SIZE])
{
	snprintf(ret_place, PLACE_SIZE, error->line != 0 ? "%s:%zu" : "%s", judge->allow_path,
		 error->line);
	return ret_place;
}

int judge_finish(struct judge *judge, struct conf_error *reterr_error)
{
	char place[PLACE_SIZE];
	struct networks_error error;
	networks_sort(&judge->exempt);
	int ret = judge_reload(judge, &error);
	if (ret == 0)
		return 0;
	/* Cut, so that what is wrong is there whatever the path is. */
	return conf_refuse(reterr_error, ret, "allow-file %.140s: %.350s",
			   format_place(judge, &error, place), error.reason);
}

void judge_log_reload(const struct judge *judge, const char *context, int ret,
		      const struct networks_error *error)
{
	char place[PLACE_SIZE];
	if (judge->allow_path[0] == '\0') {
		log_warning(context, "nothing reloaded, there is no allow list (a restart reads "
				     "the configuration again)");
	} else if (ret == 0) {
		log_info(context, "allow list read, networks=%zu", judge->allowed.count);
	} else {
		log_error(format_place(judge, error, place), "allow list refused (%s)",
			  error->reason);
		log_warning(context, "the old allow list holds, networks=%zu",
			    judge->allowed.count);
	}
}

void judge_warn_of_reload(const struct judge *judge)
{
	if (judge->allow_path[0] != '\0' && access(judge->allow_path, R_OK) != 0)
		log_warning(judge->allow_path,
			    "allow list cannot be read again, reloads will be refused (%s)",
			    strerror(errno));
}

/* What another user may is not to be seen without root. */
int judge_check_as(const struct judge *judge, const struct owner *owner, const char *context)
{
	int status = geteuid() == 0 ? owner_drop(owner, context) : EX_OK;
	if (status == EX_OK)
		judge_warn_of_reload(judge);
	return status;
}

/* ---- asking ---- */

bool judge_exempts(const struct judge *judge, const struct dnsblv6_ip *ip)
{
	struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(ip->bytes);
	return networks_contain(&judge->exempt, addr) || networks_contain(&judge->allowed, addr);
}

int judge_submit(const struct judge *judge, const struct dnsblv6_ip *ip, dnsblv6_fn callback,
		 void *context, uint64_t *ret_id)
{
	return dnsblv6_submit(judge->client, ip, 0, judge->deadline_ms, callback, context, ret_id);
}

bool judge_peek(const struct judge *judge, const struct dnsblv6_ip *ip,
		struct judgement *ret_judgement)
{
	struct dnsblv6_result result;
	if (dnsblv6_peek(judge->client, ip, &result) != 0) {
		memset(ret_judgement, 0, sizeof(*ret_judgement));
		ret_judgement->verdict = DNSBLV6_UNKNOWN;
		return false;
	}
	judge_decide(judge, ip, &result, 0, ret_judgement);
	return true;
}

void judge_check(const struct judge *judge, const struct dnsblv6_ip *ip,
		 struct judgement *ret_judgement)
{
	struct dnsblv6_result result;
	if (dnsblv6_check(judge->client, ip, judge->deadline_ms, &result) != 0) {
		memset(ret_judgement, 0, sizeof(*ret_judgement));
		ret_judgement->verdict = DNSBLV6_UNKNOWN;
		return;
	}
	int left_ms = judge->deadline_ms - (int)(result.elapsed_us / 1000);
	judge_decide(judge, ip, &result, left_ms > 0 ? left_ms : 0, ret_judgement);
}

/* ---- deciding ---- */

static enum judge_action choose(const struct judge *judge, int verdict)
{
	if (verdict == DNSBLV6_LISTED)
		return judge->action;
	if (verdict != DNSBLV6_DEFER)
		return JUDGE_PASS;
	/* A judge that refuses no client does not put any off either. */
	return judge->action == JUDGE_REJECT ? JUDGE_DEFER : judge->action;
}

/* Adds text as long as it fits whole. */
static void append_whole(char *line, size_t size, const char *text)
{
	size_t used = strlen(line);
	if (strlen(text) < size - used)
		snprintf(line + used, size - used, "%s", text);
}

static void append_cut(char *line, size_t size, const char *text)
{
	size_t used = strlen(line);
	snprintf(line + used, size - used, "%s", text);
}

/* What goes to others is one line, whatever it came from. */
static void make_printable(char *text)
{
	for (; *text != '\0'; text++)
		if (!is_printable(*text))
			*text = '?';
}

/*
 * Labels of the zones in set, or names where they have none: as in dnsblv6_reason(), since a name
 * may have a key in it. One that has several filters stands there once.
 */
static void format_zones(const struct judge *judge, uint64_t set, char *ret_zones, size_t size)
{
	struct dnsblv6_zone_info info;
	char last[sizeof(info.name)] = "";
	ret_zones[0] = '\0';
	for (unsigned i = 0; i < 64; i++) {
		char next[sizeof(info.name) + 1];
		if ((set >> i & 1) == 0 || dnsblv6_zone_get(judge->client, i, &info) != 0)
			continue;
		const char *name = info.label[0] != '\0' ? info.label : info.name;
		if (strcmp(name, last) == 0)
			continue;
		snprintf(next, sizeof(next), "%s%s", ret_zones[0] != '\0' ? "," : "", name);
		append_whole(ret_zones, size, next);
		snprintf(last, sizeof(last), "%s", name);
	}
	if (ret_zones[0] == '\0')
		snprintf(ret_zones, size, "-");
	make_printable(ret_zones);
}

/* The list's own words, or that nothing was said. */
static void make_reason(const struct judge *judge, const struct dnsblv6_ip *ip,
			const struct dnsblv6_result *result, int reason_ms, char *ret_reason)
{
	char zones[JUDGE_TEXT_MAX + 1];
	char address[DNSBLV6_IP_TEXT_SIZE];
	if (result->verdict == DNSBLV6_LISTED &&
	    dnsblv6_reason(judge->client, ip, result, reason_ms, ret_reason, REASON_MAX + 1) > 0)
		return;
	format_zones(judge, result->zones_failed, zones, sizeof(zones));
	dnsblv6_ip_format(ip, address);
	snprintf(ret_reason, REASON_MAX + 1, "nothing is known about %s, no answer from %s",
		 address, zones);
}

static void fill_template(const char *template, const char *const values[PLACEHOLDER_COUNT],
			  char *ret_text, size_t size)
{
	ret_text[0] = '\0';
	while (*template != '\0') {
		unsigned found = find_placeholder(template);
		char letter[] = { *template, '\0' };
		append_cut(ret_text, size, found < PLACEHOLDER_COUNT ? values[found] : letter);
		template += found < PLACEHOLDER_COUNT ? strlen(placeholders[found]) : 1;
	}
	make_printable(ret_text);
}

void judge_decide(const struct judge *judge, const struct dnsblv6_ip *ip,
		  const struct dnsblv6_result *result, int reason_ms,
		  struct judgement *ret_judgement)
{
	struct judgement *judgement = ret_judgement;
	char address[DNSBLV6_IP_TEXT_SIZE];
	char reason[REASON_MAX + 1];
	char score[16];
	const char *values[PLACEHOLDER_COUNT] = { reason, address, judgement->zones, score };

	memset(judgement, 0, sizeof(*judgement));
	judgement->action = choose(judge, result->verdict);
	judgement->verdict = (enum dnsblv6_verdict)result->verdict;
	judgement->score = result->score;
	if (judgement->action == JUDGE_PASS)
		return;
	dnsblv6_ip_format(ip, address);
	format_zones(judge, result->zones_listed, judgement->zones, sizeof(judgement->zones));
	make_reason(judge, ip, result, reason_ms, reason);
	snprintf(score, sizeof(score), "%d", judgement->score);
	fill_template(result->verdict == DNSBLV6_LISTED ? judge->reject_text : judge->defer_text,
		      values, judgement->text, sizeof(judgement->text));
	snprintf(judgement->header, sizeof(judgement->header), "score=%s zones=%s; ", score,
		 judgement->zones);
	append_cut(judgement->header, sizeof(judgement->header), reason);
	make_printable(judgement->header);
	if (judgement->action == JUDGE_REJECT)
		memcpy(judgement->code, judge->reject_code, sizeof(judgement->code));
	if (judgement->action == JUDGE_DEFER)
		memcpy(judgement->code, judge->defer_code, sizeof(judgement->code));
}
