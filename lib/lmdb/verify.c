/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/verify.h"

#include "lib/lmdb/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

/* A walk over damaged pages may never end; a whole one takes seconds per gigabyte. */
#define CPU_MAX_S 300
#define REPORT_FD (STDERR_FILENO + 1)
/* Exit status of a child that cannot report. Sanitizers end with others. */
#define EXIT_UNSAID EX_OSERR
#define NICENESS    5
/* For a kernel that refuses SCHED_IDLE. */
#define NICENESS_IDLE 19

/* What the child sends back: a status, and the facts when that is STORE_OK. */
struct report {
	int status;
	_Alignas(max_align_t) uint8_t facts[STORE_FACTS_MAX];
};

static int read_all(const char *path, const struct store_kind *kind, void *ret_facts)
{
	struct reader *reader = NULL;
	int ret = reader_start(path, kind, &reader);
	if (ret == STORE_OK)
		ret = reader_verify(reader);
	if (ret == STORE_OK)
		ret = kind->read_facts(reader, ret_facts);
	reader_close(reader);
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

/*
 * Leaves REPORT_FD alone open: the caller's sockets must not stay open because a walk
 * is long. What LMDB's assertions print on the way down goes into a pipe that is never
 * read, since a confined caller has no /dev.
 */
static bool close_others(int fd)
{
	int nowhere[2];
	return pipe2(nowhere, O_CLOEXEC) == 0 && dup2(nowhere[1], STDERR_FILENO) >= 0 &&
	       dup2(fd, REPORT_FD) >= 0 && close_range(REPORT_FD + 1, ~0U, 0) == 0;
}

/* Answers to queries go first. SCHED_IDLE takes the disk with it, ioprio_set(2). */
static void yield_to_others(enum verify_pace pace)
{
	int niceness =
		pace == VERIFY_IDLE ? NICENESS_IDLE : getpriority(PRIO_PROCESS, 0) + NICENESS;
	setpriority(PRIO_PROCESS, 0, niceness);
	if (pace == VERIFY_IDLE)
		sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 });
}

__attribute__((noreturn)) static void run_child(const char *path, const struct store_kind *kind,
						enum verify_pace pace, int fd)
{
	struct report report;
	memset(&report, 0, sizeof(report));
	reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!close_others(fd))
		_exit(EXIT_UNSAID);
	/* A crash here is an answer, not an accident: no core file. */
	/* SIGXCPU at the first: SIGKILL, at the second, could be from anywhere. */
	setrlimit(RLIMIT_CPU, &(struct rlimit){ CPU_MAX_S, CPU_MAX_S + 1 });
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	yield_to_others(pace);
	report.status = read_all(path, kind, report.facts);
	_exit(write(REPORT_FD, &report, sizeof(report)) == (ssize_t)sizeof(report) ? 0
										   : EXIT_UNSAID);
}

int verify_start(struct verify *verify, const char *path, const struct store_kind *kind,
		 enum verify_pace pace)
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
		run_child(path, kind, pace, ends[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -error;
	}
	*verify = (struct verify){ .kind = kind, .pid = pid, .fd = ends[0] };
	return STORE_OK;
}

/* False while the child is there, with WNOHANG in flags; else how it ended, as wait(2) says it. */
static bool reap(struct verify *verify, int flags, int *ret_status)
{
	struct rusage usage = { 0 };
	pid_t pid;
	*ret_status = 0;
	do {
		pid = wait4(verify->pid, ret_status, flags, &usage);
	} while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return false;
	verify->used_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	return true;
}

/* Of a child that has reported nothing. */
static int explain_end(int status)
{
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status) == EXIT_UNSAID ? STORE_EVERIFIER : STORE_ECORRUPT;
	switch (WTERMSIG(status)) {
	case SIGSEGV:
	case SIGBUS:
	case SIGABRT: /* LMDB's assertions */
	case SIGFPE:
	case SIGILL:
		return STORE_ECORRUPT;
	case SIGXCPU:
		return STORE_EENDLESS;
	default:
		return STORE_EVERIFIER;
	}
}

/* What a child that has ended with status reported. Its pipe has an end, and is never waited for.
 */
static int take_report(const struct verify *verify, int status, void *ret_facts)
{
	struct report report;
	ssize_t size;
	do {
		size = read(verify->fd, &report, sizeof(report));
	} while (size < 0 && errno == EINTR);
	close(verify->fd);
	/* A pipe gives a report of this size in one piece, or nothing. */
	if (size != (ssize_t)sizeof(report))
		return explain_end(status);
	if (report.status == STORE_OK)
		memcpy(ret_facts, report.facts, verify->kind->facts_size);
	return report.status;
}

int verify_finish(struct verify *verify, void *ret_facts)
{
	int status;
	reap(verify, 0, &status);
	return take_report(verify, status, ret_facts);
}

int verify_try_finish(struct verify *verify, void *ret_facts)
{
	int status;
	return reap(verify, WNOHANG, &status) ? take_report(verify, status, ret_facts) : -EAGAIN;
}

void verify_kill(const struct verify *verify)
{
	kill(verify->pid, SIGKILL);
}

void verify_cancel(struct verify *verify)
{
	int status;
	verify_kill(verify);
	reap(verify, 0, &status);
	close(verify->fd);
}

int verify_store(const char *path, const struct store_kind *kind, void *ret_facts)
{
	struct verify run;
	int ret = verify_start(&run, path, kind, VERIFY_SOON);
	return ret == STORE_OK ? verify_finish(&run, ret_facts) : ret;
}
