/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tables.h - what is in the arrays of the program in the network driver, and when it changes.
 *
 * Flow: filler.c has the arrays and the settings -> tables_take_away(), tables_configure() -> for
 *       each version of a store fill.c says how many lines it needs -> tables_reserve() ->
 *       fill.c writes them -> tables_switch() -> once a second tables_renew().
 *
 *     struct tables tables;
 *     tables_init(&tables, &arrays);
 *     tables_take_away(&tables);
 *     if (tables_configure(&tables, &rules) == 0 && tables_reserve(&tables, 0, lines, &place) == 0) {
 *             // fill.c writes place.lines and place.version
 *             tables_renew(&tables, &now);
 *             tables_switch(&tables, 0, expires_s, &now);
 *     }
 *
 * The program reads while this writes, on other processors, and neither waits. It remembers
 * `changes` of the zone and of the config first, and drops what it made when they have moved at
 * the end. So this file alone knows the order in which things are written:
 *
 *     a switch       current, then changes, and only then may the old version be written over
 *     a taking away  until_ns = 0, then changes, and only then the same
 *     the config     until_ns = 0, then changes, then what is in it, then changes once more
 *
 * A zone has a place for two versions, and each of them a run of lines: the first gap that is
 * large enough. That of the version before is given back by the switch, so memory needs room for
 * the current versions and one that is being written.
 *
 * The arrays are the caller's: maps that it has mapped, or plain memory. Time comes in. No
 * function here allocates, logs, waits or makes a system call. One process writes at a time.
 */

#include "lib/format/address.h"
#include "server/askers/cookie.h"
#include "server/xdp-kernel/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The arrays of layout.h; borrowed. */
struct tables_arrays {
	struct xdp_config *config;
	struct xdp_zone *zones;	   /* XDP_ZONES_MAX */
	struct xdp_line *lines;	   /* line_count */
	struct xdp_counts *counts; /* processor_count times XDP_ZONES_MAX + 1; NULL: none */
	uint32_t line_count;
	unsigned processor_count;
};

struct tables_run {
	uint32_t first;
	uint32_t count; /* 0: there is none */
};

struct tables_zone {
	bool is_filled;		   /* what is current may be answered from */
	uint64_t expires_s;	   /* Unix time, of what is current; 0: never */
	struct tables_run runs[2]; /* of its versions */
};

struct tables {
	struct tables_arrays arrays;
	bool is_configured;
	struct tables_zone zones[XDP_ZONES_MAX];
};

struct tables_time {
	uint64_t now_ns; /* of CLOCK_MONOTONIC, as the program reads it */
	uint64_t now_s;	 /* Unix time */
	uint64_t lease_ns;
};

/* A name that the server answers under. */
struct tables_face {
	const uint8_t *name; /* lower case, with the root label */
	size_t name_size;
	unsigned zone; /* XDP_ZONES_MAX: questions for it go on to the sockets */
};

/* What the program goes by besides zones. Everything is borrowed for the call. */
struct tables_rules {
	const struct tables_face *faces; /* all of the server's, in any order */
	size_t face_count;
	/* Where questions come to: the caller puts those of the interfaces in place of a wildcard. */
	const struct sockaddr_storage *addresses;
	size_t address_count;
	const struct xdp_link *links;
	size_t link_count;
	const struct dnsblv6_prefix *unlimited; /* clients without a rate limit */
	size_t unlimited_count;
	uint16_t payload;
	unsigned rate; /* answers a second to a network; 0: no limit */
	unsigned slip;
	bool has_cookies;
	const struct cookie_secrets *secrets; /* with has_cookies; or NULL */
};

/* As if nothing were in the arrays: whatever lies there is not known, and not touched. */
void tables_init(struct tables *tables, const struct tables_arrays *arrays);

/*
 * From when this returns no answer is made before tables_configure() and tables_switch(), and
 * what is being made is dropped. Also of arrays that another process has filled.
 */
void tables_take_away(struct tables *tables);

/*
 * The same until the next tables_renew(), from a process beside the one that writes: the parent's,
 * when another generation serves.
 */
void tables_silence(const struct tables_arrays *arrays);

/*
 * Writes rules into the config, whose lease begins with tables_renew(). 0; or -ENOSPC when there
 * are more faces, addresses or interfaces than the config has room for, and then nothing was
 * changed. A face for the sockets that no zone here lies above needs no room.
 */
int tables_configure(struct tables *tables, const struct tables_rules *rules);

/* Where a version of a zone is to be written. */
struct tables_place {
	struct xdp_version *version;
	struct xdp_line *lines; /* of this version, from its first_line on */
	uint32_t first_line;
};

/*
 * A run of line_count lines beside what is current in the zone, for fill.c. What was reserved for
 * the zone before and not switched to is given up. -ENOSPC when there is no gap of that size:
 * with tables_remove() the zone itself can be taken away, to try once more.
 */
int tables_reserve(struct tables *tables, unsigned zone, uint32_t line_count,
		   struct tables_place *ret_place);

/*
 * What was reserved and is written becomes current, with a lease. expires_s is Unix time, as facts
 * have it; 0: never.
 */
void tables_switch(struct tables *tables, unsigned zone, uint64_t expires_s,
		   const struct tables_time *time);

/* The zone goes to the sockets from now on, and its lines are free. */
void tables_remove(struct tables *tables, unsigned zone);

/* Every lease from now on; none is beyond what expires. */
void tables_renew(struct tables *tables, const struct tables_time *time);

/* Lines in which a version is or is to be. */
uint32_t tables_used_lines(const struct tables *tables);

/* Of all processors. zone XDP_ZONES_MAX: of what has no zone, as struct xdp_other_counts. */
struct xdp_counts tables_sum_counts(const struct tables_arrays *arrays, unsigned zone);

/* "memory 256M holds 470000 signed or 1860000 unsigned names". Returns the size of the text. */
#define TABLES_TEXT_SIZE 128
size_t tables_describe(uint64_t size_bytes, char *ret_text);

#ifdef __cplusplus
}
#endif
