/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/worker/popworker.h"

#include <stdlib.h>
#include <sysexits.h>

#include "integration/mail/base/worker/intake.h"
#include "integration/mail/pop-front/facts/popcount.h"
#include "integration/mail/pop-front/worker/popvisit.h"
#include "lib/common/log.h"
#include "lib/process/clock.h"

static const char context[] = "pop-front";

struct popworker {
	const struct nanny_child *child;
	const struct popsetup *setup;
	const uint8_t *ticket_key;
	struct intake intake;
	struct popvisit *visit;
	struct popcapsule capsule;
};

static int receive(struct popworker *worker, int *ret_fd)
{
	uint8_t bytes[HANDOVER_SIZE_MAX];
	size_t size = 0;
	int ret = intake_receive(&worker->intake, bytes, &size, ret_fd);
	if (ret != 0)
		return ret;
	ret = popcapsule_decode(bytes, size, &worker->capsule);
	if (ret != 0)
		intake_close(*ret_fd);
	return ret;
}

/* A checker has said that the login was right, no longer ago than a client may have taken since. */
static bool is_logged_in(const struct popworker *worker)
{
	const struct popsetup *setup = worker->setup;
	const struct popcapsule *capsule = &worker->capsule;
	const uint64_t age_max_ms = (uint64_t)setup->edge.command_timeout_ms +
				    setup->edge.tarpit_ms + setup->edge.queue_timeout_ms +
				    INTAKE_LATE_MS;
	return ticket_is_good(worker->ticket_key, capsule->mailbox, &capsule->ticket,
			      clock_now_us(), age_max_ms * 1000);
}

/* One session, if there is one. 0 or a status. */
static int take_session(struct popworker *worker)
{
	uint64_t *counters = worker->child->counters;
	int fd = -1;
	const int ret = receive(worker, &fd);
	if (ret != 0)
		return ret;
	bank_add(counters, POP_TAKEN, 1);
	bank_set(counters, POP_BUSY, 1);
	if (!is_logged_in(worker)) {
		bank_add(counters, POP_CAPSULES_BAD, 1);
		log_error(context, "session refused, mailbox=%s (no checker has let it in)",
			  worker->capsule.mailbox);
		intake_close(fd);
	} else if (intake_is_late(worker->capsule.queued_at_us,
				  worker->setup->edge.queue_timeout_ms)) {
		bank_add(counters, POP_QUEUE_LATE, 1);
		popvisit_put_off(worker->visit, &worker->capsule, fd);
	} else {
		popvisit_finish(worker->visit, &worker->capsule, fd);
	}
	bank_set(counters, POP_BUSY, 0);
	return 0;
}

static int work(struct popworker *worker)
{
	const unsigned sessions_max = worker->setup->pop.sessions_per_worker;
	unsigned done = 0;
	while (*intake_told() == 0 && done < sessions_max) {
		const int ret = take_session(worker);
		const int status =
			intake_judge(context, ret, worker->child->counters, POP_CAPSULES_BAD);
		if (status >= 0)
			return status;
		done += ret == 0 ? 1 : 0;
	}
	if (*intake_told() == 0)
		bank_add(worker->child->counters, POP_RETIRED, 1);
	return EX_OK;
}

static int begin(struct popworker *worker)
{
	const struct nanny_child *child = worker->child;
	const struct popvisit_parts parts = { worker->setup, child->counters, intake_told() };
	if (popvisit_new(&parts, &worker->visit) != 0) {
		log_error(context, "worker not started (out of memory)");
		return EX_OSERR;
	}
	/* It is about to be: a session that comes first finds it so. */
	scoreboard_set(child->scoreboard, SCOREBOARD_IDLE, child->process, true);
	return child->confine != NULL ? child->confine(child->context) : EX_OK;
}

int popworker_run(const struct nanny_child *child, const uint8_t *ticket_key)
{
	struct popworker *worker = calloc(1, sizeof(*worker));
	if (worker == NULL)
		return EX_OSERR;
	worker->child = child;
	worker->setup = child->setup;
	worker->ticket_key = ticket_key;
	worker->intake = (struct intake){ child->queue_fd, child->scoreboard, child->process, -1 };
	intake_set_signals();
	int status = begin(worker);
	if (status == EX_OK)
		status = work(worker);
	intake_let_go(&worker->intake);
	popvisit_free(worker->visit);
	free(worker);
	return status;
}
