/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/transfer/forks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/dns/peer.h"
#include "lib/process/child.h"

#define CONNECTION_FD (STDERR_FILENO + 1)
/* Processes that answer go first when there is not enough of the processor for both. */
#define NICENESS 5

/* ---- the child ---- */

/* The worker's handlers write into its event loop: not from here. */
static void reset_signals(void)
{
	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_DFL);
	signal(SIGINT, SIG_IGN); /* a terminal sends it to all; the parent decides */
	signal(SIGPIPE, SIG_IGN);
	child_unblock_signals();
}

__attribute__((noreturn)) static void
run_child(const struct forks *forks, const struct transfer *transfer, int fd, pid_t worker)
{
	reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != worker)
		_exit(TRANSFER_END_CUT);
	if (dup2(fd, CONNECTION_FD) < 0 || close_range(CONNECTION_FD + 1, ~0U, 0) != 0)
		_exit(TRANSFER_END_CUT);
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICENESS);
	/* Not exit(): what was registered or buffered is the worker's. */
	_exit((int)transfer_run(transfer, &forks->limits, CONNECTION_FD));
}

int forks_start(struct forks *forks, const struct transfer *transfer, int fd,
		const struct tcp_asker *asker, bool is_told)
{
	sigset_t all;
	sigset_t before;
	pid_t worker = getpid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	int error = errno;
	if (pid == 0 && !is_told)
		log_set_level(LOG_LEVEL_ERROR);
	if (pid == 0)
		run_child(forks, transfer, fd, worker);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -error;
	forks->children[forks->child_count++] =
		(struct forks_child){ pid, transfer->name, transfer->client, transfer->face,
				      *asker };
	uv_ref((uv_handle_t *)&forks->sigchld);
	return 0;
}

bool forks_has_room(const struct forks *forks, const struct sockaddr *client)
{
	const struct dnsblv6_addr address = peer_address(client);
	size_t has = 0;
	for (size_t i = 0; i < forks->child_count; i++) {
		const struct sockaddr_storage *other = &forks->children[i].client;
		has += dnsblv6_addr_compare(peer_address((const struct sockaddr *)other),
					    address) == 0;
	}
	return has < forks->child_max - forks->child_count;
}

/* ---- its end ---- */

/* In the place of a process that could not say it. */
static void tell_killed(const struct forks_child *child, int number, bool is_time_up)
{
	char client[PEER_TEXT_SIZE];
	peer_format((const struct sockaddr *)&child->client, client);
	if (is_time_up)
		log_warning(child->name->text, "transfer failed, client=%s (drain-timeout is over)",
			    client);
	else
		log_error(child->name->text, "transfer died, client=%s signal=%d", client, number);
}

static void note_end(struct forks *forks, size_t index, int status, bool is_time_up)
{
	int end = WIFEXITED(status) ? WEXITSTATUS(status) : TRANSFER_END_CUT;
	bool is_done = end == TRANSFER_END_WHOLE;
	const struct tcp_asker asker = forks->children[index].asker;
	if (WIFSIGNALED(status))
		tell_killed(&forks->children[index], WTERMSIG(status), is_time_up);
	uint64_t *counters = counters_of_face(&forks->counters, forks->children[index].face);
	counters_count(
		&counters[is_done ? COUNTERS_FACE_TRANSFERS : COUNTERS_FACE_TRANSFERS_FAILED]);
	forks->children[index] = forks->children[--forks->child_count];
	if (forks->child_count == 0)
		uv_unref((uv_handle_t *)&forks->sigchld);
	/* Last: the next request of the client may be for another transfer. */
	tcp_give_back(forks->tcp, &asker, is_done || end == TRANSFER_END_TOLD);
}

/* Of our own children only: the verifier's is waited for elsewhere. */
static void sigchld_on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	struct forks *forks = handle->data;
	for (size_t i = forks->child_count; i > 0; i--) {
		int status = 0;
		if (waitpid(forks->children[i - 1].pid, &status, WNOHANG) > 0)
			note_end(forks, i - 1, status, false);
	}
}

/* ---- life ---- */

int forks_open(struct forks *forks, uv_loop_t *loop, const struct settings *settings,
	       const struct counters *counters)
{
	*forks = (struct forks){
		.limits = { settings->transfer_timeout_s, settings->transfer_idle_timeout_s },
		.counters = *counters,
		.child_max = settings->transfer_max,
	};
	forks->children = calloc(forks->child_max + 1, sizeof(*forks->children));
	if (forks->children == NULL)
		return -ENOMEM;
	int ret = uv_signal_init(loop, &forks->sigchld);
	if (ret != 0)
		return ret;
	forks->sigchld.data = forks;
	ret = uv_signal_start(&forks->sigchld, sigchld_on_signal, SIGCHLD);
	uv_unref((uv_handle_t *)&forks->sigchld);
	return ret;
}

void forks_stop(struct forks *forks)
{
	while (forks->child_count > 0) {
		pid_t pid = forks->children[forks->child_count - 1].pid;
		int status = 0;
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
		note_end(forks, forks->child_count - 1, status, true);
	}
	uv_close((uv_handle_t *)&forks->sigchld, NULL);
}

void forks_free(struct forks *forks)
{
	free(forks->children);
	forks->children = NULL;
}
