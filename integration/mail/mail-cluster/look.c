/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * look.c - mail-cluster nodes, health and where: how a cluster is.
 */

#include "integration/mail/mail-cluster/clustertool.h"

#include "integration/mail/base/store/remote.h"
#include "integration/mail/mail-cluster/clusterlines.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static const struct options_bound rows[] = { CLUSTERTOOL_ROWS };

/* ---- nodes ---- */

int cluster_nodes_command(int argc, char **argv)
{
	static const struct options_table table = {
		.program = "mail-cluster nodes",
		.usage = "[--store SOCKET]",
		.summary = "Prints the nodes of the cluster, and when each was heard of.",
		OPTIONS_ROWS(rows),
	};
	struct clustertool tool = { .socket = MAIL_CLUSTER_SOCKET };
	char *text = NULL;
	options_parse_alone(&table, argc, argv, &tool);
	int ret = clustertool_ask(&tool, STOREWIRE_NODES, CLUSTERTOOL_TIMEOUT_S, &text);
	if (ret != 0)
		return clustertool_fail(&tool, "nodes not known", ret);
	clusterlines_print_table(stdout, text);
	free(text);
	return EX_OK;
}

/* ---- health ---- */

/* A word that this program does not know is not taken for a good one. */
static int status_of_state(const char *text)
{
	struct clusterlines_text state;
	if (!clusterlines_find(text, "state", &state))
		return CLUSTERTOOL_DOWN;
	if (clusterlines_is(state, "well"))
		return CLUSTERTOOL_WELL;
	return clusterlines_is(state, "degraded") ? CLUSTERTOOL_DEGRADED : CLUSTERTOOL_DOWN;
}

/* What asks here is a monitor: it is told that nothing is served, and why. */
static int fail_health(const struct clustertool *tool, int status)
{
	(void)clustertool_fail(tool, "health not known", status);
	clusterlines_print_list(stdout, "state=down\n");
	return CLUSTERTOOL_DOWN;
}

int cluster_health_command(int argc, char **argv)
{
	static const struct options_table table = {
		.program = "mail-cluster health",
		.usage = "[--store SOCKET]",
		.summary =
			"Prints how the cluster is. Ends with 0: well, 1: degraded, 2: not served.",
		OPTIONS_ROWS(rows),
	};
	struct clustertool tool = { .socket = MAIL_CLUSTER_SOCKET };
	char *text = NULL;
	options_parse_alone(&table, argc, argv, &tool);
	int ret = clustertool_ask(&tool, STOREWIRE_HEALTH, CLUSTERTOOL_TIMEOUT_S, &text);
	if (ret == -EOPNOTSUPP)
		return clustertool_fail(&tool, "health not known", ret);
	if (ret != 0)
		return fail_health(&tool, ret);
	const int status = status_of_state(text);
	clusterlines_print_list(stdout, text);
	free(text);
	return status;
}

/* ---- where ---- */

/* Where any node serves any mailbox, there is no other answer than all of them. */
static int locate(const struct clustertool *tool, const char *name, char **ret_text)
{
	struct maillayer *layer;
	uint64_t node;
	const struct mailname mailbox = { (const uint8_t *)name, strlen(name) };
	int ret = mailname_is_valid(mailbox) ? clustertool_open(tool, CLUSTERTOOL_TIMEOUT_S, &layer)
					     : MAILSTORE_EBOX;
	if (ret != 0)
		return ret;
	ret = remote_locate(layer, mailbox, 0, &node, ret_text);
	if (ret == -EOPNOTSUPP)
		ret = remote_cluster(layer, STOREWIRE_NODES, NULL, 0, ret_text);
	maillayer_close(layer);
	return ret;
}

int cluster_where_command(int argc, char **argv)
{
	static const struct options_table table = {
		.program = "mail-cluster where",
		.usage = "[--store SOCKET] MAILBOX",
		.summary = "Prints the node that has a mailbox, or all of them where each has all.",
		OPTIONS_ROWS(rows),
	};
	struct clustertool tool = { .socket = MAIL_CLUSTER_SOCKET };
	char *text = NULL;
	options_parse(&table, argc, argv, &tool);
	if (argc - optind != 1)
		options_fail(&table, "one mailbox");
	int ret = locate(&tool, argv[optind], &text);
	if (ret == 0)
		ret = clusterlines_check(text);
	if (ret == 0)
		clusterlines_print_table(stdout, text);
	free(text);
	return ret == 0 ? EX_OK : clustertool_fail(&tool, "mailbox not found", ret);
}
