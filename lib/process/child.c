/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/child.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "lib/process/clock.h"

#define LOOK_MS 10 /* between looks at whether a process has ended */

static struct timespec make_time(uint64_t ms)
{
	return (struct timespec){ .tv_sec = (time_t)(ms / 1000),
				  .tv_nsec = (long)(ms % 1000) * 1000000 };
}

pid_t child_fork(struct crew_slot *slot)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid > 0) {
		crew_began(slot, pid, clock_now_ms());
		return pid;
	}
	if (pid < 0) {
		int error = errno;
		crew_not_begun(slot, clock_now_ms());
		return -error;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* The parent may have ended before that took effect. */
	if (getppid() != parent)
		_exit(EX_OK);
	return 0;
}

const char *child_format_end(int status, char *ret_text)
{
	bool is_killed = WIFSIGNALED(status);
	snprintf(ret_text, CHILD_END_TEXT_SIZE, "%s=%d", is_killed ? "signal" : "status",
		 is_killed ? WTERMSIG(status) : WEXITSTATUS(status));
	return ret_text;
}

bool child_has_broken_filter(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static void signal_role(const struct crew *crew, unsigned role, int number)
{
	for (unsigned i = 0; i < crew->count; i++) {
		const struct crew_slot *slot = &crew->slots[i];
		if (slot->role == role && slot->pid != 0)
			kill(slot->pid, number);
	}
}

void child_tell(struct crew *crew, unsigned role, uint64_t kill_ms)
{
	if (crew_tell(crew, role, kill_ms))
		signal_role(crew, role, SIGTERM);
}

/*
 * A process that SIGKILL does not end waits in the kernel. It is killed once, as its parent would never rest if that
 * were due again at once.
 */
void child_kill_overdue(struct crew *crew, uint64_t now_ms)
{
	for (unsigned role = 0; role < CREW_ROLES_MAX; role++) {
		if (now_ms < crew->kill_ms[role])
			continue;
		const bool is_last = crew->last_ms == 0 || crew->is_hurried[role];
		/* No second SIGTERM: others may send one to all processes of a program. */
		signal_role(crew, role, is_last ? SIGKILL : SIGUSR2);
		crew->is_hurried[role] = true;
		crew->kill_ms[role] = is_last ? CREW_NEVER : now_ms + crew->last_ms;
	}
}

int child_wait(pid_t pid, unsigned patience_ms)
{
	const struct timespec moment = make_time(LOOK_MS);
	uint64_t until_ms = clock_now_ms() + patience_ms;
	int status = 0;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_now_ms() >= until_ms) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			break;
		}
		nanosleep(&moment, NULL);
	}
	return status;
}

/* ---- signals ---- */

void child_block_signals(sigset_t *ret_waited, sigset_t *ret_before)
{
	sigemptyset(ret_waited);
	sigaddset(ret_waited, SIGCHLD);
	sigaddset(ret_waited, SIGTERM);
	sigaddset(ret_waited, SIGINT);
	sigaddset(ret_waited, SIGHUP);
	sigaddset(ret_waited, SIGUSR1);
	sigprocmask(SIG_BLOCK, ret_waited, ret_before);
}

int child_wait_signal(const sigset_t *waited, uint64_t until_ms)
{
	uint64_t now_ms = clock_now_ms();
	const struct timespec left = make_time(until_ms > now_ms ? until_ms - now_ms : 0);
	const struct timespec none = make_time(0);
	sigset_t others = *waited;
	/* It would be the first, by its number: without an end of reloads no other would come. */
	sigdelset(&others, SIGHUP);
	const int number = sigtimedwait(&others, NULL, &none);
	if (number > 0)
		return number;
	return sigtimedwait(waited, NULL, until_ms == CREW_NEVER ? NULL : &left);
}

void child_ignore_signals(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

void child_unblock_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
