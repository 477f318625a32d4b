/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clients.h - the addresses that sessions come from, or are said to come from.
 *
 * Flow: setup.c reads a file or a prefix -> trace.c takes one for each session.
 *
 * A file has an address on each line, alone or behind a tab as bench/trace-gen and real traces
 * have it ("time TAB address"); its lines are taken in order, round and round. Empty lines and
 * those that begin with # are passed over. Of a prefix every address is as likely as another.
 *
 * Neither: sessions have no address of their own.
 */

#include "lib/format/address.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A trace of two months has 10^5 lines; sixteen bytes each. */
#define CLIENTS_MAX (1u << 24)

struct clients {
	struct dnsblv6_addr *list; /* ours, or NULL */
	size_t count;
	struct dnsblv6_prefix prefix; /* when has_prefix */
	bool has_prefix;
};

/*
 * Reads path into *ret_clients, which ends with clients_close(). 0, -errno, or a status of
 * lib/format/status.h with the number of the line in *ret_line; DNSBLV6_EADDRESS in line 0 is a
 * file without addresses.
 */
int clients_open(const char *path, struct clients *ret_clients, size_t *ret_line);
void clients_close(struct clients *clients);

static inline bool clients_has_any(const struct clients *clients)
{
	return clients->count > 0 || clients->has_prefix;
}

/* Of session number, when there are any; high and low are 128 random bits. */
struct dnsblv6_addr clients_get(const struct clients *clients, uint64_t number, uint64_t high,
				uint64_t low);

#ifdef __cplusplus
}
#endif
