/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mail-stored - has a mail store open, and takes mail for it.
 *
 * main() in order: options, configuration, the directory, which is not made here, then the processes.
 * mail-stored(8) is the manual.
 */
#include "integration/mail/base/setup/mailcheckup.h"
#include "integration/mail/mail-stored/nodes/locate.h"
#include "integration/mail/mail-stored/nodes/nodetls.h"
#include "integration/mail/mail-stored/stored.h"
#include "lib/common/log.h"
#include "lib/process/daemon.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

static const char context[] = "mail-stored";

/* Segments, the index, and what is made for replies. */
#define OWN_DESCRIPTORS 64
/* And of a cluster: connections to its disks, threads, mails that wait for one. */
#define CLUSTER_DESCRIPTORS 2048

static const struct options_bound rows[] = DAEMON_ROWS(MAIL_STORED_CONF);
static const struct options_table table =
	DAEMON_TABLE(rows, "mail-stored", MAIL_STORED_LIBRARIES,
		     "Has a mail store open, and takes mail for it by LMTP and from smtp-front.");

/* Mailboxes would be looked for where they are not. */
static int check_spread(const struct stored_setup *setup)
{
	int ret = locate_check_spread(&setup->nodes, setup->directory);
	if (ret == 0)
		return EX_OK;
	if (ret != -EINVAL) {
		log_error(context, "nodes of the store not known, path=%s/spread (%s)",
			  setup->directory, strerror(-ret));
		return EX_NOINPUT;
	}
	log_error(context,
		  "nodes not as the store was begun with, path=%s/spread (\"spread\" of the "
		  "peers has changed: see mail-stored(8))",
		  setup->directory);
	return EX_CONFIG;
}

/* With another node's disk its mailboxes would look empty, and what they get would be lost when it goes back. */
static int check_node(const struct stored_setup *setup)
{
	const unsigned number = setup->nodes.peers[setup->nodes.self].number;
	int ret = locate_check_node(&setup->nodes, setup->directory);
	if (ret == -EINVAL) {
		log_error(context,
			  "store is another node's, path=%s/node number=%u (that file has another "
			  "number: see mail-stored(8))",
			  setup->directory, number);
		return EX_CONFIG;
	}
	if (ret == DNSBLV6_ENOTFOUND)
		log_info(context, "store is this node's from now on, path=%s/node number=%u",
			 setup->directory, number);
	else if (ret != 0) /* a disk that is full is read all the same */
		log_warning(context, "node of the store not noted, path=%s/node (%s)",
			    setup->directory, strerror(-ret));
	return EX_OK;
}

static bool has_files(const struct stored_setup *setup)
{
	return setup->layer == STORED_LOG || setup->layer == STORED_SORT;
}

/* 0, or what errno would be. */
static int look_for_directory(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return errno;
	return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

static void warn_of_missing(const char *directory)
{
	const int error = look_for_directory(directory);
	if (error != 0)
		log_warning(context, "directory not there, path=%s (%s)", directory,
			    strerror(error));
}

/* It is not made: where a disk is not mounted that would begin a store in which all mailboxes are empty. */
static int check_directory(const struct stored_setup *setup)
{
	const int error = has_files(setup) ? look_for_directory(setup->directory) : 0;
	if (error == 0)
		return EX_OK;
	log_error(context, "store not opened, directory=%s (%s)", setup->directory,
		  strerror(error));
	return error == EACCES ? EX_NOPERM : EX_NOINPUT;
}

/* Of what the store's process opens when it is the user. */
static int check(void *data)
{
	const struct stored_setup *setup = data;
	char log[STORED_PATH_MAX + sizeof("/log")];
	snprintf(log, sizeof(log), "%s/log", setup->directory);
	if (has_files(setup)) {
		mailcheckup_path(context, &setup->owner, setup->directory, R_OK | W_OK | X_OK);
		mailcheckup_path(context, &setup->owner, log, R_OK | W_OK | X_OK);
	}
	if (!setup->cluster.has_users) {
		int status = mailcheckup_users(context, &setup->owner, setup->users);
		if (status == EX_OK) /* opened before their process is the user */
			status = mailcheckup_users(context, NULL, stored_setup_logins(setup));
		return status;
	}
	/* Both may come later. */
	mailcheckup_path(context, &setup->owner, setup->users, R_OK);
	return EX_OK;
}

/* A start makes no directory; those below /run come with it, as the service manager makes them. */
static void check_parent(const char *path)
{
	char copy[STORED_PATH_MAX + 1];
	if (path[0] != '/' || strncmp(path, "/run/", strlen("/run/")) == 0)
		return;
	snprintf(copy, sizeof(copy), "%s", path);
	warn_of_missing(dirname(copy));
}

static void check_parents(const struct stored_setup *setup)
{
	if (has_files(setup))
		warn_of_missing(setup->directory);
	check_parent(setup->socket);
	check_parent(setup->nodes.location.text);
	for (unsigned i = 0; i < setup->lmtp_count; i++)
		check_parent(setup->lmtp[i].text);
}

static void warn_of_root(const struct stored_setup *setup)
{
	if (geteuid() == 0 && setup->owner.user[0] == '\0')
		log_warning(context, "no user is given, the store's processes stay root");
}

/* Here alone: what the module reads at a start is not to be in processes beside it. */
static int check_all(void *data)
{
	const struct stored_setup *setup = data;
	const struct nodesetup *nodes = &setup->nodes;
	struct nodetls *tls = NULL;
	warn_of_root(setup);
	int status = check(data);
	check_parents(setup);
	if (status != EX_OK || !nodesetup_is_on(nodes))
		return status;
	status = nodetls_new(nodes, &tls);
	nodetls_free(tls);
	return status == EX_OK ? EX_OK : EX_CONFIG;
}

static int run(void *data)
{
	struct stored_setup *setup = data;
	log_set_level((enum log_level)setup->log_level);
	signal(SIGPIPE, SIG_IGN);
	setup->clients_max = daemon_share_descriptors(
		context, setup->layer == STORED_RADOS ? CLUSTER_DESCRIPTORS : OWN_DESCRIPTORS,
		setup->clients_max);
	warn_of_root(setup);
	int status = check_directory(setup);
	/* Here, so that one process says it; no wrong configuration, as it may be there soon. */
	if (status == EX_OK && check(setup) != EX_OK)
		status = EX_NOINPUT;
	if (status == EX_OK && nodesetup_is_on(&setup->nodes))
		status = check_node(setup);
	if (status == EX_OK && nodesetup_is_on(&setup->nodes))
		status = check_spread(setup);
	return status == EX_OK ? stored_run(setup) : status;
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, stored_setup_parse, run, NULL, check_all };
	static struct stored_setup setup;
	return program_main(&program, argc, argv, &setup);
}
