/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * talkers.h - which networks ask most, in memory that does not grow.
 *
 * Flow: parent.c makes a bank in shared memory for each generation of workers
 *       -> answer.c counts each query's client in its worker's table ->
 *       parent.c puts the tables together for dnsblv6ctl top.
 *
 * A table is Space-Saving (Metwally, Agrawal, El Abbadi, 2005) in many small
 * sets instead of one long list: the prefix of a client names the set, whose
 * eight places are two lines of a cache. A prefix that has no place takes the
 * one that was counted least, with its count, which from then on is also its
 * error. So for every prefix that is in a table
 *
 *     count - error <= what it asked <= count
 *
 * and one that asked more than an eighth of the queries of its set has a place.
 * Which set that is depends on a seed that clients do not know.
 *
 * A table has one writer, its worker; the parent reads without a lock. A place
 * that is taken over meanwhile has the same count under either name. Nothing
 * here allocates but what says so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TALKERS_SET_PLACES 8
#define TALKERS_PLACES_MAX 65536
/* Beside the bits of a prefix stands its family, in the uppermost byte. */
#define TALKERS_IPV6_LENGTH_MAX 56

struct talkers_set {
	uint64_t keys[TALKERS_SET_PLACES]; /* 0: free; behind it all are */
	uint64_t counts[TALKERS_SET_PLACES];
	uint64_t errors[TALKERS_SET_PLACES];
};

/* What tables must have in common to be put together. */
struct talkers_shape {
	size_t place_count; /* 0: nothing is counted. Rounded up to a power of two */
	unsigned ipv4_length;
	unsigned ipv6_length;
	uint64_t seed;
};

struct talkers {
	struct talkers_set *sets; /* NULL: nothing is counted */
	size_t set_mask;
	struct talkers_shape shape;
};

struct talkers_bank {
	void *memory; /* shared with the workers */
	size_t size_bytes;
	struct talkers_shape shape;
};

/* 0 or -errno. */
int talkers_open(struct talkers_bank *bank, size_t worker_count, const struct talkers_shape *shape);
/* Takes a bank that is all zero. */
void talkers_close(struct talkers_bank *bank);
/* The table of a worker. Borrowed until talkers_close(). */
struct talkers talkers_of_worker(const struct talkers_bank *bank, size_t worker);
bool talkers_is_alike(const struct talkers_shape *a, const struct talkers_shape *b);

/* One query of client, which may be NULL or of another family: then nothing happens. */
void talkers_count(const struct talkers *talkers, const struct sockaddr *client);

struct talkers_row {
	uint64_t key;
	uint64_t count;
	uint64_t error;
};

/*
 * The row_max prefixes that asked most in all tables together, the greatest
 * first. The tables are alike. Allocates meanwhile; 0 or -ENOMEM.
 */
int talkers_find_top(const struct talkers *tables, size_t table_count, struct talkers_row *ret_rows,
		     size_t row_max, size_t *ret_count);
/* Puts what tables have into sum, which is one of them. 0 or -ENOMEM. */
int talkers_merge(const struct talkers *sum, const struct talkers *tables, size_t table_count);

/* "192.0.2.0/24" */
#define TALKERS_TEXT_MAX 64
void talkers_format(const struct talkers_shape *shape, uint64_t key, char *ret_text);

#ifdef __cplusplus
}
#endif
