/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/transfer/handover.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/common/log.h"

#define CONNECTION_FD (STDERR_FILENO + 1)
/* Processes that answer go first when there is not enough of the processor for both. */
#define NICENESS 5

/* ---- the child ---- */

/* The worker's handlers write into its event loop: not from here. */
static void reset_signals(void)
{
	sigset_t none;
	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_DFL);
	signal(SIGINT, SIG_IGN); /* a terminal sends it to all; the parent decides */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

__attribute__((noreturn)) static void
run_child(const struct handover *handover, const struct transfer *transfer, int fd, pid_t worker)
{
	reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != worker)
		_exit(1);
	if (dup2(fd, CONNECTION_FD) < 0 || close_range(CONNECTION_FD + 1, ~0U, 0) != 0)
		_exit(1);
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICENESS);
	/* Not exit(): what was registered or buffered is the worker's. */
	_exit(transfer_run(transfer, &handover->limits, CONNECTION_FD) ? 0 : 1);
}

int handover_start(struct handover *handover, const struct transfer *transfer, int fd)
{
	sigset_t all;
	sigset_t before;
	pid_t worker = getpid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	int error = errno;
	if (pid == 0)
		run_child(handover, transfer, fd, worker);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -error;
	handover->children[handover->child_count++] =
		(struct handover_child){ pid, transfer->face };
	uv_ref((uv_handle_t *)&handover->sigchld);
	return 0;
}

/* ---- its end ---- */

static void bury(struct handover *handover, size_t index, int status)
{
	bool is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	/* SIGKILL is ours, and whose time was up has said so. */
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		log_error("dnsblv6d", "transfer died, pid=%d signal=%d",
			  (int)handover->children[index].pid, WTERMSIG(status));
	uint64_t *counters = counters_of_face(&handover->counters, handover->children[index].face);
	counters_count(
		&counters[is_done ? COUNTERS_FACE_TRANSFERS : COUNTERS_FACE_TRANSFERS_FAILED]);
	handover->children[index] = handover->children[--handover->child_count];
	if (handover->child_count == 0)
		uv_unref((uv_handle_t *)&handover->sigchld);
}

/* Of our own children only: the verifier's is waited for elsewhere. */
static void sigchld_on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	struct handover *handover = handle->data;
	for (size_t i = handover->child_count; i > 0; i--) {
		int status = 0;
		if (waitpid(handover->children[i - 1].pid, &status, WNOHANG) > 0)
			bury(handover, i - 1, status);
	}
}

/* ---- life ---- */

int handover_open(struct handover *handover, uv_loop_t *loop, const struct settings *settings,
		  const struct counters *counters)
{
	*handover = (struct handover){
		.loop = loop,
		.limits = { settings->transfer_timeout_s, settings->transfer_idle_timeout_s },
		.counters = *counters,
		.child_max = settings->transfer_max,
	};
	handover->children = calloc(handover->child_max + 1, sizeof(*handover->children));
	if (handover->children == NULL)
		return -ENOMEM;
	int ret = uv_signal_init(loop, &handover->sigchld);
	if (ret != 0)
		return ret;
	handover->sigchld.data = handover;
	ret = uv_signal_start(&handover->sigchld, sigchld_on_signal, SIGCHLD);
	uv_unref((uv_handle_t *)&handover->sigchld);
	return ret;
}

void handover_stop(struct handover *handover)
{
	while (handover->child_count > 0) {
		pid_t pid = handover->children[handover->child_count - 1].pid;
		int status = 0;
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
		bury(handover, handover->child_count - 1, status);
	}
	uv_close((uv_handle_t *)&handover->sigchld, NULL);
}

void handover_free(struct handover *handover)
{
	free(handover->children);
	handover->children = NULL;
}
