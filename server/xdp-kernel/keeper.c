/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/xdp-kernel/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/process/capabilities.h"
#include "lib/process/child.h"

static const char context[] = "xdp";

#define KEPT_CAPABILITIES                                                                          \
	(CAPABILITY(CAP_BPF) | CAPABILITY(CAP_NET_ADMIN) | CAPABILITY(CAP_SYS_ADMIN))
#define DETACH_MAX_MS 10000 /* that a parent waits; it takes some milliseconds */

/* ---- the process ---- */

static void hear(int signal_number)
{
	(void)signal_number;
}

/* All signals are blocked, for good; SIGTERM alone is not while it waits. */
static int take_signals(sigset_t *ret_waiting)
{
	struct sigaction action;
	memset(&action, 0, sizeof(action));
	action.sa_handler = hear;
	sigfillset(ret_waiting);
	sigdelset(ret_waiting, SIGTERM);
	return sigaction(SIGTERM, &action, NULL) == 0 ? 0 : -errno;
}

/* Sockets of the server above all: what is open twice would get questions. in_fd becomes 3. */
static int close_others(int in_fd)
{
	if (in_fd != 3 && dup3(in_fd, 3, O_CLOEXEC) < 0)
		return -errno;
	return close_range(4, ~0U, 0) == 0 ? 3 : -errno;
}

static int give_up(void)
{
	/* Of capabilities that a program would get there is none left for one to get. */
	capabilities_empty_bounding_set();
	int ret = capabilities_keep(KEPT_CAPABILITIES);
	if (ret == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) != 0)
		ret = -errno;
	return ret;
}

/* Until the parent is gone, or a SIGTERM. */
static void wait_for_end(int in_fd, const sigset_t *waiting)
{
	struct pollfd polled = { .fd = in_fd, .events = 0 };
	while (ppoll(&polled, 1, NULL, waiting) == 0)
		;
}

static void wait_seconds(unsigned seconds, const sigset_t *waiting)
{
	const struct timespec time = { .tv_sec = (time_t)seconds };
	if (seconds > 0)
		ppoll(NULL, 0, &time, waiting);
}

/* One that has not given up what it should detaches at once: then nothing needs it. */
__attribute__((noreturn)) static void keep(const struct load *load, unsigned keep_s, int in_fd)
{
	sigset_t waiting;
	int ret = take_signals(&waiting);
	if (ret == 0)
		ret = close_others(in_fd);
	in_fd = ret;
	if (ret >= 0)
		ret = give_up();
	if (ret == 0) {
		wait_for_end(in_fd, &waiting);
		wait_seconds(keep_s, &waiting);
	} else {
		log_error(context, "keeper not confined (%s)", strerror(-ret));
	}
	load_detach(load);
	_exit(ret == 0 ? EX_OK : EX_OSERR);
}

/* ---- the parent ---- */

/* All signals are blocked before the child is there: it is to miss none, and to die of none. */
static pid_t fork_deaf(void)
{
	sigset_t all;
	sigset_t before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	int error = errno;
	if (pid != 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	return pid >= 0 ? pid : -error;
}

int keeper_start(const struct load *load, unsigned keep_s, struct keeper *ret_keeper)
{
	int ends[2] = { -1, -1 };
	*ret_keeper = (struct keeper){ .fd = -1, .keep_s = keep_s };
	pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork_deaf() : -errno;
	if (pid == 0)
		keep(load, keep_s, ends[0]);
	if (ends[0] >= 0)
		close(ends[0]);
	if (pid > 0) {
		ret_keeper->pid = pid;
		ret_keeper->fd = ends[1];
		return 0;
	}
	log_error(context, "keeper not started (%s)", strerror(-pid));
	if (ends[1] >= 0)
		close(ends[1]);
	return pid;
}

void keeper_forget(const struct keeper *keeper)
{
	if (keeper->fd >= 0)
		close(keeper->fd);
}

bool keeper_note_end(struct keeper *keeper, pid_t pid, int status)
{
	char end[CHILD_END_TEXT_SIZE];
	if (keeper->pid == 0 || pid != keeper->pid)
		return false;
	keeper->pid = 0;
	log_error(context, "keeper died, pid=%d %s (restart the server, or nothing detaches later)",
		  (int)pid, child_format_end(status, end));
	return true;
}

void keeper_end(struct keeper *keeper)
{
	if (keeper->fd >= 0)
		close(keeper->fd);
	if (keeper->pid != 0 && keeper->keep_s == 0)
		child_wait(keeper->pid, DETACH_MAX_MS);
	*keeper = (struct keeper){ .fd = -1 };
}
