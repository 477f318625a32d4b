/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/lmtp/lmtp.h"

#include "integration/mail/mail-stored/lmtp/lmtp_client.h"
#include "integration/mail/mail-stored/lmtp/lmtp_nodes.h"
#include "lib/common/log.h"
#include "lib/process/child.h"
#include "lib/process/doors.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sysexits.h>
#include <time.h>

static const char context[] = "mail-stored";

/* The loop's own, listeners, the store, files. */
#define OWN_DESCRIPTORS 64
/* A client and a large mail. */
#define SESSION_DESCRIPTORS 2
/* When the system lacks descriptors for clients. */
#define PAUSE_MS 100

struct lmtp {
	const struct lmtp_start *start;
	struct lmtp_world world;
	struct lmtp_clients clients;
	struct lmtp_store store;
	struct lmtp_nodes *nodes; /* NULL: all goes by the store's socket */
	struct doors *doors;
	uv_loop_t loop;
	uv_signal_t term;
	uv_timer_t drain;
	uv_check_t check;
	bool is_open; /* clients are taken */
};

/* ---- clients ---- */

static void log_wait(void *owner, int error)
{
	const struct lmtp *lmtp = owner;
	log_warning(context, "LMTP clients have to wait, sessions=%u (%s)", lmtp->clients.count,
		    strerror(error));
}

static void take_client(void *owner, unsigned door, int fd, const struct sockaddr *peer)
{
	struct lmtp *lmtp = owner;
	(void)door;
	lmtp_clients_take(&lmtp->clients, fd, peer);
}

static const struct doors_rules door_rules = { PAUSE_MS, NULL, take_client, log_wait };

/* The first clients are taken when the store is there, or is known not to be. */
static void store_on_change(void *owner, bool has_store, bool has_quotas)
{
	struct lmtp *lmtp = owner;
	lmtp->world.has_store = has_store;
	lmtp->world.has_quotas = has_quotas;
	if (lmtp->is_open || lmtp->world.is_ending)
		return;
	lmtp->is_open = true;
	int ret = doors_watch(lmtp->doors);
	if (ret != 0)
		log_error(context, "LMTP clients not taken (%s)", uv_strerror(ret));
	else
		log_info(context, "LMTP ready, sessions=%u", lmtp->clients.client_max);
}

static void read_clock(struct lmtp *lmtp)
{
	lmtp->world.now_s = (int64_t)time(NULL);
}

/* Behind each wait, before what it has brought: that is near enough for a header. */
static void check_on_wait(uv_check_t *check)
{
	read_clock(check->data);
}

/* ---- the end ---- */

static void clients_on_end(void *owner)
{
	struct lmtp *lmtp = owner;
	uv_stop(&lmtp->loop);
}

static void drain_on_timer(uv_timer_t *timer)
{
	struct lmtp *lmtp = timer->data;
	log_warning(context, "LMTP sessions cut off, sessions=%u", lmtp->clients.count);
	uv_stop(&lmtp->loop);
}

static void term_on_raise(uv_signal_t *raised, int number)
{
	struct lmtp *lmtp = raised->data;
	(void)number;
	if (lmtp->world.is_ending)
		return;
	log_info(context, "LMTP drains, sessions=%u", lmtp->clients.count);
	lmtp->world.is_ending = true;
	doors_close(lmtp->doors);
	lmtp->doors = NULL;
	uv_timer_start(&lmtp->drain, drain_on_timer, LMTP_DRAIN_MS, 0);
	lmtp_clients_drain(&lmtp->clients);
	if (lmtp->clients.count == 0)
		uv_stop(&lmtp->loop);
}

/* ---- the beginning ---- */

/* Clients are mail servers of ours, whose mistakes need no limit. */
static int make_world(struct lmtp *lmtp)
{
	const struct stored_setup *setup = lmtp->start->setup;
	lmtp->world = (struct lmtp_world){
		.limits = { .size_max = setup->size_max,
			    .recipients_max = setup->lmtp_recipients_max,
			    .is_lmtp = true,
			    .withheld = ENVELOPE_EXTENSION_DSN,
			    .hostname = setup->hostname },
		.memory_max = setup->lmtp_memory_max,
	};
	read_clock(lmtp);
	return stored_setup_open_users(setup, &lmtp->world.users);
}

static void make_clients(struct lmtp *lmtp)
{
	const struct stored_setup *setup = lmtp->start->setup;
	unsigned wanted = setup->lmtp_sessions_max * SESSION_DESCRIPTORS;
	lmtp->clients = (struct lmtp_clients){
		.loop = &lmtp->loop,
		.world = &lmtp->world,
		.store = &lmtp->store,
		.client_max = daemon_share_descriptors(context, OWN_DESCRIPTORS, wanted) /
			      SESSION_DESCRIPTORS,
		.timeout_ms = setup->lmtp_timeout_ms,
		.end = clients_on_end,
		.owner = lmtp,
	};
	/* Numbers are to differ from those of the process before; no more is asked of them. */
	if (getentropy(&lmtp->clients.next_id, sizeof(lmtp->clients.next_id)) != 0)
		lmtp->clients.next_id = (uint64_t)lmtp->world.now_s << 16;
}

static int open_handles(struct lmtp *lmtp)
{
	const struct lmtp_start *start = lmtp->start;
	uv_timer_init(&lmtp->loop, &lmtp->drain); /* these cannot fail */
	uv_check_init(&lmtp->loop, &lmtp->check);
	uv_check_start(&lmtp->check, check_on_wait);
	uv_signal_init(&lmtp->loop, &lmtp->term);
	lmtp->drain.data = lmtp;
	lmtp->check.data = lmtp;
	lmtp->term.data = lmtp;
	lmtp_clients_open(&lmtp->clients);
	int ret = lmtp_store_open(&lmtp->store, &lmtp->loop, start->setup->socket, store_on_change,
				  lmtp);
	if (ret == 0)
		ret = doors_open(&lmtp->loop, start->listeners, start->listener_count, &door_rules,
				 lmtp, &lmtp->doors);
	if (ret == 0)
		ret = uv_signal_start(&lmtp->term, term_on_raise, SIGTERM);
	return ret;
}

static void close_handles(struct lmtp *lmtp)
{
	doors_close(lmtp->doors);
	lmtp_store_close(&lmtp->store);
	lmtp_nodes_close(lmtp->nodes);
	lmtp_clients_close(&lmtp->clients);
	uv_close((uv_handle_t *)&lmtp->drain, NULL);
	uv_close((uv_handle_t *)&lmtp->check, NULL);
	uv_close((uv_handle_t *)&lmtp->term, NULL);
	uv_run(&lmtp->loop, UV_RUN_DEFAULT);
}

static int serve(struct lmtp *lmtp)
{
	const struct lmtp_start *start = lmtp->start;
	int ret = open_handles(lmtp);
	int status = EX_OK;
	if (ret != 0) {
		log_error(context, "loop not started (%s)", uv_strerror(ret));
		status = EX_OSERR;
	}
	if (status == EX_OK && start->confine != NULL)
		status = start->confine(start->setup);
	if (status == EX_OK && lmtp->nodes != NULL) {
		if (lmtp_nodes_start(lmtp->nodes, &lmtp->loop) == 0)
			lmtp_store_use_nodes(&lmtp->store, lmtp->nodes);
		else
			status = EX_OSERR;
	}
	if (status == EX_OK)
		uv_run(&lmtp->loop, UV_RUN_DEFAULT);
	/* What is left is cut off, and asks its way to no end() any more. */
	lmtp->world.is_ending = true;
	close_handles(lmtp);
	if (status == EX_OK)
		log_info(context, "LMTP ended");
	return status;
}

int lmtp_run(const struct lmtp_start *start)
{
	struct lmtp *lmtp = calloc(1, sizeof(*lmtp));
	if (lmtp == NULL)
		return EX_OSERR;
	lmtp->start = start;
	child_ignore_signals();
	int status = make_world(lmtp);
	if (status == EX_OK && start->store_path != NULL)
		status = lmtp_nodes_open(start->setup, start->store_path, lmtp->world.users,
					 &lmtp->nodes);
	if (status == EX_OK && uv_loop_init(&lmtp->loop) != 0)
		status = EX_OSERR;
	if (status == EX_OK) {
		make_clients(lmtp);
		status = serve(lmtp);
		/* With something in it only when the start has failed; then the process ends. */
		uv_loop_close(&lmtp->loop);
	}
	lmtp_nodes_free(lmtp->nodes);
	users_close(lmtp->world.users);
	free(lmtp);
	return status;
}
