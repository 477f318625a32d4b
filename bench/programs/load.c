/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * load - asks a DNS server over UDP as fast as it answers, or at a given rate.
 *
 *     load [--seconds S] [--window N] [--rate N] [--sockets N] [--stamped] ADDRESS PORT QUESTIONS
 *
 * QUESTIONS is a file of messages as over TCP, each behind its length; they are
 * asked in turn, round and round. At most --window questions wait for their
 * answers at any time (64), in --sockets connected sockets (1). With --rate so
 * many are due every second, whether or not the ones before were answered.
 *
 * Sends and receives in batches and never sleeps: it is the server that waits for the
 * load. A question that waits for a second is lost.
 *
 * --stamped takes the time of an answer from the kernel, which notes it when the server sends
 * it over loopback, so that a load that has to share its core counts nothing of its own
 * waits as the server's; and with --rate it sleeps while nothing is due, to leave room there,
 * and what was due while it had no core is left out (missed=), since it would come as a burst.
 *
 * Prints one line: seconds=, sent=, answered=, lost=, stray=, missed=, noerror=,
 * nxdomain=, other=, filled= (NOERROR with an answer), bytes=, and p50_us= p99_us= max_us=
 * between a batch being sent and its answers being read (or stamped).
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define BATCH	     64
#define WINDOW_MAX   4096
#define SOCKETS_MAX  64
#define RESPONSE_MAX 4096
#define LOST_NS	     1000000000U
#define SECOND_NS    1000000000U
#define FILE_MAX     (64U << 20)
#define BURST_MAX    4
#define NAP_NS	     20000U   /* with what the kernel adds, a question or two at the usual rates */
#define LATENCY_MAX  1100000U /* in microseconds; what takes longer is lost before */

enum { RCODES = 16, CONTROL_SIZE = CMSG_SPACE(sizeof(struct timespec)) };

/* A question on its way; its place in the table is the low part of its id. */
struct slot {
	uint64_t sent_ns;
	uint16_t id;
	bool is_waiting;
};

struct load {
	unsigned window;
	unsigned socket_count;
	uint64_t rate;
	bool is_stamped;
	double seconds;

	int fds[SOCKETS_MAX];
	uint8_t *file;
	uint8_t **questions;
	size_t question_count;
	size_t next_question;

	struct slot slots[WINDOW_MAX];
	unsigned free_slots[WINDOW_MAX];
	unsigned free_count;
	unsigned socket;

	struct mmsghdr out[BATCH];
	struct iovec out_vectors[BATCH];
	struct mmsghdr in[BATCH];
	struct iovec in_vectors[BATCH];
	uint8_t responses[BATCH][RESPONSE_MAX];
	_Alignas(struct cmsghdr) char controls[BATCH][CONTROL_SIZE];

	uint64_t sent, missed, answered, lost, stray, filled, bytes;
	uint64_t rcodes[RCODES];
	uint32_t latencies[LATENCY_MAX + 1];
};

static _Noreturn void fail(int status, const char *what)
{
	fprintf(stderr, "load: %s%s%s\n", what, errno != 0 ? ": " : "",
		errno != 0 ? strerror(errno) : "");
	exit(status);
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now); /* which the kernel's stamps are by */
	return ns_of(&now);
}

static unsigned read16(const uint8_t *bytes)
{
	return (unsigned)bytes[0] << 8 | bytes[1];
}

/* ---- questions ---- */

static size_t count_questions(const uint8_t *file, size_t size)
{
	size_t count = 0;
	for (size_t i = 0; i < size; count++) {
		if (size - i < 2 + 12 || read16(file + i) > size - i - 2)
			fail(EX_DATAERR, "questions are cut");
		i += 2 + read16(file + i);
	}
	if (count == 0)
		fail(EX_DATAERR, "no questions");
	return count;
}

static void read_questions(struct load *load, const char *path)
{
	load->file = malloc(FILE_MAX);
	FILE *file = fopen(path, "rb");
	if (load->file == NULL || file == NULL)
		fail(EX_NOINPUT, path);
	size_t size = fread(load->file, 1, FILE_MAX, file);
	fclose(file);
	load->question_count = count_questions(load->file, size);
	load->questions = calloc(load->question_count, sizeof(*load->questions));
	if (load->questions == NULL)
		fail(EX_OSERR, "no memory");
	uint8_t *at = load->file;
	for (size_t i = 0; i < load->question_count; i++) {
		load->questions[i] = at;
		at += 2 + read16(at);
	}
}

/* ---- sockets ---- */

static void open_sockets(struct load *load, const char *address, const char *port)
{
	struct sockaddr_in server = { .sin_family = AF_INET,
				      .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
	int size = 4 << 20;
	int on = load->is_stamped;
	if (inet_pton(AF_INET, address, &server.sin_addr) != 1)
		fail(EX_USAGE, "not an IPv4 address");
	for (unsigned i = 0; i < load->socket_count; i++) {
		load->fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (load->fds[i] < 0 ||
		    setsockopt(load->fds[i], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) != 0 ||
		    setsockopt(load->fds[i], SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) != 0 ||
		    connect(load->fds[i], (struct sockaddr *)&server, sizeof(server)) != 0)
			fail(EX_OSERR, "no socket");
	}
}

static void prepare(struct load *load)
{
	for (unsigned i = 0; i < BATCH; i++) {
		load->in_vectors[i] = (struct iovec){ load->responses[i], RESPONSE_MAX };
		load->in[i].msg_hdr =
			(struct msghdr){ .msg_iov = &load->in_vectors[i], .msg_iovlen = 1 };
		load->out[i].msg_hdr =
			(struct msghdr){ .msg_iov = &load->out_vectors[i], .msg_iovlen = 1 };
	}
	for (unsigned i = 0; i < load->window; i++) {
		load->slots[i].id = (uint16_t)i;
		load->free_slots[load->free_count++] = i;
	}
}

/* ---- sending ---- */

/* The id leads back to the slot, and differs from the one the slot had before. */
static void put_question(struct load *load, unsigned place, uint64_t now)
{
	unsigned at = load->free_slots[--load->free_count];
	struct slot *slot = &load->slots[at];
	slot->id = (uint16_t)(slot->id + load->window);
	slot->sent_ns = now;
	slot->is_waiting = true;
	uint8_t *question = load->questions[load->next_question];
	load->next_question = (load->next_question + 1) % load->question_count;
	question[2] = (uint8_t)(slot->id >> 8);
	question[3] = (uint8_t)slot->id;
	load->out_vectors[place] = (struct iovec){ question + 2, read16(question) };
}

static void send_questions(struct load *load, uint64_t due)
{
	unsigned count = load->free_count < BATCH ? load->free_count : BATCH;
	if (count > load->question_count)
		count = (unsigned)load->question_count;
	if (count > due)
		count = (unsigned)due;
	if (count == 0)
		return;
	uint64_t now = now_ns();
	for (unsigned i = 0; i < count; i++)
		put_question(load, i, now);
	/* What the kernel does not take is a lost question. */
	sendmmsg(load->fds[load->socket], load->out, count, 0);
	load->socket = (load->socket + 1) % load->socket_count;
	load->sent += count;
}

/* ---- receiving ---- */

static void take_response(struct load *load, const uint8_t *wire, size_t size, uint64_t now)
{
	unsigned id = size >= 12 ? read16(wire) : 0;
	struct slot *slot = &load->slots[id % load->window];
	if (size < 12 || slot->id != id || !slot->is_waiting || (wire[2] & 0x80) == 0) {
		load->stray++;
		return;
	}
	slot->is_waiting = false;
	load->free_slots[load->free_count++] = id % load->window;
	load->answered++;
	load->bytes += size;
	load->rcodes[wire[3] & 15]++;
	load->filled += (wire[3] & 15) == 0 && read16(wire + 6) != 0;
	uint64_t us = now > slot->sent_ns ? (now - slot->sent_ns) / 1000 : 0;
	load->latencies[us < LATENCY_MAX ? us : LATENCY_MAX]++;
}

/* When the kernel had it, else now. */
static uint64_t stamp_of(struct msghdr *message, uint64_t now)
{
	struct timespec stamp;
	for (struct cmsghdr *one = CMSG_FIRSTHDR(message); one != NULL;
	     one = CMSG_NXTHDR(message, one)) {
		if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&stamp, CMSG_DATA(one), sizeof(stamp));
		return ns_of(&stamp);
	}
	return now;
}

static unsigned receive_responses(struct load *load)
{
	unsigned total = 0;
	for (unsigned s = 0; s < load->socket_count; s++) {
		for (unsigned i = 0; i < BATCH && load->is_stamped; i++) {
			load->in[i].msg_hdr.msg_control = load->controls[i];
			load->in[i].msg_hdr.msg_controllen = sizeof(load->controls[i]);
		}
		int count = recvmmsg(load->fds[s], load->in, BATCH, MSG_DONTWAIT, NULL);
		uint64_t now = count > 0 ? now_ns() : 0;
		for (int i = 0; i < count; i++)
			take_response(load, load->responses[i], load->in[i].msg_len,
				      load->is_stamped ? stamp_of(&load->in[i].msg_hdr, now) : now);
		total += count > 0 ? (unsigned)count : 0;
	}
	return total;
}

static void give_up_lost(struct load *load, uint64_t now)
{
	for (unsigned i = 0; i < load->window; i++) {
		struct slot *slot = &load->slots[i];
		/* now is older than what was sent last. */
		if (!slot->is_waiting || now < slot->sent_ns + LOST_NS)
			continue;
		slot->is_waiting = false;
		load->free_slots[load->free_count++] = i;
		load->lost++;
	}
}

/* ---- the run ---- */

static uint64_t count_due(const struct load *load, uint64_t elapsed_ns)
{
	if (load->rate == 0)
		return UINT64_MAX;
	uint64_t due = (uint64_t)((double)elapsed_ns / SECOND_NS * (double)load->rate);
	uint64_t past = load->sent + load->missed;
	return due > past ? due - past : 0;
}

static double run(struct load *load)
{
	uint64_t start = now_ns();
	uint64_t end = start + (uint64_t)(load->seconds * SECOND_NS);
	uint64_t swept = start;
	for (uint64_t now = start; now < end; now = now_ns()) {
		uint64_t due = count_due(load, now - start);
		if (load->is_stamped && due > BURST_MAX) {
			load->missed += due - BURST_MAX;
			due = BURST_MAX;
		}
		send_questions(load, due);
		if (receive_responses(load) == 0 && due == 0 && load->is_stamped)
			nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
		if (now - swept > LOST_NS / 4) {
			give_up_lost(load, now);
			swept = now;
		}
	}
	uint64_t stopped = now_ns();
	while (load->free_count < load->window && now_ns() - stopped <= LOST_NS)
		receive_responses(load);
	load->lost += load->window - load->free_count;
	return (double)(stopped - start) / SECOND_NS;
}

static unsigned quantile_us(const struct load *load, double part)
{
	uint64_t wanted = (uint64_t)((double)load->answered * part);
	uint64_t seen = 0;
	for (unsigned us = 0; us <= LATENCY_MAX; us++) {
		seen += load->latencies[us];
		if (seen > wanted || (seen != 0 && seen == load->answered))
			return us;
	}
	return 0;
}

static void print_result(const struct load *load, double seconds)
{
	printf("seconds=%.3f sent=%llu answered=%llu lost=%llu stray=%llu missed=%llu noerror=%llu"
	       " nxdomain=%llu other=%llu filled=%llu bytes=%llu p50_us=%u p99_us=%u max_us=%u\n",
	       seconds, (unsigned long long)load->sent, (unsigned long long)load->answered,
	       (unsigned long long)load->lost, (unsigned long long)load->stray,
	       (unsigned long long)load->missed, (unsigned long long)load->rcodes[0],
	       (unsigned long long)load->rcodes[3],
	       (unsigned long long)(load->answered - load->rcodes[0] - load->rcodes[3]),
	       (unsigned long long)load->filled, (unsigned long long)load->bytes,
	       quantile_us(load, 0.5), quantile_us(load, 0.99), quantile_us(load, 1));
}

static unsigned number(const char *text, unsigned long max)
{
	char *end = NULL;
	unsigned long value = strtoul(text, &end, 10);
	if (*end != '\0' || value == 0 || value > max) {
		errno = 0;
		fail(EX_USAGE,
		     "a number is out of its range; see the top of bench/programs/load.c");
	}
	return (unsigned)value;
}

static void parse_options(struct load *load, int argc, char **argv)
{
	static const struct option options[] = { { "seconds", required_argument, NULL, 's' },
						 { "window", required_argument, NULL, 'w' },
						 { "rate", required_argument, NULL, 'r' },
						 { "sockets", required_argument, NULL, 'n' },
						 { "stamped", no_argument, NULL, 't' },
						 { NULL, 0, NULL, 0 } };
	int option = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			load->seconds = strtod(optarg, NULL);
		else if (option == 'w')
			load->window = number(optarg, WINDOW_MAX);
		else if (option == 'r')
			load->rate = number(optarg, 10000000);
		else if (option == 'n')
			load->socket_count = number(optarg, SOCKETS_MAX);
		else if (option == 't')
			load->is_stamped = true;
		else
			exit(EX_USAGE);
	}
	/* Ids must lead to slots also where 16 bits begin anew. */
	if (argc - optind != 3 || (load->window & (load->window - 1)) != 0) {
		errno = 0;
		fail(EX_USAGE, "wants ADDRESS PORT QUESTIONS and a window that is a power of 2");
	}
}

int main(int argc, char **argv)
{
	struct load *load = calloc(1, sizeof(*load));
	if (load == NULL)
		fail(EX_OSERR, "no memory");
	load->window = 64;
	load->socket_count = 1;
	load->seconds = 1;
	parse_options(load, argc, argv);
	read_questions(load, argv[optind + 2]);
	open_sockets(load, argv[optind], argv[optind + 1]);
	prepare(load);
	prctl(PR_SET_TIMERSLACK, 1); /* or naps last 50 us longer */
	print_result(load, run(load));
	for (unsigned i = 0; i < load->socket_count; i++)
		close(load->fds[i]);
	free(load->questions);
	free(load->file);
	free(load);
	return EX_OK;
}
