/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/smtp-front/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

/* ---- the filter ---- */

#ifdef DNSBLV6_SECCOMP

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* Names that a machine, or its libseccomp, does not know are left out. */
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* No process of smtp-front does this, nor its libraries: SIGSYS. */
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
	"modify_ldt", "vm86", "vm86old", "uselib", "lookup_dcookie", "syslog", "vhangup", "bpf",
	/* what the whole machine goes by */
	"settimeofday", "clock_settime", "clock_settime64", "stime", "adjtimex", "clock_adjtime",
	"clock_adjtime64", "sethostname", "setdomainname"
};

/* Nor this, but for the nanny. */
static const char *const never_of_children[] = { "fork",      "vfork",	   "pidfd_open", "chroot",
						 "setuid",    "setgid",	   "setreuid",	 "setregid",
						 "setresuid", "setresgid", "setgroups",	 "capset" };

/* Of every process: what is open, memory, time, chance, the end. */
static const char *const all_calls[] = { "read",
					 "readv",
					 "write",
					 "writev",
					 "close",
					 "close_range",
					 "recvfrom",
					 "recv",
					 "recvmsg",
					 "sendto",
					 "send",
					 "sendmsg",
					 "shutdown",
					 "poll",
					 "ppoll",
					 "ppoll_time64",
					 "fstat",
					 "fstat64",
					 "munmap",
					 "mremap",
					 "madvise",
					 "brk",
					 "exit",
					 "exit_group",
					 "rt_sigaction",
					 "rt_sigprocmask",
					 "rt_sigreturn",
					 "rt_sigpending",
					 "rt_sigtimedwait",
					 "sigreturn",
					 "sigaltstack",
					 "restart_syscall",
					 "clock_gettime",
					 "clock_gettime64",
					 "clock_getres",
					 "clock_getres_time64",
					 "gettimeofday",
					 "time",
					 "getrandom",
					 "getpid",
					 "getppid",
					 "gettid",
					 "getuid",
					 "geteuid",
					 "getgid",
					 "getegid",
					 "getuid32",
					 "geteuid32",
					 "getgid32",
					 "getegid32",
					 "getrusage",
					 "getcpu",
					 "uname",
					 "futex",
					 "futex_time64",
					 "set_robust_list",
					 "rseq",
					 "sched_yield",
					 "sched_getaffinity",
					 "alarm",
					 "setitimer",
					 "nanosleep",
					 "clock_nanosleep",
					 "clock_nanosleep_time64" };

/* Of edges and workers besides: connections, questions, and looking at files. */
static const char *const network_calls[] = { "accept",	     "accept4",	       "bind",
					     "connect",	     "listen",	       "socketpair",
					     "getsockname",  "getpeername",    "getsockopt",
					     "setsockopt",   "recvmmsg",       "recvmmsg_time64",
					     "sendmmsg",     "epoll_create",   "epoll_create1",
					     "epoll_ctl",    "epoll_wait",     "epoll_pwait",
					     "epoll_pwait2", "eventfd2",       "pipe",
					     "pipe2",	     "timerfd_create", "timerfd_settime",
					     "signalfd4",    "select",	       "pselect6",
					     "_newselect",   "fcntl",	       "fcntl64",
					     "dup",	     "dup2",	       "dup3",
					     "pread64",	     "lseek",	       "_llseek",
					     "stat",	     "stat64",	       "lstat",
					     "lstat64",	     "newfstatat",     "fstatat64",
					     "statx",	     "access",	       "faccessat",
					     "faccessat2",   "readlink",       "readlinkat",
					     "getcwd",	     "sysinfo" };

/* Of workers that write mails into directories. */
static const char *const maildir_calls[] = {
	"open",	    "openat",	 "mkdir",	"mkdirat",   "link",	   "linkat",	"rename",
	"renameat", "renameat2", "unlink",	"unlinkat",  "fsync",	   "fdatasync", "pwrite64",
	"pwritev",  "ftruncate", "ftruncate64", "fallocate", "getdents64", "statfs",	"statfs64",
	"fstatfs",  "fstatfs64", "umask",	"flock",     "utimensat"
};

/* These only so: all conditions of a row. */
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
#define WRITES		 (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)
#define SOCKET_TYPE_MASK UINT64_C(0xf)	 /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
#define MODE_OTHER	 UINT64_C(07111) /* to execute, or with the rights of its owner */

static const struct condition all_conditions[] = {
	/* No code that was not in the program. */
	{ "mmap", 1, { MASKED(2, PROT_EXEC, 0) } },
	{ "mmap2", 1, { MASKED(2, PROT_EXEC, 0) } },
	{ "mprotect", 1, { MASKED(2, PROT_EXEC, 0) } },
	{ "tgkill", 1, { EQUAL(2, SIGABRT) } },
	{ "prlimit64", 1, { EQUAL(0, 0) } },
};

static const struct condition network_conditions[] = {
	{ "socket", 2, { EQUAL(0, AF_INET), MASKED(1, SOCKET_TYPE_MASK, SOCK_DGRAM) } },
	{ "socket", 2, { EQUAL(0, AF_INET), MASKED(1, SOCKET_TYPE_MASK, SOCK_STREAM) } },
	{ "socket", 2, { EQUAL(0, AF_INET6), MASKED(1, SOCKET_TYPE_MASK, SOCK_DGRAM) } },
	{ "socket", 2, { EQUAL(0, AF_INET6), MASKED(1, SOCKET_TYPE_MASK, SOCK_STREAM) } },
	{ "socket", 1, { EQUAL(0, AF_UNIX) } },
	/* The library's resolv.conf, and what the C library looks for; nothing is written. */
	{ "open", 1, { MASKED(1, WRITES, O_RDONLY) } },
	{ "openat", 1, { MASKED(2, WRITES, O_RDONLY) } },
	{ "ioctl", 1, { EQUAL(1, FIONBIO) } },
	{ "ioctl", 1, { EQUAL(1, FIONREAD) } },
	{ "ioctl", 1, { EQUAL(1, FIOCLEX) } },
};

static const struct condition maildir_conditions[] = {
	{ "chmod", 1, { MASKED(1, MODE_OTHER, 0) } },
	{ "fchmod", 1, { MASKED(1, MODE_OTHER, 0) } },
	{ "fchmodat", 1, { MASKED(2, MODE_OTHER, 0) } },
};

bool confine_has_filter(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;
	return !IS_SANITIZED && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u, &action) == 0;
}

static int add_names(scmp_filter_ctx filter, uint32_t action, const char *const *names,
		     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);
		int ret =
			number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(filter, action, number, 0);
		if (ret != 0)
			return ret;
	}
	return 0;
}

static int add_conditions(scmp_filter_ctx filter, const struct condition *conditions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int number = seccomp_syscall_resolve_name(conditions[i].name);
		int ret = number == __NR_SCMP_ERROR
				  ? 0
				  : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number,
							   conditions[i].count,
							   conditions[i].compared);
		if (ret != 0)
			return ret;
	}
	return 0;
}

static int add_role(scmp_filter_ctx filter, enum confine_role role, bool has_files)
{
	int ret = add_names(filter, SCMP_ACT_KILL_PROCESS, never, COUNT(never));
	if (ret != 0 || role == CONFINE_NANNY)
		return ret;
	ret = add_names(filter, SCMP_ACT_KILL_PROCESS, never_of_children, COUNT(never_of_children));
	if (ret == 0)
		ret = add_names(filter, SCMP_ACT_ALLOW, all_calls, COUNT(all_calls));
	if (ret == 0)
		ret = add_conditions(filter, all_conditions, COUNT(all_conditions));
	if (ret != 0 || role == CONFINE_KEYHOLDER)
		return ret;
	ret = add_names(filter, SCMP_ACT_ALLOW, network_calls, COUNT(network_calls));
	if (ret == 0 && has_files)
		ret = add_names(filter, SCMP_ACT_ALLOW, maildir_calls, COUNT(maildir_calls));
	if (ret == 0 && has_files)
		ret = add_conditions(filter, maildir_conditions, COUNT(maildir_conditions));
	if (ret == 0)
		ret = add_conditions(filter, network_conditions, COUNT(network_conditions));
	return ret;
}

/* What is not listed is what a kernel says that has never heard of the call. */
static int load_filter(enum confine_role role, bool has_files)
{
	scmp_filter_ctx filter =
		seccomp_init(role == CONFINE_NANNY ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(ENOSYS));
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
		ret = add_role(filter, role, has_files);
	if (ret == 0)
		ret = seccomp_load(filter);
	seccomp_release(filter);
	return ret;
}

#else

bool confine_has_filter(void)
{
	return false;
}

static int load_filter(enum confine_role role, bool has_files)
{
	(void)role;
	(void)has_files;
	return 0;
}

#endif

/* ---- the other steps ---- */

static const struct owner *owner_of(const struct setup *setup, enum confine_role role)
{
	switch (role) {
	case CONFINE_EDGE:
		return &setup->front.edge_owner;
	case CONFINE_WORKER:
		return &setup->front.worker_owner;
	default:
		return &setup->front.key_owner;
	}
}

/* A next hop, or an edge's call-forward, that is a path is outside of any other root. */
static bool needs_paths(const struct setup *setup, enum confine_role role)
{
	if (role == CONFINE_KEYHOLDER)
		return false;
	if (role == CONFINE_WORKER && setup->sink.to.text[0] == '/')
		return true;
	return setup->trust.forward.text[0] == '/' ||
	       (role == CONFINE_EDGE && setup->sink.kind == SETUP_SINK_POSTFIX);
}

static int change_root(const struct setup *setup, enum confine_role role)
{
	const char *path = setup->front.chroot;
	if (path[0] == '\0' || IS_SANITIZED || geteuid() != 0 || needs_paths(setup, role))
		return 0;
	return chroot(path) == 0 && chdir("/") == 0 ? 0 : -errno;
}

static int change_user(const struct owner *owner)
{
	if (owner->user[0] == '\0' || geteuid() != 0)
		return 0;
	if (setgroups(1, &owner->gid) != 0 || setresgid(owner->gid, owner->gid, owner->gid) != 0 ||
	    setresuid(owner->uid, owner->uid, owner->uid) != 0)
		return -errno;
	/* What looks dropped must be dropped. */
	return owner->uid != 0 && setuid(0) == 0 ? -EPERM : 0;
}

#define CAPABILITY(number) (1u << (number))
/*
 * The nanny's: to bind, to make children who become somebody else in another root directory, to
 * end them, and to read what root reads. All are among the first 32.
 */
#define CAPABILITIES_KEPT                                                                          \
	(CAPABILITY(CAP_NET_BIND_SERVICE) | CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) |      \
	 CAPABILITY(CAP_SETPCAP) | CAPABILITY(CAP_SYS_CHROOT) | CAPABILITY(CAP_KILL) |             \
	 CAPABILITY(CAP_DAC_OVERRIDE))

/* Leaves those of kept that there are. None is handed on to other programs. */
static int keep_capabilities(uint32_t kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	memset(data, 0, sizeof(data));
	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	kept &= data[0].permitted;
	memset(data, 0, sizeof(data));
	data[0].permitted = data[0].effective = kept;
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

/* What a program that we start could get; who may not say so starts none anyway. */
static void empty_bounding_set(void)
{
	for (unsigned long number = 0; number < 64; number++)
		prctl(PR_CAPBSET_DROP, number, 0ul, 0ul, 0ul);
}

static int gain_nothing(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) == 0 ? 0 : -errno;
}

/* The change of user takes this away, so it is asked for behind it. */
static int end_with_nanny(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0ul, 0ul, 0ul) != 0)
		return -errno;
	/* So that nobody with the same user looks into the key's process. */
	if (!IS_SANITIZED && prctl(PR_SET_DUMPABLE, 0ul, 0ul, 0ul, 0ul) != 0)
		return -errno;
	return gain_nothing();
}

int confine_nanny(const char **reterr_step)
{
	*reterr_step = "capabilities";
	int ret = keep_capabilities(CAPABILITIES_KEPT);
	if (ret == 0) {
		*reterr_step = "prctl";
		ret = gain_nothing();
	}
	if (ret == 0 && confine_has_filter()) {
		*reterr_step = "seccomp";
		ret = load_filter(CONFINE_NANNY, false);
	}
	return ret;
}

int confine_process(const struct setup *setup, enum confine_role role, const char **reterr_step)
{
	bool has_files = role == CONFINE_WORKER && setup->sink.kind == SETUP_SINK_MAILDIR;
	*reterr_step = "chroot";
	int ret = change_root(setup, role);
	if (ret == 0) {
		empty_bounding_set();
		*reterr_step = "user";
		ret = change_user(owner_of(setup, role));
	}
	if (ret == 0) {
		*reterr_step = "capabilities";
		ret = keep_capabilities(0);
	}
	if (ret == 0) {
		*reterr_step = "prctl";
		ret = end_with_nanny();
	}
	if (ret == 0 && confine_has_filter()) {
		*reterr_step = "seccomp";
		ret = load_filter(role, has_files);
	}
	return ret;
}
