/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * mailcheck.h - is a store whole, and its index that of its log? Reads only, or syncs what is read.
 *
 * Flow: mail-store fsck -> here: each record and body is read and compared with its checksum, then an
 *       index is made from the log alone, and compared with the store's.
 */

#include "lib/mailstore/mailindex.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mailcheck {
	/* Called for each finding: where (an object's number and a place in it, or 0 for the index). */
	void (*report)(void *context, struct mailplace place, const char *text);
	/* NULL, or called as bytes of the log have been read, done of total. */
	void (*step)(void *context, uint64_t done, uint64_t total);
	void *context; /* of both */
	/* What the index at scratch_path knows is on disk, so that it may become the store's. */
	bool repairs;
	/* The rest is written. */
	uint64_t segments;
	uint64_t mails; /* that some mailbox has */
	uint64_t findings;
	uint64_t uncommitted; /* bytes behind the last commit: no finding */
	uint64_t behind;      /* records that the index does not have yet: no finding */
	bool is_log_damaged;
	/*
	 * scratch_path has the right one. An index that differs from a damaged log is not called
	 * wrong: it knows mails that the log does not show any more.
	 */
	bool is_index_wrong;
};

/*
 * disk stays the caller's, with its lock until it is closed. index_path need not be there. scratch_path is a
 * file that must not be there; it has an index made from the log when 0 is returned, and is the caller's to
 * remove or to use. 0 also with findings; a status when the store cannot be read at all.
 */
int mailcheck_run(struct mailcheck *check, struct disk *disk, const char *index_path,
		  const char *scratch_path);

#ifdef __cplusplus
}
#endif
