/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/callfilter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/process/sanitized.h"

void callfilter_deinit(struct callfilter *filter)
{
	free(filter->steps);
	*filter = (struct callfilter){ 0 };
}

int callfilter_load(const struct callfilter *filter)
{
	struct sock_fprog program = { .len = filter->step_count, .filter = filter->steps };
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, filter->flags, &program) == 0 ? 0
											   : -errno;
}

#ifdef DNSBLV6_SECCOMP

#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- what holds for all ---- */

/* Nothing of the project does this, nor its libraries. */
static const char *const never[] = {
	/* other programs, other processes */
	"execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp",
	"pidfd_getfd", "process_madvise",
	/* another view of the system */
	"mount", "umount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsconfig",
	"fsmount", "fspick", "mount_setattr", "setns", "unshare", "open_by_handle_at", "mknod",
	"mknodat", "personality",
	/* the kernel itself */
	"init_module", "finit_module", "bpf", "delete_module", "create_module", "kexec_load",
	"kexec_file_load", "perf_event_open", "userfaultfd", "add_key", "keyctl", "request_key",
	"reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "iopl", "ioperm",
	"modify_ldt", "vm86", "vm86old", "uselib", "lookup_dcookie", "syslog", "vhangup",
	/* what the whole machine goes by */
	"settimeofday", "clock_settime", "clock_settime64", "stime", "adjtimex", "clock_adjtime",
	"clock_adjtime64", "sethostname", "setdomainname"
};

/*
 * By a ring a call goes past each filter. libuv makes one for each loop where it can, and ends the process when a
 * filter that comes later refuses its use: so a parent's filter, which allows the rest, lets none be made.
 */
static const char *const rings[] = { "io_uring_setup", "io_uring_enter", "io_uring_register" };

/* Of every process that may do what is listed and no more. */
static const char *const needed[] = {
	/* what is open */
	"read", "readv", "write", "writev", "close", "close_range", "recvfrom", "recv", "recvmsg",
	"sendto", "send", "sendmsg", "shutdown", "poll", "ppoll", "ppoll_time64", "fstat",
	"fstat64",
	/* memory */
	"munmap", "mremap", "madvise", "brk", "futex", "futex_time64",
	/* signals, and the end */
	"exit", "exit_group", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending",
	"rt_sigtimedwait", "sigreturn", "sigaltstack", "set_robust_list", "rseq", "restart_syscall",
	/* what time it is, ids of the process, chance */
	"clock_gettime", "clock_gettime64", "clock_getres", "clock_getres_time64", "gettimeofday",
	"time", "nanosleep", "clock_nanosleep", "clock_nanosleep_time64", "getrandom", "getpid",
	"getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getuid32", "geteuid32",
	"getgid32", "getegid32", "getrusage", "getcpu", "uname", "sched_yield", "sched_getaffinity"
};

static const struct callfilter_call needed_so[] = {
	/* No code that was not in the program. */
	{ "mmap", 1, { CALLFILTER_MASKED(2, PROT_EXEC, 0) } },
	{ "mmap2", 1, { CALLFILTER_MASKED(2, PROT_EXEC, 0) } },
	{ "mprotect", 1, { CALLFILTER_MASKED(2, PROT_EXEC, 0) } },
	/* abort() */
	{ "tgkill", 1, { CALLFILTER_EQUAL(2, SIGABRT) } },
	/* Of itself. */
	{ "prlimit64", 1, { CALLFILTER_EQUAL(0, 0) } },
};

/* ---- lists into a program ---- */

static uint32_t action_of(enum callfilter_verdict verdict)
{
	switch (verdict) {
	case CALLFILTER_ALLOW:
		return SCMP_ACT_ALLOW;
	case CALLFILTER_REFUSE:
		return SCMP_ACT_ERRNO(ENOSYS);
	default:
		return SCMP_ACT_KILL_PROCESS;
	}
}

static int add_call(scmp_filter_ctx draft, enum callfilter_verdict verdict,
		    const struct callfilter_call *call)
{
	struct scmp_arg_cmp compared[COUNT(call->arguments)];
	int number = seccomp_syscall_resolve_name(call->name);
	if (number == __NR_SCMP_ERROR)
		return 0;
	for (unsigned i = 0; i < call->argument_count; i++) {
		const struct callfilter_argument *argument = &call->arguments[i];
		bool is_whole = argument->mask == UINT64_MAX;
		compared[i] = (struct scmp_arg_cmp){
			.arg = argument->at,
			.op = is_whole ? SCMP_CMP_EQ : SCMP_CMP_MASKED_EQ,
			.datum_a = is_whole ? argument->value : argument->mask,
			.datum_b = is_whole ? 0 : argument->value,
		};
	}
	return seccomp_rule_add_array(draft, action_of(verdict), number, call->argument_count,
				      compared);
}

static int add_list(scmp_filter_ctx draft, const struct callfilter_list *list)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < list->name_count; i++) {
		const struct callfilter_call call = { .name = list->names[i] };
		ret = add_call(draft, list->verdict, &call);
	}
	for (size_t i = 0; ret == 0 && i < list->call_count; i++)
		ret = add_call(draft, list->verdict, &list->calls[i]);
	return ret;
}

static int add_lists(scmp_filter_ctx draft, const struct callfilter_list *lists, size_t list_count)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < list_count; i++) {
		if (lists[i].is_meant)
			ret = add_list(draft, &lists[i]);
	}
	return ret;
}

/* ---- a program out of libseccomp, which up to 2.5 gives it to files alone ---- */

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* of Linux 6.3, which may refuse a file without it */
#endif

static int open_memory(void)
{
	int fd = memfd_create("callfilter", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("callfilter", MFD_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

static int read_steps(int fd, struct callfilter *ret_filter)
{
	struct stat status;
	if (fstat(fd, &status) != 0)
		return -errno;
	size_t size = (size_t)status.st_size;
	if (size == 0 || size % sizeof(struct sock_filter) != 0 ||
	    size / sizeof(struct sock_filter) > BPF_MAXINSNS)
		return -EIO;
	struct sock_filter *steps = malloc(size);
	if (steps == NULL)
		return -ENOMEM;
	if (pread(fd, steps, size, 0) != (ssize_t)size) {
		free(steps);
		return -EIO;
	}
	ret_filter->steps = steps;
	ret_filter->step_count = (unsigned short)(size / sizeof(*steps));
	return 0;
}

static int take_steps(scmp_filter_ctx draft, struct callfilter *ret_filter)
{
	int fd = open_memory();
	if (fd < 0)
		return fd;
	int ret = seccomp_export_bpf(draft, fd);
	if (ret == 0)
		ret = read_steps(fd, ret_filter);
	close(fd);
	return ret;
}

int callfilter_make(enum callfilter_verdict otherwise, const struct callfilter_list *lists,
		    size_t list_count, struct callfilter *ret_filter)
{
	const struct callfilter_list common[] = {
		{ otherwise != CALLFILTER_KILL, CALLFILTER_KILL, CALLFILTER_NAMES(never) },
		{ otherwise == CALLFILTER_ALLOW, CALLFILTER_REFUSE, CALLFILTER_NAMES(rings) },
		{ otherwise == CALLFILTER_REFUSE, CALLFILTER_ALLOW, CALLFILTER_NAMES(needed) },
		{ otherwise == CALLFILTER_REFUSE, CALLFILTER_ALLOW, CALLFILTER_CALLS(needed_so) },
	};
	struct callfilter made = { 0 };
	scmp_filter_ctx draft = seccomp_init(action_of(otherwise));
	if (draft == NULL)
		return -ENOMEM;
	int ret = seccomp_attr_set(draft, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/*
	 * Old kernels slow down a process that has a filter, against foreign code that runs in
	 * it and reads its memory. There is none in here. Older ones do not know the flag.
	 */
	if (ret == 0 && seccomp_attr_set(draft, SCMP_FLTATR_CTL_SSB, 1) == 0)
		made.flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	if (ret == 0)
		ret = add_lists(draft, common, COUNT(common));
	if (ret == 0)
		ret = add_lists(draft, lists, list_count);
	if (ret == 0)
		ret = take_steps(draft, &made);
	if (ret == 0)
		*ret_filter = made;
	seccomp_release(draft);
	return ret;
}

bool callfilter_can_load(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;
	return !IS_SANITIZED && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u, &action) == 0;
}

#else

int callfilter_make(enum callfilter_verdict otherwise, const struct callfilter_list *lists,
		    size_t list_count, struct callfilter *ret_filter)
{
	(void)otherwise;
	(void)lists;
	(void)list_count;
	(void)ret_filter;
	return -ENOSYS;
}

bool callfilter_can_load(void)
{
	return false;
}

#endif
