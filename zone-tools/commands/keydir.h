/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keydir.h - --keys and what belongs to it, for build, update, sign and roll: keys in a directory
 *            that follow each other by themselves.
 *
 * Flow: the rows of a command -> keydir_open() reads the store's state and the keys ->
 *       keydir_plan() makes the steps that are due, or one by hand, in memory -> keydir_settle(), or
 *       resign.h or builder.h with the keyset of keydir_fill(), writes the state with the zone ->
 *       keydir_close() tells of the steps, and removes keys and files that are left over.
 *
 * A new key's file is written before the store, and taken away again when the store is not, but for
 * the first one, which the next build takes. What is wrong with a key that the zone can do without, with
 * the directory or with a parent is one warning, and no step.
 */

#include "zone-tools/chain/resign.h"
#include "zone-tools/commands/keyfiles.h"
#include "zone-tools/keys/keyring.h"
#include "zone-tools/reading/keystate.h"

#include "lib/common/options.h"

#include <sys/socket.h>

#define KEYDIR_PARENTS_MAX 8

#define KEYDIR_PROPAGATION_S 3600 /* by default */

struct keydir_parent {
	const char *text; /* as given; borrowed */
	struct sockaddr_storage address;
};

struct keydir {
	const char *directory; /* NULL: none was given, and nothing here does anything */
	struct rollover_policy policy;
	struct keydir_parent parents[KEYDIR_PARENTS_MAX];
	size_t parent_count;
	bool has_every; /* on the command line; else the store may remember it */
	bool has_algorithm;
	bool has_propagation;
	bool has_parents;

	/* Ours, from keydir_open() to keydir_close(). */
	const char *store;
	uint64_t now_s;
	struct dnsblv6_labels zone;
	struct keystate state;
	struct rollover before;
	struct rollover rollover;		 /* as it is to be */
	struct key *keys[ROLLOVER_KEYS_MAX + 1]; /* those at hand */
	size_t key_count;
	enum rollover_step steps[4]; /* made in memory */
	size_t step_count;
	/* Of a key made in this run that goes when it fails; empty: none. */
	char made_path[KEYRING_PATH_MAX];
	struct store_settings *recalled;
};

void keydir_init(struct keydir *dir);

/* For rows, whose member is a struct keydir. NULL, or what is wrong. */
const char *keydir_take_directory(void *member, const char *argument);
const char *keydir_take_every(void *member, const char *argument);
const char *keydir_take_algorithm(void *member, const char *argument);
const char *keydir_take_propagation(void *member, const char *argument);
const char *keydir_take_parent(void *member, const char *argument);

/* Why the options do not go together; NULL when they do. */
const char *keydir_find_conflict(const struct keydir *dir, const struct keyfiles *files);

/*
 * Reads the state and the keys. zone is that of a store that is to be made, or NULL: then there must be one.
 * What was not given of the policy is what the store remembers, with recalls. EX_OK, or
 * what to exit with, after a line that says why.
 */
int keydir_open(struct keydir *dir, const char *store, const struct dnsblv6_labels *zone,
		bool recalls, uint64_t now_s);

/*
 * Makes the steps that are due, and with ROLLOVER_NONE nothing else; or the one that is wanted. Asks
 * the parents with asks_parents if one is awaited. As keydir_open().
 */
int keydir_plan(struct keydir *dir, enum rollover_step wanted, bool asks_parents);

/*
 * Writes steps into a store that is there, with set, in a transaction of their own, and reads what
 * it says then. how has the lifetime and what is said about the clock. As keydir_open().
 */
int keydir_settle(struct keydir *dir, struct keyset *set, const struct resign_job *how);

/* The keys in their roles. As keydir_open(). */
int keydir_fill(const struct keydir *dir, struct keyset *set);

/* is_written: the store has what was planned. Then the steps are told. Takes one that is not open. */
void keydir_close(struct keydir *dir, bool is_written);

#define ROWS_KEYDIR(type, member)                                                                  \
	{ { 0, "keys", "DIR", "sign with keys in this directory that follow each other" },         \
	  OPTIONS_AT(type, member),                                                                \
	  .take = keydir_take_directory },                                                         \
		{ { 0, "roll-every", "TIME",                                                       \
		    "a key is followed by another after that (0: never)" },                        \
		  OPTIONS_AT(type, member),                                                        \
		  .take = keydir_take_every,                                                       \
		  .is_remembered = true },                                                         \
		{ { 0, "algorithm", "WORD", "of new keys: ecdsap256sha256 or ed25519" },           \
		  OPTIONS_AT(type, member),                                                        \
		  .take = keydir_take_algorithm,                                                   \
		  .is_remembered = true },                                                         \
		{ { 0, "propagation", "TIME", "until all servers have a change (1h)" },            \
		  OPTIONS_AT(type, member),                                                        \
		  .take = keydir_take_propagation,                                                 \
		  .is_remembered = true },                                                         \
	{                                                                                          \
		{ 0, "parent", "ADDRESS[@PORT]",                                                   \
		  "server that is asked for the DS; may be repeated" },                            \
			OPTIONS_AT(type, member), .take = keydir_take_parent, .is_repeated = true, \
						  .is_remembered = true                            \
	}
