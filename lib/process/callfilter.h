/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * callfilter.h - which system calls a process may still make, for good.
 *
 * Flow: lists of calls, of each kind of process -> callfilter_make(), libseccomp makes a program of
 *       them -> callfilter_load(), as a process's last step -> the kernel asks the program about each
 *       call of it and of its children.
 *
 *     static const char *const files[] = { "open", "openat" };
 *     static const struct callfilter_call sockets[] = {
 *             { "socket", 1, { CALLFILTER_EQUAL(0, AF_UNIX) } },
 *     };
 *     const struct callfilter_list lists[] = {
 *             { has_files, CALLFILTER_ALLOW, CALLFILTER_NAMES(files) },
 *             { true, CALLFILTER_ALLOW, CALLFILTER_CALLS(sockets) },
 *     };
 *     struct callfilter filter = { 0 };
 *     int ret = callfilter_make(CALLFILTER_REFUSE, lists, 2, &filter);
 *     if (ret == 0)
 *             ret = callfilter_load(&filter);
 *     callfilter_deinit(&filter);
 *
 * What no daemon does, running programs, looking into other processes, mounting, ends the process
 * in each filter, listed or not: code that tries that is not ours any more. Rings of io_uring are refused in each;
 * before a loop of libuv is made there has to be such a filter, of this process or a parent of it.
 *
 * This file alone knows libseccomp, and is a library apart: what does not load filters is not
 * linked with it. A filter is a plain program, which any process may load that has it in its
 * memory: a parent may make one for children that it has not forked yet.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum callfilter_verdict {
	CALLFILTER_ALLOW,
	/*
	 * ENOSYS, as from a kernel that has never heard of it, so that a C library
	 * newer than our lists takes the way it has for old kernels.
	 */
	CALLFILTER_REFUSE,
	CALLFILTER_KILL, /* SIGSYS, of the process */
};

/* The bits of mask of an argument, of which the first is 0, are those of value. */
struct callfilter_argument {
	unsigned at;
	uint64_t mask;
	uint64_t value;
};
#define CALLFILTER_MASKED(at, mask, value)                                                         \
	{                                                                                          \
		(at), (uint64_t)(mask), (uint64_t)(value)                                          \
	}
#define CALLFILTER_EQUAL(at, value) CALLFILTER_MASKED(at, UINT64_MAX, value)

/* A call when all of its arguments are so. */
struct callfilter_call {
	const char *name;
	unsigned argument_count;
	struct callfilter_argument arguments[2];
};

/* What becomes of calls. Names that this machine, or its libseccomp, does not know are left out. */
struct callfilter_list {
	bool is_meant; /* else it is as if it were not there */
	enum callfilter_verdict verdict;
	const char *const *names; /* of calls, whatever their arguments */
	size_t name_count;
	const struct callfilter_call *calls;
	size_t call_count;
};
#define CALLFILTER_NAMES(list) (list), sizeof(list) / sizeof((list)[0]), NULL, 0
#define CALLFILTER_CALLS(list) NULL, 0, (list), sizeof(list) / sizeof((list)[0])

/* Row of a list: sockets of that family and type, with SOCK_CLOEXEC and SOCK_NONBLOCK or not. */
#define CALLFILTER_SOCKET(family, type)                                                            \
	{                                                                                          \
		"socket", 2,                                                                       \
		{                                                                                  \
			CALLFILTER_EQUAL(0, family), CALLFILTER_MASKED(1, 0xf, type)               \
		}                                                                                  \
	}
/* Of a mode: to execute, or with the rights of its owner. */
#define CALLFILTER_MODE_OTHER 07111

struct sock_filter;

/* All 0: none. */
struct callfilter {
	struct sock_filter *steps;
	unsigned short step_count;
	unsigned flags; /* of seccomp(2) */
};

/* Have this build and this kernel what it takes? Not with AddressSanitizer, see sanitized.h. */
bool callfilter_can_load(void);

/*
 * otherwise is what becomes of a call that is in no list: CALLFILTER_ALLOW, or CALLFILTER_REFUSE,
 * and then what every process needs is allowed: it reads, writes and waits for what is open, has
 * memory, knows the time, and ends. With CALLFILTER_KILL there is nothing but the lists. No list has
 * otherwise for its verdict. 0, or -ENOMEM, -ENOSYS without libseccomp, or another -errno.
 * ret_filter ends with callfilter_deinit().
 */
int callfilter_make(enum callfilter_verdict otherwise, const struct callfilter_list *lists,
		    size_t list_count, struct callfilter *ret_filter);
void callfilter_deinit(struct callfilter *filter);

/*
 * On top of those that there are. Call it with PR_SET_NO_NEW_PRIVS set. 0 or -errno, -EINVAL for a
 * filter that is none: nothing has changed then.
 */
int callfilter_load(const struct callfilter *filter);

#ifdef __cplusplus
}
#endif
