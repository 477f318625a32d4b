/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A walk over damaged pages may never end; a whole one takes seconds per gigabyte. */
#define CPU_MAX_S 300
#define REPORT_FD (STDERR_FILENO + 1)

/* What the child sends back: a status, and the facts when that is USERS_OK. */
struct report {
	int status;
	struct users_facts facts;
};

static int read_all(const char *path, struct users_facts *ret_facts)
{
	struct users *users = NULL;
	int ret = users_open(path, &users);
	if (ret == USERS_OK)
		ret = users_check(users, ret_facts);
	users_close(users);
	return ret;
}

/* A caller's handlers may write into its event loop: not from here. */
static void reset_signals(void)
{
	sigset_t none;
	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What LMDB's assertions print on the way down goes into a pipe that is never read. */
static bool close_others(int fd)
{
	int nowhere[2];
	return pipe2(nowhere, O_CLOEXEC) == 0 && dup2(nowhere[1], STDERR_FILENO) >= 0 &&
	       dup2(fd, REPORT_FD) >= 0 && close_range(REPORT_FD + 1, ~0U, 0) == 0;
}

__attribute__((noreturn)) static void run_child(const char *path, int fd)
{
	struct report report;
	memset(&report, 0, sizeof(report));
	reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!close_others(fd))
		_exit(1);
	/* A crash here is an answer, not an accident: no core file. */
	setrlimit(RLIMIT_CPU, &(struct rlimit){ CPU_MAX_S, CPU_MAX_S });
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	report.status = read_all(path, &report.facts);
	_exit(write(REPORT_FD, &report, sizeof(report)) == (ssize_t)sizeof(report) ? 0 : 1);
}

static int await_report(pid_t pid, int fd, struct users_facts *ret_facts)
{
	struct report report;
	ssize_t size;
	do {
		size = read(fd, &report, sizeof(report));
	} while (size < 0 && errno == EINTR);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	/* A pipe gives a report of this size in one piece, or nothing. */
	if (size != (ssize_t)sizeof(report))
		return USERS_ECORRUPT;
	if (report.status == USERS_OK)
		*ret_facts = report.facts;
	return report.status;
}

int users_verify(const char *path, struct users_facts *ret_facts)
{
	int ends[2];
	sigset_t all;
	sigset_t before;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	int error = errno;
	if (pid == 0)
		run_child(path, ends[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	int ret = pid > 0 ? await_report(pid, ends[0], ret_facts) : -error;
	close(ends[0]);
	return ret;
}
