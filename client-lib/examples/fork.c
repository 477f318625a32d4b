/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork.c - a process for each session, as Exim and many others have it.
 *
 *     cc fork.c $(pkg-config --cflags --libs dnsblv6) -o fork
 *     ./fork 'bl6.example bl.example' 192.0.2.66 2001:db8::1
 *
 * The handle is started before the first fork(), so that all processes share one cache: what one
 * child has asked the next one knows. Each child ends its own handle.
 * DNSBLV6_SERVERS, when it is set, names resolvers in the place of resolv.conf's.
 */
#include <dnsblv6.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_MS 2000

/* The child's whole life. */
static int serve(struct dnsblv6 *client, const char *address)
{
	struct dnsblv6_ip ip;
	struct dnsblv6_result result;
	int ret = dnsblv6_ip_parse(address, &ip);

	if (ret == 0)
		ret = dnsblv6_check(client, &ip, TIMEOUT_MS, &result);
	if (ret == 0)
		printf("%s: %s, score %d\n", address, dnsblv6_verdict_name(result.verdict),
		       (int)result.score);
	else
		fprintf(stderr, "%s: %s\n", address, dnsblv6_strerror(ret));
	dnsblv6_free(client);
	return ret == 0 ? 0 : 1;
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
	for (int i = 2; i < argc; i++) {
		pid_t child = fork();

		if (child == 0)
			exit(serve(client, argv[i]));
		if (child < 0)
			perror("fork");
	}
	while (wait(NULL) > 0)
		;
	dnsblv6_free(client);
	return 0;
}
