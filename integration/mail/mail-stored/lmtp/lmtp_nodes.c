/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/lmtp/lmtp_nodes.h"

#include "integration/mail/mail-stored/lmtp/lmtp_fates.h"
#include "integration/mail/mail-stored/module/nodeanswers.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

struct lmtp_nodes {
	const struct stored_setup *setup;
	const char *store_path;
	struct nodetls *tls;
	struct locate locate;
	struct noderouter *router;
	uint64_t counters[NODEWORK_COUNTER_COUNT]; /* not read */
	bool has_told[NODE_NUMBER_MAX + 1];
	struct nodework_parts parts;
	struct lmtp_asks answered;
	uv_idle_t idle; /* with it the loop does not wait: there are answers */
	bool is_closed;
};

/* ---- requests ---- */

/* The session may ask again at once: its request is done with before. */
static void idle_on_turn(uv_idle_t *idle)
{
	struct lmtp_nodes *nodes = idle->data;
	struct lmtp_ask *ask = NULL;
	uv_idle_stop(idle);
	while ((ask = TAILQ_FIRST(&nodes->answered)) != NULL) {
		uint8_t *fates = ask->fates;
		TAILQ_REMOVE(&nodes->answered, ask, link);
		ask->fates = NULL;
		ask->rows = fates;
		ask->answer(ask, ask->status, &ask->id);
		free(fates);
	}
}

/* Without memory for rows there is one word for all. */
static void work_on_answer(void *owner, const struct storewire_reply *reply, int fd)
{
	struct lmtp_ask *ask = owner;
	struct lmtp_nodes *nodes = ask->nodes;
	const bool has_fates = reply->type == STOREWIRE_DELIVER && reply->count > 0 &&
			       reply->rows_size == (size_t)reply->count * LMTP_FATES_ROW;
	(void)fd;
	if (nodes->is_closed)
		return;
	ask->status = reply->status;
	ask->id = reply->id;
	ask->fates = has_fates ? malloc(reply->rows_size) : NULL;
	ask->row_count = ask->fates != NULL ? reply->count : 0;
	if (ask->fates != NULL)
		memcpy(ask->fates, reply->rows, reply->rows_size);
	TAILQ_INSERT_TAIL(&nodes->answered, ask, link);
	uv_idle_start(&nodes->idle, idle_on_turn);
}

void lmtp_nodes_ask(struct lmtp_nodes *nodes, struct lmtp_ask *ask)
{
	const struct nodework_start start = { .parts = &nodes->parts,
					      .answer = work_on_answer,
					      .owner = ask };
	struct storewire_request request = *ask->request;
	const struct storelink_memory *memory = ask->memory;
	ask->nodes = nodes;
	if (memory != NULL && memory->fd < 0) {
		request.has_memory = true;
		request.memory = memory->parts[0].iov_base; /* storemail.h has one */
		request.memory_size = memory->parts[0].iov_len;
	}
	nodework_begin(&start, &request, memory != NULL ? memory->fd : -1);
}

/* ---- begin and end ---- */

int lmtp_nodes_open(const struct stored_setup *setup, const char *store_path, struct users *users,
		    struct lmtp_nodes **ret_nodes)
{
	struct lmtp_nodes *nodes = calloc(1, sizeof(*nodes));
	if (nodes == NULL)
		return EX_OSERR;
	nodes->setup = setup;
	nodes->store_path = store_path;
	nodes->locate = (struct locate){ .setup = &setup->nodes, .users = users };
	TAILQ_INIT(&nodes->answered);
	const int status = nodetls_new(&setup->nodes, &nodes->tls);
	if (status != EX_OK) {
		free(nodes);
		return status;
	}
	*ret_nodes = nodes;
	return EX_OK;
}

int lmtp_nodes_start(struct lmtp_nodes *nodes, uv_loop_t *loop)
{
	const struct noderouter_start start = {
		.loop = loop,
		.setup = &nodes->setup->nodes,
		.tls = nodes->tls,
		.store_path = nodes->store_path,
		.memory_max = nodes->setup->size_max + NODEANSWERS_MEMORY_MORE,
	};
	int ret = noderouter_open(&start, &nodes->router);
	if (ret != 0)
		return ret;
	nodes->parts = (struct nodework_parts){ .router = nodes->router,
						.locate = &nodes->locate,
						.setup = &nodes->setup->nodes,
						.counters = nodes->counters,
						.has_told = nodes->has_told };
	uv_idle_init(loop, &nodes->idle); /* it cannot fail */
	nodes->idle.data = nodes;
	return 0;
}

void lmtp_nodes_close(struct lmtp_nodes *nodes)
{
	struct lmtp_ask *ask = NULL;
	if (nodes == NULL || nodes->router == NULL)
		return;
	nodes->is_closed = true;
	for (ask = TAILQ_FIRST(&nodes->answered); ask != NULL; ask = TAILQ_NEXT(ask, link))
		free(ask->fates);
	TAILQ_INIT(&nodes->answered);
	noderouter_close(nodes->router);
	uv_close((uv_handle_t *)&nodes->idle, NULL);
}

void lmtp_nodes_free(struct lmtp_nodes *nodes)
{
	if (nodes == NULL)
		return;
	noderouter_free(nodes->router);
	nodetls_free(nodes->tls);
	free(nodes);
}
