/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/worker/intake.h"

#include <errno.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/facts/bank.h"
#include "integration/mail/base/handover/seal.h"
#include "lib/common/log.h"
#include "lib/process/clock.h"

static volatile sig_atomic_t is_told_to_end;
/* The connection of the session in hand; -1: none. */
static volatile sig_atomic_t client_fd = -1;

/* For a signal that comes between a look at its flag and the wait for the queue. */
#define AGAIN_S 1

static void on_alarm(int number)
{
	(void)number;
}

/* Whatever the worker waits for from its client, or for the client to take, does not come any more. */
static void on_cut(int number)
{
	const int error = errno;
	(void)number;
	is_told_to_end = INTAKE_CUT;
	if (client_fd >= 0)
		(void)shutdown(client_fd, SHUT_RDWR);
	errno = error;
}

static void on_term(int number)
{
	(void)number;
	if (is_told_to_end == 0)
		is_told_to_end = 1;
	alarm(AGAIN_S);
}

void intake_set_signals(void)
{
	/* Without SA_RESTART: a wait for the queue ends. */
	struct sigaction action = { .sa_handler = on_term };

	is_told_to_end = 0;
	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(SIGTERM, &action, NULL);
	action.sa_handler = on_cut;
	(void)sigaction(SIGUSR2, &action, NULL);
	action.sa_handler = on_alarm;
	(void)sigaction(SIGALRM, &action, NULL);
	action.sa_handler = SIG_IGN;
	(void)sigaction(SIGPIPE, &action, NULL);
}

const volatile sig_atomic_t *intake_told(void)
{
	return &is_told_to_end;
}

void intake_close(int fd)
{
	/* Before another descriptor may have its number. */
	client_fd = -1;
	(void)close(fd);
}

void intake_let_go(struct intake *intake)
{
	if (intake->hold_fd >= 0)
		(void)close(intake->hold_fd);
	intake->hold_fd = -1;
}

int intake_receive(struct intake *intake, uint8_t *ret_bytes, size_t *ret_size, int *ret_fd)
{
	struct handover_fds fds = { -1, -1 };

	scoreboard_set(intake->scoreboard, SCOREBOARD_IDLE, intake->process, true);
	/* Only now: edges look for an idle worker then. */
	intake_let_go(intake);
	if (scoreboard_count(intake->scoreboard, SCOREBOARD_WAITING) > 0)
		handover_call(intake->queue_fd);
	int ret = handover_await(intake->queue_fd);
	/* Before the message is taken, so that no edge gives another to this worker meanwhile. */
	scoreboard_set(intake->scoreboard, SCOREBOARD_IDLE, intake->process, false);
	if (ret == 0)
		ret = handover_receive(intake->queue_fd, ret_bytes, ret_size, &fds);
	if (ret != 0)
		return ret;
	intake->hold_fd = fds.hold;
	client_fd = fds.connection;
	*ret_fd = fds.connection;
	return 0;
}

int intake_judge(const char *context, int status, uint64_t *counters, unsigned lost_number)
{
	if (status >= 0 || status == -EAGAIN || status == -EINTR)
		return -1;
	/* There are neither edges nor a nanny. An edge may also have shut what it shares:
	   that is an error, after which the next worker comes with a pause. */
	if (status == -EPIPE && is_told_to_end != 0)
		return EX_OK;
	if (status == SEAL_EBAD || status == SEAL_EVERSION || status == SEAL_EVALUE ||
	    status == -EMFILE) {
		bank_add(counters, lost_number, 1);
		log_error(context, "session lost on its way to a worker (%s)",
			  seal_strerror(status));
		return -1;
	}
	log_error(context, "hand-over socket not read (%s)", seal_strerror(status));
	return EX_OSERR;
}

bool intake_is_late(uint64_t queued_at_us, unsigned queue_timeout_ms)
{
	const uint64_t patience_ms = (uint64_t)queue_timeout_ms + INTAKE_LATE_MS;
	return clock_now_us() > queued_at_us + patience_ms * 1000;
}
