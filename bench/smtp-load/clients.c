/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/smtp-load/clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE 256 /* with room for a time before the address */

static int add(struct clients *clients, struct dnsblv6_addr addr)
{
	size_t count = clients->count;
	if (count == CLIENTS_MAX)
		return -E2BIG;
	/* As often as its size doubles. */
	if ((count & (count - 1)) == 0) {
		size_t size = (count == 0 ? 1 : count * 2) * sizeof(addr);
		struct dnsblv6_addr *list = realloc(clients->list, size);
		if (list == NULL)
			return -ENOMEM;
		clients->list = list;
	}
	clients->list[clients->count++] = addr;
	return 0;
}

static int add_line(struct clients *clients, const char *line)
{
	size_t size = strcspn(line, "\r\n");
	if (size == 0 || line[0] == '#')
		return 0;
	const char *tab = memchr(line, '\t', size);
	const char *text = tab != NULL ? tab + 1 : line;
	struct dnsblv6_addr addr;
	int ret = dnsblv6_addr_parse(text, size - (size_t)(text - line), &addr);
	return ret < 0 ? ret : add(clients, addr);
}

static int read_lines(struct clients *clients, FILE *file, size_t *ret_line)
{
	char line[LINE_SIZE];
	for (size_t number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
		int ret = add_line(clients, line);
		if (ret < 0) {
			*ret_line = number;
			return ret;
		}
	}
	*ret_line = 0;
	if (ferror(file))
		return -EIO;
	return clients->count > 0 ? 0 : DNSBLV6_EADDRESS;
}

int clients_open(const char *path, struct clients *ret_clients, size_t *ret_line)
{
	struct clients clients = { .list = NULL };
	*ret_line = 0;
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return -errno;
	int ret = read_lines(&clients, file, ret_line);
	fclose(file);
	if (ret < 0)
		clients_close(&clients);
	else
		*ret_clients = clients;
	return ret;
}

void clients_close(struct clients *clients)
{
	free(clients->list);
	clients->list = NULL;
	clients->count = 0;
}

struct dnsblv6_addr clients_get(const struct clients *clients, uint64_t number, uint64_t high,
				uint64_t low)
{
	if (clients->count > 0)
		return clients->list[number % clients->count];
	struct dnsblv6_addr first = clients->prefix.first;
	struct dnsblv6_addr last = dnsblv6_prefix_last(clients->prefix);
	/* The bits in which they differ are those of hosts. */
	return (struct dnsblv6_addr){ first.hi | (high & (first.hi ^ last.hi)),
				      first.lo | (low & (first.lo ^ last.lo)) };
}
