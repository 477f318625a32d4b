/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/store_process.h"

#include "integration/common/upkeep.h"
#include "integration/mail/mail-stored/layers/layers.h"
#include "integration/mail/mail-stored/nodes/locate.h"
#include "integration/mail/mail-stored/store/clients.h"
#include "integration/mail/mail-stored/store/commit.h"
#include "integration/mail/mail-stored/store/keeper.h"
#include "integration/mail/mail-stored/store/store_confine.h"
#include "integration/mail/mail-stored/store/store_index.h"
#include "integration/mail/mail-stored/store/syncer.h"
#include "lib/common/log.h"
#include "lib/common/version.h"
#include "lib/mailstore/filedisk.h"
#include "lib/mailstore/mailstore.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static const char context[] = "mail-stored";

#define STEP_MS 10000 /* between lines about a store that takes long to open */

enum gauge { GAUGE_MAILS, GAUGE_ENTRIES, GAUGE_SEGMENTS, GAUGE_LOG, GAUGE_LIVE, GAUGE_COUNT };

static const struct counts_label gauges[GAUGE_COUNT] = {
	[GAUGE_MAILS] = { "mails", "Mails that some mailbox has." },
	[GAUGE_ENTRIES] = { "entries", "Mails in mailboxes, each counted where it is." },
	[GAUGE_SEGMENTS] = { "segments", "Segments of the log." },
	[GAUGE_LOG] = { "log_bytes", "Bytes of all segments." },
	[GAUGE_LIVE] = { "live_bytes", "Of them, those that are still wanted." },
};

struct service {
	const struct store_process_start *start;
	struct maillayer *layer;
	struct users *users;
	struct quota quota;
	pthread_mutex_t quota_turn; /* requests may be in threads */
	struct requests requests;
	struct clients *clients;
	struct keeper keeper;
	struct upkeep upkeep;
	uv_loop_t loop;
	int syncer_fds[COMMIT_SYNCS]; /* -1: none */
	int status;
	bool is_stopping;
	uint64_t gauge_values[GAUGE_COUNT];
};

/* ---- the layer ---- */

/* Damage does not keep the rest from being served; what is missing does. */
static void log_recovery(const struct stored_setup *setup,
			 const struct mailstore_recovery *recovery, int ret)
{
	if (recovery->refused != 0)
		log_error(context,
			  "segment is missing, unreadable or cut, directory=%s segment=%016" PRIx64
			  " (%s)",
			  setup->directory, recovery->refused, mailrecover_advice(ret));
	if (ret == 0 && recovery->damaged > 0)
		log_warning(context,
			    "log is damaged: see fsck, directory=%s places=%" PRIu64
			    " segment=%016" PRIx64 " at=%" PRIu64,
			    setup->directory, recovery->damaged, recovery->first.segment,
			    recovery->first.at);
	if (ret == 0 && recovery->replayed > 0)
		log_info(context, "store recovered, records=%" PRIu64, recovery->replayed);
}

/* For the person that waits for it. */
static void log_step(void *when_ms, const struct mailstore_recovery *recovery)
{
	uint64_t *next_ms = when_ms;
	if (clock_now_ms() < *next_ms)
		return;
	*next_ms = clock_now_ms() + STEP_MS;
	log_info(context,
		 "store is being recovered, segments=%" PRIu64 " read=%" PRIu64 " records=%" PRIu64,
		 recovery->segments, recovery->examined, recovery->replayed);
}

static int open_log(const struct stored_setup *setup, struct maillayer **ret_layer)
{
	uint64_t next_ms = clock_now_ms() + STEP_MS;
	char log[PATH_MAX];
	char index[PATH_MAX];
	struct mailstore_recovery recovery = { 0 };
	struct mailstore_setup store_setup = { .index_path = index,
					       .segment_size = setup->segment_size,
					       .on_step = log_step,
					       .context = &next_ms };
	snprintf(log, sizeof(log), "%s/log", setup->directory);
	snprintf(index, sizeof(index), "%s/index.mdb", setup->directory);
	const bool is_new = access(log, F_OK) != 0;
	int ret = filedisk_make(log);
	if (ret == 0)
		ret = filedisk_open(log, &store_setup.disk);
	if (ret != 0)
		return ret;
	ret = mailstore_open(&store_setup, ret_layer, &recovery);
	if (ret == MAILSTORE_EOLD && store_index_put_aside(setup, ret)) {
		ret = filedisk_open(log, &store_setup.disk);
		if (ret == 0)
			ret = mailstore_open(&store_setup, ret_layer, &recovery);
	}
	if (ret == 0 && is_new)
		log_info(context, "store is new, directory=%s", setup->directory);
	log_recovery(setup, &recovery, ret);
	return ret;
}

static int open_layer(const struct stored_setup *setup, struct maillayer **ret_layer)
{
	switch (setup->layer) {
	case STORED_SORT:
		return layer_sort_open(setup->directory, ret_layer);
	case STORED_NULL:
		return layer_null_open(ret_layer);
	case STORED_LOG:
	case STORED_RADOS: /* cluster_process.h */
		break;
	}
	return open_log(setup, ret_layer);
}

/* What waits for a lock, or for room, may be there when it is tried again. */
static int refused_status(int ret)
{
	/* A disk that has room again needs no person. */
	if (ret == -EBUSY || mailstore_is_full(ret))
		return EX_TEMPFAIL;
	return ret == -EACCES || ret == -EPERM ? EX_NOPERM : store_exit_status(ret);
}

static int open_parts(struct service *service)
{
	const struct stored_setup *setup = service->start->setup;
	int status = stored_setup_open_users(setup, &service->users);
	if (status != EX_OK)
		return status;
	int ret = open_layer(setup, &service->layer);
	if (ret != 0) {
		log_error(context, "store not opened, directory=%s (%s)", setup->directory,
			  mailstore_strerror(ret));
		return refused_status(ret);
	}
	if (nodesetup_is_on(&setup->nodes))
		ret = locate_find_since(setup->directory, service->start->since_us);
	service->quota = (struct quota){ .setup = setup,
					 .users = service->users,
					 .turn = &service->quota_turn };
	if (ret == 0)
		ret = requests_init(&service->requests, service->layer, &service->quota, setup,
				    service->start->counters);
	if (ret == 0)
		return EX_OK;
	log_error(context, "process not started (%s)", strerror(-ret));
	return EX_OSERR;
}

/* ---- the end ---- */

static void stop(struct service *service)
{
	if (service->is_stopping)
		return;
	service->is_stopping = true;
	clients_close(service->clients);
	keeper_close(&service->keeper);
	upkeep_close(&service->upkeep);
}

/*
 * Clients have heard that their mails are not committed. Without the process that syncs, or without
 * its index, another store process begins, which reads what is on disk; after a failure of the disk
 * none does.
 */
static void on_fail(void *owner, int status)
{
	struct service *service = owner;
	if (service->status != EX_OK)
		return;
	bool is_other = status == -ECONNRESET || status == MAILSTORE_ENOINDEX;
	service->status = is_other ? EX_SOFTWARE : EX_IOERR;
	if (status == MAILSTORE_EFAILED || status == MAILSTORE_EUNSURE)
		status = maillayer_failure(service->layer);
	if (is_other)
		log_warning(context, "store begins anew, %s",
			    status == -ECONNRESET ? "the process that syncs has ended"
						  : "its index has gone");
	else
		log_error(context,
			  "store has stopped, look at the disk before it is started again, "
			  "directory=%s (%s)",
			  service->start->setup->directory, mailstore_strerror(status));
	stop(service);
}

/* ---- upkeep ---- */

static void measure(void *data, struct report *ret_report)
{
	struct service *service = data;
	struct mailstore_info info = { 0 };
	(void)maillayer_describe(service->layer, &info);
	service->gauge_values[GAUGE_MAILS] = info.facts.mails;
	service->gauge_values[GAUGE_ENTRIES] = info.facts.entries;
	service->gauge_values[GAUGE_SEGMENTS] = info.segments;
	service->gauge_values[GAUGE_LOG] = info.log_size;
	service->gauge_values[GAUGE_LIVE] = info.live_size;
	clients_report(service->clients, gauges, service->gauge_values, GAUGE_COUNT, ret_report);
}

static void on_stop(void *data, int number)
{
	(void)number;
	stop(data);
}

static const struct upkeep_work work = { .measure = measure, .stop = on_stop };

/* ---- begin ---- */

static int start_handles(struct service *service)
{
	const struct stored_setup *setup = service->start->setup;
	const struct clients_start start = {
		.way = &clients_commit,
		.listen_fd = service->start->listen_fd,
		.clients_max = setup->clients_max + nodesetup_links(&setup->nodes),
		.requests = &service->requests,
		/* One disk of several may be full. */
		.has_quotas = quota_exists(&service->quota) || nodesetup_is_on(&setup->nodes),
		.counters = service->start->counters,
		.fail = on_fail,
		.owner = service,
		.syncer_fds = service->syncer_fds,
		.login_fd = service->start->login_fd,
	};
	service->keeper = (struct keeper){
		.layer = service->layer,
		.setup = setup,
		.quota = &service->quota,
		.counters = service->start->counters,
		.fail = on_fail,
		.owner = service,
	};
	int ret = clients_open(&service->loop, &start, &service->clients);
	memset(service->syncer_fds, -1, sizeof(service->syncer_fds));
	if (ret == 0)
		ret = keeper_open(&service->keeper, &service->loop);
	if (ret == 0)
		ret = upkeep_open(&service->upkeep, &service->loop, NULL, context, setup->metrics,
				  &work, service);
	return ret;
}

static int serve(struct service *service)
{
	const struct stored_setup *setup = service->start->setup;
	int ret = start_handles(service);
	if (ret != 0)
		return upkeep_refuse_loop(context, ret);
	log_info(context, "ready, version=%s layer=%s directory=%s", DNSBLV6_VERSION,
		 service->layer->ops->name, setup->directory);
	program_tell_ready(context);
	uv_run(&service->loop, UV_RUN_DEFAULT);
	if (service->status == EX_OK)
		upkeep_write_metrics(&service->upkeep);
	return service->status;
}

static void close_parts(struct service *service)
{
	clients_free(service->clients);
	requests_deinit(&service->requests);
	maillayer_close(service->layer);
	users_close(service->users);
	for (unsigned i = 0; i < COMMIT_SYNCS; i++)
		if (service->syncer_fds[i] >= 0)
			close(service->syncer_fds[i]);
}

static int begin_syncers(struct service *service)
{
	int ret = 0;
	memset(service->syncer_fds, -1, sizeof(service->syncer_fds));
	for (unsigned i = 0; ret == 0 && i < COMMIT_SYNCS; i++)
		ret = syncer_begin(&service->start->setup->owner, &service->syncer_fds[i]);
	return ret;
}

int store_process_run(const struct store_process_start *start)
{
	struct service service = { .start = start,
				   .status = EX_OK,
				   .quota_turn = PTHREAD_MUTEX_INITIALIZER };
	int ret = begin_syncers(&service);
	if (ret == 0)
		ret = uv_loop_init(&service.loop);
	if (ret != 0) {
		log_error(context, "process not started (%s)", strerror(-ret));
		return EX_OSERR;
	}
	if (nodesetup_is_on(&start->setup->nodes))
		*start->since_us = 0;
	if (start->setup->layer == STORED_LOG)
		store_index_look(start->setup);
	int status = store_confine(start->setup);
	if (status == EX_OK)
		status = open_parts(&service);
	if (status == EX_OK)
		status = serve(&service);
	close_parts(&service);
	/* With something in it only when the start has failed; then the process ends anyway. */
	uv_loop_close(&service.loop);
	return status;
}
