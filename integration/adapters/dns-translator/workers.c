/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/dns-translator/workers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

#include "lib/common/log.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"

static const char context[] = "dnsblv6-translate";

enum { ROLE_WORKER };

/* A resolver that gets no answer asks again for some seconds: no pause is longer than one. */
static const struct crew_pace pace = { .first_ms = 1000, .most_ms = 1000, .life_ms = 1000 };

struct workers {
	const struct translate_setup *setup;
	const struct listener *listener;
	uint64_t *counters;
	sigset_t waited; /* blocked in the parent */
	sigset_t before; /* what workers have */
	struct crew crew;
};

static void begin(const struct workers *workers, struct crew_slot *slot)
{
	pid_t pid = child_fork(slot);
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &workers->before, NULL);
		exit(translate_service_run(workers->setup, workers->listener, slot->index,
					   workers->counters));
	}
	if (pid < 0)
		log_warning(context, "worker not started, worker=%u (%s)", slot->index,
			    strerror(-pid));
}

static void reap(struct workers *workers)
{
	char end[CHILD_END_TEXT_SIZE];
	int status = 0;
	pid_t pid = 0;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct crew_slot *slot = crew_find(&workers->crew, pid);
		if (slot == NULL)
			continue;
		crew_ended(slot, false, clock_now_ms());
		if (!workers->crew.is_told[ROLE_WORKER])
			log_warning(context, "worker ended, worker=%u %s", slot->index,
				    child_format_end(status, end));
	}
}

static void obey(struct workers *workers, int number)
{
	const struct crew_slot *first = &workers->crew.slots[0];
	switch (number) {
	case SIGCHLD:
		reap(workers);
		break;
	case SIGTERM:
	case SIGINT:
		child_tell(&workers->crew, ROLE_WORKER, CREW_NEVER);
		break;
	case SIGUSR1:
		if (first->pid != 0)
			kill(first->pid, SIGUSR1);
		break;
	case SIGHUP:
		service_log_no_reload();
		break;
	default: /* one is due */
		break;
	}
}

static bool has_ended(const struct crew *crew)
{
	return crew->is_told[ROLE_WORKER] && crew_count(crew, ROLE_WORKER) == 0;
}

int workers_run(const struct translate_setup *setup, const struct listener *listener)
{
	struct workers workers = { .setup = setup, .listener = listener };
	struct crew_slot *slot = NULL;
	int ret = crew_init(&workers.crew, &setup->workers, 1, &pace);
	if (ret != 0) {
		log_error(context, "loop not started (%s)", strerror(-ret));
		return EX_OSERR;
	}
	workers.counters = service_map_counters(setup->workers);
	child_block_signals(&workers.waited, &workers.before);
	while (!has_ended(&workers.crew)) {
		while ((slot = crew_find_due(&workers.crew, clock_now_ms())) != NULL)
			begin(&workers, slot);
		obey(&workers, child_wait_signal(&workers.waited, crew_next_ms(&workers.crew)));
	}
	crew_deinit(&workers.crew);
	return EX_OK;
}
