/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/store/verify.h"

#include "lib/store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A walk over damaged pages may never end; a whole one takes seconds per gigabyte. */
#define CPU_MAX_S 300
#define REPORT_FD (STDERR_FILENO + 1)
#define NICENESS  5

/* What the child sends back: a status, and the facts when that is DNSBLV6_OK. */
struct report {
	int status;
	struct dnsblv6_facts facts;
};

static int read_facts(struct reader *reader, struct dnsblv6_facts *ret_facts)
{
	struct store_bytes value;
	int ret = reader_get(reader, STORE_FACTS, DNSBLV6_FACT_ZONE, strlen(DNSBLV6_FACT_ZONE),
			     &value);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
	ret = dnsblv6_facts_decode(value.data, value.size, ret_facts);
	return ret == DNSBLV6_OK ? DNSBLV6_OK : STORE_ECORRUPT;
}

static int read_all(const char *path, struct dnsblv6_facts *ret_facts)
{
	struct reader *reader = NULL;
	int ret = reader_open(path, &reader);
	if (ret != DNSBLV6_OK)
		return ret;
	ret = reader_begin(reader);
	if (ret == DNSBLV6_OK) {
		ret = reader_verify(reader);
		if (ret == DNSBLV6_OK)
			ret = read_facts(reader, ret_facts);
		reader_end(reader);
	}
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
 * Leaves REPORT_FD alone open: what LMDB's assertions print on the way down is
 * for nobody, and the caller's sockets must not stay open because a walk is long.
 * A pipe that nobody reads, since a confined caller has no /dev.
 */
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
	/* Whoever answers queries meanwhile goes first. */
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICENESS);
	report.status = read_all(path, &report.facts);
	_exit(write(REPORT_FD, &report, sizeof(report)) == (ssize_t)sizeof(report) ? 0 : 1);
}

int verify_start(struct verify *verify, const char *path)
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
	if (pid < 0) {
		close(ends[0]);
		return -error;
	}
	*verify = (struct verify){ pid, ends[0] };
	return DNSBLV6_OK;
}

static void reap(struct verify *verify)
{
	close(verify->fd);
	while (waitpid(verify->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

int verify_finish(struct verify *verify, struct dnsblv6_facts *ret_facts)
{
	struct report report;
	ssize_t size;
	do {
		size = read(verify->fd, &report, sizeof(report));
	} while (size < 0 && errno == EINTR);
	reap(verify);
	/* A pipe gives a report of this size in one piece, or nothing. */
	if (size != (ssize_t)sizeof(report))
		return STORE_ECORRUPT;
	if (report.status == DNSBLV6_OK)
		*ret_facts = report.facts;
	return report.status;
}

void verify_cancel(struct verify *verify)
{
	kill(verify->pid, SIGKILL);
	reap(verify);
}

int verify_store(const char *path, struct dnsblv6_facts *ret_facts)
{
	struct verify run;
	int ret = verify_start(&run, path);
	return ret == DNSBLV6_OK ? verify_finish(&run, ret_facts) : ret;
}
