/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * lists.h - the options whose value is a list: zones, mode, on-failure, secure, kind, test-point,
 * servers, trusted.
 *
 * Flow: config.c's table -> here -> sites.c, servers.c -> struct config
 *
 * Each takes a whole value or nothing of it. NULL, or why not: static text, with
 * *ret_word the word that is meant. No function here allocates or locks.
 */

#include "client-lib/config/config.h"
#include "client-lib/config/words.h"

const char *lists_set_zones(struct config *config, const char *value, struct word *ret_word);
const char *lists_set_servers(struct config *config, const char *value, struct word *ret_word);
const char *lists_set_trusted(struct config *config, const char *value, struct word *ret_word);
/* One that may be set for one zone, too. */
const char *lists_set_trait(struct config *config, enum config_trait trait, const char *value,
			    struct word *ret_word);

/* A name, or an IPv4 address, which is asked reversed: its labels. */
bool lists_parse_point(const char *text, size_t size, struct dnsblv6_labels *ret_point);

/* Index of the zone or policy of that name, or the count of them. */
unsigned lists_find_zone(const struct config *config, const char *text);
unsigned lists_find_policy(const struct config *config, const char *text);
/* The entries whose zone has that name, or that have it for a label, as a set; 0: none. */
uint64_t lists_find_entries(const struct config *config, struct word name);
