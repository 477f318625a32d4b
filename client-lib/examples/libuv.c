/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libuv.c - the same in the loop of libuv: a uv_poll_t and a uv_timer_t.
 *
 *     cc libuv.c $(pkg-config --cflags --libs dnsblv6 libuv) -o libuv
 *     ./libuv 'bl6.example bl.example' 192.0.2.66 2001:db8::1
 *
 * DNSBLV6_SERVERS, when it is set, names resolvers in the place of resolv.conf's.
 */
#include <dnsblv6.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#define TIMEOUT_MS 2000

/* The library in a loop. */
struct asker {
	struct dnsblv6 *client;
	uv_poll_t poll;
	uv_timer_t timer;
	int open_count;
};

struct session {
	const char *address;
	struct asker *asker;
};

static void on_event(struct asker *asker);

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	on_event(poll->data);
}

static void on_timer(uv_timer_t *timer)
{
	on_event(timer->data);
}

/* After each call that may change it: submit, cancel, process. */
static void arm(struct asker *asker)
{
	int timeout_ms = dnsblv6_timeout_ms(asker->client);

	if (timeout_ms < 0)
		uv_timer_stop(&asker->timer);
	else
		uv_timer_start(&asker->timer, on_timer, (uint64_t)timeout_ms, 0);
}

static void on_event(struct asker *asker)
{
	dnsblv6_process(asker->client);
	if (asker->open_count > 0) {
		arm(asker);
		return;
	}
	/* Nothing is left to do; a server would go on. */
	uv_close((uv_handle_t *)&asker->poll, NULL);
	uv_close((uv_handle_t *)&asker->timer, NULL);
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
	struct asker *asker = session->asker;
	struct dnsblv6_ip ip;
	int ret = dnsblv6_ip_parse(session->address, &ip);

	if (ret == 0)
		ret = dnsblv6_submit(asker->client, &ip, 0, TIMEOUT_MS, on_verdict, session, NULL);
	if (ret == 0)
		asker->open_count++;
	else
		fprintf(stderr, "%s: %s\n", session->address, dnsblv6_strerror(ret));
}

static int run(struct asker *asker, char **addresses, int count)
{
	uv_loop_t *loop = uv_default_loop();
	struct session *sessions = calloc((size_t)count, sizeof(*sessions));

	if (sessions == NULL || uv_poll_init(loop, &asker->poll, dnsblv6_fd(asker->client)) != 0) {
		free(sessions);
		return 71;
	}
	uv_timer_init(loop, &asker->timer);
	asker->poll.data = asker;
	asker->timer.data = asker;
	uv_poll_start(&asker->poll, UV_READABLE, on_readable);
	for (int i = 0; i < count; i++) {
		sessions[i] = (struct session){ addresses[i], asker };
		submit(&sessions[i]);
	}
	/* With nothing submitted, the timer ends it. */
	uv_timer_start(&asker->timer, on_timer, 0, 0);
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
	free(sessions);
	return 0;
}

int main(int argc, char **argv)
{
	struct asker asker = { .client = NULL };
	const char *servers = getenv("DNSBLV6_SERVERS");
	int ret;

	if (argc < 3) {
		fprintf(stderr, "usage: %s ZONES ADDRESS ...\n", argv[0]);
		return 64;
	}
	if (dnsblv6_new(&asker.client) < 0)
		return 71;
	if (dnsblv6_set(asker.client, "zones", argv[1]) < 0 ||
	    (servers != NULL && dnsblv6_set(asker.client, "servers", servers) < 0) ||
	    dnsblv6_start(asker.client) < 0) {
		fprintf(stderr, "%s\n", dnsblv6_error(asker.client));
		ret = 78;
	} else {
		ret = run(&asker, argv + 2, argc - 2);
	}
	dnsblv6_free(asker.client);
	return ret;
}
