/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * stub - what a question by the client's stub costs, beside the bare packets.
 *
 *     stub QUESTIONS
 *
 * Prints lines "name<TAB>number": microseconds from asking to the answer,
 * medians of so many questions each, asked in turns of 100, of
 *
 *     bare_us        send() and recv() on one socket that stays connected
 *     socket_us      the same, with a socket for each question: what a random port costs
 *     stub_us        stub_ask(), poll() and stub_process() until the callback
 *     stub_bare      stub_us / bare_us
 *     stub_socket    stub_us / socket_us
 *
 * The resolver is a child of its own that sends each packet back with the QR
 * bit set, which is a reply without records.
 */

#include "client-lib/resolver/stub.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

enum { TURN = 100, QUESTIONS_MAX = 10000000, WAIT_MS = 5000 };

static struct sockaddr_in resolver = { .sin_family = AF_INET };
static struct dnsblv6_labels name;

static void check(bool is_fine, const char *what)
{
	if (is_fine)
		return;
	perror(what);
	exit(EX_OSERR);
}

static double clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* ---- the resolver ---- */

static void echo(int fd)
{
	uint8_t packet[2048];
	struct sockaddr_in peer;

	for (;;) {
		socklen_t peer_size = sizeof(peer);
		ssize_t size = recvfrom(fd, packet, sizeof(packet), 0, (struct sockaddr *)&peer,
					&peer_size);
		if (size < 12)
			continue;
		packet[2] |= 0x80;
		sendto(fd, packet, (size_t)size, 0, (struct sockaddr *)&peer, peer_size);
	}
}

static pid_t start_resolver(void)
{
	socklen_t size = sizeof(resolver);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	resolver.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(fd >= 0 && bind(fd, (struct sockaddr *)&resolver, sizeof(resolver)) == 0 &&
		      getsockname(fd, (struct sockaddr *)&resolver, &size) == 0,
	      "stub: no socket for the resolver");
	pid_t pid = fork();

	check(pid >= 0, "stub: cannot fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		echo(fd);
	}
	close(fd);
	return pid;
}

/* ---- the questions ---- */

static int open_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	check(fd >= 0 && connect(fd, (struct sockaddr *)&resolver, sizeof(resolver)) == 0,
	      "stub: no socket");
	return fd;
}

/* As a program waits that has other things to wait for. */
static void wait_for(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	check(poll(&polled, 1, WAIT_MS) == 1, "stub: the resolver is silent");
}

static void exchange(int fd)
{
	static const struct message_question question = { .type = MESSAGE_AAAA };
	struct message_question asked = question;
	uint8_t packet[2048];

	asked.name = name;
	size_t size = message_make(&asked, packet);

	check(send(fd, packet, size, 0) == (ssize_t)size, "stub: cannot send");
	wait_for(fd);
	check(recv(fd, packet, sizeof(packet), 0) == (ssize_t)size, "stub: another packet");
}

static double ask_bare(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open_socket();
	double begin_us = clock_us();

	exchange(fd);
	return clock_us() - begin_us;
}

static double ask_socket(void)
{
	double begin_us = clock_us();
	int fd = open_socket();

	exchange(fd);
	close(fd);
	return clock_us() - begin_us;
}

static void take(void *context, int status, const struct message_reply *reply, bool is_trusted)
{
	(void)is_trusted;
	check(status == 0 && reply->kind == MESSAGE_NODATA, "stub: no reply");
	*(bool *)context = true;
}

static double ask_stub(void)
{
	static struct config config = { .server_count = 1,
					.max_requests = 1,
					.max_sockets = 512,
					.attempt_timeout_ms = WAIT_MS };
	static struct stub *stub;
	bool is_told = false;
	uint64_t id;

	if (stub == NULL) {
		uint8_t *bytes = config.servers[0].address.sin6_addr.s6_addr;

		config.servers[0].address.sin6_family = AF_INET6;
		config.servers[0].address.sin6_port = resolver.sin_port;
		bytes[10] = bytes[11] = 0xff;
		memcpy(bytes + 12, &resolver.sin_addr, 4);
		check(stub_new(&config, &stub) == 0, "stub: no stub");
	}
	double begin_us = clock_us();
	int64_t now_ms = (int64_t)(begin_us / 1e3);

	struct stub_what what = { 0, &name, MESSAGE_AAAA, now_ms + WAIT_MS, 0 };

	check(stub_ask(stub, &what, now_ms, take, &is_told, &id) == 0, "stub: cannot ask");
	while (!is_told) {
		wait_for(stub_fd(stub));
		stub_process(stub, (int64_t)(clock_us() / 1e3));
	}
	return clock_us() - begin_us;
}

/* ---- medians ---- */

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	static double (*const ways[])(void) = { ask_bare, ask_socket, ask_stub };
	unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 10) / TURN * TURN : 0;
	double medians[3];

	if (count == 0 || count > QUESTIONS_MAX) {
		fprintf(stderr, "usage: stub QUESTIONS\n");
		return EX_USAGE;
	}
	check(dnsblv6_name_from_text("0.2.0.192.bl6.example", &name) == DNSBLV6_OK, "stub: name");
	pid_t pid = start_resolver();
	double *times = malloc(3 * count * sizeof(*times));

	check(times != NULL, "stub: no memory");
	for (unsigned long i = 0; i < count; i += TURN) {
		for (unsigned way = 0; way < 3; way++) {
			for (unsigned long k = i; k < i + TURN; k++)
				times[way * count + k] = ways[way]();
		}
	}
	for (unsigned way = 0; way < 3; way++) {
		qsort(times + way * count, count, sizeof(*times), compare);
		medians[way] = times[way * count + count / 2];
	}
	printf("bare_us\t%.2f\nsocket_us\t%.2f\nstub_us\t%.2f\nstub_bare\t%.2f\nstub_socket\t%."
	       "2f\n",
	       medians[0], medians[1], medians[2], medians[2] / medians[0],
	       medians[2] / medians[1]);
	free(times);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
