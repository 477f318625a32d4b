/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any packets from the daemon, to a client with questions open: the first byte of the input is
 * the size of the first packet, and so on. Whatever they are, each question gets
 * one callback, an answer only from a reply that is one, and time ends the rest.
 */

#include "client-lib/shared/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define QUESTION_COUNT 3
#define PACKETS_MAX    64
#define TIMEOUT_MS     1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[64];
static int listener = -1;

static void leave(void)
{
	char path[sizeof(directory) + sizeof(CACHED_SOCKET)];
	snprintf(path, sizeof(path), "%s/" CACHED_SOCKET, directory);
	unlink(path);
	rmdir(directory);
}

static void need(bool is_so)
{
	if (!is_so)
		abort();
}

/* One place for all inputs; the directory is gone when the process ends. */
static void listen_once(void)
{
	if (listener >= 0)
		return;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(directory, sizeof(directory), "/tmp/dnsblv6-fuzz-XXXXXX");
	need(mkdtemp(directory) != NULL);
	atexit(leave);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" CACHED_SOCKET, directory);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	need(listener >= 0);
	need(bind(listener, (const struct sockaddr *)&address, sizeof(address)) == 0);
	need(listen(listener, 4) == 0);
}

static void count_call(void *context, int status, const struct cached_reply *reply)
{
	unsigned *calls = context;
	(*calls)++;
	need((status == 0) == (reply != NULL) && status <= 0);
	need(reply == NULL || reply->outcome == CACHED_ANSWERED || reply->outcome == CACHED_FAILED);
}

static void feed(struct remote *remote, int peer, const uint8_t *data, size_t size)
{
	for (unsigned i = 0; i < PACKETS_MAX && size > 0; i++) {
		size_t packet = data[0] < size - 1 ? data[0] : size - 1;
		/* An empty packet reads as the end. */
		ssize_t sent = send(peer, data + 1, packet, MSG_NOSIGNAL | MSG_DONTWAIT);
		data += 1 + packet;
		size -= 1 + packet;
		remote_process(remote, 1);
		if (sent < 0)
			return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct remote *remote = NULL;
	unsigned calls[QUESTION_COUNT] = { 0 };
	listen_once();
	need(remote_new(directory, &remote) == 0);
	for (unsigned i = 0; i < QUESTION_COUNT; i++)
		need(remote_ask(remote, "bl6.example", dnsblv6_addr_from_ipv4(i), 0, TIMEOUT_MS,
				count_call, &calls[i]) == 0);
	int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	need(peer >= 0);
	/* Most packets are to be those behind a greeting. */
	if (size == 0 || data[0] % 8 != 0)
		need(send(peer, CACHED_GREETING, CACHED_GREETING_SIZE, MSG_NOSIGNAL) > 0);
	feed(remote, peer, data, size);
	close(peer);
	remote_process(remote, TIMEOUT_MS);
	for (unsigned i = 0; i < QUESTION_COUNT; i++)
		need(calls[i] == 1);
	need(remote_next_ms(remote) == INT64_MAX);
	remote_free(remote);
	return 0;
}
