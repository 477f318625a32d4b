/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cluster_setup.h - the section "cluster" of stored.conf: where the cluster is, and as which node to be
 *                   in it.
 *
 * Flow: stored_setup.c has the section -> here -> struct cluster_setup, a member of struct stored_setup.
 *
 *     cluster:
 *         pool: mail
 *         node: a
 *         users: yes
 *
 * Plain values; nothing here logs or allocates.
 */

#include "lib/common/conf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CLUSTER_SETUP_PATH_MAX 512
#define CLUSTER_SETUP_WORD_MAX 63

struct cluster_setup {
	char ceph_conf[CLUSTER_SETUP_PATH_MAX + 1];
	char ceph_user[CLUSTER_SETUP_WORD_MAX + 1];
	char pool[CLUSTER_SETUP_WORD_MAX + 1];
	char node[CLUSTER_SETUP_WORD_MAX + 1];
	unsigned threads;
	uint64_t memory_max; /* of mails that are being written */
	unsigned timeout_s;  /* of one operation */
	bool has_users;	     /* the users' databases are made of what the cluster has */
	char logins[CLUSTER_SETUP_PATH_MAX + 1]; /* the one with passwords; "": it is not made */
};

/* Rows of the section; their members are those of struct cluster_setup. */
#define CLUSTER_SETUP_ITEMS 9
extern const struct conf_item cluster_setup_items[CLUSTER_SETUP_ITEMS];

/*
 * What values must be together; without a node it becomes the host's name up to its first dot. NULL, or
 * why not: static text.
 */
const char *cluster_setup_check(struct cluster_setup *setup);

#ifdef __cplusplus
}
#endif
