/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * distance - puts a network as far away as a kernel without netem cannot.
 *
 *     distance MS NAMESPACE DEVICE NAMESPACE DEVICE
 *
 * Makes a TUN device in each of two network namespaces (paths, as /proc/PID/ns/net), and carries
 * every packet from one to the other, MS milliseconds later (a fraction may be said). Nothing is
 * lost, put into another order or changed; what does not fit into a buffer of QUEUE_MAX packets is
 * dropped and counted. Says "ready" when both devices are there, for others to give them addresses,
 * and "packets=N dropped=N" when SIGTERM ends it.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define PACKET_MAX 1536 /* the MTU of a TUN device is 1500 */
#define QUEUE_MAX  32768
#define BURST	   4096	  /* packets of one side before the other has its turn */
#define GRAIN_NS   200000 /* packets this close to one another go together */
#define IDLE_MAX   500	  /* grains */
#define NS_PER_MS  1000000
#define NS_PER_S   1000000000

struct packet {
	uint64_t due_ns;
	size_t size_bytes;
	uint8_t bytes[PACKET_MAX];
};

/* Packets on their way to fd, oldest first: all wait equally long, so they are due in order. */
struct way {
	int from_fd;
	int to_fd;
	size_t first;
	size_t count;
	uint64_t carried;
	uint64_t dropped;
	struct packet packets[QUEUE_MAX];
};

static volatile sig_atomic_t is_ended;

static void on_signal(int number)
{
	(void)number;
	is_ended = 1;
}

static _Noreturn void fail(int status, const char *what)
{
	fprintf(stderr, "distance: %s%s%s\n", what, errno != 0 ? ": " : "",
		errno != 0 ? strerror(errno) : "");
	exit(status);
}

static uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int open_device(const char *namespace, const char *name)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open(namespace, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
		fail(EX_NOINPUT, namespace);
	close(fd);
	if (strlen(name) >= sizeof(request.ifr_name)) {
		errno = 0;
		fail(EX_USAGE, "the name of a device is too long");
	}
	memcpy(request.ifr_name, name, strlen(name) + 1);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0)
		fail(EX_OSERR, name);
	return fd;
}

static void take(struct way *way, uint64_t delay_ns)
{
	static uint8_t nowhere[PACKET_MAX];
	const uint64_t now_ns = clock_ns();
	for (unsigned i = 0; i < BURST; i++) {
		struct packet *packet = &way->packets[(way->first + way->count) % QUEUE_MAX];
		const int is_full = way->count == QUEUE_MAX;
		ssize_t size = read(way->from_fd, is_full ? nowhere : packet->bytes, PACKET_MAX);
		if (size <= 0)
			return;
		if (is_full) {
			way->dropped++;
			continue;
		}
		packet->due_ns = now_ns + delay_ns;
		packet->size_bytes = (size_t)size;
		way->count++;
	}
}

static void give(struct way *way)
{
	const uint64_t now_ns = clock_ns() + GRAIN_NS / 2;
	while (way->count > 0 && way->packets[way->first].due_ns <= now_ns) {
		const struct packet *packet = &way->packets[way->first];
		/* A device that is not up yet takes nothing: that packet is lost, as on a cable. */
		way->carried += write(way->to_fd, packet->bytes, packet->size_bytes) >= 0;
		way->first = (way->first + 1) % QUEUE_MAX;
		way->count--;
	}
}

/*
 * Looks again soon and not when there is a packet: a process that waits for one would be woken by
 * the sender, whose processor time that would be, and a network card asks for none. After a while without
 * any it waits.
 */
static void rest(struct way *ways, unsigned *idle_count)
{
	struct pollfd polled[] = { { .fd = ways[0].from_fd, .events = POLLIN },
				   { .fd = ways[1].from_fd, .events = POLLIN } };
	const struct timespec grain = { .tv_nsec = GRAIN_NS };
	*idle_count = ways[0].count + ways[1].count > 0 ? 0 : *idle_count + 1;
	if (*idle_count < IDLE_MAX)
		nanosleep(&grain, NULL);
	else
		poll(polled, 2, 100);
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	char *end = NULL;
	double delay_ms = argc == 6 ? strtod(argv[1], &end) : -1;
	if (end == NULL || *end != '\0' || !(delay_ms >= 0 && delay_ms <= 10000)) {
		errno = 0;
		fail(EX_USAGE, "wants MS NAMESPACE DEVICE NAMESPACE DEVICE");
	}
	struct way *ways = calloc(2, sizeof(*ways));
	if (ways == NULL)
		fail(EX_OSERR, "no memory");
	ways[0].from_fd = ways[1].to_fd = open_device(argv[2], argv[3]);
	ways[0].to_fd = ways[1].from_fd = open_device(argv[4], argv[5]);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL); /* 50 us, else */
	puts("ready");
	fflush(stdout);
	unsigned idle_count = 0;
	while (!is_ended) {
		for (unsigned i = 0; i < 2; i++) {
			take(&ways[i], (uint64_t)(delay_ms * NS_PER_MS));
			give(&ways[i]);
		}
		rest(ways, &idle_count);
	}
	printf("packets=%" PRIu64 " dropped=%" PRIu64 "\n", ways[0].carried + ways[1].carried,
	       ways[0].dropped + ways[1].dropped);
	free(ways);
	return 0;
}
