/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * handle.h - a handle of libdnsblv6 out of a configuration file.
 *
 * Flow: the program's table, with handle_items in the section "library" -> lib/common/conf.c ->
 *       dnsblv6_set() for each item -> uvhandle.h starts it.
 *
 *     library:
 *         zones: [ bl6.example*2, "bl.example=127.0.0.[2..11]" ]
 *         threshold: 2
 *         servers: 127.0.0.1@53
 *
 * What an item may be is said by the library alone, which is asked at once: so that a
 * value it refuses is an error of that line. Items that are lists may also be one text.
 */

#include "client-lib/dnsblv6.h"
#include "lib/common/conf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HANDLE_LIST_MAX	  8192 /* bytes of a list's text */
#define HANDLE_REASON_MAX 256

enum {
	HANDLE_ZONES,		  /* index of that list, as HANDLE_SERVERS is */
	HANDLE_VERDICT_ITEMS = 4, /* what is asked and what follows; "mode" and "shared" are next */
	HANDLE_ASKING_ITEMS = 6,  /* those behind are how it is asked */
	HANDLE_SERVERS = HANDLE_ASKING_ITEMS, /* index of that list */
	HANDLE_LISTS_END = 9,		      /* no list is behind them */
	HANDLE_ITEMS = 23,
};

/*
 * Every option but "role", "kind" and "test-point", of a struct handle. A program that has zones of
 * its own takes those from HANDLE_VERDICT_ITEMS on, and dnsblv6-cached, which is the shared cache,
 * those from HANDLE_ASKING_ITEMS on.
 */
extern const struct conf_item handle_items[HANDLE_ITEMS];

struct handle {
	struct dnsblv6 *client; /* has all options that were taken, is not started */
	char lists[HANDLE_LISTS_END][HANDLE_LIST_MAX];
	char reason[HANDLE_REASON_MAX];
};

/* 0 or -ENOMEM. */
int handle_init(struct handle *ret_handle);
void handle_deinit(struct handle *handle);

/* An option that the program sets. NULL, or why not: borrowed until the next call. */
const char *handle_set(struct handle *handle, const char *key, const char *value);

/*
 * When all options were taken: is there one that does not go with another, so that dnsblv6_start()
 * would fail? 0 or a negative errno with *reterr_error.
 */
int handle_finish(const struct handle *handle, struct conf_error *reterr_error);

/* For dnsblv6_set_log(): context is a text, the program's name. */
void handle_log(void *context, int level, const char *line);

#ifdef __cplusplus
}
#endif
