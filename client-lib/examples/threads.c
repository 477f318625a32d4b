/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c - a thread for each session, all with one handle.
 *
 *     cc threads.c $(pkg-config --cflags --libs dnsblv6) -pthread -o threads
 *     ./threads 'bl6.example bl.example' 192.0.2.66 2001:db8::1
 *
 * Out of the cache a verdict takes no lock. Threads that wait for DNS do so together: questions
 * about the same block are asked once.
 * DNSBLV6_SERVERS, when it is set, names resolvers in the place of resolv.conf's.
 */
#include <dnsblv6.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TIMEOUT_MS 2000

static struct dnsblv6 *client; /* made before the threads, ended after them */

static void *serve(void *address)
{
	struct dnsblv6_ip ip;
	struct dnsblv6_result result;
	int ret = dnsblv6_ip_parse(address, &ip);

	if (ret == 0)
		ret = dnsblv6_check(client, &ip, TIMEOUT_MS, &result);
	if (ret == 0)
		printf("%s: %s, score %d\n", (const char *)address,
		       dnsblv6_verdict_name(result.verdict), (int)result.score);
	else
		fprintf(stderr, "%s: %s\n", (const char *)address, dnsblv6_strerror(ret));
	return NULL;
}

static int run(char **addresses, int count)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	int started = 0;

	if (threads == NULL)
		return 71;
	while (started < count &&
	       pthread_create(&threads[started], NULL, serve, addresses[started]) == 0)
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return started == count ? 0 : 71;
}

int main(int argc, char **argv)
{
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
	    dnsblv6_start(client) < 0)
		fprintf(stderr, "%s\n", dnsblv6_error(client));
	else
		ret = run(argv + 2, argc - 2);
	dnsblv6_free(client);
	return ret;
}
