/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cluster_questions.h - what a client may ask about the cluster, answered.
 *
 * Flow: mail-cluster -> requests.c -> questions.h -> here -> mailcluster.h -> rows of text.
 *
 *     QUESTION     ROWS
 *     NODES        node=NAME slot=N state=up|quiet|dead beat-age=SECONDS clock=SECONDS self=yes|no
 *     HEALTH       state=well|degraded|down, then thing=engine, thing=nodes, thing=users
 *     CHECK        thing=found text=... for each finding, FINDINGS_MAX at most, then
 *                  mails=N mailboxes=N entries=N octets=N few-copies=N ...
 *     USERS_PUT    none
 *     USERS_STATE  version=N taken=yes|no
 */

#include "integration/mail/mail-stored/cluster/cluster.h"
#include "integration/mail/mail-stored/store/questions.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FINDINGS_MAX 10000

struct cluster_questions {
	struct questions questions; /* first */
	struct cluster *cluster;    /* borrowed */
};

void cluster_questions_init(struct cluster_questions *ret_questions, struct cluster *cluster);

#ifdef __cplusplus
}
#endif
