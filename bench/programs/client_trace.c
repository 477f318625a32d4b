/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * client_trace - the lookups of a trace through libdnsblv6, in the trace's own time.
 *
 *     client-trace [KEY=VALUE ...] <TRACE
 *
 * TRACE has a line "seconds TAB address" for each lookup, in order. KEY=VALUE are options of
 * the library. The clock that the library sees is that of the trace: days pass in seconds, and
 * TTLs expire as they would have; while it waits for an answer the time that really
 * passes is added. Between two lookups it gets the time that it asks for, as in an event loop.
 *
 * A line on standard output for each lookup, its verdict; then the counters of the library,
 * "# NAME VALUE".
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "client-lib/dnsblv6.h"

#define NS_PER_S      1000000000L
#define TIMEOUT_MS    10000
#define ATTEMPT_MS    4000 /* above attempt-timeout, below every other time of the library */
#define LINE_MAX_SIZE 256

static long offset_s; /* of the trace's clock before the machine's */

/* The linker has the library call the first for clock_gettime() (meson.build). */
int __wrap_clock_gettime(clockid_t id, struct timespec *ret_time);
int __real_clock_gettime(clockid_t id, struct timespec *ret_time);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret_time)
{
	int ret = __real_clock_gettime(id, ret_time);

	if (ret == 0 && id != CLOCK_REALTIME)
		ret_time->tv_sec += offset_s;
	return ret;
}

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "client-trace: %s: %s\n", what, why);
	return EX_DATAERR;
}

static struct dnsblv6 *start(int argc, char **argv)
{
	struct dnsblv6 *client = NULL;

	if (dnsblv6_new(&client) < 0)
		return NULL;
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value == NULL) {
			fail(argv[i], "not KEY=VALUE");
			goto failed;
		}
		*value++ = '\0';
		if (dnsblv6_set(client, argv[i], value) < 0) {
			fail(argv[i], dnsblv6_error(client));
			goto failed;
		}
	}
	if (dnsblv6_start(client) == 0)
		return client;
	fail("start", dnsblv6_error(client));
failed:
	dnsblv6_free(client);
	return NULL;
}

/*
 * What was begun in the background, such as prefetching, comes to its end: a clock that jumps would
 * be the end of it. While an answer is waited for, a time-out is near.
 */
static void settle(struct dnsblv6 *client)
{
	struct pollfd pollfd = { .fd = dnsblv6_fd(client), .events = POLLIN };
	int timeout_ms = 0;

	dnsblv6_process(client);
	while ((timeout_ms = dnsblv6_timeout_ms(client)) >= 0 && timeout_ms <= ATTEMPT_MS) {
		poll(&pollfd, 1, timeout_ms);
		dnsblv6_process(client);
	}
}

static int look_up(struct dnsblv6 *client, const char *text)
{
	struct dnsblv6_ip ip;
	struct dnsblv6_result result;

	if (dnsblv6_ip_parse(text, &ip) < 0)
		return fail(text, "not an address");
	int ret = dnsblv6_check(client, &ip, TIMEOUT_MS, &result);

	if (ret < 0)
		return fail(text, dnsblv6_strerror(ret));
	puts(dnsblv6_verdict_name(result.verdict));
	return 0;
}

static int replay(struct dnsblv6 *client)
{
	char line[LINE_MAX_SIZE];
	long first_s = -1;

	while (fgets(line, sizeof(line), stdin) != NULL) {
		char *address = strchr(line, '\t');

		if (address == NULL)
			return fail(line, "no \"seconds TAB address\"");
		*address++ = '\0';
		address[strcspn(address, "\r\n")] = '\0';
		long now_s = strtol(line, NULL, 10);

		if (first_s < 0)
			first_s = now_s;
		offset_s = now_s - first_s;
		dnsblv6_process(client);
		if (look_up(client, address) != 0)
			return EX_DATAERR;
		settle(client);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct dnsblv6 *client = start(argc, argv);
	const char *name;
	uint64_t value;

	if (client == NULL)
		return EX_CONFIG;
	int ret = replay(client);

	for (unsigned i = 0; dnsblv6_stat_get(client, i, &name, &value) == 0; i++)
		printf("# %s %llu\n", name, (unsigned long long)value);
	dnsblv6_free(client);
	return ret;
}
