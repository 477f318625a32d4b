/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * client_burst - very many addresses at once, for test_burst.py.
 *
 *     client_burst SERVER PORT CLIENTS TIMEOUT-MS SICK ONE-IN KEY=VALUE ...
 *
 * Asks SERVER, an IPv4 address, at PORT through a relay of its own, with a handle that has the
 * options KEY=VALUE. All zones are asked about one address, and then about CLIENTS more, each in a
 * block of its own, which are submitted before the first reply is read. Meanwhile the relay drops
 * what is asked below SICK, a name with a dot in front, but one question in ONE-IN; 0: all of it.
 * "-" for SICK: nothing is dropped.
 *
 * The output is what became of the CLIENTS: those without a verdict, those for which each
 * zone failed, in the order of the zones, and the counters of losses.
 */
#include <dnsblv6.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#define PACKET_MAX 4096
#define BUFFER	   (4 << 20)

static _Noreturn void stop(const char *why)
{
	fprintf(stderr, "client_burst: %s (%s)\n", why, strerror(errno));
	exit(EX_OSERR);
}

/* ---- the relay ---- */

struct asked {
	struct sockaddr_in client;
	uint8_t id[2];
};

struct relay {
	int client_fd, server_fd;
	struct sockaddr_in address;
	volatile sig_atomic_t *is_sick; /* shared */
	const char *sick;
	unsigned one_in, dropped;
	uint16_t next;
	struct asked asked[65536];
};

static struct relay relay;

static int open_udp(void)
{
	const int more = BUFFER;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		stop("no socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &more, sizeof(more));
	return fd;
}

static void open_relay(const char *address, unsigned long port)
{
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t size = sizeof(relay.address);

	if (inet_pton(AF_INET, address, &server.sin_addr) != 1)
		stop("no address of a server");
	relay.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	relay.address.sin_family = AF_INET;
	relay.client_fd = open_udp();
	relay.server_fd = open_udp();
	if (bind(relay.client_fd, (struct sockaddr *)&relay.address, size) != 0 ||
	    getsockname(relay.client_fd, (struct sockaddr *)&relay.address, &size) != 0 ||
	    connect(relay.server_fd, (struct sockaddr *)&server, sizeof(server)) != 0)
		stop("no relay");
	relay.is_sick = mmap(NULL, sizeof(*relay.is_sick), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (relay.is_sick == MAP_FAILED)
		stop("no memory");
}

/* Is the question's name below the sick zone? With a dot for each length of a label. */
static bool is_below(const uint8_t *packet, size_t size)
{
	char name[256] = "";
	size_t at = 12, end = 0;

	while (at < size && packet[at] != 0 && at + packet[at] < size &&
	       end + packet[at] + 2 < sizeof(name)) {
		name[end++] = '.';
		memcpy(name + end, packet + at + 1, packet[at]);
		end += packet[at];
		at += packet[at] + 1u;
	}
	const size_t sick_size = strlen(relay.sick);

	return end >= sick_size && memcmp(name + end - sick_size, relay.sick, sick_size) == 0;
}

static bool is_dropped(const uint8_t *packet, size_t size)
{
	if (!*relay.is_sick || !is_below(packet, size))
		return false;
	return relay.one_in == 0 || ++relay.dropped % relay.one_in != 0;
}

static void pass_question(void)
{
	uint8_t packet[PACKET_MAX];
	struct asked *asked = &relay.asked[relay.next];
	socklen_t size = sizeof(asked->client);
	ssize_t count = recvfrom(relay.client_fd, packet, sizeof(packet), MSG_DONTWAIT,
				 (struct sockaddr *)&asked->client, &size);

	if (count < 12 || is_dropped(packet, (size_t)count))
		return;
	memcpy(asked->id, packet, sizeof(asked->id));
	memcpy(packet, &relay.next, sizeof(relay.next));
	relay.next++;
	(void)!send(relay.server_fd, packet, (size_t)count, 0);
}

static void pass_reply(void)
{
	uint8_t packet[PACKET_MAX];
	uint16_t number;
	ssize_t count = recv(relay.server_fd, packet, sizeof(packet), MSG_DONTWAIT);

	if (count < 12)
		return;
	memcpy(&number, packet, sizeof(number));
	const struct asked *asked = &relay.asked[number];

	memcpy(packet, asked->id, sizeof(asked->id));
	(void)!sendto(relay.client_fd, packet, (size_t)count, 0,
		      (const struct sockaddr *)&asked->client, sizeof(asked->client));
}

static _Noreturn void run_relay(void)
{
	struct pollfd fds[] = { { .fd = relay.client_fd, .events = POLLIN },
				{ .fd = relay.server_fd, .events = POLLIN } };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents != 0)
			pass_reply();
		if (fds[0].revents != 0)
			pass_question();
	}
}

/* ---- the clients ---- */

static struct {
	unsigned told, unknown;
	unsigned failed[64];
} seen;

static void keep(void *context, const struct dnsblv6_result *result)
{
	(void)context;
	seen.told++;
	seen.unknown += result->verdict == DNSBLV6_UNKNOWN;
	for (unsigned i = 0; i < 64; i++)
		seen.failed[i] += (result->zones_failed >> i & 1) != 0;
}

static struct dnsblv6_ip make_ip(unsigned number)
{
	char text[32];
	struct dnsblv6_ip ip;

	snprintf(text, sizeof(text), "11.%u.%u.1", number / 256, number % 256);
	if (dnsblv6_ip_parse(text, &ip) != 0)
		stop("no address");
	return ip;
}

static struct dnsblv6 *make_client(char **options)
{
	struct dnsblv6 *client;
	char server[64];

	snprintf(server, sizeof(server), "127.0.0.1@%u", ntohs(relay.address.sin_port));
	if (dnsblv6_new(&client) != 0 || dnsblv6_set(client, "servers", server) != 0)
		stop("no client");
	for (; *options != NULL; options++) {
		char *equals = strchr(*options, '=');

		if (equals == NULL)
			stop("KEY=VALUE expected");
		*equals = '\0';
		if (dnsblv6_set(client, *options, equals + 1) != 0)
			stop(dnsblv6_error(client));
	}
	if (dnsblv6_start(client) != 0)
		stop(dnsblv6_error(client));
	return client;
}

static void ask(struct dnsblv6 *client, unsigned first, unsigned count, int timeout_ms)
{
	struct pollfd polled = { .fd = dnsblv6_fd(client), .events = POLLIN };

	memset(&seen, 0, sizeof(seen));
	for (unsigned i = 0; i < count; i++) {
		struct dnsblv6_ip ip = make_ip(first + i);

		if (dnsblv6_submit(client, &ip, 0, timeout_ms, keep, NULL, NULL) != 0)
			stop("not submitted");
	}
	while (seen.told < count) {
		(void)poll(&polled, 1, dnsblv6_timeout_ms(client));
		dnsblv6_process(client);
	}
}

static void print_counters(struct dnsblv6 *client)
{
	static const char *const losses[] = { "requests-refused", "fetches-dropped",
					      "questions-unsent", "questions-refused" };
	const char *name;
	uint64_t value;

	for (unsigned i = 0; dnsblv6_stat_get(client, i, &name, &value) == 0; i++) {
		for (unsigned k = 0; k < sizeof(losses) / sizeof(losses[0]); k++) {
			if (strcmp(losses[k], name) == 0)
				printf(" %s=%llu", name, (unsigned long long)value);
		}
	}
}

int main(int count, char **arguments)
{
	struct dnsblv6_zone_info zone;

	if (count < 8)
		return EX_USAGE;
	const unsigned clients = (unsigned)strtoul(arguments[3], NULL, 10);
	const int timeout_ms = (int)strtol(arguments[4], NULL, 10);

	relay.sick = arguments[5];
	relay.one_in = (unsigned)strtoul(arguments[6], NULL, 10);
	open_relay(arguments[1], strtoul(arguments[2], NULL, 10));
	pid_t child = fork();

	if (child == 0)
		run_relay();
	struct dnsblv6 *client = make_client(arguments + 7);

	ask(client, 0, 1, timeout_ms);
	if (seen.unknown != 0)
		stop("the zones are not there");
	*relay.is_sick = 1;
	ask(client, 1, clients, timeout_ms);
	printf("clients=%u unknown=%u failed=", seen.told, seen.unknown);
	for (unsigned i = 0; dnsblv6_zone_get(client, i, &zone) == 0; i++)
		printf("%s%u", i > 0 ? "," : "", seen.failed[i]);
	print_counters(client);
	printf("\n");
	dnsblv6_free(client);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
