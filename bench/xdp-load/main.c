/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * xdp-load - asks a server at the other end of a pair of veth faster than one over sockets could.
 *
 *     xdp-load [--seconds S] [--window N] [--burst N] [--far NETWORK DEVICE --with echo|answer|drop]
 *              DEVICE MAC FROM TO PORT QUESTIONS
 *
 * QUESTIONS is a file of messages as over TCP, each behind its length; they are asked in turn, round
 * and round, out of DEVICE to MAC and port PORT of TO, by IPv4, from FROM and many ports. The lowest
 * bit of a message's identifier says whether its name has an answer; the rest of it is ours.
 * At most --window questions wait for an answer at any time (192), and none is sent before --burst
 * of so many have one (64): less than the 256 that a veth's ring holds, so that it loses none.
 *
 * Questions and answers never become packets of a socket: the kernel makes frames
 * (BPF_F_TEST_XDP_LIVE_FRAMES, Linux 5.18), load.bpf.c makes them questions and redirects them into
 * DEVICE, and counts and drops what comes back there. --with has a bare XDP_TX echo in the place of a
 * server, at DEVICE of the network named by a file, or a program that gives all the same answer, or
 * one that drops what it gets.
 *
 * Prints one line: seconds=, sent=, answered=, lost=, strays= (other packets), bytes= (of messages);
 * then of names with an answer and of those without, in that order, two numbers each: filled= nodata=
 * denied= truncated= echoed= other= and records= (in the answer and authority sections).
 */

#include "bench/xdp-load/load.h"
#include "bench/xdp-load/load.skel.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define BATCH	 64
#define FILE_MAX (64U << 20)
#define DRAIN_MS 3000
#define TTL	 64

struct setup {
	double seconds;
	uint64_t window;
	uint64_t burst;
	const char *far_network, *far_device, *with;

	const char *device;
	uint8_t own_mac[ETH_ALEN], mac[ETH_ALEN];
	uint32_t from_be32, to_be32;
	uint16_t port_be16;
	const char *questions;
};

static _Noreturn void fail(int status, const char *what)
{
	fprintf(stderr, "xdp-load: %s%s%s\n", what, errno != 0 ? ": " : "",
		errno != 0 ? strerror(errno) : "");
	exit(status);
}

/* libbpf's functions return it, negative. */
static void check(int ret, const char *what)
{
	if (ret >= 0)
		return;
	errno = -ret;
	fail(ret == -EPERM ? EX_NOPERM : EX_UNAVAILABLE, what);
}

/* ---- frames ---- */

static uint16_t checksum(uint32_t sum, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static uint32_t words_of(uint32_t be32)
{
	return (ntohl(be32) >> 16) + (ntohl(be32) & 0xffff);
}

struct headers {
	struct ether_header ethernet;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

/* As those of every question, but for sizes, port and checksums. */
static struct headers common_headers(const struct setup *setup)
{
	struct headers headers = {
		.ethernet.ether_type = htons(ETHERTYPE_IP),
		.ip = { .version = 4,
			.ihl = sizeof(struct iphdr) / 4,
			.ttl = TTL,
			.protocol = IPPROTO_UDP },
		.udp.dest = setup->port_be16,
	};
	memcpy(headers.ethernet.ether_dhost, setup->mac, ETH_ALEN);
	memcpy(headers.ethernet.ether_shost, setup->own_mac, ETH_ALEN);
	headers.ip.saddr = setup->from_be32;
	headers.ip.daddr = setup->to_be32;
	return headers;
}

static void make_frame(struct load_frame *frame, const struct setup *setup, uint32_t index,
		       const uint8_t *message, size_t size)
{
	struct headers headers = common_headers(setup);
	size_t udp_size = sizeof(headers.udp) + size;
	headers.ip.tot_len = htons((uint16_t)(sizeof(headers.ip) + udp_size));
	headers.udp.source = htons((uint16_t)(LOAD_FIRST_PORT + index % LOAD_PORTS));
	headers.udp.len = htons((uint16_t)udp_size);
	frame->size = (uint32_t)(sizeof(headers) + size);
	memcpy(frame->bytes + sizeof(headers), message, size);
	uint16_t id_be16 = htons((uint16_t)(index << 1 | (message[1] & 1)));
	memcpy(frame->bytes + sizeof(headers), &id_be16, sizeof(id_be16));

	memcpy(frame->bytes, &headers, sizeof(headers));
	const uint8_t *ip = frame->bytes + offsetof(struct headers, ip);
	headers.ip.check = checksum(0, ip, sizeof(headers.ip));
	uint32_t pseudo = words_of(headers.ip.saddr) + words_of(headers.ip.daddr) + IPPROTO_UDP;
	uint16_t check = checksum(pseudo + (uint32_t)udp_size, ip + sizeof(headers.ip), udp_size);
	headers.udp.check = check != 0 ? check : 0xffff; /* 0 is none */
	memcpy(frame->bytes, &headers, sizeof(headers));
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	uint8_t *bytes = malloc(FILE_MAX);
	if (file == NULL || bytes == NULL)
		fail(EX_NOINPUT, path);
	*ret_size = fread(bytes, 1, FILE_MAX, file);
	fclose(file);
	return bytes;
}

/* Into the map; returns how many. */
static uint32_t put_frames(int frames_fd, const struct setup *setup)
{
	size_t size;
	uint8_t *file = read_file(setup->questions, &size);
	uint32_t count = 0;
	for (size_t i = 0; i + 2 <= size && count < LOAD_FRAMES_MAX; count++) {
		size_t message_size = (size_t)file[i] << 8 | file[i + 1];
		errno = 0;
		if (message_size < 12 || message_size > size - i - 2 ||
		    sizeof(struct headers) + message_size > LOAD_FRAME_MAX)
			fail(EX_DATAERR, "a question that is none, or too long");
		struct load_frame frame = { 0 };
		make_frame(&frame, setup, count, file + i + 2, message_size);
		check(bpf_map_update_elem(frames_fd, &count, &frame, BPF_ANY),
		      "a map of questions");
		i += 2 + message_size;
	}
	free(file);
	errno = 0;
	if (count == 0)
		fail(EX_DATAERR, "no questions");
	return count;
}

/* ---- programs ---- */

/* To the network that a file names; returns a descriptor of the one before. */
static int enter(const char *network)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int fd = open(network, O_RDONLY | O_CLOEXEC);
	if (home < 0 || fd < 0 || setns(fd, CLONE_NEWNET) != 0)
		fail(EX_NOPERM, network);
	close(fd);
	return home;
}

static void come_back(int home)
{
	if (setns(home, CLONE_NEWNET) != 0)
		fail(EX_OSERR, "the network we came from");
	close(home);
}

/* Until the link is destroyed, or we end. */
static struct bpf_link *attach(struct bpf_program *program, const char *device)
{
	unsigned index = if_nametoindex(device);
	if (index == 0)
		fail(EX_USAGE, device);
	struct bpf_link *link = bpf_program__attach_xdp(program, (int)index);
	if (link == NULL)
		fail(errno == EPERM ? EX_NOPERM : EX_UNAVAILABLE, device);
	return link;
}

static struct load_bpf *load_programs(const struct setup *setup)
{
	libbpf_set_print(NULL); /* it would tell of each instruction */
	struct load_bpf *kernel = load_bpf__open();
	if (kernel == NULL)
		fail(EX_UNAVAILABLE, "load.bpf.c");
	kernel->rodata->device = if_nametoindex(setup->device);
	kernel->rodata->server_be32 = setup->to_be32;
	kernel->rodata->port_be16 = setup->port_be16;
	kernel->rodata->window = setup->window;
	kernel->rodata->burst = setup->burst;
	check(load_bpf__load(kernel), "this kernel does not take our programs");
	kernel->bss->frame_count = put_frames(bpf_map__fd(kernel->maps.frames), setup);
	kernel->links.load_count = attach(kernel->progs.load_count, setup->device);
	if (setup->with == NULL)
		return kernel;
	int home = enter(setup->far_network);
	if (strcmp(setup->with, "echo") == 0)
		kernel->links.load_echo = attach(kernel->progs.load_echo, setup->far_device);
	else if (strcmp(setup->with, "answer") == 0)
		kernel->links.load_answer = attach(kernel->progs.load_answer, setup->far_device);
	else
		kernel->links.load_drop = attach(kernel->progs.load_drop, setup->far_device);
	come_back(home);
	return kernel;
}

/* ---- a run ---- */

static volatile sig_atomic_t is_over;

static void on_alarm(int number)
{
	(void)number;
	is_over = 1;
}

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void set_alarm(double seconds)
{
	struct sigaction action = { .sa_handler = on_alarm };
	sigaction(SIGALRM, &action, NULL);
	struct itimerval timer = { .it_value = { .tv_sec = (time_t)seconds } };
	timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
	/* Again and again, as one may come between two calls. */
	timer.it_interval.tv_usec = 1000;
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Until the alarm; returns the seconds that it took. */
static double send_frames(struct load_bpf *kernel, double seconds)
{
	uint8_t any[LOAD_FRAME_MAX] = { 0 };
	struct bpf_test_run_opts options = {
		.sz = sizeof(options),
		.data_in = any,
		.data_size_in = sizeof(any),
		.repeat = INT_MAX,
		.flags = BPF_F_TEST_XDP_LIVE_FRAMES,
		.batch_size = BATCH,
	};
	int fd = bpf_program__fd(kernel->progs.load_send);
	double start = now_s();
	set_alarm(seconds);
	while (is_over == 0) {
		int ret = bpf_prog_test_run_opts(fd, &options);
		if (ret != -EINTR)
			check(ret, "this kernel runs no programs on live frames");
	}
	double end = now_s();
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	return end - start;
}

/* The last answers: until none is missing, or none has come for a time. */
static void drain(const struct load_bpf *kernel)
{
	const volatile struct load_state *state = &kernel->bss->state;
	uint64_t seen = state->seen;
	for (int waited_ms = 0; waited_ms < DRAIN_MS && seen < state->sent; waited_ms++) {
		usleep(1000);
		if (state->seen != seen)
			waited_ms = 0;
		seen = state->seen;
	}
}

static void print_pair(const char *name, uint64_t listed, uint64_t other)
{
	printf(" %s=%llu,%llu", name, (unsigned long long)listed, (unsigned long long)other);
}

static void print_state(const struct load_state *state, double seconds)
{
	static const char *const names[LOAD_OUTCOMES] = {
		[LOAD_FILLED] = "filled",	[LOAD_NODATA] = "nodata", [LOAD_DENIED] = "denied",
		[LOAD_TRUNCATED] = "truncated", [LOAD_ECHOED] = "echoed", [LOAD_OTHER] = "other",
	};
	uint64_t lost = state->sent > state->seen ? state->sent - state->seen : 0;
	printf("seconds=%.3f sent=%llu answered=%llu lost=%llu strays=%llu bytes=%llu", seconds,
	       (unsigned long long)state->sent, (unsigned long long)state->seen,
	       (unsigned long long)lost, (unsigned long long)state->strays,
	       (unsigned long long)state->bytes);
	for (int i = 0; i < LOAD_OUTCOMES; i++)
		print_pair(names[i], state->outcomes[1][i], state->outcomes[0][i]);
	print_pair("records", state->records[1], state->records[0]);
	putchar('\n');
}

/* ---- command line ---- */

static void own_mac(struct setup *setup)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", setup->device);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request) != 0)
		fail(EX_USAGE, setup->device);
	memcpy(setup->own_mac, request.ifr_hwaddr.sa_data, ETH_ALEN);
	close(fd);
}

static uint64_t number_of(const char *text, uint64_t max)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value == 0 || value > max)
		fail(EX_USAGE, text);
	return value;
}

static bool is_program(const char *word)
{
	return strcmp(word, "echo") == 0 || strcmp(word, "answer") == 0 ||
	       strcmp(word, "drop") == 0;
}

static int read_options(struct setup *setup, int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "window", required_argument, NULL, 'w' },
		{ "burst", required_argument, NULL, 'b' },
		{ "far", required_argument, NULL, 'f' },
		{ "with", required_argument, NULL, 'x' },
		{ 0 },
	};
	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (option == 's')
			setup->seconds = strtod(optarg, NULL);
		else if (option == 'w')
			setup->window = number_of(optarg, 1024);
		else if (option == 'b')
			setup->burst = number_of(optarg, 1024);
		else if (option == 'x' && is_program(optarg))
			setup->with = optarg;
		else if (option == 'f' && optind < argc) {
			setup->far_network = optarg;
			setup->far_device = argv[optind++];
		} else
			return -1;
	}
	return (setup->with != NULL) == (setup->far_network != NULL) &&
			       setup->burst <= setup->window && setup->seconds > 0 &&
			       argc - optind == 6
		       ? optind
		       : -1;
}

static int read_setup(struct setup *setup, int argc, char **argv)
{
	int first = read_options(setup, argc, argv);
	if (first < 0)
		return EX_USAGE;
	setup->device = argv[first];
	const struct ether_addr *mac = ether_aton(argv[first + 1]);
	if (mac == NULL || inet_pton(AF_INET, argv[first + 2], &setup->from_be32) != 1 ||
	    inet_pton(AF_INET, argv[first + 3], &setup->to_be32) != 1)
		return EX_USAGE;
	memcpy(setup->mac, mac, ETH_ALEN);
	setup->port_be16 = htons((uint16_t)number_of(argv[first + 4], UINT16_MAX));
	setup->questions = argv[first + 5];
	own_mac(setup);
	return 0;
}

int main(int argc, char **argv)
{
	struct setup setup = { .seconds = 1, .window = 192, .burst = 64 };
	if (read_setup(&setup, argc, argv) != 0) {
		fprintf(stderr, "usage: xdp-load [--seconds S] [--window N] [--burst N]"
				" [--far NETWORK DEVICE --with echo|answer|drop]"
				" DEVICE MAC FROM TO PORT QUESTIONS\n");
		return EX_USAGE;
	}
	struct load_bpf *kernel = load_programs(&setup);
	double seconds = send_frames(kernel, setup.seconds);
	drain(kernel);
	struct load_state state;
	memcpy(&state, (const void *)&kernel->bss->state, sizeof(state));
	print_state(&state, seconds);
	load_bpf__destroy(kernel);
	return 0;
}
