/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/nanny/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/process/callfilter.h"
#include "lib/process/capabilities.h"
#include "lib/process/sanitized.h"

/* ---- the filter ---- */

/* No process of a mail server does this but the nanny. */
static const char *const never_of_children[] = { "pidfd_open", "chroot",   "setuid",	"setgid",
						 "setreuid",   "setregid", "setresuid", "setresgid",
						 "setgroups",  "capset" };

/* And this none but it and one that has children of its own. */
static const char *const making_calls[] = { "fork", "vfork" };

/* What that one and its children do, until they have given up this, too. */
static const char *const children_calls[] = { "clone",	   "clone3",	"wait4", "waitid",
					      "waitpid",   "signalfd4", "prctl", "seccomp",
					      "prlimit64", "setrlimit" };

/* Of one with threads. The newest call for that is not among them: its flags cannot be looked at. */
static const char *const thread_calls[] = { "sched_getaffinity", "sched_setaffinity", "sched_yield",
					    "sched_getparam", "sched_getscheduler" };

static const struct callfilter_call thread_calls_so[] = {
	{ "clone", 1, { CALLFILTER_MASKED(0, CLONE_THREAD, CLONE_THREAD) } },
	{ "prctl", 1, { CALLFILTER_EQUAL(0, PR_SET_NAME) } },
	{ "prctl", 1, { CALLFILTER_EQUAL(0, PR_GET_NAME) } },
};

/* Of every process, beside what those of all programs need; the last for memory that is a file's. */
static const char *const all_calls[] = { "alarm", "setitimer", "msync" };

/* Of those with a loop besides: accepted sockets, and looking at files. */
static const char *const loop_calls[] = { "accept",	  "accept4",	    "bind",
					  "connect",	  "listen",	    "socketpair",
					  "getsockname",  "getpeername",    "getsockopt",
					  "setsockopt",	  "recvmmsg",	    "recvmmsg_time64",
					  "sendmmsg",	  "epoll_create",   "epoll_create1",
					  "epoll_ctl",	  "epoll_wait",	    "epoll_pwait",
					  "epoll_pwait2", "eventfd2",	    "pipe",
					  "pipe2",	  "timerfd_create", "timerfd_settime",
					  "signalfd4",	  "select",	    "pselect6",
					  "_newselect",	  "fcntl",	    "fcntl64",
					  "dup",	  "dup2",	    "dup3",
					  "pread64",	  "lseek",	    "_llseek",
					  "stat",	  "stat64",	    "lstat",
					  "lstat64",	  "newfstatat",	    "fstatat64",
					  "statx",	  "access",	    "faccessat",
					  "faccessat2",	  "readlink",	    "readlinkat",
					  "getcwd",	  "sysinfo",	    "sendfile",
					  "sendfile64" };

/* Of those that hand memory to others. */
static const char *const memory_calls[] = { "memfd_create", "ftruncate", "ftruncate64" };

/* Of those that write mails into directories. */
static const char *const maildir_calls[] = {
	"open",	    "openat",	 "mkdir",	"mkdirat",   "link",	   "linkat",	"rename",
	"renameat", "renameat2", "unlink",	"unlinkat",  "fsync",	   "fdatasync", "pwrite64",
	"pwritev",  "ftruncate", "ftruncate64", "fallocate", "getdents64", "statfs",	"statfs64",
	"fstatfs",  "fstatfs64", "umask",	"flock",     "utimensat"
};

#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)

/* These only so. */
static const struct callfilter_call network_calls_so[] = {
	CALLFILTER_SOCKET(AF_INET, SOCK_DGRAM),
	CALLFILTER_SOCKET(AF_INET, SOCK_STREAM),
	CALLFILTER_SOCKET(AF_INET6, SOCK_DGRAM),
	CALLFILTER_SOCKET(AF_INET6, SOCK_STREAM),
};

static const struct callfilter_call loop_calls_so[] = {
	{ "socket", 1, { CALLFILTER_EQUAL(0, AF_UNIX) } },
	/* The library's resolv.conf, and what the C library looks for; nothing is written. */
	{ "open", 1, { CALLFILTER_MASKED(1, WRITES, O_RDONLY) } },
	{ "openat", 1, { CALLFILTER_MASKED(2, WRITES, O_RDONLY) } },
	{ "ioctl", 1, { CALLFILTER_EQUAL(1, FIONBIO) } },
	{ "ioctl", 1, { CALLFILTER_EQUAL(1, FIONREAD) } },
	{ "ioctl", 1, { CALLFILTER_EQUAL(1, SIOCOUTQ) } },
	{ "ioctl", 1, { CALLFILTER_EQUAL(1, FIOCLEX) } },
};

static const struct callfilter_call maildir_calls_so[] = {
	{ "chmod", 1, { CALLFILTER_MASKED(1, CALLFILTER_MODE_OTHER, 0) } },
	{ "fchmod", 1, { CALLFILTER_MASKED(1, CALLFILTER_MODE_OTHER, 0) } },
	{ "fchmodat", 1, { CALLFILTER_MASKED(2, CALLFILTER_MODE_OTHER, 0) } },
};

/* Without rights: the nanny's. */
static int make_filter(const struct confine_rights *rights, struct callfilter *ret_filter)
{
	bool is_nanny = rights == NULL;
	bool has_network = !is_nanny && rights->has_network;
	bool has_loop = has_network || (!is_nanny && rights->has_loop);
	bool has_memory = !is_nanny && rights->has_memory;
	bool has_files = !is_nanny && rights->has_files;
	bool has_threads = !is_nanny && rights->has_threads;
	bool has_children = !is_nanny && rights->has_children;
	const struct callfilter_list lists[] = {
		{ !is_nanny, CALLFILTER_KILL, CALLFILTER_NAMES(never_of_children) },
		{ !is_nanny && !has_children, CALLFILTER_KILL, CALLFILTER_NAMES(making_calls) },
		{ has_threads, CALLFILTER_ALLOW, CALLFILTER_NAMES(thread_calls) },
		{ has_threads, CALLFILTER_ALLOW, CALLFILTER_CALLS(thread_calls_so) },
		{ has_children, CALLFILTER_ALLOW, CALLFILTER_NAMES(making_calls) },
		{ has_children, CALLFILTER_ALLOW, CALLFILTER_NAMES(children_calls) },
		{ !is_nanny, CALLFILTER_ALLOW, CALLFILTER_NAMES(all_calls) },
		{ has_loop, CALLFILTER_ALLOW, CALLFILTER_NAMES(loop_calls) },
		{ has_loop, CALLFILTER_ALLOW, CALLFILTER_CALLS(loop_calls_so) },
		{ has_memory, CALLFILTER_ALLOW, CALLFILTER_NAMES(memory_calls) },
		{ has_files, CALLFILTER_ALLOW, CALLFILTER_NAMES(maildir_calls) },
		{ has_files, CALLFILTER_ALLOW, CALLFILTER_CALLS(maildir_calls_so) },
		{ has_network, CALLFILTER_ALLOW, CALLFILTER_CALLS(network_calls_so) },
	};
	return callfilter_make(is_nanny ? CALLFILTER_ALLOW : CALLFILTER_REFUSE, lists,
			       sizeof(lists) / sizeof(lists[0]), ret_filter);
}

static int load_filter(const struct confine_rights *rights)
{
	struct callfilter filter = { 0 };
	int ret = make_filter(rights, &filter);
	if (ret == 0)
		ret = callfilter_load(&filter);
	callfilter_deinit(&filter);
	return ret;
}

/* ---- the other steps ---- */

static int change_root(const char *path)
{
	if (path[0] == '\0' || IS_SANITIZED || geteuid() != 0)
		return 0;
	return chroot(path) == 0 && chdir("/") == 0 ? 0 : -errno;
}

int confine_user(const struct owner *owner)
{
	if (owner->user[0] == '\0' || geteuid() != 0)
		return 0;
	if (setgroups(1, &owner->gid) != 0 || setresgid(owner->gid, owner->gid, owner->gid) != 0 ||
	    setresuid(owner->uid, owner->uid, owner->uid) != 0)
		return -errno;
	/* What looks dropped must be dropped. */
	return owner->uid != 0 && setuid(0) == 0 ? -EPERM : 0;
}

/*
 * The nanny's: to bind, to make children that take another user and another root directory, to end
 * them, and to read what root reads.
 */
#define CAPABILITIES_KEPT                                                                          \
	(CAPABILITY(CAP_NET_BIND_SERVICE) | CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) |      \
	 CAPABILITY(CAP_SETPCAP) | CAPABILITY(CAP_SYS_CHROOT) | CAPABILITY(CAP_KILL) |             \
	 CAPABILITY(CAP_DAC_OVERRIDE))

static int gain_nothing(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) == 0 ? 0 : -errno;
}

/* The change of user takes this away, so it is asked for behind it. */
static int end_with_nanny(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0ul, 0ul, 0ul) != 0)
		return -errno;
	/* So that no process of the same user looks into the keyholder's memory. */
	if (!IS_SANITIZED && prctl(PR_SET_DUMPABLE, 0ul, 0ul, 0ul, 0ul) != 0)
		return -errno;
	return gain_nothing();
}

int confine_calls(const char **reterr_step)
{
	*reterr_step = "prctl";
	int ret = gain_nothing();
	if (ret == 0 && callfilter_can_load()) {
		*reterr_step = "seccomp";
		ret = load_filter(NULL);
	}
	return ret;
}

int confine_nanny(const char **reterr_step)
{
	*reterr_step = "capabilities";
	int ret = capabilities_keep(CAPABILITIES_KEPT);
	return ret == 0 ? confine_calls(reterr_step) : ret;
}

int confine_process(const struct confine_rights *rights, const char **reterr_step)
{
	*reterr_step = "chroot";
	int ret = change_root(rights->root);
	if (ret == 0) {
		capabilities_empty_bounding_set();
		*reterr_step = "user";
		ret = confine_user(rights->owner);
	}
	if (ret == 0) {
		*reterr_step = "capabilities";
		ret = capabilities_keep(0);
	}
	if (ret == 0) {
		*reterr_step = "prctl";
		ret = end_with_nanny();
	}
	if (ret == 0 && callfilter_can_load()) {
		*reterr_step = "seccomp";
		ret = load_filter(rights);
	}
	return ret;
}
