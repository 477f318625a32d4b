/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rados_handle.h - what the files of objects_rados.h share.
 *
 * Flow: objects_rados.c opens it -> rados_writes.c, rados_reads.c and rados_looks.c are its functions.
 */

#include <rados/librados.h>

#include "lib/mailcluster/objects.h"

struct objects_rados {
	struct objects objects;
	rados_t cluster; /* NULL until it is made */
	rados_ioctx_t pool;
	char pool_name[OBJECTS_NAME_MAX + 1];
};

static inline struct objects_rados *rados_of(struct objects *objects)
{
	return (struct objects_rados *)objects;
}

/* What librados returned as objects.h has it. */
int rados_status(int ret);

int rados_writes(struct objects *objects, struct objects_write *writes, size_t count);

int rados_reads_bytes(struct objects *objects, const char *name, uint64_t at, void *bytes,
		      size_t size, size_t *ret_size);
int rados_reads_size(struct objects *objects, const char *name, uint64_t *ret_size);
int rados_reads_rows(struct objects *objects, const char *name, const char *behind,
		     const char *prefix, size_t most, struct objects_page *ret_page);
int rados_reads_row(struct objects *objects, const char *name, const char *key, void *value,
		    size_t room, size_t *ret_size);

int rados_looks_list(struct objects *objects,
		     bool (*take)(void *owner, const char *name, unsigned copies), void *owner);
int rados_looks_describe(struct objects *objects, struct objects_state *ret_state);
