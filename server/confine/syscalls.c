/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/confine/syscalls.h"

#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* The parent's workers do it once, before. */
static const char *const never_of_workers[] = { "chroot" };

/* Of a worker, its verifiers and its transfers, beside what every process needs. */
static const char *const worker_calls[] = {
	/* questions and answers */
	"recvmmsg", "recvmmsg_time64", "sendmmsg", "accept", "accept4", "listen", "getsockname",
	"getpeername", "getsockopt", "setsockopt",
	/* NOTIFY; Landlock, where it can, leaves UDP alone of these */
	"bind", "connect",
	/* waiting */
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
	"eventfd2", "pipe", "pipe2",
	/* stores; the directory decides which, see landlock.h */
	"open", "openat", "pread64", "lseek", "_llseek", "stat", "stat64", "lstat", "lstat64",
	"newfstatat", "fstatat64", "statx", "statfs", "statfs64", "fstatfs", "fstatfs64", "access",
	"faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "ftruncate", "ftruncate64",
	"fallocate", "fcntl", "fcntl64", "flock", "dup", "dup2", "dup3",
	/* children */
	"wait4", "waitid", "waitpid", "set_tid_address", "getpriority", "getpgrp",
	/* the machine */
	"sysinfo"
};

#ifdef __s390__
#define CLONE_FLAGS_AT 1
#else
#define CLONE_FLAGS_AT 0
#endif
/* A thread, or a process that shares more with us than a copy of our memory. */
#define CLONE_SHARED                                                                               \
	((uint64_t)(CLONE_VM | CLONE_VFORK | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |              \
		    CLONE_THREAD | CLONE_SYSVSEM | CLONE_IO | CLONE_PTRACE | CLONE_NEWNS |         \
		    CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
		    CLONE_NEWNET))

/* These only so. */
static const struct callfilter_call worker_calls_so[] = {
	{ "clone", 1, { CALLFILTER_MASKED(CLONE_FLAGS_AT, CLONE_SHARED, 0) } },
	/* NOTIFY, and nothing raw. */
	CALLFILTER_SOCKET(AF_INET, SOCK_DGRAM),
	CALLFILTER_SOCKET(AF_INET6, SOCK_DGRAM),
	/* Children that are in the way. */
	{ "kill", 1, { CALLFILTER_EQUAL(1, SIGKILL) } },
	{ "prctl", 1, { CALLFILTER_EQUAL(0, PR_SET_PDEATHSIG) } },
	/* Of itself. */
	{ "setpriority", 2, { CALLFILTER_EQUAL(0, PRIO_PROCESS), CALLFILTER_EQUAL(1, 0) } },
	{ "sched_getscheduler", 1, { CALLFILTER_EQUAL(0, 0) } },
	{ "sched_setattr", 1, { CALLFILTER_EQUAL(0, 0) } },
	{ "sched_setscheduler", 1, { CALLFILTER_EQUAL(0, 0) } },
	{ "sched_setaffinity", 1, { CALLFILTER_EQUAL(0, 0) } },
	/* A lock file is shared with the group of its directory. */
	{ "fchmod", 1, { CALLFILTER_MASKED(1, CALLFILTER_MODE_OTHER, 0) } },
	{ "ioctl", 1, { CALLFILTER_EQUAL(1, FIONBIO) } },
	{ "ioctl", 1, { CALLFILTER_EQUAL(1, FIONREAD) } },
	{ "ioctl", 1, { CALLFILTER_EQUAL(1, FIOCLEX) } },
	{ "ioctl", 1, { CALLFILTER_EQUAL(1, TCGETS) } },
};

int syscalls_make(enum syscalls_role role, struct callfilter *ret_filter)
{
	bool is_worker = role == SYSCALLS_WORKER;
	const struct callfilter_list lists[] = {
		{ is_worker, CALLFILTER_KILL, CALLFILTER_NAMES(never_of_workers) },
		{ is_worker, CALLFILTER_ALLOW, CALLFILTER_NAMES(worker_calls) },
		{ is_worker, CALLFILTER_ALLOW, CALLFILTER_CALLS(worker_calls_so) },
	};
	return callfilter_make(is_worker ? CALLFILTER_REFUSE : CALLFILTER_ALLOW, lists,
			       sizeof(lists) / sizeof(lists[0]), ret_filter);
}
