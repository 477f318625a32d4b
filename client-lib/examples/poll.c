/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * poll.c - many questions at once in a loop around poll(), which every system has.
 *
 *     cc poll.c $(pkg-config --cflags --libs dnsblv6) -o poll
 *     ./poll 'bl6.example bl.example' 192.0.2.66 2001:db8::1
 *
 * DNSBLV6_SERVERS, when it is set, names resolvers in the place of resolv.conf's.
 */
#include <dnsblv6.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define TIMEOUT_MS 2000

static int open_count;

static void on_verdict(void *address, const struct dnsblv6_result *result)
{
	printf("%s: %s, score %d\n", (const char *)address, dnsblv6_verdict_name(result->verdict),
	       (int)result->score);
	open_count--;
}

static void submit(struct dnsblv6 *client, char *address)
{
	struct dnsblv6_ip ip;
	int ret = dnsblv6_ip_parse(address, &ip);

	if (ret == 0)
		ret = dnsblv6_submit(client, &ip, 0, TIMEOUT_MS, on_verdict, address, NULL);
	if (ret == 0)
		open_count++;
	else
		fprintf(stderr, "%s: %s\n", address, dnsblv6_strerror(ret));
}

static int loop(struct dnsblv6 *client)
{
	while (open_count > 0) {
		/* Other descriptors of the program stand beside it. After fork() it is another one.
		 */
		struct pollfd fds[] = { { .fd = dnsblv6_fd(client), .events = POLLIN } };

		if (poll(fds, 1, dnsblv6_timeout_ms(client)) < 0 && errno != EINTR)
			return 71;
		dnsblv6_process(client);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct dnsblv6 *client = NULL;
	const char *servers = getenv("DNSBLV6_SERVERS");
	int ret = 78;

	if (argc < 3) {
		fprintf(stderr, "usage: %s ZONES ADDRESS ...\n", argv[0]);
		return 64;
	}
	if (dnsblv6_new(&client) < 0)
		return 71;
	if (dnsblv6_set(client, "zones", argv[1]) < 0 ||
	    (servers != NULL && dnsblv6_set(client, "servers", servers) < 0) ||
	    dnsblv6_start(client) < 0) {
		fprintf(stderr, "%s\n", dnsblv6_error(client));
	} else {
		for (int i = 2; i < argc; i++)
			submit(client, argv[i]);
		ret = loop(client);
	}
	dnsblv6_free(client);
	return ret;
}
