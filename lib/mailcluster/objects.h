/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * objects.h - the seam below a cluster's mail store: named objects with bytes and rows, each of them on
 * several machines.
 *
 * Flow: cluster.c and its neighbours -> here -> RADOS (objects_rados.c of mail-stored), or memory
 *       that fails as it is told to (tests).
 *
 * An object has a name, bytes, and rows in the order of their keys. A write touches one object, happens
 * as a whole or not at all, and is on the disks of at least two machines when its status is 0. It may
 * be guarded, by whether the object is there and by what its rows are. Writes of one object have an
 * order that all machines see; those of several have none.
 *
 * -ETIMEDOUT says nothing: the write may have happened, and may still happen later. So a caller
 * writes what may be done twice, and guards what must not happen late. -ESHUTDOWN: nothing more is
 * taken of this handle, and perhaps of another one, in another process.
 *
 * Names of objects and keys of rows are text of at most OBJECTS_NAME_MAX bytes, none of them NUL.
 * A handle may be used by any number of threads at a time; nothing but objects_list() calls back.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OBJECTS_NAME_MAX 1024 /* without the NUL */

struct objects;

/* ---- writing ---- */

struct objects_row {
	const char *key;
	const void *value;
	size_t size; /* 0: in .same that there is no such row */
};

enum objects_guard {
	OBJECTS_ANY, /* made when it is not there */
	OBJECTS_NEW, /* -EEXIST when it is there */
	OBJECTS_OLD, /* -ENOENT when it is not */
};

/* One write; all is borrowed. */
struct objects_write {
	const char *name;
	enum objects_guard guard;
	bool is_removal; /* the object goes, and nothing else is said but .same; -ENOENT */
	const struct objects_row *same; /* they have to be so before: else -ECANCELED */
	size_t same_count;
	const struct objects_row *set;
	size_t set_count;
	const char *const *unset; /* keys; one that is not there is passed over */
	size_t unset_count;
	const void *bytes; /* what the object has from now on; NULL: as before */
	size_t size;
	int status; /* what came of it */
};

/*
 * All at once and in no order; it returns when each has its status. 0 when all have 0, else the
 * first that is not. -ENOSPC: there is no room; -EACCES: keys were refused.
 */
int objects_write(struct objects *objects, struct objects_write *writes, size_t count);

/* ---- reading ---- */

/* Bytes from a place on; *ret_size is less than size at the end, and 0 behind it. -ENOENT. */
int objects_read(struct objects *objects, const char *name, uint64_t at, void *bytes, size_t size,
		 size_t *ret_size);
/* Of its bytes. -ENOENT. */
int objects_size(struct objects *objects, const char *name, uint64_t *ret_size);

/* A row that was read: two texts of its page. */
struct objects_found {
	const char *key; /* with a NUL behind it */
	size_t key_size;
	const uint8_t *value;
	size_t size;
};
struct objects_page {
	struct objects_found *rows; /* in the order of their keys */
	size_t count;
	bool is_last; /* there are no more */
	void *memory; /* what keys and values lie in; it and rows are of malloc() */
};
/*
 * Rows whose keys are behind one ("": from the first) and begin with a prefix, most of them at a
 * time, or fewer, but at least one where there are more. -ENOENT. *ret_page is all zero when it fails, and
 * objects_page_free() takes that, too.
 */
int objects_rows(struct objects *objects, const char *name, const char *behind, const char *prefix,
		 size_t most, struct objects_page *ret_page);
void objects_page_free(struct objects_page *page);
/* One row; -ERANGE when it is larger than room. -ENOENT: no object, or no such row. */
int objects_row(struct objects *objects, const char *name, const char *key, void *value,
		size_t room, size_t *ret_size);

/*
 * All objects, in no order; take() returns whether to go on. copies is how many machines have the
 * object, 0 when that is not known; take() may call what is here. For checks: it reads the whole
 * cluster's list.
 */
int objects_list(struct objects *objects,
		 bool (*take)(void *owner, const char *name, unsigned copies), void *owner);

/* ---- what is below ---- */

struct objects_state {
	unsigned copies_wanted;
	unsigned machines;    /* that have disks */
	unsigned machines_up; /* of them */
	uint64_t size;	      /* bytes of all disks, 0: not known, as the next */
	uint64_t free_size;
	char words
		[512]; /* what the engine below says of its health, one line; "" when all is well */
};
int objects_describe(struct objects *objects, struct objects_state *ret_state);

/* ---- an implementation ---- */

/* Each function but close() means what the one above with its name does. */
struct objects_ops {
	int (*write)(struct objects *objects, struct objects_write *writes, size_t count);
	int (*read)(struct objects *objects, const char *name, uint64_t at, void *bytes,
		    size_t size, size_t *ret_size);
	int (*size)(struct objects *objects, const char *name, uint64_t *ret_size);
	int (*rows)(struct objects *objects, const char *name, const char *behind,
		    const char *prefix, size_t most, struct objects_page *ret_page);
	int (*row)(struct objects *objects, const char *name, const char *key, void *value,
		   size_t room, size_t *ret_size);
	int (*list)(struct objects *objects,
		    bool (*take)(void *owner, const char *name, unsigned copies), void *owner);
	int (*describe)(struct objects *objects, struct objects_state *ret_state);
	void (*close)(struct objects *objects);
};

/* The first member of what an implementation has. */
struct objects {
	const struct objects_ops *ops;
};

/* Takes NULL. */
void objects_close(struct objects *objects);

#ifdef __cplusplus
}
#endif
