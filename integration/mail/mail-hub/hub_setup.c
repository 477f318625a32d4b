/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-hub/hub_setup.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- one value ---- */

/* So that it can stand between quotes. */
static bool is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if (iscntrl((unsigned char)*text) || *text == '"' || *text == '\\')
			return false;
	return true;
}

static const char not_plain[] = "permitted is text without quotes, backslashes and control bytes";

static const char *take_text(void *member, const struct conf_value *value)
{
	if (!is_plain(value->text))
		return not_plain;
	snprintf(member, value->item->size, "%s", value->text);
	return NULL;
}

static const char *take_hostname(void *member, const struct conf_value *value)
{
	for (const char *c = value->text; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
			return "permitted is a domain name";
	return take_text(member, value);
}

/* A colon stands between the two where they are written. */
static const char *take_pem(void *member, const struct conf_value *value)
{
	return strchr(value->text, ':') == NULL ? take_text(member, value)
						: "permitted is a path without a colon";
}

static const char *take_one(void *member, const struct conf_value *value)
{
	struct hub_list *list = member;
	if (!is_plain(value->text))
		return not_plain;
	for (unsigned i = 0; i < list->count; i++)
		if (strcmp(list->texts[i], value->text) == 0)
			return "value is given twice";
	if (list->count == HUB_LIST_MAX)
		return "there are 16 values at most";
	snprintf(list->texts[list->count++], HUB_TEXT_MAX + 1, "%s", value->text);
	return NULL;
}

/* ---- the table ---- */

#define PATH(name, member, taken, usual, is_fixed)                                                 \
	{                                                                                          \
		name, CONF_PATH, CONF_AT(struct hub_setup, member),                                \
			.take = (taken), .preset = (usual), .needs_restart = (is_fixed)            \
	}
#define PLACES(name, member, kind, most, port, usual)                                              \
	{                                                                                          \
		name, kind, CONF_AT(struct hub_setup, member),                                     \
			.max = (most), .take = take_one, .default_port = (port), .is_list = true,  \
			.preset = (usual)                                                          \
	}

static const struct conf_item items[] = {
	{ "hostname", CONF_TEXT, CONF_AT(struct hub_setup, hostname), .max = HUB_HOSTNAME_MAX,
	  .take = take_hostname },
	PATH("directory", directory, take_text, "/var/lib/mail-hub", true),
	PATH("run-directory", run, take_text, "/run/mail-hub", true),
	PATH("programs", programs, take_text, NULL, true),
	{ "user", CONF_TEXT, CONF_AT(struct hub_setup, owner), .max = OWNER_NAME_MAX,
	  .take = owner_take_user, .needs_restart = true },
	PATH("certificate", certificate, take_pem, NULL, false),
	PATH("key", key, take_pem, NULL, false),
	PLACES("smtp", smtp, CONF_ADDRESS, 0, HUB_PORT_SMTP, "0.0.0.0@25 ::@25"),
	PLACES("lmtp", lmtp, CONF_PLACE, PLACE_SOCKET_MAX, HUB_PORT_LMTP, NULL),
	PLACES("pop3", pop3, CONF_ADDRESS, 0, HUB_PORT_POP3, NULL),
	PLACES("pop3s", pop3s, CONF_ADDRESS, 0, HUB_PORT_POP3S, NULL),
	{ "plain-logins", CONF_CHOICE, CONF_AT(struct hub_setup, has_plain_logins),
	  .choices = conf_no_yes, .preset = "no" },
	PLACES("mechanisms", mechanisms, CONF_TEXT, HUB_TEXT_MAX, 0, NULL),
	PLACES("zones", zones, CONF_TEXT, HUB_TEXT_MAX, 0, NULL),
	PATH("signatures", signatures, take_text, NULL, false),
	{ "clamd", CONF_PLACE, CONF_AT(struct hub_setup, clamd), .max = PLACE_SOCKET_MAX,
	  .take = take_text },
	PATH("metrics", metrics, take_text, NULL, false),
	{ "log", CONF_CHOICE, CONF_AT(struct hub_setup, log_level), .choices = conf_log_levels,
	  .preset = "info" },
};

#define WORD(name, member)                                                                         \
	{                                                                                          \
		name, CONF_TEXT, CONF_AT(struct hub_setup, member),                                \
			.max = HUB_WORD_MAX, .take = take_text, .needs_restart = true              \
	}

static const struct conf_item cluster_items[] = {
	WORD("pool", pool),
	WORD("node", node),
	PATH("ceph-conf", ceph_conf, take_text, NULL, true),
	WORD("ceph-user", ceph_user),
};

static const struct conf_section sections[] = {
	{ "hub", CONF_ITEMS(items) },
	{ "cluster", CONF_ITEMS(cluster_items) },
};

const struct conf_table hub_setup_table = { CONF_SECTIONS(sections) };

/* ---- what values must be together ---- */

static const char *check(const struct hub_setup *setup)
{
	bool has_tls = setup->certificate[0] != '\0';
	if (setup->hostname[0] == '\0')
		return "hub: \"hostname\" is not given";
	if (setup->pool[0] == '\0' &&
	    (setup->node[0] != '\0' || setup->ceph_conf[0] != '\0' || setup->ceph_user[0] != '\0'))
		return "cluster: \"pool\" is not given";
	if (!has_tls && setup->key[0] != '\0')
		return "hub: \"key\" needs \"certificate\"";
	if (!has_tls && setup->pop3s.count > 0)
		return "hub: \"pop3s\" needs \"certificate\"";
	if (!has_tls && setup->pop3.count > 0 && !setup->has_plain_logins)
		return "hub: \"pop3\" needs \"certificate\", or else \"plain-logins: yes\"";
	return NULL;
}

int hub_setup_parse(const char *text, size_t text_size, void *ret_setup,
		    struct conf_error *reterr_error)
{
	struct hub_setup *setup = ret_setup;
	memset(setup, 0, sizeof(*setup));
	int ret = conf_parse(text, text_size, &hub_setup_table, setup, reterr_error);
	if (ret != 0)
		return ret;
	const char *reason = check(setup);
	return reason == NULL ? 0 : conf_refuse(reterr_error, -EINVAL, "%s", reason);
}
