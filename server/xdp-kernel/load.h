/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * load.h - the program in the network driver: loaded, attached to interfaces, and detached.
 *
 * Flow: main.c, before privileges are dropped: settings -> load_attach(): libbpf loads
 *       answer.bpf.c, libxdp attaches it -> keeper_start() (keeper.h) -> the filler has the arrays
 *       -> keeper.c: load_detach().
 *
 *     struct load load;
 *     if (load_attach(settings, &load) == 0 && keeper_start(&load, settings->xdp.keep_s, &keeper) != 0)
 *             load_detach(&load);
 *     ...
 *     load_close(&load);
 *
 * This file and attach.h alone know libbpf and libxdp. An interface may have other programs beside ours, by
 * libxdp's dispatcher. Where the kernel cannot do that, or there is no bpffs that notes of the
 * dispatcher could be kept in, ours is attached alone, with a line in the log that says so. A
 * program of ours that is there already, of a server that ran before or has died, is replaced
 * without a moment between them. So an interface belongs to one server.
 *
 * What is attached stays when this process ends, also when it is killed, until load_detach(). It
 * answers nothing before the filler has given it something, nor when leases have run out. No
 * descriptor of it stays open: the arrays, which are mapped and shared with children, are all that
 * is left of it here, and nothing that is done with them is a system call.
 *
 * What fails is logged here, one line for each failure, with the interface and what to do. It is
 * nothing to end for: without XDP, sockets answer all. What the libraries say is logged at level debug.
 * For one thread.
 */

#include "server/settings/settings.h"
#include "server/xdp-kernel/tables.h"

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where it is attached. */
struct load_link {
	struct xdp_link link; /* for the config: struct tables_rules has links */
	char name[IF_NAMESIZE];
	uint32_t program_id; /* the kernel's, of this attachment */
	bool is_generic;
	bool is_dispatched; /* beside others */
};

/* Plain memory, but for the arrays. All 0: nothing is attached. */
struct load {
	struct tables_arrays arrays; /* mapped, all 0 at first; of the layout that this build has */
	struct load_link links[XDP_LINKS_MAX];
	size_t link_count;
};

/*
 * 0 when it is attached to one interface at least. Or -errno, and then nothing is attached that
 * was not before, and *ret_load is all 0. Everything that is not as settings ask has been logged,
 * also when this returns 0.
 * Of settings it reads xdp, and how many networks a rate limit is remembered of. -ENOSYS in a build
 * without libbpf and libxdp, where settings have no interface.
 */
int load_attach(const struct settings *settings, struct load *ret_load);

/*
 * Takes the program from the interfaces, if it still is this one: another server may have replaced
 * it. Wants CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN, and no descriptor. Arrays stay.
 */
void load_detach(const struct load *load);

/* Unmaps the arrays in this process. All 0 may be closed, too. */
void load_close(struct load *load);

#ifdef __cplusplus
}
#endif
