/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoll.c - many questions at once in a loop of one's own: one descriptor, one time.
 *
 *     cc epoll.c $(pkg-config --cflags --libs dnsblv6) -o epoll
 *     ./epoll 'bl6.example bl.example' 192.0.2.66 2001:db8::1
 *
 * DNSBLV6_SERVERS, when it is set, names resolvers in the place of resolv.conf's.
 */
#include <dnsblv6.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define TIMEOUT_MS 2000

/* One client of the mail server. */
struct session {
	const char *address;
	int *open_count;
};

static void on_verdict(void *context, const struct dnsblv6_result *result)
{
	struct session *session = context;

	printf("%s: %s, score %d\n", session->address, dnsblv6_verdict_name(result->verdict),
	       (int)result->score);
	(*session->open_count)--;
}

static void submit(struct dnsblv6 *client, struct session *session)
{
	struct dnsblv6_ip ip;
	struct dnsblv6_result result;
	int ret = dnsblv6_ip_parse(session->address, &ip);

	/* Most are answered by the cache, without a request, unless one is due behind that. */
	if (ret == 0 && dnsblv6_peek(client, &ip, &result) == 0 && result.is_due == 0) {
		(*session->open_count)++;
		on_verdict(session, &result);
		return;
	}
	if (ret == 0)
		ret = dnsblv6_submit(client, &ip, 0, TIMEOUT_MS, on_verdict, session, NULL);
	if (ret == 0)
		(*session->open_count)++;
	else
		fprintf(stderr, "%s: %s\n", session->address, dnsblv6_strerror(ret));
}

static int loop(struct dnsblv6 *client, const int *open_count)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, dnsblv6_fd(client), &event) != 0)
		return -errno;
	/* Other descriptors of the program would be watched here too. */
	while (*open_count > 0) {
		if (epoll_wait(epoll, &event, 1, dnsblv6_timeout_ms(client)) < 0 && errno != EINTR)
			break;
		dnsblv6_process(client);
	}
	close(epoll);
	return 0;
}

static int run(struct dnsblv6 *client, char **addresses, int count)
{
	struct session *sessions = calloc((size_t)count, sizeof(*sessions));
	int open_count = 0;

	if (sessions == NULL)
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		sessions[i] = (struct session){ addresses[i], &open_count };
		submit(client, &sessions[i]);
	}
	int ret = loop(client, &open_count);
	free(sessions);
	return ret;
}

int main(int argc, char **argv)
{
	struct dnsblv6 *client = NULL;
	const char *servers = getenv("DNSBLV6_SERVERS");
	int ret = 0;

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
		ret = 78;
	} else if (run(client, argv + 2, argc - 2) < 0) {
		ret = 71;
	}
	dnsblv6_free(client);
	return ret;
}
