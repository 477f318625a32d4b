/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/fence.h"

#include "lib/lmdb/store.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

__attribute__((noreturn)) static void run_child(int (*run)(void *context), void *context,
						pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EX_TEMPFAIL); /* it died before that took effect */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	/* Sanitizers have handlers: what is an answer here would be a fault to them. */
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	/* By what the program has registered, which looks at what it has printed. */
	exit(run(context));
}

static bool has_crashed(int status)
{
	if (!WIFSIGNALED(status))
		return false;
	int number = WTERMSIG(status);
	return number == SIGSEGV || number == SIGBUS || number == SIGABRT;
}

int fence_run(int (*run)(void *context), void *context, int *ret_status)
{
	int status = 0;
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		run_child(run, context, parent);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if (has_crashed(status))
		return STORE_ECORRUPT;
	*ret_status = status;
	return STORE_OK;
}
