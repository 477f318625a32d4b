/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * mail-cluster - how a cluster of mail-stored is, and looking after it. The program's own text is
 * mail-cluster.8.
 */

#include "integration/mail/mail-cluster/clustertool.h"

#include "lib/common/subcommands.h"

static const struct subcommand commands[] = {
	{ "nodes", cluster_nodes_command, "print the nodes, and when each was heard of" },
	{ "health", cluster_health_command,
	  "print how the cluster is; the exit status says it, too" },
	{ "check", cluster_check_command, "look at every mail, and print what is wrong" },
	{ "repair", cluster_repair_command, "the same, and mend what an interruption has left" },
	{ "users", cluster_users_command,
	  "give all nodes a list of users, or say which they have" },
	{ "where", cluster_where_command, "print the node that has a mailbox" },
};

int main(int argc, char **argv)
{
	static const struct subcommands table = {
		.program = "mail-cluster",
		.libraries = MAIL_CLUSTER_LIBRARIES,
		.summary = "Says how a cluster of mail-stored is, and looks after it.",
		.rows = commands,
		.row_count = sizeof(commands) / sizeof(commands[0]),
	};
	return subcommands_run(&table, argc, argv);
}
