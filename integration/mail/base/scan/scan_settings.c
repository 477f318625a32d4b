/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/scan_settings.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* In the order of enum scan_action. */
static const char *const actions[] = { "accept", "mark", "quarantine", "defer", "reject", NULL };

const char *scan_action_name(enum scan_action action)
{
	return actions[action];
}

/* ---- one value ---- */

/* These rows' member is the whole section, which then is known to be there. */
static const char *take_signatures(void *data, const struct conf_value *value)
{
	struct scan_settings *settings = data;
	settings->is_on = true;
	snprintf(settings->signatures, sizeof(settings->signatures), "%s", value->text);
	return NULL;
}

static const char *take_peer(void *data, const struct conf_value *value, enum scan_peer peer)
{
	struct scan_settings *settings = data;
	settings->is_on = true;
	snprintf(settings->peers[peer], SCAN_PATH_MAX, "%s", value->text);
	return NULL;
}

static const char *take_clamd(void *data, const struct conf_value *value)
{
	return take_peer(data, value, SCAN_CLAMD);
}

static const char *take_rspamd(void *data, const struct conf_value *value)
{
	return take_peer(data, value, SCAN_RSPAMD);
}

static const char *take_milter(void *data, const struct conf_value *value)
{
	return take_peer(data, value, SCAN_MILTER);
}

static const char *take_found(void *data, const struct conf_value *value)
{
	struct scan_settings *settings = data;
	settings->is_on = settings->is_on || value->line != 0;
	settings->actions[INSPECT_SIGNATURE] = (enum scan_action)value->number;
	return NULL;
}

/* For a command of SMTP between < and >, so that nothing in it may be one of theirs. */
static const char *take_mailbox(void *data, const struct conf_value *value)
{
	const char *at = strrchr(value->text, '@');
	static const char permitted[] = "permitted is the address of a mailbox, LOCAL@DOMAIN";
	if (at == NULL || at == value->text || at[1] == '\0')
		return permitted;
	for (const char *c = value->text; *c != '\0'; c++)
		if (!isgraph((unsigned char)*c) || strchr("<>\"\\(),:;", *c) != NULL)
			return permitted;
	snprintf(data, SCAN_MAILBOX_SIZE, "%s", value->text);
	return NULL;
}

/* ---- the table ---- */

#define HOUR_MS 3600000

#define NUMBER(...)		    CONF_RANGE(CONF_NUMBER, struct scan_settings, __VA_ARGS__)
#define TIME(...)		    CONF_RANGE(CONF_MS, struct scan_settings, __VA_ARGS__)
#define SIZE(...)		    CONF_RANGE(CONF_SIZE, struct scan_settings, __VA_ARGS__)
#define ACTION(name, member, usual) CONF_ONE_OF(struct scan_settings, name, member, actions, usual)
#define PEER(name, function)                                                                       \
	{                                                                                          \
		name, CONF_PLACE, .max = PLACE_SOCKET_MAX, .take = (function)                      \
	}

const struct conf_item scan_items[SCAN_ITEMS] = {
	{ "signatures", CONF_PATH, .max = SCAN_PATH_MAX - 1, .take = take_signatures },
	PEER("clamd", take_clamd),
	PEER("rspamd", take_rspamd),
	PEER("milter", take_milter),
	{ "on-found", CONF_CHOICE, .choices = actions, .take = take_found, .preset = "reject" },
	ACTION("on-bomb", actions[INSPECT_BOMB], "reject"),
	ACTION("on-encrypted", actions[INSPECT_ENCRYPTED], "accept"),
	ACTION("on-suspicious", actions[INSPECT_SUSPICIOUS], "mark"),
	ACTION("on-ambiguous", actions[INSPECT_AMBIGUOUS], "mark"),
	ACTION("on-busy", actions[INSPECT_BUSY], "defer"),
	ACTION("on-unavailable", on_unavailable, "defer"),
	{ "quarantine", CONF_TEXT, CONF_AT(struct scan_settings, quarantine),
	  .max = SCAN_MAILBOX_SIZE - 1, .take = take_mailbox },
	{ "header", CONF_CHOICE, CONF_AT(struct scan_settings, has_header), .choices = conf_off_on,
	  .preset = "off" },
	NUMBER("mails", mails, 1, 100000, "100"),
	NUMBER("decoders", decoders, 1, 1000, "16"),
	TIME("peer-timeout", peer_timeout_ms, 100, HOUR_MS, "30s"),
	/* The least has to be enough for a fork() of the template on a busy machine. */
	TIME("decoder-timeout", decoder_wait_ms, 100, HOUR_MS, "10s"),
	TIME("decoder-cpu", cpu_ms, 1000, HOUR_MS, "5s"),
	SIZE("limit-total", budget.total_left, 1 << 20, INT64_C(1) << 40, "256M"),
	NUMBER("limit-ratio", budget.ratio, 1, 1000000, "200"),
	SIZE("limit-ratio-from", budget.ratio_from, 0, INT64_C(1) << 40, "1M"),
	NUMBER("limit-members", budget.members_left, 1, 10000000, "10000"),
	SIZE("limit-spool", budget.spool_left, 0, INT64_C(1) << 32, "32M"),
};

/* ---- all together ---- */

void scan_settings_init(struct scan_settings *ret_settings)
{
	*ret_settings = (struct scan_settings){
		.is_on = true,
		.on_unavailable = SCAN_DEFER,
		.mails = 100,
		.decoders = 16,
		.peer_timeout_ms = 30000,
		.cpu_ms = 5000,
		.decoder_wait_ms = 10000,
		.budget = UNPACK_BUDGET,
	};
	ret_settings->actions[INSPECT_SIGNATURE] = SCAN_REJECT;
	ret_settings->actions[INSPECT_BOMB] = SCAN_REJECT;
	ret_settings->actions[INSPECT_ENCRYPTED] = SCAN_ACCEPT;
	ret_settings->actions[INSPECT_SUSPICIOUS] = SCAN_MARK;
	ret_settings->actions[INSPECT_AMBIGUOUS] = SCAN_MARK;
	ret_settings->actions[INSPECT_BUSY] = SCAN_DEFER;
}

bool scan_settings_has_quarantine(const struct scan_settings *settings)
{
	bool has = settings->on_unavailable == SCAN_QUARANTINE;
	for (size_t i = 0; i < INSPECT_CLASS_COUNT; i++)
		has = has || settings->actions[i] == SCAN_QUARANTINE;
	return has;
}

static bool has_scanner(const struct scan_settings *settings)
{
	bool has = settings->signatures[0] != '\0';
	for (size_t i = 0; i < SCAN_PEER_COUNT; i++)
		has = has || settings->peers[i][0] != '\0';
	return has;
}

int scan_settings_finish(const struct scan_settings *settings, bool needs_mailbox,
			 struct conf_error *reterr_error)
{
	if (settings->is_on && !has_scanner(settings))
		return conf_refuse(reterr_error, -EINVAL,
				   "scan: none of \"signatures\", \"clamd\", \"rspamd\" and "
				   "\"milter\" is given: what to scan with");
	if (needs_mailbox && scan_settings_has_quarantine(settings) &&
	    settings->quarantine[0] == '\0')
		return conf_refuse(reterr_error, -EINVAL,
				   "scan: \"quarantine\" is not given: the mailbox of mails that "
				   "are to go there");
	return 0;
}
