/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/worker/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/smtp-front/handover/capsule.h"
#include "integration/mail/smtp-front/sinks/sink.h"
#include "integration/mail/base/worker/intake.h"
#include "integration/mail/base/users/users.h"
#include "integration/mail/smtp-front/worker/visit.h"
#include "lib/common/log.h"

static const char context[] = "smtp-front";

struct worker {
	const struct nanny_child *child;
	const struct worker_shared *shared;
	struct setup_sink asker_setup;
	struct visit_parts parts;
	struct visit *visit;
	struct capsule *capsule;
	struct intake intake;
};

/*
 * Opens what says whether a recipient is one: the list; else the next hop of trust.forward, which
 * is the sink itself where both are the same place.
 */
static int open_asker(struct worker *worker)
{
	const struct setup *setup = worker->parts.setup;
	uint64_t seed = 0;

	if (setup->trust.users[0] != '\0')
		return users_open(setup->trust.users, &worker->parts.users);
	if (setup->trust.forward.text[0] == '\0' || setup_asks_sink(setup))
		return 0;
	worker->asker_setup = (struct setup_sink){
		.kind = SETUP_SINK_SMTP,
		.to = setup->trust.forward,
		.tell = SETUP_TELL_NONE,
		.connect_timeout_ms = setup->trust.forward_timeout_ms,
		.timeout_ms = setup->trust.forward_timeout_ms,
	};
	if (getentropy(&seed, sizeof(seed)) != 0)
		return -errno;
	const int ret = answers_new(seed, &worker->parts.known);
	if (ret < 0)
		return ret;
	return sink_open(&worker->asker_setup, setup->front.hostname, &worker->parts.asker);
}

/* Behind this nothing is opened by name. */
static int open_parts(struct worker *worker)
{
	const struct setup *setup = worker->child->setup;

	worker->parts.setup = setup;
	worker->parts.counters = worker->child->counters;
	worker->parts.passed = worker->child->passed;
	worker->parts.scoreboard = worker->child->scoreboard;
	worker->parts.is_told = intake_told();
	int ret = sink_open(&setup->sink, setup->front.hostname, &worker->parts.sink);
	if (ret < 0) {
		log_error(context, "sink not opened, to=%s (%s)", setup->sink.to.text,
			  strerror(-ret));
		return EX_NOINPUT;
	}
	sink_share(worker->parts.sink, worker->shared->hop, worker->shared->delivered);
	ret = open_asker(worker);
	if (ret < 0) {
		const bool is_list = setup->trust.users[0] != '\0';
		log_error(context, "recipients not opened, path=%s (%s)",
			  is_list ? setup->trust.users : setup->trust.forward.text,
			  users_strerror(ret));
		return EX_NOINPUT;
	}
	if (setup->scan.is_on) {
		ret = scanner_open(&setup->scan, context, worker->shared->ask_fd,
				   &worker->parts.scanner);
		if (ret != EX_OK)
			return ret;
	}
	worker->capsule = calloc(1, sizeof(*worker->capsule));
	if (worker->capsule == NULL || visit_new(&worker->parts, &worker->visit) < 0) {
		log_error(context, "worker not started (%s)", strerror(ENOMEM));
		return EX_OSERR;
	}
	return EX_OK;
}

static void close_parts(struct worker *worker)
{
	intake_let_go(&worker->intake);
	visit_free(worker->visit);
	scanner_close(worker->parts.scanner);
	free(worker->capsule);
	users_close(worker->parts.users);
	answers_free(worker->parts.known);
	sink_close(worker->parts.asker);
	sink_close(worker->parts.sink);
}

static int receive(struct worker *worker, int *ret_fd)
{
	uint8_t bytes[CAPSULE_SIZE_MAX];
	size_t size = 0;
	int ret = intake_receive(&worker->intake, bytes, &size, ret_fd);
	if (ret != 0)
		return ret;
	ret = capsule_decode(bytes, size, worker->capsule);
	if (ret != 0)
		intake_close(*ret_fd);
	return ret;
}

/* One session, if there is one. Returns how much of the worker's life it has taken. */
static unsigned take_session(struct worker *worker, int *ret_status)
{
	uint64_t *counters = worker->child->counters;
	int fd = -1;
	unsigned mail_count = 0;

	*ret_status = receive(worker, &fd);
	if (*ret_status < 0)
		return 0;
	bank_add(counters, TALLY_TAKEN, 1);
	bank_set(counters, TALLY_BUSY, 1);
	if (intake_is_late(worker->capsule->queued_at_us,
			   worker->parts.setup->edge.queue_timeout_ms))
		visit_put_off(worker->visit, worker->capsule, fd);
	else
		mail_count = visit_finish(worker->visit, worker->capsule, fd);
	bank_set(counters, TALLY_BUSY, 0);
	return mail_count > 0 ? mail_count : 1;
}

static int work(struct worker *worker)
{
	const unsigned mails_max = worker->parts.setup->front.mails_per_worker;
	unsigned done = 0;

	while (*intake_told() == 0 && (mails_max == 0 || done < mails_max)) {
		int status = 0;
		done += take_session(worker, &status);
		const int end =
			intake_judge(context, status, worker->child->counters, TALLY_CAPSULES_BAD);
		if (end >= 0)
			return end;
	}
	if (*intake_told() == 0)
		bank_add(worker->child->counters, TALLY_RETIRED, 1);
	return EX_OK;
}

/* One of a generation is enough; sessions that come now are the others'. */
static void probe_hop(struct worker *worker)
{
	const struct nanny_child *child = worker->child;

	if (child->index != 0)
		return;
	scoreboard_set(child->scoreboard, SCOREBOARD_IDLE, child->process, false);
	sink_probe(worker->parts.sink);
}

int worker_run(const struct nanny_child *child, const struct worker_shared *shared)
{
	struct worker worker = {
		.child = child,
		.shared = shared,
		.intake = { child->queue_fd, child->scoreboard, child->process, -1 },
	};

	intake_set_signals();
	int status = open_parts(&worker);
	/* It is about to be: a session that comes first finds it so. */
	if (status == EX_OK)
		scoreboard_set(child->scoreboard, SCOREBOARD_IDLE, child->process, true);
	if (status == EX_OK && child->confine != NULL)
		status = child->confine(child->context);
	if (status == EX_OK) {
		probe_hop(&worker);
		status = work(&worker);
	}
	close_parts(&worker);
	return status;
}
