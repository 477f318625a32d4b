/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clustertool.h - the subcommands of mail-cluster, and what they share.
 *
 * Flow: main.c finds the row and calls it with argv[0] being the subcommand -> here -> remote.h, behind
 *       which a mail-stored is that knows a cluster -> clusterlines.h prints what it says.
 *
 * Each command returns the exit status: 0; 1 or 2 as mail-cluster(8) says; or one of sysexits.
 */

#include "lib/common/options.h"
#include "lib/mailstore/maillayer.h"

#include "integration/mail/base/store/storewire.h"

enum { CLUSTERTOOL_WELL, CLUSTERTOOL_DEGRADED, CLUSTERTOOL_DOWN };

int cluster_nodes_command(int argc, char **argv);
int cluster_health_command(int argc, char **argv);
int cluster_check_command(int argc, char **argv);
int cluster_repair_command(int argc, char **argv);
int cluster_users_command(int argc, char **argv);
int cluster_where_command(int argc, char **argv);

/* What all commands are told. */
struct clustertool {
	const char *socket;
	uint64_t timeout_s; /* 0: as long as the question takes, as a rule */
};

/* The rows for it, from the first of a command's own on. */
#define CLUSTERTOOL_ROWS                                                                           \
	{ { 's', "store", "SOCKET", "the socket of mail-stored (" MAIL_CLUSTER_SOCKET ")" },       \
	  OPTIONS_AT(struct clustertool, socket) },                                                \
	{                                                                                          \
		{ 't', "timeout", "SECONDS", "wait for an answer for so long" },                   \
			OPTIONS_AT(struct clustertool, timeout_s), .min = 1, .max = 1000000        \
	}

/* Of an ordinary question, and of one that has every mail read. */
#define CLUSTERTOOL_TIMEOUT_S	   60
#define CLUSTERTOOL_LONG_TIMEOUT_S 1000000

/* 0, or a status: the layer is for remote_cluster() and its neighbours. */
int clustertool_open(const struct clustertool *tool, unsigned usual_timeout_s,
		     struct maillayer **ret_layer);
/* Opens, asks, and looks at the answer, which is the caller's. 0 or a status. */
int clustertool_ask(const struct clustertool *tool, enum storewire_question question,
		    unsigned usual_timeout_s, char **ret_text);
/* Logs "what" with the socket and the text of status; returns the exit status for it. */
int clustertool_fail(const struct clustertool *tool, const char *what, int status);
