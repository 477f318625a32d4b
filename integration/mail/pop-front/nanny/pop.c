/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/nanny/pop.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/nanny/nanny.h"
#include "integration/mail/base/setup/mailcheckup.h"
#include "integration/mail/pop-front/edge/popedge.h"
#include "integration/mail/pop-front/facts/popcount.h"
#include "integration/mail/pop-front/login/checker.h"
#include "integration/mail/pop-front/worker/popworker.h"
#include "lib/common/checkup.h"
#include "lib/common/log.h"

static const char context[] = "pop-front";

/* On its way to a worker: a capsule of common size, times the sessions that may wait. */
#define QUEUE_BYTES (256U << 10)

/*
 * What no edge knows, drawn once: a login of one generation may wait for a worker of the next. Each
 * process has its own copy.
 */
static struct checker_keys keys;

/* ---- the configuration ---- */

static struct nanny_values values_of(const void *own)
{
	const struct popsetup *setup = own;
	const struct popsetup_pop *pop = &setup->pop;
	return (struct nanny_values){
		.listeners = { pop->places, pop->place_count, setup->edge.edges },
		.workers = pop->workers,
		.checkers = setup->login.checkers,
		.certificate_count = setup->tls.certificate_count,
		.chains = setup->tls.chains,
		.sessions_max = setup->edge.sessions_max,
		.queue_bytes = QUEUE_BYTES,
		.drain_ms = setup->edge.drain_ms,
		.log_level = pop->log_level,
		.metrics = pop->metrics,
	};
}

struct confine_rights pop_rights(const void *own, unsigned role)
{
	const struct popsetup *setup = own;
	const struct popsetup_pop *pop = &setup->pop;
	const struct owner *const owners[NANNY_ROLES] = {
		[NANNY_KEYHOLDER] = &pop->key_owner,
		[NANNY_CHECKER] = &pop->check_owner,
		[NANNY_EDGE] = &pop->edge_owner,
		[NANNY_WORKER] = &pop->worker_owner,
	};
	return (struct confine_rights){
		.owner = owners[role],
		/* The store's socket is outside of any other root. */
		.root = role == NANNY_WORKER ? "" : pop->chroot,
		.has_loop = role == NANNY_WORKER,
		.has_network = role == NANNY_EDGE,
		.has_memory = role == NANNY_WORKER,
	};
}

static int look(const struct popsetup *setup, bool is_start)
{
	int status = mailcheckup_users(context, NULL, setup->login.users);
	if (status == EX_OK)
		status = checkup_directory(context, "chroot", setup->pop.chroot, is_start);
	if (status == EX_OK)
		status = mailcheckup_keys(context, setup->tls.chains);
	if (status == EX_OK)
		mailcheckup_path(context, &setup->pop.worker_owner, setup->store.text, W_OK);
	return status;
}

int pop_check(const void *own)
{
	return look(own, false);
}

/* Also the library: all edges of a generation share its cache. */
static int prepare(const void *own)
{
	const struct popsetup *setup = own;
	int status = look(setup, true);
	dnsblv6_set_log(setup->handle.client, handle_log, (void *)(uintptr_t)context);
	if (status == EX_OK && setup->has_zones)
		status = program_start_library(context, setup->handle.client);
	return status;
}

/* ---- the processes ---- */

static int run_checker(const struct nanny_child *child)
{
	return checker_run(child, &keys);
}

static int run_edge(const struct nanny_child *child)
{
	explicit_bzero(&keys, sizeof(keys));
	return popedge_run(child);
}

static int run_worker(const struct nanny_child *child)
{
	return popworker_run(child, keys.tickets);
}

int pop_run(const struct daemon_command *command)
{
	static const unsigned numbers[NANNY_EVENTS] = {
		[NANNY_KEYHOLDER] = POP_KEYHOLDER_RESTARTS,
		[NANNY_CHECKER] = POP_CHECKER_RESTARTS,
		[NANNY_EDGE] = POP_EDGE_RESTARTS,
		[NANNY_WORKER] = POP_WORKER_RESTARTS,
		[NANNY_RELOADED] = POP_RELOADS,
		[NANNY_RELOAD_REFUSED] = POP_RELOADS_REFUSED,
	};
	static const struct nanny_program program = {
		.context = context,
		.setup_size = sizeof(struct popsetup),
		.parse = popsetup_parse,
		.deinit = popsetup_deinit,
		.values = values_of,
		.rights = pop_rights,
		.check = pop_check,
		.prepare = prepare,
		.run_checker = run_checker,
		.run_edge = run_edge,
		.run_worker = run_worker,
		.counters = &popcount_table,
		.event_numbers = numbers,
	};
	if (getentropy(&keys, sizeof(keys)) != 0) {
		log_error(context, "keys not made (%s)", strerror(errno));
		return EX_OSERR;
	}
	return nanny_run(&program, command);
}
