/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * confine.h - what a process of a mail server gives up, in the order that works.
 *
 * Flow: nanny.c forks -> edge.c, worker.c, keyholder.c open what only root can, or what is
 *       outside the new root directory: users.mdb, certificates, keys, the sink's directory ->
 *       confine_process() -> nothing but that is left, for good.
 *
 *     RIGHTS       CALLS
 *     none         read, write and poll what is open; no socket is made
 *     has_loop     a loop over sockets that are there, or are accepted; files are read
 *     has_network  the same, and connections, questions over UDP and TCP
 *     has_files    files are written
 *     has_memory   memory that another process is to map
 *     has_threads  threads are made, and no processes
 *     has_children processes are made and waited for, which may give up more by a filter of their own
 *     the nanny's  all but those that no mail server makes; of root's capabilities those that its
 *                  children are made with; user and root directory stay
 *
 * Steps: chroot; supplementary groups, group and user; the bounding set and all capabilities;
 * no_new_privs; a seccomp filter. An unlisted call is answered with ENOSYS; what no mail server
 * does (other programs, other processes, the kernel) ends the process with SIGSYS. A process that
 * is not root keeps its user and root directory, and has all of the rest.
 *
 * Without libseccomp there is no filter; with AddressSanitizer neither that nor another root, see
 * lib/process/sanitized.h.
 *
 * Before it: program_start_library(), users_open(), tls_context_new(), sink open(), tzset(), the
 * first log line. Nothing is logged here; a step that fails is named.
 */

#include <stdbool.h>

#include "integration/common/owner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a process keeps. A plain value; all in it is borrowed. */
struct confine_rights {
	const struct owner *owner; /* the user that it becomes */
	const char *root;	   /* its root directory; "": the one that it has */
	bool has_loop;
	bool has_network;
	bool has_files;
	bool has_memory;
	bool has_threads;
	bool has_children;
};

/*
 * Of a child. 0, or -errno with the step that failed, static text. The process is of no use then:
 * some steps may have been taken.
 */
int confine_process(const struct confine_rights *rights, const char **reterr_step);

/* The user alone, for a look at what that one may do. 0 or -errno. */
int confine_user(const struct owner *owner);

/* The same for the nanny, before there are others. It stays root. */
int confine_nanny(const char **reterr_step);
/*
 * Of that the calls alone, for a parent that keeps what it was started with. Its children begin with no program, and
 * with no ring of io_uring, which has to be before they make a loop of libuv (callfilter.h).
 */
int confine_calls(const char **reterr_step);

#ifdef __cplusplus
}
#endif
