/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * users.c - mail-cluster users: the list of users that all nodes have.
 */

#include "integration/mail/mail-cluster/clustertool.h"

#include "integration/mail/base/store/remote.h"
#include "integration/mail/base/users/users.h"
#include "integration/mail/base/users/users_copy.h"
#include "integration/mail/mail-cluster/clusterlines.h"
#include "lib/common/log.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

static const struct options_bound rows[] = { CLUSTERTOOL_ROWS };

static const struct options_table table = {
	.program = "mail-cluster users",
	.usage = "[--store SOCKET] put DATABASE | show",
	.summary = "Gives all nodes the users of a database that smtp-front-users has built, or "
		   "prints\n"
		   "which list they have.",
	OPTIONS_ROWS(rows),
};

/* ---- put ---- */

static int refuse(const char *path, int status)
{
	log_error(path, "database not given to the cluster (%s)", users_strerror(status));
	return store_exit_status(status);
}

static bool is_file(const char *text, const char *key, const struct stat *st)
{
	char path[4096];
	struct clusterlines_text value;
	struct stat other;
	if (!clusterlines_find(text, key, &value) || value.size >= sizeof(path))
		return false;
	memcpy(path, value.bytes, value.size);
	path[value.size] = '\0';
	return stat(path, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/*
 * Is it one of the files that mail-stored makes of the cluster's list? What was built into it may be that list again,
 * without a word, as of a process that has begun since then. A daemon that does not say which these are has none.
 */
static bool is_made_there(struct maillayer *layer, const char *path)
{
	char *text = NULL;
	struct stat st;
	const bool is_known = remote_cluster(layer, STOREWIRE_USERS_STATE, NULL, 0, &text) == 0 &&
			      stat(path, &st) == 0;
	const bool is_made =
		is_known && (is_file(text, "users", &st) || is_file(text, "logins", &st));
	free(text);
	return is_made;
}

static int send_list(const struct clustertool *tool, const char *path, const uint8_t *bytes,
		     size_t size)
{
	struct maillayer *layer;
	char *text = NULL;
	int ret = clustertool_open(tool, CLUSTERTOOL_TIMEOUT_S, &layer);
	if (ret != 0)
		return ret;
	ret = is_made_there(layer, path)
		      ? -ETXTBSY
		      : remote_cluster(layer, STOREWIRE_USERS_PUT, bytes, size, &text);
	maillayer_close(layer);
	if (ret == 0)
		free(text);
	return ret;
}

/* Its pages are read whole first, in a process that damage may end. */
static int put(const struct clustertool *tool, const char *path)
{
	struct users_facts facts;
	uint8_t *bytes = NULL;
	size_t size = 0;
	int ret = users_verify(path, &facts);
	if (ret == 0 && facts.domain_count == 0)
		ret = USERS_EEMPTY;
	if (ret == 0)
		ret = users_copy_make(path, &bytes, &size);
	if (ret == 0 && size > STOREWIRE_USERS_MAX)
		ret = -EFBIG;
	if (ret != 0) {
		free(bytes);
		return refuse(path, ret);
	}
	ret = send_list(tool, path, bytes, size);
	explicit_bzero(bytes, size);
	free(bytes);
	if (ret == -ETXTBSY) {
		log_error(path, "database not given to the cluster (mail-stored makes it of the "
				"cluster's users: build another one)");
		return EX_USAGE;
	}
	if (ret != 0)
		return clustertool_fail(tool, "users not given to the cluster", ret);
	log_info(path,
		 "users given to the cluster, addresses=%" PRIu64 " catch-alls=%" PRIu64
		 " domains=%" PRIu64,
		 facts.address_count, facts.catchall_count, facts.domain_count);
	return EX_OK;
}

/* ---- show ---- */

static int show(const struct clustertool *tool)
{
	char *text = NULL;
	int ret = clustertool_ask(tool, STOREWIRE_USERS_STATE, CLUSTERTOOL_TIMEOUT_S, &text);
	if (ret != 0)
		return clustertool_fail(tool, "users not known", ret);
	clusterlines_print_table(stdout, text);
	free(text);
	return EX_OK;
}

int cluster_users_command(int argc, char **argv)
{
	struct clustertool tool = { .socket = MAIL_CLUSTER_SOCKET };
	options_parse(&table, argc, argv, &tool);
	const int count = argc - optind;
	const char *word = count > 0 ? argv[optind] : "";
	if (strcmp(word, "put") == 0 && count == 2)
		return put(&tool, argv[optind + 1]);
	if (strcmp(word, "show") == 0 && count == 1)
		return show(&tool);
	options_fail(&table, "put DATABASE, or show");
}
