/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/dns-translator/crew.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "lib/common/log.h"

static const char context[] = "dnsblv6-translate";

/* A worker that lives for less is begun again no sooner than this after it was begun. */
#define PAUSE_S 1

struct worker {
	pid_t pid;	 /* 0: there is none */
	time_t begun_s;	 /* of CLOCK_MONOTONIC */
	bool has_failed; /* and was said to have */
};

struct crew {
	const struct setup *setup;
	const struct listener *listener;
	uint64_t *counters;
	sigset_t waited; /* blocked in the parent */
	sigset_t before; /* what workers have */
	struct worker workers[SETUP_WORKERS_MAX];
	bool is_stopping;
};

static time_t now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* What a new process does: 0 in the parent, or the worker's exit status with *ret_is_worker. */
static int begin_worker(struct crew *crew, unsigned index, bool *ret_is_worker)
{
	struct worker *worker = &crew->workers[index];
	pid_t parent = getpid();
	worker->begun_s = now_s();
	pid_t pid = fork();
	if (pid > 0) {
		worker->pid = pid;
		return 0;
	}
	if (pid < 0) {
		log_warning(context, "worker not begun, worker=%u (%s)", index, strerror(errno));
		return 0;
	}
	*ret_is_worker = true;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* It may have been too late for that. */
	if (getppid() != parent)
		return EX_OK;
	sigprocmask(SIG_SETMASK, &crew->before, NULL);
	return service_run(crew->setup, crew->listener, index, crew->counters);
}

/* Those that are missing and may be begun. The same. */
static int begin_workers(struct crew *crew, bool *ret_is_worker)
{
	for (unsigned i = 0; i < crew->setup->workers; i++) {
		const struct worker *worker = &crew->workers[i];
		if (worker->pid != 0 ||
		    (worker->has_failed && now_s() - worker->begun_s <= PAUSE_S))
			continue;
		int status = begin_worker(crew, i, ret_is_worker);
		if (*ret_is_worker)
			return status;
	}
	return 0;
}

static void bury(struct crew *crew)
{
	int status = 0;
	pid_t pid = 0;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (unsigned i = 0; i < crew->setup->workers; i++) {
			struct worker *worker = &crew->workers[i];
			if (worker->pid != pid)
				continue;
			worker->pid = 0;
			worker->has_failed = true;
			if (!crew->is_stopping)
				log_warning(context, "worker ended, worker=%u status=%d signal=%d",
					    i, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
					    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
		}
	}
}

static bool has_workers(const struct crew *crew)
{
	for (unsigned i = 0; i < crew->setup->workers; i++) {
		if (crew->workers[i].pid != 0)
			return true;
	}
	return false;
}

static void stop(struct crew *crew)
{
	crew->is_stopping = true;
	for (unsigned i = 0; i < crew->setup->workers; i++) {
		if (crew->workers[i].pid != 0)
			kill(crew->workers[i].pid, SIGTERM);
	}
}

static void take_signal(struct crew *crew, int number)
{
	switch (number) {
	case SIGCHLD:
		bury(crew);
		break;
	case SIGTERM:
	case SIGINT:
		stop(crew);
		break;
	case SIGUSR1:
		if (crew->workers[0].pid != 0)
			kill(crew->workers[0].pid, SIGUSR1);
		break;
	case SIGHUP:
		service_log_no_reload();
		break;
	default: /* a pause is over */
		break;
	}
}

int crew_run(const struct setup *setup, const struct listener *listener)
{
	static const int numbers[] = { SIGCHLD, SIGTERM, SIGINT, SIGUSR1, SIGHUP };
	static const struct timespec pause = { .tv_sec = PAUSE_S };
	struct crew crew = { .setup = setup, .listener = listener };
	bool is_worker = false;
	crew.counters = service_map_counters(setup->workers);
	sigemptyset(&crew.waited);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&crew.waited, numbers[i]);
	sigprocmask(SIG_BLOCK, &crew.waited, &crew.before);
	for (;;) {
		int status = crew.is_stopping ? 0 : begin_workers(&crew, &is_worker);
		if (is_worker)
			return status;
		if (crew.is_stopping && !has_workers(&crew))
			return EX_OK;
		take_signal(&crew, sigtimedwait(&crew.waited, NULL, &pause));
	}
}
