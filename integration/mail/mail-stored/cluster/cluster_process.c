/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/cluster/cluster_process.h"

#include "integration/common/upkeep.h"
#include "integration/mail/mail-stored/cluster/cluster.h"
#include "integration/mail/mail-stored/cluster/cluster_questions.h"
#include "integration/mail/mail-stored/cluster/lister.h"
#include "integration/mail/mail-stored/rados/objects_rados.h"
#include "integration/mail/mail-stored/store/clients.h"
#include "integration/mail/mail-stored/store/jobs.h"
#include "integration/mail/mail-stored/store/store_confine.h"
#include "lib/common/log.h"
#include "lib/common/version.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static const char context[] = "mail-stored";

enum gauge {
	GAUGE_REACHED,
	GAUGE_NODES,
	GAUGE_ALIVE,
	GAUGE_BEAT,
	GAUGE_RUNNING,
	GAUGE_WAITING,
	GAUGE_USERS,
	GAUGE_COUNT
};

static const struct counts_label gauges[GAUGE_COUNT] = {
	[GAUGE_REACHED] = { "cluster_reached", "1: the last beat of this node was written." },
	[GAUGE_NODES] = { "nodes", "Nodes of the cluster." },
	[GAUGE_ALIVE] = { "nodes_alive", "Of them, those that beat." },
	[GAUGE_BEAT] = { "beat_age_milliseconds", "Since the last beat that was written." },
	[GAUGE_RUNNING] = { "requests_running", "Requests of clients in threads." },
	[GAUGE_WAITING] = { "requests_waiting", "Requests of clients that wait for a thread." },
	[GAUGE_USERS] = { "users_version", "Of the list of users that was taken." },
};

struct service {
	const struct store_process_start *start;
	struct cluster cluster;
	struct cluster_questions questions;
	pthread_mutex_t quota_turn;
	struct quota quota;
	struct requests requests;
	struct clients_layers layers;
	struct clients *clients;
	struct upkeep upkeep;
	uv_loop_t loop;
	uv_async_t told; /* a thread of cluster.h has said something */
	int lister_fd;
	int failure;   /* under the cluster's mutex, as the next; 0: none */
	bool is_taken; /* the users are there */
	bool is_ready;
	int status;
	bool is_stopping;
	uint64_t gauge_values[GAUGE_COUNT];
};

/* ---- the end ---- */

static void stop(struct service *service)
{
	if (service->is_stopping)
		return;
	service->is_stopping = true;
	clients_close(service->clients);
	upkeep_close(&service->upkeep);
	uv_close((uv_handle_t *)&service->told, NULL);
}

/* The beat has said which node it is about. */
static void on_fail(void *owner, int status)
{
	struct service *service = owner;
	if (service->status == EX_OK)
		service->status = status == MAILSTORE_EFAILED ? EX_CONFIG : EX_SOFTWARE;
	stop(service);
}

static void tell_ready(struct service *service)
{
	if (service->is_ready)
		return;
	service->is_ready = true;
	log_info(context, "ready, version=%s layer=rados node=%s", DNSBLV6_VERSION,
		 service->start->setup->cluster.node);
	program_tell_ready(context);
}

static void service_on_told(uv_async_t *async)
{
	struct service *service = async->data;
	uv_mutex_lock(&service->cluster.mutex);
	int failure = service->failure;
	bool is_taken = service->is_taken;
	uv_mutex_unlock(&service->cluster.mutex);
	if (failure != 0)
		on_fail(service, failure);
	else if (is_taken)
		tell_ready(service);
}

static void fail_from_thread(void *owner, int status)
{
	struct service *service = owner;
	uv_mutex_lock(&service->cluster.mutex);
	service->failure = status;
	uv_mutex_unlock(&service->cluster.mutex);
	uv_async_send(&service->told);
}

static void take_from_thread(void *owner)
{
	struct service *service = owner;
	uv_mutex_lock(&service->cluster.mutex);
	service->is_taken = true;
	uv_mutex_unlock(&service->cluster.mutex);
	uv_async_send(&service->told);
}

/* ---- upkeep ---- */

static void measure(void *data, struct report *ret_report)
{
	struct service *service = data;
	struct cluster_state state;
	const struct clients_work work = clients_measure(service->clients);
	cluster_describe(&service->cluster, &state);
	service->gauge_values[GAUGE_REACHED] = state.beat_status == 0;
	service->gauge_values[GAUGE_NODES] = state.nodes;
	service->gauge_values[GAUGE_ALIVE] = state.nodes_alive;
	service->gauge_values[GAUGE_BEAT] = state.beat_age_ms;
	service->gauge_values[GAUGE_RUNNING] = work.running;
	service->gauge_values[GAUGE_WAITING] = work.waiting;
	service->gauge_values[GAUGE_USERS] = state.users_version;
	clients_report(service->clients, gauges, service->gauge_values, GAUGE_COUNT, ret_report);
}

static void on_stop(void *data, int number)
{
	(void)number;
	stop(data);
}

static const struct upkeep_work work = { .measure = measure, .stop = on_stop };

/* ---- begin ---- */

static int make_layer(void *owner, struct maillayer **ret_layer)
{
	return cluster_make_layer(owner, ret_layer);
}

/* Where they come from the cluster they may not be there yet. */
static int open_users(struct service *service)
{
	const struct stored_setup *setup = service->start->setup;
	struct users *users = NULL;
	int ret = setup->users[0] != '\0' ? users_open(setup->users, &users) : 0;
	if (ret == -ENOENT && setup->cluster.has_users)
		ret = 0;
	if (ret != 0) {
		log_error(context, "recipients not opened, path=%s (%s)", setup->users,
			  users_strerror(ret));
		return EX_NOINPUT;
	}
	service->quota =
		(struct quota){ .setup = setup, .users = users, .turn = &service->quota_turn };
	return EX_OK;
}

static int open_rados(const struct cluster_setup *setup, struct objects **ret_objects)
{
	const struct objects_rados_setup rados = { .conf_path = setup->ceph_conf,
						   .user = setup->ceph_user,
						   .pool = setup->pool,
						   .timeout_s = setup->timeout_s };
	return objects_rados_open(&rados, ret_objects);
}

static int begin_cluster(struct service *service)
{
	const struct cluster_start start = {
		.setup = service->start->setup,
		.quota = &service->quota,
		.counters = service->start->counters,
		.lister_fd = service->lister_fd,
		.open = open_rados,
		.fail = fail_from_thread,
		.taken = take_from_thread,
		.owner = service,
	};
	int ret = uv_async_init(&service->loop, &service->told, service_on_told);
	service->told.data = service;
	return ret == 0 ? cluster_begin(&service->cluster, &start) : ret;
}

static int start_handles(struct service *service)
{
	const struct stored_setup *setup = service->start->setup;
	service->layers = (struct clients_layers){ .threads = setup->cluster.threads,
						   .make = make_layer,
						   .owner = &service->cluster };
	const struct clients_start start = {
		.way = &clients_jobs,
		.listen_fd = service->start->listen_fd,
		.clients_max = setup->clients_max,
		.requests = &service->requests,
		.layers = &service->layers,
		.login_fd = service->start->login_fd,
		.has_quotas = setup->users[0] != '\0' || quota_exists(&service->quota),
		.counters = service->start->counters,
		.fail = on_fail,
		.owner = service,
	};
	int ret = clients_open(&service->loop, &start, &service->clients);
	if (ret == 0)
		ret = upkeep_open(&service->upkeep, &service->loop, NULL, context, setup->metrics,
				  &work, service);
	return ret;
}

/*
 * What begins when this process is ready wants them. The database with passwords is made first, so that
 * both are whole when the other one is.
 */
static bool are_users_there(struct service *service)
{
	const char *logins = service->start->setup->cluster.logins;
	return quota_has_users(&service->quota) && (logins[0] == '\0' || access(logins, F_OK) == 0);
}

static int serve(struct service *service)
{
	const struct stored_setup *setup = service->start->setup;
	int ret = requests_init(&service->requests, NULL, &service->quota, setup,
				service->start->counters);
	service->requests.questions = &service->questions.questions;
	service->requests.reserve = 0; /* of no disk of this machine */
	cluster_questions_init(&service->questions, &service->cluster);
	if (ret == 0)
		ret = jobs_set_threads(setup->cluster.threads);
	if (ret == 0)
		ret = begin_cluster(service);
	if (ret == 0)
		ret = start_handles(service);
	if (ret != 0)
		return upkeep_refuse_loop(context, ret);
	if (service->lister_fd < 0 || are_users_there(service))
		tell_ready(service);
	else
		log_info(context, "waiting for the cluster's users, path=%s", setup->users);
	uv_run(&service->loop, UV_RUN_DEFAULT);
	if (service->status == EX_OK)
		upkeep_write_metrics(&service->upkeep);
	return service->status;
}

/* A start that has failed ends the process, which is what ends the threads. */
static void close_parts(struct service *service, bool has_run)
{
	if (!has_run)
		return;
	clients_free(service->clients);
	requests_deinit(&service->requests);
	cluster_end(&service->cluster);
	users_close(service->quota.users);
	(void)pthread_mutex_destroy(&service->quota_turn);
	uv_loop_close(&service->loop);
	if (service->lister_fd >= 0)
		close(service->lister_fd);
}

static int begin_lister(struct service *service)
{
	int ret = service->start->setup->cluster.has_users
			  ? lister_begin(service->start->setup, &service->lister_fd)
			  : 0;
	if (ret == 0)
		ret = uv_loop_init(&service->loop);
	if (ret == 0)
		ret = -pthread_mutex_init(&service->quota_turn, NULL);
	return ret;
}

int cluster_process_run(const struct store_process_start *start)
{
	struct service service = { .start = start, .status = EX_OK, .lister_fd = -1 };
	int ret = begin_lister(&service);
	if (ret != 0) {
		log_error(context, "process not started (%s)", strerror(-ret));
		return EX_OSERR;
	}
	int status = store_confine_cluster(start->setup);
	if (status == EX_OK)
		status = open_users(&service);
	if (status != EX_OK)
		return status;
	status = serve(&service);
	close_parts(&service, service.is_stopping);
	return status;
}

bool cluster_process_is_built(void)
{
	return true;
}
