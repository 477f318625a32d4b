/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * listening.h - sockets that clients connect to, bound and not listened at yet.
 *
 * Flow: a daemon's configuration has a path or an address -> listening_bind_path() or
 *       listening_bind_port(), as root when it is started so -> the caller gives a path its owner
 *       and its mode, and calls listen() -> doors.h, or listening_accept().
 *
 * All sockets are non-blocking and close-on-exec, and the caller's. Nothing is logged. lib/dns has
 * a listener of its own, since UDP wants options that only questions have.
 */

#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	LISTENING_SHARED = 1, /* other sockets of this user may have the port too (SO_REUSEPORT) */
	LISTENING_IPV6_ONLY = 2, /* [::] is not 0.0.0.0 too */
};

/* A TCP socket at address; options are those above. 0 or -errno. */
int listening_bind_port(const struct sockaddr *address, socklen_t size, unsigned options,
			int *ret_fd);

/*
 * A UNIX socket at path, of type SOCK_STREAM or SOCK_SEQPACKET. No process can connect before it
 * has been given a mode: it has none. What a process that was killed has left at path is removed,
 * and nothing else is. 0 or -errno: -EEXIST for another file, -EADDRINUSE when a process listens,
 * -EACCES when this one may not see whether one does, -ENAMETOOLONG.
 */
int listening_bind_path(const char *path, int type, int *ret_fd);
/* Its first half, for a library that binds by itself: such a file is gone, or there was none. */
int listening_clear_path(const char *path, int type);

/*
 * The other end: a socket of that type, close-on-exec, connected to the one at path. What blocks gives up
 * after timeout_s, of which 0 is never. 0 or -errno; -EAGAIN where its queue is full, or was for so long.
 */
int listening_connect_path(const char *path, int type, unsigned timeout_s, int *ret_fd);

/*
 * The next client, non-blocking and close-on-exec; ret_peer may be NULL. Its descriptor; -EAGAIN
 * when none waits; or another -errno when the system has none, or no memory, or the socket is none to
 * accept from: the client would be announced again and again. One that has gone meanwhile is left out.
 */
int listening_accept(int fd, struct sockaddr_storage *ret_peer);

#ifdef __cplusplus
}
#endif
