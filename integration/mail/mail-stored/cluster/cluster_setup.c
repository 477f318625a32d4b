/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/cluster/cluster_setup.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- one value ---- */

static bool is_node(const char *text)
{
	const size_t size = strlen(text);
	return size > 0 && size <= CLUSTER_SETUP_WORD_MAX &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

static const char *take_node(void *member, const struct conf_value *value)
{
	if (!is_node(value->text))
		return "permitted are 1 to 63 of a-z, 0-9 and \"-\"";
	snprintf(member, CLUSTER_SETUP_WORD_MAX + 1, "%s", value->text);
	return NULL;
}

/* ---- the table ---- */

#define WORD(name, member, usual)                                                                  \
	{                                                                                          \
		name, CONF_TEXT, CONF_AT(struct cluster_setup, member), .preset = (usual)          \
	}

const struct conf_item cluster_setup_items[CLUSTER_SETUP_ITEMS] = {
	{ "ceph-conf", CONF_PATH, CONF_AT(struct cluster_setup, ceph_conf),
	  .preset = "/etc/ceph/ceph.conf" },
	WORD("ceph-user", ceph_user, "mail"),
	WORD("pool", pool, "mail"),
	{ "node", CONF_TEXT, CONF_AT(struct cluster_setup, node), .take = take_node },
	{ "threads", CONF_NUMBER, CONF_AT(struct cluster_setup, threads), .min = 2, .max = 512,
	  .preset = "32" },
	{ "memory", CONF_SIZE, CONF_AT(struct cluster_setup, memory_max), .min = 1 << 20,
	  .max = INT64_C(1) << 40, .preset = "256M" },
	{ "timeout", CONF_SECONDS, CONF_AT(struct cluster_setup, timeout_s), .min = 1, .max = 3600,
	  .preset = "10s" },
	{ "users", CONF_CHOICE, CONF_AT(struct cluster_setup, has_users), .choices = conf_no_yes,
	  .preset = "no" },
	{ "logins", CONF_PATH, CONF_AT(struct cluster_setup, logins) },
};

/* ---- all of it ---- */

static void take_host(char *ret_node)
{
	char host[HOST_NAME_MAX + 1] = "";
	(void)gethostname(host, HOST_NAME_MAX);
	host[strcspn(host, ".")] = '\0';
	for (char *at = host; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	if (is_node(host))
		memcpy(ret_node, host, strlen(host) + 1);
}

const char *cluster_setup_check(struct cluster_setup *setup)
{
	if (setup->node[0] == '\0')
		take_host(setup->node);
	if (setup->node[0] == '\0')
		return "cluster: \"node\" is not given, and the host's name is none for it";
	if (setup->logins[0] != '\0' && !setup->has_users)
		return "cluster: \"logins\" needs \"users: yes\"";
	return NULL;
}
