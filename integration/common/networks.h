/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * networks.h - a set of networks: those that are not judged.
 *
 * Flow: a configuration file and a list of prefixes -> judge.c -> networks_contain().
 *
 * A file has one prefix or address on each line, of IPv4 or IPv6; what is behind '#' is
 * not read, nor are empty lines. It is taken whole or not at all.
 *
 *     # our own
 *     192.0.2.0/24
 *     2001:db8::/32        # the other office
 *
 * Lies in the memory of its owner; empty when it is zero. A search takes the logarithm of
 * the number of networks, does not write, and may be done by several threads.
 */

#include <stdbool.h>
#include <stddef.h>

#include "lib/common/conf.h"
#include "lib/format/address.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NETWORKS_FILE_MAX   (64 << 20) /* bytes: more is a mistake, not a list */
#define NETWORKS_LINE_MAX   1024
#define NETWORKS_REASON_MAX 512

struct networks {
	struct dnsblv6_prefix *prefixes;
	size_t count;
	size_t room;
};

/* A place in a file, and what is wrong there. */
struct networks_error {
	size_t line; /* 0: about the whole file */
	char reason[NETWORKS_REASON_MAX];
};

void networks_deinit(struct networks *networks);

/* NULL, or why not: static text. networks_sort() has to follow before the next search. */
const char *networks_add(struct networks *networks, const char *text, size_t text_size);
void networks_sort(struct networks *networks);
/* The same for a row of a configuration, whose member is a struct networks. */
const char *networks_take(void *member, const struct conf_value *value);
#define NETWORKS_ROW(name, type, member)                                                           \
	{                                                                                          \
		name, CONF_TEXT, CONF_AT(type, member), .max = NETWORKS_LINE_MAX,                  \
							.take = networks_take, .is_list = true     \
	}

/*
 * 0 with *ret_networks, sorted; -EINVAL, -ENOMEM or another -errno with *reterr_error. What
 * *ret_networks had before is not looked at.
 */
int networks_read(const char *path, struct networks *ret_networks,
		  struct networks_error *reterr_error);
/* The same from memory. */
int networks_parse(const char *text, size_t text_size, struct networks *ret_networks,
		   struct networks_error *reterr_error);

bool networks_contain(const struct networks *networks, struct dnsblv6_addr addr);

#ifdef __cplusplus
}
#endif
