/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * changes.h - what --add and --remove say, resolved.
 *
 * Flow: update.c -> changes_read() -> updater.h.
 *
 * Each is an address, a prefix or a range, or else the name of a plain list
 * of them. As in a list, the longest prefix that holds an address decides:
 * "--remove 192.0.2.0/24 --add 192.0.2.7" leaves one of them listed, whatever
 * comes first. The same prefix in both is refused. An exclusion in a list cuts
 * a part out of that list, which says nothing about it then; others may.
 */

#include "zone-tools/plan/resolve.h"
#include "zone-tools/lists/sources.h"

#ifdef __cplusplus
extern "C" {
#endif

struct change_source {
	const char *text;
	bool is_removal;
};

/*
 * ret_changes as pieces_change() takes them, owned by the caller. What is wrong with
 * the sources goes to findings; *ret_written_s is as in a listing. DNSBLV6_OK, -ENOMEM, or -errno when a file
 * cannot be read, after a finding that names it.
 */
int changes_read(const struct change_source *sources, size_t source_count,
		 const struct sources_options *options, struct findings *findings,
		 struct pieces *ret_changes, uint64_t *ret_written_s);

#ifdef __cplusplus
}
#endif
