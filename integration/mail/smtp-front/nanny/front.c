/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/nanny/front.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/smtp-front/edge/smtp_edge.h"
#include "integration/mail/smtp-front/facts/tally.h"
#include "integration/mail/base/nanny/nanny.h"
#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/base/scan/template.h"
#include "integration/mail/smtp-front/nanny/precheck.h"
#include "integration/mail/smtp-front/recipients/hopstate.h"
#include "integration/mail/smtp-front/sinks/delivered.h"
#include "integration/mail/smtp-front/worker/worker.h"
#include "lib/common/log.h"

static const char context[] = "smtp-front";

/* Of the processes of a generation. */
struct shared {
	struct hopstate *hop;
	struct delivered *delivered; /* NULL where all recipients have a mail, or none */
	/* Of the scanner; without one it is never asked. */
	int template_ends[TEMPLATE_ENDS];
};

/* ---- the configuration ---- */

static struct nanny_values values_of(const void *own)
{
	const struct setup *setup = own;
	const struct setup_front *front = &setup->front;
	return (struct nanny_values){
		.listeners = { front->places, front->place_count, setup->edge.edges },
		.workers = front->workers,
		.checkers = setup->scan.is_on,
		.certificate_count = setup->tls.certificate_count,
		.chains = setup->tls.chains,
		.sessions_max = setup->edge.sessions_max,
		.queue_bytes = front->queue_bytes,
		.drain_ms = setup->edge.drain_ms,
		.log_level = front->log_level,
		.metrics = front->metrics,
	};
}

/*
 * A next hop, or an edge's call-forward, that is a path is outside of any other root; and so are the
 * signatures, which the template opens anew when there are others.
 */
static bool needs_paths(const struct setup *setup, unsigned role)
{
	if (role == NANNY_KEYHOLDER)
		return false;
	if (role == NANNY_CHECKER)
		return true;
	if (role == NANNY_WORKER && setup->sink.to.text[0] == '/')
		return true;
	return setup->trust.forward.text[0] == '/' ||
	       (role == NANNY_EDGE && setup->sink.kind == SETUP_SINK_POSTFIX);
}

struct confine_rights front_rights(const void *own, unsigned role)
{
	const struct setup *setup = own;
	const struct setup_front *front = &setup->front;
	const struct owner *const owners[NANNY_ROLES] = {
		[NANNY_KEYHOLDER] = &front->key_owner,
		[NANNY_EDGE] = &front->edge_owner,
		[NANNY_CHECKER] = &front->worker_owner,
		[NANNY_WORKER] = &front->worker_owner,
	};
	return (struct confine_rights){
		.owner = owners[role],
		.root = needs_paths(setup, role) ? "" : front->chroot,
		.has_network = role == NANNY_EDGE || role == NANNY_WORKER,
		.has_loop = role == NANNY_CHECKER,
		.has_children = role == NANNY_CHECKER,
		.has_memory = role == NANNY_WORKER &&
			      (setup->sink.kind == SETUP_SINK_STORE || setup->scan.is_on),
		.has_files = role == NANNY_WORKER && setup->sink.kind == SETUP_SINK_MAILDIR,
	};
}

static int look(const struct setup *setup, bool is_start)
{
	const int status = precheck_run(setup, context, is_start);
	return status == EX_OK ? scanner_check(&setup->scan, context) : status;
}

static int check(const void *own)
{
	return look(own, false);
}

/* Also the library: all edges of a generation share its cache. */
static int prepare(const void *own)
{
	const struct setup *setup = own;
	int status = look(setup, true);
	dnsblv6_set_log(setup->handle.client, handle_log, (void *)(uintptr_t)context);
	if (status == EX_OK && setup->has_zones)
		status = program_start_library(context, setup->handle.client);
	return status;
}

/* ---- the processes ---- */

/* Another file of that name is the operator's to move. */
static int open_delivered(const char *path, struct delivered **ret_delivered)
{
	const int ret = delivered_open(path, ret_delivered);
	if (ret == 0 || path[0] == '\0')
		return ret;
	log_error(context, "memory of deliveries not opened, path=%s (%s)", path,
		  ret == -EINVAL ? "it is another file" : strerror(-ret));
	return ret;
}

static int share(const void *own, void **ret_shared)
{
	const struct setup *setup = own;
	struct shared *shared = calloc(1, sizeof(*shared));
	*ret_shared = shared;
	if (shared != NULL)
		shared->template_ends[TEMPLATE_ASK] = shared->template_ends[TEMPLATE_OWN] = -1;
	int ret = shared == NULL ? -ENOMEM : hopstate_open(&shared->hop);
	if (ret == 0 &&
	    (setup->sink.kind == SETUP_SINK_LMTP || setup->sink.kind == SETUP_SINK_STORE))
		ret = open_delivered(setup->sink.delivered, &shared->delivered);
	if (ret == 0 && setup->scan.is_on)
		ret = template_pair(shared->template_ends);
	return ret;
}

static void unshare_all(void *own)
{
	struct shared *shared = own;
	hopstate_close(shared->hop);
	delivered_close(shared->delivered);
	for (unsigned i = 0; i < TEMPLATE_ENDS; i++) {
		if (shared->template_ends[i] >= 0)
			(void)close(shared->template_ends[i]);
	}
	free(shared);
}

static int run_edge(const struct nanny_child *child)
{
	const struct shared *shared = child->shared;
	return smtp_edge_run(child, shared->hop);
}

/* What workers ask for a process that decodes the archives of a mail. */
static int run_template(const struct nanny_child *child)
{
	const struct setup *setup = child->setup;
	struct shared *shared = child->shared;
	(void)close(shared->template_ends[TEMPLATE_ASK]);
	return scanner_run_template(&setup->scan, context, shared->template_ends[TEMPLATE_OWN],
				    child->confine, child->context);
}

static int run_worker(const struct nanny_child *child)
{
	const struct shared *shared = child->shared;
	const struct worker_shared own = { shared->hop, shared->delivered,
					   shared->template_ends[TEMPLATE_ASK] };
	return worker_run(child, &own);
}

/* It has no process of its own that could set its gauge. */
static void note_hop(const struct bank *bank, const void *own)
{
	const struct shared *shared = own;
	bank_set(bank_block(bank, 0), TALLY_HOP_DOWN, hopstate_is_down(shared->hop) ? 1 : 0);
}

int front_run(const struct daemon_command *command)
{
	static const unsigned numbers[NANNY_EVENTS] = {
		[NANNY_KEYHOLDER] = TALLY_KEYHOLDER_RESTARTS,
		[NANNY_EDGE] = TALLY_EDGE_RESTARTS,
		[NANNY_CHECKER] = TALLY_TEMPLATE_RESTARTS,
		[NANNY_WORKER] = TALLY_WORKER_RESTARTS,
		[NANNY_RELOADED] = TALLY_RELOADS,
		[NANNY_RELOAD_REFUSED] = TALLY_RELOADS_REFUSED,
	};
	static const struct nanny_program program = {
		.context = context,
		.setup_size = sizeof(struct setup),
		.parse = setup_parse,
		.deinit = setup_deinit,
		.values = values_of,
		.rights = front_rights,
		.check = check,
		.prepare = prepare,
		.share = share,
		.unshare = unshare_all,
		.checker_name = "decoders",
		.run_checker = run_template,
		.run_edge = run_edge,
		.run_worker = run_worker,
		.counters = &tally_table,
		.event_numbers = numbers,
		.note = note_hop,
	};
	return nanny_run(&program, command);
}
