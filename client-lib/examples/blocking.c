/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blocking.c - asks and waits, as a program does that has a process for each client.
 *
 *     cc blocking.c $(pkg-config --cflags --libs dnsblv6) -o blocking
 *     ./blocking 'bl6.example*2 bl.example=127.0.0.[2..11]' 192.0.2.66 2001:db8::1
 *
 * DNSBLV6_SERVERS, when it is set, names resolvers in the place of resolv.conf's.
 */
#include <dnsblv6.h>
#include <stdio.h>
#include <stdlib.h>

#define TIMEOUT_MS 2000

/* What a mail server would do with the verdict. */
static void decide(struct dnsblv6 *client, const char *address)
{
	struct dnsblv6_ip ip;
	struct dnsblv6_result result;
	char reason[256];

	if (dnsblv6_ip_parse(address, &ip) < 0) {
		fprintf(stderr, "%s: not an address\n", address);
		return;
	}
	int ret = dnsblv6_check(client, &ip, TIMEOUT_MS, &result);
	if (ret < 0) {
		fprintf(stderr, "%s: %s\n", address, dnsblv6_strerror(ret));
		return;
	}
	switch (result.verdict) {
	case DNSBLV6_LISTED:
		if (dnsblv6_reason(client, &ip, &result, TIMEOUT_MS, reason, sizeof(reason)) < 0)
			reason[0] = '\0';
		printf("554 5.7.1 %s\n", reason);
		break;
	case DNSBLV6_DEFER:
		printf("451 4.7.1 %s: try again\n", address);
		break;
	default: /* clear, or unknown: an outage of ours is not the client's fault */
		printf("220 %s is welcome, score %d\n", address, (int)result.score);
	}
}

int main(int argc, char **argv)
{
	struct dnsblv6 *client = NULL;
	const char *servers = getenv("DNSBLV6_SERVERS");

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
		dnsblv6_free(client);
		return 78;
	}
	for (int i = 2; i < argc; i++)
		decide(client, argv[i]);
	dnsblv6_free(client);
	return 0;
}
