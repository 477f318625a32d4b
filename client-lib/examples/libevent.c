/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libevent.c - the same in the loop of libevent: one event for a descriptor and a time.
 *
 *     cc libevent.c $(pkg-config --cflags --libs dnsblv6 libevent) -o libevent
 *     ./libevent 'bl6.example bl.example' 192.0.2.66 2001:db8::1
 *
 * DNSBLV6_SERVERS, when it is set, names resolvers in the place of resolv.conf's.
 */
#include <dnsblv6.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#define TIMEOUT_MS 2000

/* The library in a loop. */
struct asker {
	struct dnsblv6 *client;
	struct event_base *base;
	struct event *event;
	int open_count;
};

struct session {
	const char *address;
	struct asker *asker;
};

/* After each call that may change the time: submit, cancel, process. */
static void arm(struct asker *asker)
{
	int timeout_ms = dnsblv6_timeout_ms(asker->client);
	struct timeval time = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };

	event_add(asker->event, timeout_ms < 0 ? NULL : &time);
}

static void on_event(evutil_socket_t fd, short what, void *context)
{
	struct asker *asker = context;

	(void)fd;
	(void)what;
	dnsblv6_process(asker->client);
	/* Nothing is left to do; a server would go on. */
	if (asker->open_count == 0)
		event_base_loopbreak(asker->base);
	else
		arm(asker);
}

static void on_verdict(void *context, const struct dnsblv6_result *result)
{
	struct session *session = context;

	printf("%s: %s, score %d\n", session->address, dnsblv6_verdict_name(result->verdict),
	       (int)result->score);
	session->asker->open_count--;
}

static void submit(struct session *session)
{
	struct dnsblv6_ip ip;
	int ret = dnsblv6_ip_parse(session->address, &ip);

	if (ret == 0)
		ret = dnsblv6_submit(session->asker->client, &ip, 0, TIMEOUT_MS, on_verdict,
				     session, NULL);
	if (ret == 0)
		session->asker->open_count++;
	else
		fprintf(stderr, "%s: %s\n", session->address, dnsblv6_strerror(ret));
}

static int run(struct asker *asker, char **addresses, int count)
{
	struct session *sessions = calloc((size_t)count, sizeof(*sessions));

	asker->base = event_base_new();
	if (sessions == NULL || asker->base == NULL)
		return 71;
	asker->event = event_new(asker->base, dnsblv6_fd(asker->client), EV_READ, on_event, asker);
	if (asker->event == NULL)
		return 71;
	for (int i = 0; i < count; i++) {
		sessions[i] = (struct session){ addresses[i], asker };
		submit(&sessions[i]);
	}
	if (asker->open_count > 0) {
		arm(asker);
		event_base_dispatch(asker->base);
	}
	event_free(asker->event);
	event_base_free(asker->base);
	free(sessions);
	return 0;
}

int main(int argc, char **argv)
{
	struct asker asker = { .client = NULL };
	const char *servers = getenv("DNSBLV6_SERVERS");
	int ret = 78;

	if (argc < 3) {
		fprintf(stderr, "usage: %s ZONES ADDRESS ...\n", argv[0]);
		return 64;
	}
	if (dnsblv6_new(&asker.client) < 0)
		return 71;
	if (dnsblv6_set(asker.client, "zones", argv[1]) < 0 ||
	    (servers != NULL && dnsblv6_set(asker.client, "servers", servers) < 0) ||
	    dnsblv6_start(asker.client) < 0)
		fprintf(stderr, "%s\n", dnsblv6_error(asker.client));
	else
		ret = run(&asker, argv + 2, argc - 2);
	dnsblv6_free(asker.client);
	return ret;
}
