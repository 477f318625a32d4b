/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/cluster/cluster_questions.h"

#include "integration/mail/base/users/users_copy.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* A node whose beat was not seen to change for so long is quiet. */
#define QUIET_BEATS 3

/* ---- nodes ---- */

static const char *state_of(const struct mailcluster_node *node)
{
	if (node->quiet_beats > MAILCLUSTER_DEAD_BEATS)
		return "dead";
	return node->quiet_beats >= QUIET_BEATS ? "quiet" : "up";
}

/* Of its clock before this one's, as far as beats show: a second is less than they do. */
static double clock_of(const struct mailcluster_node *node, uint64_t now_us)
{
	int64_t then_us = (int64_t)(now_us - node->quiet_beats * UINT64_C(1000000));
	return (double)((int64_t)node->time_us - then_us) / 1000000;
}

static int ask_nodes(struct cluster *cluster, struct questions_rows *rows)
{
	size_t count = 0;
	uint64_t now_us = clock_wall_us();
	struct mailcluster_node *nodes = cluster_nodes(cluster, &count);
	if (nodes == NULL)
		return cluster_get(cluster) == NULL ? -EAGAIN : -ENOMEM;
	for (size_t i = 0; i < count; i++)
		questions_add(rows, "node=%s slot=%u state=%s beat-age=%u clock=%+.1f self=%s",
			      nodes[i].name, nodes[i].slot, state_of(&nodes[i]),
			      nodes[i].quiet_beats, clock_of(&nodes[i], now_us),
			      nodes[i].is_self ? "yes" : "no");
	free(nodes);
	return 0;
}

/* ---- health ---- */

static const char *word_of_health(int status, const struct objects_state *engine,
				  const struct cluster_state *state)
{
	if (status != 0 || state->beat_status != 0)
		return "down";
	return engine->words[0] != '\0' || engine->machines_up < engine->machines ||
			       state->nodes_alive < state->nodes
		       ? "degraded"
		       : "well";
}

static void add_engine(const struct objects_state *engine, struct questions_rows *rows)
{
	questions_add(rows,
		      "thing=engine copies-wanted=%u machines=%u machines-up=%u size=%" PRIu64
		      " free=%" PRIu64,
		      engine->copies_wanted, engine->machines, engine->machines_up, engine->size,
		      engine->free_size);
	if (engine->words[0] != '\0')
		questions_add(rows, "thing=engine text=%s", engine->words);
}

static void ask_health(struct cluster *cluster, struct questions_rows *rows)
{
	struct objects_state engine = { 0 };
	struct cluster_state state;
	struct mailcluster *found = cluster_get(cluster);
	cluster_describe(cluster, &state);
	int ret = found != NULL ? mailcluster_describe(found, &engine) : state.beat_status;
	questions_add(rows, "state=%s", word_of_health(ret, &engine, &state));
	if (ret == 0)
		add_engine(&engine, rows);
	else
		questions_add(rows, "thing=engine text=%s", mailstore_strerror(ret));
	if (state.beat_status != 0)
		questions_add(rows, "thing=beat text=%s", mailstore_strerror(state.beat_status));
	if (state.is_reached)
		questions_add(rows,
			      "thing=nodes node=%s nodes=%" PRIu64 " alive=%" PRIu64
			      " beat-age=%.1f",
			      cluster->start.setup->cluster.node, state.nodes, state.nodes_alive,
			      (double)state.beat_age_ms / 1000);
}

/* ---- all mails ---- */

struct findings {
	struct questions_rows *rows;
	uint64_t count;
};

static void take_finding(void *owner, const char *line)
{
	struct findings *findings = owner;
	if (findings->count++ < FINDINGS_MAX)
		questions_add(findings->rows, "thing=found text=%s", line);
}

static int check_all(struct mailcluster *found, enum storewire_question question,
		     struct questions_rows *rows)
{
	struct findings findings = { .rows = rows };
	struct mailcluster_found sum = { 0 };
	const struct mailcluster_check check = {
		.is_deep = question == STOREWIRE_CLUSTER_CHECK_DEEP,
		.is_repair = question == STOREWIRE_REPAIR,
		.time_us = clock_wall_us(),
		.tell = take_finding,
		.owner = &findings,
	};
	int ret = mailcluster_check(found, &check, &sum);
	if (ret != 0)
		return ret;
	if (findings.count > FINDINGS_MAX)
		questions_add(rows, "thing=found text=and %" PRIu64 " more",
			      findings.count - FINDINGS_MAX);
	questions_add(rows,
		      "mails=%" PRIu64 " mailboxes=%" PRIu64 " entries=%" PRIu64 " octets=%" PRIu64
		      " few-copies=%" PRIu64 " orphans=%" PRIu64 " missing=%" PRIu64
		      " damaged=%" PRIu64 " old=%" PRIu64 " repaired=%" PRIu64,
		      sum.mails, sum.boxes, sum.entries, sum.octets, sum.few_copies, sum.orphans,
		      sum.missing, sum.damaged, sum.old, sum.repaired);
	return 0;
}

/* One at a time: each reads the whole cluster. */
static int ask_check(struct cluster *cluster, struct mailcluster *found,
		     enum storewire_question question, struct questions_rows *rows)
{
	uv_mutex_lock(&cluster->mutex);
	bool is_busy = cluster->is_checking;
	cluster->is_checking = true;
	uv_mutex_unlock(&cluster->mutex);
	if (is_busy)
		return -EBUSY;
	int ret = check_all(found, question, rows);
	uv_mutex_lock(&cluster->mutex);
	cluster->is_checking = false;
	uv_mutex_unlock(&cluster->mutex);
	return ret;
}

/* ---- users ---- */

/* What could not be built would only be found out on each node. */
static int put_users(struct mailcluster *found, const uint8_t *bytes, size_t size)
{
	struct users_facts facts;
	size_t used;
	if (users_copy_parse(bytes, size, &facts, &used) != 0)
		return -EBADMSG;
	return mailcluster_put_users(found, bytes, size, clock_wall_us());
}

/* It has no blanks, by stored_setup.c. */
static const char *word_of_path(const char *path)
{
	return path[0] != '\0' ? path : "-";
}

/* With the files that are made here of the list. */
static int ask_users(struct cluster *cluster, struct mailcluster *found,
		     struct questions_rows *rows)
{
	const struct stored_setup *setup = cluster->start.setup;
	struct cluster_state state;
	uint64_t version = 0;
	int ret = mailcluster_users_version(found, &version);
	if (ret != 0)
		return ret;
	cluster_describe(cluster, &state);
	const bool makes_files = version != 0 && setup->cluster.has_users;
	questions_add(rows, "version=%" PRIu64 " taken=%s users=%s logins=%s", version,
		      version != 0 && state.users_version == version ? "yes" : "no",
		      makes_files ? word_of_path(setup->users) : "-",
		      makes_files ? word_of_path(setup->cluster.logins) : "-");
	return 0;
}

/* ---- the table ---- */

static int ask(struct questions *questions, enum storewire_question question, const uint8_t *bytes,
	       size_t size, struct questions_rows *rows)
{
	struct cluster *cluster = ((struct cluster_questions *)questions)->cluster;
	struct mailcluster *found = cluster_get(cluster);
	if (question == STOREWIRE_HEALTH) {
		ask_health(cluster, rows);
		return 0;
	}
	if (found == NULL)
		return -EAGAIN;
	switch (question) {
	case STOREWIRE_NODES:
		return ask_nodes(cluster, rows);
	case STOREWIRE_CLUSTER_CHECK:
	case STOREWIRE_CLUSTER_CHECK_DEEP:
	case STOREWIRE_REPAIR:
		return ask_check(cluster, found, question, rows);
	case STOREWIRE_USERS_PUT:
		return put_users(found, bytes, size);
	case STOREWIRE_USERS_STATE:
		return ask_users(cluster, found, rows);
	case STOREWIRE_HEALTH:
	case STOREWIRE_QUESTIONS:
		break;
	}
	return -EINVAL;
}

void cluster_questions_init(struct cluster_questions *ret_questions, struct cluster *cluster)
{
	*ret_questions =
		(struct cluster_questions){ .questions = { .cluster = ask }, .cluster = cluster };
}
