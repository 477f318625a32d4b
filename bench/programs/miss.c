/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * miss - how long a look-up takes that no cache of ours can answer.
 *
 *     miss RESOLVER ZONE DIRECTORY FIRST BLOCKS
 *
 * RESOLVER is ADDRESS@PORT of a resolver that dnsblv6-cached asks too, whose directory is
 * DIRECTORY. From the IPv4 address FIRST on, each of so many /25s has a bitmap in ZONE. Prints
 * lines "name<TAB>number": microseconds, medians over all blocks, of
 *
 *     bare      send(), poll() and recv() of the same question on a socket that stays connected
 *     daemon    dnsblv6_check() by way of dnsblv6-cached
 *     own       dnsblv6_check() of a handle without it, which asks by itself
 *
 * The bare question comes first, unmeasured, so that the resolver has the answer. Then all three
 * have their turn at the block, in an order that changes.
 */

#include "client-lib/dnsblv6.h"
#include "client-lib/base/message.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>

enum { BLOCKS_MAX = 1000000, WAIT_MS = 5000, TEXT_SIZE = 300, WAYS = 3, PACKET_SIZE = 4096 };

struct run {
	const char *zone;
	int fd;
	struct dnsblv6 *daemon, *own;
	uint32_t first;
};

static void check(int is_fine, const char *what)
{
	if (is_fine)
		return;
	fprintf(stderr, "miss: %s\n", what);
	exit(EX_UNAVAILABLE);
}

static double clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* ---- the ways to ask ---- */

static int open_socket(const char *resolver)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	char text[TEXT_SIZE];

	snprintf(text, sizeof(text), "%s", resolver);
	char *at = strchr(text, '@');
	check(at != NULL, "RESOLVER is ADDRESS@PORT");
	*at = '\0';
	address.sin_port = htons((uint16_t)atoi(at + 1));
	check(inet_pton(AF_INET, text, &address.sin_addr) == 1, "RESOLVER has no IPv4 address");
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0,
	      "no socket");
	return fd;
}

static struct dnsblv6 *make_handle(const char *resolver, const char *zone, const char *directory)
{
	struct dnsblv6 *client = NULL;

	check(dnsblv6_new(&client) == 0 && dnsblv6_set(client, "zones", zone) == 0 &&
		      dnsblv6_set(client, "servers", resolver) == 0 &&
		      dnsblv6_set(client, "shared", directory) == 0 &&
		      dnsblv6_set(client, "cache-size", "64M") == 0 &&
		      dnsblv6_set(client, "ranges", "no") == 0 && dnsblv6_start(client) == 0,
	      "no handle");
	return client;
}

static struct dnsblv6_ip address_of(const struct run *run, unsigned block)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(run->first + block * 128) };
	struct dnsblv6_ip ip;

	check(dnsblv6_ip_from_sockaddr((struct sockaddr *)&address, &ip) == 0, "no address");
	return ip;
}

static void ask_bare(const struct run *run, unsigned block)
{
	struct dnsblv6_ip ip = address_of(run, block);
	struct message_question question = { .type = MESSAGE_AAAA, .id = (uint16_t)block };
	struct pollfd polled = { .fd = run->fd, .events = POLLIN };
	uint8_t packet[PACKET_SIZE];
	char text[TEXT_SIZE];

	check(dnsblv6_qname(&ip, "dotted", run->zone, text, sizeof(text)) > 0 &&
		      dnsblv6_name_from_text(text, &question.name) == DNSBLV6_OK,
	      "no name");
	size_t size = message_make(&question, packet);
	check(send(run->fd, packet, size, 0) == (ssize_t)size, "cannot send");
	check(poll(&polled, 1, WAIT_MS) == 1, "the resolver is silent");
	ssize_t got = recv(run->fd, packet, sizeof(packet), 0);
	check(got > 12 && packet[0] == question.id >> 8 && packet[1] == (question.id & 255) &&
		      (packet[3] & 15) == 0 && packet[7] == 1,
	      "the resolver has no bitmap");
}

static void ask_handle(struct dnsblv6 *client, struct dnsblv6_ip ip)
{
	struct dnsblv6_result result;

	check(dnsblv6_check(client, &ip, WAIT_MS, &result) == 0 && result.zones_answered == 1,
	      "a handle has no answer");
}

static double ask(const struct run *run, unsigned way, unsigned block)
{
	struct dnsblv6_ip ip = address_of(run, block);
	double begin_us = clock_us();

	if (way == 0)
		ask_bare(run, block);
	else
		ask_handle(way == 1 ? run->daemon : run->own, ip);
	return clock_us() - begin_us;
}

/* ---- medians ---- */

static int compare_times(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

static uint64_t stat_of(struct dnsblv6 *client, const char *name)
{
	const char *found;
	uint64_t value;

	for (unsigned i = 0; dnsblv6_stat_get(client, i, &found, &value) == 0; i++) {
		if (strcmp(found, name) == 0)
			return value;
	}
	return 0;
}

static void measure(const struct run *run, unsigned blocks)
{
	static const char *const names[WAYS] = { "bare", "daemon", "own" };
	double *times = calloc((size_t)blocks * WAYS, sizeof(*times));

	check(times != NULL, "no memory");
	for (unsigned block = 0; block < blocks; block++) {
		ask_bare(run, block);
		for (unsigned i = 0; i < WAYS; i++) {
			unsigned way = (block + i) % WAYS;
			times[way * blocks + block] = ask(run, way, block);
		}
	}
	for (unsigned way = 0; way < WAYS; way++) {
		qsort(times + (size_t)way * blocks, blocks, sizeof(*times), compare_times);
		printf("%s\t%.2f\n", names[way], times[(size_t)way * blocks + blocks / 2]);
	}
	free(times);
}

int main(int argc, char **argv)
{
	struct in_addr first;
	struct run run;

	if (argc != 6 || inet_pton(AF_INET, argv[4], &first) != 1) {
		fprintf(stderr, "miss: see the head of bench/programs/miss.c for its words\n");
		return EX_USAGE;
	}
	unsigned blocks = (unsigned)atoi(argv[5]);
	check(blocks > 0 && blocks < BLOCKS_MAX, "BLOCKS is 1 to 999999");
	run.zone = argv[2];
	run.first = ntohl(first.s_addr);
	run.fd = open_socket(argv[1]);
	run.daemon = make_handle(argv[1], argv[2], argv[3]);
	run.own = make_handle(argv[1], argv[2], "");
	/* What is asked once for each zone, and not for each block. */
	check(dnsblv6_probe(run.own, WAIT_MS * 2) == 1, "the zone is ill");
	ask_handle(run.daemon, address_of(&run, blocks));

	measure(&run, blocks);
	/* Each block was one question to the daemon, and none went past it. */
	check(stat_of(run.daemon, "daemon-answered") >= blocks &&
		      stat_of(run.daemon, "fetches") == 0,
	      "dnsblv6-cached did not answer");
	dnsblv6_free(run.daemon);
	dnsblv6_free(run.own);
	return EX_OK;
}
