/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * handover.h - the queue between edges and workers: bytes and descriptors, in one message.
 *
 * Flow: nanny.c makes the pair, and keeps both ends so that a session is in the queue whichever
 *       process dies -> handout.c sends -> an idle worker receives.
 *
 *     int ends[2];
 *     handover_open(65536, ends);
 *     ...
 *     edge:   ret = handover_send(ends[0], bytes, size, &fds);     // -EAGAIN: full; poll for writing
 *     worker: ret = handover_await(ends[1]);                       // -EAGAIN: nothing yet; again
 *             ret = handover_receive(ends[1], room, &size, &fds);  // -EAGAIN: another was faster
 *
 * How an edge knows that a session has ended which it gave away: it keeps the reading end of a
 * pipe, and the writing end goes along with the connection. Nothing is written. The worker closes
 * it behind the session, and the kernel does when the worker is killed or the message is lost: so
 * there is no word of a worker to believe, nothing in shared memory that must be put right behind
 * a dead one, and no way to lose count. It costs a pipe for each session that is counted, and
 * nothing where none is.
 *
 * SOCK_SEQPACKET: a message comes whole or not at all, to one of the workers that wait. Edges send
 * what idle workers take (handout.h), so that sessions wait in edges, which can tell them so. The
 * buffer of the sending end is a second throttle: a message takes some 2 KiB of it, or up to 14 KiB
 * with much unread, and when it is full the edge decides what to do. Receivers wait inside recv(),
 * which leaves the message there, and not in poll(): the kernel then wakes one of them for a
 * message, and not all. One that finds it gone when it takes it waits again.
 *
 * What the bytes say is a matter of the program, as capsule.h of smtp-front has it.
 *
 * Nothing here logs, allocates, or raises SIGPIPE.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a message, of which there is one at least. */
#define HANDOVER_SIZE_MAX 12288

/*
 * How long handover_await() waits: for as long, at most, a message may lie whose receiver was
 * killed when it had been woken. The worker that takes its place looks first and waits then, so
 * that it is a matter of workers that die again and again. Not shorter: of a hundred idle workers
 * each wakes up so often, for nothing.
 */
#define HANDOVER_WAIT_MS 30000

/*
 * ret_ends[0] is for sending, with a buffer of buffer_size bytes (the kernel doubles it, as its
 * own book-keeping is counted too; HANDOVER_SIZE_MAX at least), ret_ends[1] for receiving. 0 or
 * -errno. The caller's, close-on-exec.
 */
int handover_open(size_t buffer_size, int *ret_ends);
/*
 * Another size for the sending end, whatever is in it. Without CAP_NET_ADMIN the kernel gives
 * net.core.wmem_max at most; one that was given more keeps it then, unless less is asked for.
 * *ret_size is what it has now. 0 or -errno.
 */
int handover_resize(int queue_fd, size_t buffer_size, size_t *ret_size);

/*
 * The other way: a worker calls when it is idle and sessions wait in edges, which poll() for
 * reading then and hear all calls. One that is lost costs an edge a moment: it looks now and then
 * anyway.
 */
void handover_call(int queue_fd);
void handover_hear(int queue_fd);

/*
 * Bytes that the queue has, of messages that no worker has taken; 0 when the system does not say.
 */
size_t handover_used(int queue_fd);

struct handover_fds {
	int connection; /* a socket: the client's, or the relay's to it */
	int hold;	/* the writing end of a pipe; -1: it is not counted */
};

/*
 * Sends bytes and descriptors, which stay the caller's and may be closed afterwards. Never
 * waits. 0; -EAGAIN when the queue is full: poll() for writing tells when about half of it is
 * free; -ETOOMANYREFS when this user has too many descriptors on their way, for which poll() does
 * not wait; or another -errno.
 */
int handover_send(int queue_fd, const uint8_t *bytes, size_t size, const struct handover_fds *fds);

/*
 * Waits for HANDOVER_WAIT_MS at most, and takes nothing. 0: there is a message, unless another
 * receiver takes it first, or no more will come. -EAGAIN: nothing has come; -EINTR: a signal has.
 */
int handover_await(int queue_fd);
/*
 * Never waits. 0: *ret_fds are the caller's, close-on-exec, and ret_bytes, of HANDOVER_SIZE_MAX
 * bytes, has *ret_size. -EAGAIN: there is no message; -EPIPE: no end for sending is open. Or the
 * message is gone, with all descriptors that it had: -EBADMSG when it was longer, or without a
 * socket and, at most, a pipe behind it; -EMFILE when there was no room for them in this process.
 */
int handover_receive(int queue_fd, uint8_t *ret_bytes, size_t *ret_size,
		     struct handover_fds *ret_fds);

#ifdef __cplusplus
}
#endif
