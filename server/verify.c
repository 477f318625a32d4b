/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/verify.h"

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

/* What the child says, in one write. */
struct verdict {
	int status;
	struct dnsblv6_labels apex;
};

/* The worker's signal handlers write into the worker's event loop: not from here. */
static void reset_signals(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE };
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static struct verdict read_store(const struct zone *zone)
{
	struct zone own;
	struct verdict verdict;
	memset(&verdict, 0, sizeof(verdict));
	zone_init(&own, zone->apex, zone->apex_size, zone->path);
	int ret = zone_open(&own);
	if (ret == 0)
		ret = zone_begin(&own);
	if (ret == 0)
		ret = reader_verify(own.reader);
	verdict.status = ret;
	verdict.apex = own.facts.zone;
	zone_close(&own);
	return verdict;
}

__attribute__((noreturn)) static void run_child(const struct zone *zone, int fd)
{
	reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* What LMDB's assertions print on the way down is no line of our log. */
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nowhere < 0 || dup2(nowhere, STDERR_FILENO) < 0 || dup2(fd, STDERR_FILENO + 1) < 0)
		_exit(1);
	/* Sockets must not stay open because a walk is long. */
	close_range(STDERR_FILENO + 2, ~0U, 0);
	setrlimit(RLIMIT_CPU, &(struct rlimit){ CPU_MAX_S, CPU_MAX_S });
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	struct verdict verdict = read_store(zone);
	_exit(write(STDERR_FILENO + 1, &verdict, sizeof(verdict)) == sizeof(verdict) ? 0 : 1);
}

int verify_start(struct verify *verify, const struct zone *zone)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	sigset_t all;
	sigset_t before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	int error = errno;
	if (pid == 0)
		run_child(zone, ends[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -error;
	}
	*verify = (struct verify){ pid, ends[0] };
	return 0;
}

static void reap(struct verify *verify)
{
	close(verify->fd);
	while (waitpid(verify->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

int verify_finish(struct verify *verify, struct dnsblv6_labels *ret_apex)
{
	struct verdict verdict;
	ssize_t size = 0;
	do
		size = read(verify->fd, &verdict, sizeof(verdict));
	while (size < 0 && errno == EINTR);
	reap(verify);
	ret_apex->size = 0;
	if (size != sizeof(verdict))
		return STORE_ECORRUPT;
	*ret_apex = verdict.apex;
	return verdict.status;
}

void verify_cancel(struct verify *verify)
{
	kill(verify->pid, SIGKILL);
	reap(verify);
}
