/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/mail/mail-stored/rados/rados_handle.h"
#include "integration/mail/mail-stored/rados/rados_json.h"
#include "integration/mail/mail-stored/rados/rados_place.h"

#define COMMAND_MAX   2048
#define GROUPS_MAX    65536	 /* Ceph's own limit of a pool (mon_max_pool_pg_num) */
#define NO_OSD	      0x7fffffff /* in the place of one that is missing */
#define COPIES_UNSEEN 0xff

/* What a monitor says; *ret_text is to be freed by rados_buffer_free(). */
static int ask(struct objects_rados *rados, const char *command, char **ret_text, size_t *ret_size)
{
	const char *commands[] = { command };
	char *words = NULL;
	size_t words_size = 0;
	const int ret = rados_mon_command(rados->cluster, commands, 1, "", 0, ret_text, ret_size,
					  &words, &words_size);
	rados_buffer_free(words);
	return rados_status(ret);
}

/* A number that the pool has: "size", "pg_num". */
static int ask_pool(struct objects_rados *rados, const char *what, uint64_t *ret_number)
{
	char command[COMMAND_MAX];
	char *text = NULL;
	size_t size = 0;
	snprintf(command, sizeof(command),
		 "{\"prefix\":\"osd pool get\",\"pool\":\"%s\",\"var\":\"%s\",\"format\":\"json\"}",
		 rados->pool_name, what);
	int status = ask(rados, command, &text, &size);
	struct json_at value;
	if (status == 0 &&
	    (!json_member(json_whole(text, size), what, &value) || !json_number(value, ret_number)))
		status = -EPROTO;
	rados_buffer_free(text);
	return status;
}

/* ---- all objects ---- */

struct groups {
	struct objects_rados *rados;
	int64_t pool;
	uint32_t count;
	uint8_t *copies; /* of each group, or COPIES_UNSEEN */
};

/* How many OSDs act for a group now, as the monitors know it. 0: not known. */
static unsigned ask_copies(struct groups *groups, uint32_t group)
{
	char command[COMMAND_MAX];
	char *text = NULL;
	size_t size = 0;
	unsigned copies = 0;
	snprintf(command, sizeof(command),
		 "{\"prefix\":\"pg map\",\"pgid\":\"%lld.%x\",\"format\":\"json\"}",
		 (long long)groups->pool, (unsigned)group);
	struct json_at acting;
	struct json_at osd;
	uint64_t number = 0;
	if (ask(groups->rados, command, &text, &size) == 0 &&
	    json_member(json_whole(text, size), "acting", &acting)) {
		while (json_next(&acting, &osd))
			copies += json_number(osd, &number) && number != NO_OSD;
	}
	rados_buffer_free(text);
	return copies < COPIES_UNSEEN ? copies : COPIES_UNSEEN - 1;
}

static unsigned copies_of(struct groups *groups, const char *name, size_t size)
{
	uint8_t *copies = &groups->copies[rados_place(name, size, groups->count)];
	if (*copies == COPIES_UNSEEN)
		*copies = (uint8_t)ask_copies(groups, (uint32_t)(copies - groups->copies));
	return *copies;
}

static int list(struct groups *groups, bool (*take)(void *owner, const char *name, unsigned copies),
		void *owner)
{
	rados_list_ctx_t names = NULL;
	int ret = rados_nobjects_list_open(groups->rados->pool, &names);
	if (ret < 0)
		return rados_status(ret);
	const char *name = NULL;
	while ((ret = rados_nobjects_list_next(names, &name, NULL, NULL)) == 0) {
		if (!take(owner, name, copies_of(groups, name, strlen(name))))
			break;
	}
	rados_nobjects_list_close(names);
	return ret == -ENOENT ? 0 : rados_status(ret); /* there are no more */
}

int rados_looks_list(struct objects *objects,
		     bool (*take)(void *owner, const char *name, unsigned copies), void *owner)
{
	struct objects_rados *rados = rados_of(objects);
	uint64_t count = 0;
	int status = ask_pool(rados, "pg_num", &count);
	if (status != 0)
		return status;
	if (count == 0 || count > GROUPS_MAX)
		return -EPROTO;
	struct groups groups = { .rados = rados,
				 .pool = rados_ioctx_get_id(rados->pool),
				 .count = (uint32_t)count,
				 .copies = malloc(count) };
	if (groups.copies == NULL)
		return -ENOMEM;
	memset(groups.copies, COPIES_UNSEEN, count);
	status = list(&groups, take, owner);
	free(groups.copies);
	return status;
}

/* ---- the cluster ---- */

/* Hosts, each before its OSDs; one OSD that is up makes a host that is up. */
static void count_machines(struct json_at tree, struct objects_state *state)
{
	struct json_at nodes;
	struct json_at node;
	struct json_at value;
	bool is_host_up = true;
	if (!json_member(tree, "nodes", &nodes))
		return;
	while (json_next(&nodes, &node)) {
		if (!json_member(node, "type", &value))
			continue;
		if (json_is_text(value, "host")) {
			state->machines++;
			is_host_up = false;
		} else if (json_is_text(value, "osd") && !is_host_up &&
			   json_member(node, "status", &value) && json_is_text(value, "up")) {
			state->machines_up++;
			is_host_up = true;
		}
	}
}

static int ask_machines(struct objects_rados *rados, struct objects_state *state)
{
	char *text = NULL;
	size_t size = 0;
	const int status =
		ask(rados, "{\"prefix\":\"osd tree\",\"format\":\"json\"}", &text, &size);
	if (status == 0)
		count_machines(json_whole(text, size), state);
	rados_buffer_free(text);
	return status;
}

/* "HEALTH_WARN 1 osds down; 1 host (1 osds) down": the words are for people, so they stay one line. */
static int ask_health(struct objects_rados *rados, struct objects_state *state)
{
	static const char well[] = "HEALTH_OK";
	char *text = NULL;
	size_t size = 0;
	const int status = ask(rados, "{\"prefix\":\"health\",\"format\":\"plain\"}", &text, &size);
	if (status == 0 &&
	    !(size >= sizeof(well) - 1 && memcmp(text, well, sizeof(well) - 1) == 0)) {
		const size_t kept = size < sizeof(state->words) ? size : sizeof(state->words) - 1;
		for (size_t i = 0; i < kept; i++) {
			const bool is_plain = text[i] >= ' ' && text[i] < 0x7f;
			state->words[i] = is_plain ? text[i] : ' ';
		}
		state->words[kept] = '\0';
	}
	rados_buffer_free(text);
	return status;
}

int rados_looks_describe(struct objects *objects, struct objects_state *ret_state)
{
	struct objects_rados *rados = rados_of(objects);
	struct objects_state state = { 0 };
	uint64_t copies = 0;
	int status = ask_health(rados, &state);
	if (status == 0)
		status = ask_machines(rados, &state);
	if (status == 0)
		status = ask_pool(rados, "size", &copies);
	if (status != 0)
		return status;
	state.copies_wanted = (unsigned)copies;
	struct rados_cluster_stat_t sizes = { 0 };
	/* The manager's figures; without one they are 0. */
	if (rados_cluster_stat(rados->cluster, &sizes) == 0) {
		state.size = sizes.kb * 1024;
		state.free_size = sizes.kb_avail * 1024;
	}
	*ret_state = state;
	return 0;
}
