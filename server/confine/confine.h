/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * confine.h - what a process of the server gives up, in the order that works.
 *
 * Flow: main.c has bound the sockets -> confine_prepare() -> becomes "user" ->
 *       confine_parent(), confine_make_filter() -> parent.c forks -> worker.c:
 *       confine_worker(), and only then opens stores. Verifiers and transfers
 *       are a worker's children and have what it has.
 *
 *     parent   capabilities, unless it stays root; no_new_privs; the system
 *              calls that no server makes
 *     query    all capabilities; files but those in the directory of its file
 *     log
 *     worker   another root directory ("chroot"); files but those of the stores
 *              (landlock.h); all capabilities; all system calls but those that
 *              it needs (syscalls.h)
 *
 * Each step is for good and for every child. The table in docs/security.md says
 * what is left. "confine: off" leaves it at capabilities and "chroot".
 *
 * With AddressSanitizer there are neither Landlock nor a filter, see lib/process/sanitized.h.
 *
 * Nothing is logged here; a step that fails is named.
 */

#include <stdbool.h>

#include "lib/process/callfilter.h"
#include "server/settings/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What there is to confine with: the kernel's and this build's share. */
struct confine_means {
	int landlock; /* its version; 0: none */
	bool has_seccomp;
};

struct confine_means confine_look(void);
/* Does means allow what settings insist on? */
bool confine_is_enough(const struct settings *settings, const struct confine_means *means);

/*
 * As the user that started the server: what the change to "user" would take from "chroot".
 */
void confine_prepare(const struct settings *settings);

/*
 * 0, or -errno with the step that failed, static text. The process is of no
 * use then: some steps may have been taken.
 */
int confine_parent(const struct settings *settings, const char **reterr_step);
/*
 * What workers load, now and later, is made once, by the parent: libseccomp takes longer than most
 * of what a worker does before it serves. No reload changes it. ret_filter, which ends with
 * callfilter_deinit(), is left alone when none is wanted, or there can be none. 0 or -errno.
 */
int confine_make_filter(const struct settings *settings, struct callfilter *ret_filter);

/* filter is what confine_make_filter() made of the same settings. */
int confine_worker(const struct settings *settings, const struct callfilter *filter,
		   const char **reterr_step);
/* The process of the query log, which has what the parent has given up given up already. */
int confine_querylog(const struct settings *settings, const char **reterr_step);

#ifdef __cplusplus
}
#endif
