/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/syscalls.h"

#include <errno.h>

#ifdef DNSBLV6_SECCOMP

#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Names that a machine, or its libseccomp, does not know are left out. */
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Nothing of the project does this, nor its libraries: SIGSYS. */
static const char *const never[] = {
	/* other programs, other processes */
	"execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp",
	"pidfd_getfd", "process_madvise",
	/* another view of the system */
	"mount", "umount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsconfig",
	"fsmount", "fspick", "mount_setattr", "setns", "unshare", "open_by_handle_at", "mknod",
	"mknodat", "personality",
	/* the kernel itself */
	"init_module", "finit_module", "delete_module", "create_module", "kexec_load",
	"kexec_file_load", "perf_event_open", "userfaultfd", "add_key", "keyctl", "request_key",
	"reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "iopl", "ioperm",
	"modify_ldt", "vm86", "vm86old", "uselib", "lookup_dcookie", "syslog", "vhangup",
	/* what the whole machine goes by */
	"settimeofday", "clock_settime", "clock_settime64", "stime", "adjtimex", "clock_adjtime",
	"clock_adjtime64", "sethostname", "setdomainname"
};

/* Nor this, but for "xdp". */
static const char *const never_without_xdp[] = { "bpf" };

/* The parent refuses these politely: libraries try whether they are there. */
static const char *const absent[] = { "io_uring_setup", "io_uring_enter", "io_uring_register" };

/* Of a worker, its verifiers and its transfers, whatever the arguments. */
static const char *const worker_calls[] = {
	/* questions and answers */
	"recvmmsg", "recvmmsg_time64", "sendmmsg", "recvmsg", "sendmsg", "recvfrom", "recv",
	"sendto", "send", "read", "readv", "write", "writev", "accept", "accept4", "listen",
	"shutdown", "getsockname", "getpeername", "getsockopt", "setsockopt",
	/* NOTIFY; Landlock, where it can, leaves UDP alone of these */
	"bind", "connect",
	/* waiting */
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
	"poll", "ppoll", "ppoll_time64", "eventfd2", "pipe", "pipe2", "nanosleep",
	"clock_nanosleep", "clock_nanosleep_time64", "restart_syscall",
	/* stores; the directory decides which, see landlock.h */
	"open", "openat", "close", "close_range", "pread64", "lseek", "_llseek", "stat", "stat64",
	"lstat", "lstat64", "fstat", "fstat64", "newfstatat", "fstatat64", "statx", "statfs",
	"statfs64", "fstatfs", "fstatfs64", "access", "faccessat", "faccessat2", "readlink",
	"readlinkat", "getcwd", "ftruncate", "ftruncate64", "fcntl", "fcntl64", "flock", "dup",
	"dup2", "dup3",
	/* memory */
	"munmap", "mremap", "madvise", "brk",
	/* children, and the end */
	"wait4", "waitid", "waitpid", "exit", "exit_group", "rt_sigaction", "rt_sigprocmask",
	"rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "sigreturn", "sigaltstack",
	"set_robust_list", "set_tid_address", "rseq", "getpriority",
	/* what time it is, who we are, chance */
	"clock_gettime", "clock_gettime64", "clock_getres", "clock_getres_time64", "gettimeofday",
	"time", "getrandom", "getpid", "getppid", "gettid", "getpgrp", "getuid", "geteuid",
	"getgid", "getegid", "getuid32", "geteuid32", "getgid32", "getegid32", "getrusage",
	"getcpu", "sysinfo", "uname", "futex", "futex_time64", "sched_yield", "sched_getaffinity"
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
#define MODE_OTHER	 UINT64_C(07111) /* to execute, or with the rights of its owner */
#define SOCKET_TYPE_MASK UINT64_C(0xf)	 /* without SOCK_CLOEXEC and SOCK_NONBLOCK */

/* These only so: arguments that are masked must be as given, all conditions of a row. */
struct condition {
	const char *name;
	unsigned count;
	struct scmp_arg_cmp compared[2];
};
#define MASKED(at, mask, value)                                                                    \
	{                                                                                          \
		at, SCMP_CMP_MASKED_EQ, (uint64_t)(mask), (uint64_t)(value)                        \
	}
#define EQUAL(at, value)                                                                           \
	{                                                                                          \
		at, SCMP_CMP_EQ, (uint64_t)(value), 0                                              \
	}

static const struct condition worker_conditions[] = {
	/* No code that was not in the program. */
	{ "mmap", 1, { MASKED(2, PROT_EXEC, 0) } },
	{ "mmap2", 1, { MASKED(2, PROT_EXEC, 0) } },
	{ "mprotect", 1, { MASKED(2, PROT_EXEC, 0) } },
	{ "clone", 1, { MASKED(CLONE_FLAGS_AT, CLONE_SHARED, 0) } },
	/* NOTIFY, and nothing raw. */
	{ "socket", 2, { EQUAL(0, AF_INET), MASKED(1, SOCKET_TYPE_MASK, SOCK_DGRAM) } },
	{ "socket", 2, { EQUAL(0, AF_INET6), MASKED(1, SOCKET_TYPE_MASK, SOCK_DGRAM) } },
	/* Children that are in the way; abort(). */
	{ "kill", 1, { EQUAL(1, SIGKILL) } },
	{ "tgkill", 1, { EQUAL(2, SIGABRT) } },
	{ "prctl", 1, { EQUAL(0, PR_SET_PDEATHSIG) } },
	/* Of itself. */
	{ "prlimit64", 1, { EQUAL(0, 0) } },
	{ "setpriority", 2, { EQUAL(0, PRIO_PROCESS), EQUAL(1, 0) } },
	{ "sched_setattr", 1, { EQUAL(0, 0) } },
	{ "sched_setaffinity", 1, { EQUAL(0, 0) } },
	/* A lock file is shared with the group of its directory. */
	{ "chmod", 1, { MASKED(1, MODE_OTHER, 0) } },
	{ "fchmodat", 1, { MASKED(2, MODE_OTHER, 0) } },
	{ "ioctl", 1, { EQUAL(1, FIONBIO) } },
	{ "ioctl", 1, { EQUAL(1, FIONREAD) } },
	{ "ioctl", 1, { EQUAL(1, FIOCLEX) } },
	{ "ioctl", 1, { EQUAL(1, TCGETS) } },
};

/* Queues are given back by telling the filter of the interface, in maps that are open already. */
static const struct condition xdp_conditions[] = {
	{ "bpf", 1, { EQUAL(0, BPF_MAP_LOOKUP_ELEM) } },
	{ "bpf", 1, { EQUAL(0, BPF_MAP_UPDATE_ELEM) } },
	{ "bpf", 1, { EQUAL(0, BPF_MAP_DELETE_ELEM) } },
};

bool syscalls_can_restrict(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u, &action) == 0;
}

static int add_names(scmp_filter_ctx filter, uint32_t action, const char *const *names,
		     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);
		if (number == __NR_SCMP_ERROR)
			continue;
		int ret = seccomp_rule_add(filter, action, number, 0);
		if (ret != 0)
			return ret;
	}
	return 0;
}

static int add_conditions(scmp_filter_ctx filter, const struct condition *conditions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct condition *row = &conditions[i];
		int number = seccomp_syscall_resolve_name(row->name);
		if (number == __NR_SCMP_ERROR)
			continue;
		int ret = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, row->count,
						 row->compared);
		if (ret != 0)
			return ret;
	}
	return 0;
}

static int add_role(scmp_filter_ctx filter, enum syscalls_role role, bool has_xdp)
{
	static const char *const inside[] = { "chroot" }; /* the parent's workers do it once */
	int ret = add_names(filter, SCMP_ACT_KILL_PROCESS, never, COUNT(never));
	if (ret == 0 && !has_xdp)
		ret = add_names(filter, SCMP_ACT_KILL_PROCESS, never_without_xdp,
				COUNT(never_without_xdp));
	if (ret != 0)
		return ret;
	if (role == SYSCALLS_PARENT)
		return add_names(filter, SCMP_ACT_ERRNO(ENOSYS), absent, COUNT(absent));
	ret = add_names(filter, SCMP_ACT_KILL_PROCESS, inside, COUNT(inside));
	if (ret == 0)
		ret = add_names(filter, SCMP_ACT_ALLOW, worker_calls, COUNT(worker_calls));
	if (ret == 0)
		ret = add_conditions(filter, worker_conditions, COUNT(worker_conditions));
	if (ret == 0 && has_xdp)
		ret = add_conditions(filter, xdp_conditions, COUNT(xdp_conditions));
	return ret;
}

int syscalls_restrict(enum syscalls_role role, bool has_xdp)
{
	uint32_t otherwise = role == SYSCALLS_PARENT ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(ENOSYS);
	scmp_filter_ctx filter = seccomp_init(otherwise);
	if (filter == NULL)
		return -ENOMEM;
	int ret = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/*
	 * Old kernels slow down whoever has a filter, against code of others that
	 * runs in the process and reads its memory. There is none in here.
	 */
	if (ret == 0)
		seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	if (ret == 0)
		ret = add_role(filter, role, has_xdp);
	if (ret == 0)
		ret = seccomp_load(filter);
	seccomp_release(filter);
	return ret;
}

#else

bool syscalls_can_restrict(void)
{
	return false;
}

int syscalls_restrict(enum syscalls_role role, bool has_xdp)
{
	(void)role;
	(void)has_xdp;
	return -ENOSYS;
}

#endif
