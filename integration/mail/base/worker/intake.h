/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * intake.h - how a worker waits for its next session, and learns that it is to end.
 *
 * Flow: handover.h brings a message -> intake_receive() -> the program's capsule, a session of it ->
 *       intake_receive() again, which tells the edge that the last one is over.
 *
 * Lies in the memory of its owner; the queue and the scoreboard are borrowed. One worker is one
 * process with one intake. Nothing here allocates.
 */

#include <signal.h>
#include <stdbool.h>

#include "integration/mail/base/handover/handover.h"
#include "integration/mail/base/handover/scoreboard.h"

#ifdef __cplusplus
extern "C" {
#endif

struct intake {
	int queue_fd;
	struct scoreboard *scoreboard;
	size_t process; /* the worker's own, of the scoreboard */
	int hold_fd;	/* by which an edge counts the session that came last; -1: none */
};

/*
 * Signals of a worker: SIGTERM sets a flag and ends a wait for the queue, a wait for a client goes
 * on. SIGUSR2, when the time for that is over, shuts the client's connection down, so that the
 * session ends as if the client were gone. SIGPIPE is nothing.
 */
void intake_set_signals(void);
#define INTAKE_CUT 2
/* Not 0 once the worker is told to end; INTAKE_CUT when it has no client any more. */
const volatile sig_atomic_t *intake_told(void);

/*
 * Is idle, and waits for a message as handover_await() does. 0: *ret_fd is the caller's, for
 * intake_close(), and ret_bytes, of HANDOVER_SIZE_MAX bytes, has *ret_size. Or a status of
 * handover.h: -EAGAIN and -EINTR are for another try.
 */
int intake_receive(struct intake *intake, uint8_t *ret_bytes, size_t *ret_size, int *ret_fd);
void intake_close(int fd);
/*
 * What a worker does after a status of intake_receive(), or of what decodes its message: -1 when it goes
 * on, else the exit status. A message that is lost is logged, and counted.
 */
int intake_judge(const char *context, int status, uint64_t *counters, unsigned lost_number);
/* An edge looks at its clock now and then, and a queue takes some time. */
#define INTAKE_LATE_MS 1000
/* Would an edge have put it off by now? */
bool intake_is_late(uint64_t queued_at_us, unsigned queue_timeout_ms);
/* The session that came last is over: its edge learns that its network has one less. */
void intake_let_go(struct intake *intake);

#ifdef __cplusplus
}
#endif
