/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * delay - a UDP forwarder that lets answers wait, as if a DNS server were far away.
 *
 *     delay [--texts-at-once] SEED ADDRESS PORT SERVER-ADDRESS SERVER-PORT SHARE:MS ...
 *
 * Questions to ADDRESS go to the server at once; its answer goes back when a drawn time has
 * passed since the question came. The last words are quantiles of that time, in order: "0:8
 * 0.5:60 1:1000" is at least 8 ms, half the time at most 60, and never more than a second; between
 * two of them it is linear. Equal seeds give equal times, in the order of questions. With
 * --texts-at-once those for TXT do not wait.
 *
 * On SIGUSR1 it prints a line: queries=, answers=, held_ms= (the sum of all these times, so that
 * its growth in a second is how many questions wait at a time), lost= (never answered), texts= (of
 * the questions, those for TXT).
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define IDS	     65536 /* questions on their way; an id of our own leads to each */
#define WHEEL	     16384 /* milliseconds; more than the longest time */
#define MS_MAX	     10000
#define PACKET_MAX   4096
#define QUANTILES    32
#define HEADER_SIZE  12
#define TYPE_TXT     16
#define NONE	     UINT32_MAX
#define SOCKET_BYTES (4 << 20)

struct slot {
	struct sockaddr_in client;
	uint16_t id; /* the client's */
	bool is_used;
	uint64_t since_ms;
	uint64_t due_ms;
	uint8_t *packet; /* an answer that waits, or NULL */
	size_t packet_size;
	uint32_t next; /* in its spoke of the wheel */
};

struct quantile {
	double share;
	double ms;
};

struct delay {
	int front_fd; /* towards clients */
	int back_fd;  /* towards the server */
	struct quantile quantiles[QUANTILES];
	unsigned quantile_count;
	bool has_prompt_texts;
	uint64_t state;
	uint32_t next_id;
	struct slot slots[IDS];
	uint32_t wheel[WHEEL]; /* first slot of those due in that millisecond */
	uint64_t turned_ms;    /* the wheel has come to here */
	uint64_t waiting;      /* answers in it */
	uint64_t queries, answers, held_ms, lost, texts;
};

static volatile sig_atomic_t is_asked;

static void on_signal(int number)
{
	(void)number;
	is_asked = 1;
}

static _Noreturn void fail(int status, const char *what)
{
	fprintf(stderr, "delay: %s%s%s\n", what, errno != 0 ? ": " : "",
		errno != 0 ? strerror(errno) : "");
	exit(status);
}

static uint64_t clock_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- times ---- */

static double draw_share(uint64_t *state)
{
	/* splitmix64 */
	*state += 0x9e3779b97f4a7c15u;
	uint64_t number = *state;
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
	number = (number ^ number >> 27) * 0x94d049bb133111ebu;
	return (double)((number ^ number >> 31) >> 11) * 0x1p-53;
}

static uint64_t draw_ms(struct delay *delay)
{
	double share = draw_share(&delay->state);
	unsigned i = 1;
	while (i + 1 < delay->quantile_count && delay->quantiles[i].share < share)
		i++;
	const struct quantile *from = &delay->quantiles[i - 1];
	const struct quantile *to = &delay->quantiles[i];
	return (uint64_t)(from->ms +
			  (share - from->share) / (to->share - from->share) * (to->ms - from->ms));
}

static void add_quantile(struct delay *delay, const char *text)
{
	char *end = NULL;
	double share = strtod(text, &end);
	double ms = *end == ':' ? strtod(end + 1, &end) : -1;
	unsigned count = delay->quantile_count;
	const struct quantile *last = count > 0 ? &delay->quantiles[count - 1] : NULL;
	bool is_first_good = last == NULL && share == 0;
	bool is_next_good = last != NULL && share > last->share && ms >= last->ms;

	errno = 0;
	if (*end != '\0' || count == QUANTILES || share > 1 || ms < 0 || ms > MS_MAX ||
	    (!is_first_good && !is_next_good))
		fail(EX_USAGE, "wants quantiles as SHARE:MS, from 0 to 1, in order");
	delay->quantiles[delay->quantile_count++] = (struct quantile){ share, ms };
}

/* ---- packets ---- */

static void release(struct slot *slot)
{
	free(slot->packet);
	slot->packet = NULL;
	slot->is_used = false;
}

static void send_back(struct delay *delay, struct slot *slot)
{
	memcpy(slot->packet, &slot->id, sizeof(slot->id));
	/* One that cannot be sent is lost, as any datagram may be. */
	if (sendto(delay->front_fd, slot->packet, slot->packet_size, 0,
		   (struct sockaddr *)&slot->client, sizeof(slot->client)) >= 0)
		delay->answers++;
	release(slot);
}

/* All that is due by now. */
static void turn(struct delay *delay, uint64_t now_ms)
{
	for (; delay->turned_ms <= now_ms; delay->turned_ms++) {
		uint32_t *spoke = &delay->wheel[delay->turned_ms % WHEEL];
		for (uint32_t id = *spoke; id != NONE;) {
			struct slot *slot = &delay->slots[id];
			id = slot->next;
			delay->waiting--;
			send_back(delay, slot);
		}
		*spoke = NONE;
	}
}

/* Of the question, which comes first and is not compressed. */
static bool is_text(const uint8_t *packet, size_t size)
{
	size_t at = HEADER_SIZE;
	while (at < size && packet[at] != 0)
		at += 1 + packet[at];
	return at + 2 < size && packet[at + 1] == 0 && packet[at + 2] == TYPE_TXT;
}

static void take_question(struct delay *delay, uint64_t now_ms)
{
	uint8_t packet[PACKET_MAX];
	struct sockaddr_in client;
	socklen_t client_size = sizeof(client);
	ssize_t size = recvfrom(delay->front_fd, packet, sizeof(packet), MSG_DONTWAIT,
				(struct sockaddr *)&client, &client_size);
	if (size < HEADER_SIZE)
		return;
	uint32_t id = delay->next_id++ % IDS;
	struct slot *slot = &delay->slots[id];
	if (slot->packet != NULL)
		return; /* 65536 wait, more than any test of this program sends */
	delay->lost += slot->is_used;
	delay->queries++;
	*slot = (struct slot){ .client = client, .is_used = true, .since_ms = now_ms };
	const bool is_for_text = is_text(packet, (size_t)size);
	delay->texts += is_for_text;
	slot->due_ms = now_ms + (is_for_text && delay->has_prompt_texts ? 0 : draw_ms(delay));
	memcpy(&slot->id, packet, sizeof(slot->id));
	const uint16_t own = (uint16_t)id;
	memcpy(packet, &own, sizeof(own));
	if (send(delay->back_fd, packet, (size_t)size, 0) < 0)
		errno = 0; /* the client asks again */
}

static void take_answer(struct delay *delay, uint64_t now_ms)
{
	uint8_t packet[PACKET_MAX];
	uint16_t id = 0;
	ssize_t size = recv(delay->back_fd, packet, sizeof(packet), MSG_DONTWAIT);
	if (size < HEADER_SIZE)
		return;
	memcpy(&id, packet, sizeof(id));
	struct slot *slot = &delay->slots[id];
	if (!slot->is_used || slot->packet != NULL)
		return;
	slot->packet = malloc((size_t)size);
	if (slot->packet == NULL)
		fail(EX_OSERR, "no memory");
	memcpy(slot->packet, packet, (size_t)size);
	slot->packet_size = (size_t)size;
	if (slot->due_ms < now_ms)
		slot->due_ms = now_ms;
	delay->held_ms += slot->due_ms - slot->since_ms;
	/* Spokes before it have been turned. */
	uint64_t spoke_ms = slot->due_ms < delay->turned_ms ? delay->turned_ms : slot->due_ms;
	slot->next = delay->wheel[spoke_ms % WHEEL];
	delay->wheel[spoke_ms % WHEEL] = id;
	delay->waiting++;
}

/* ---- the rest ---- */

static struct sockaddr_in read_address(const char *address, const char *port)
{
	struct sockaddr_in made = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
	errno = 0;
	if (inet_pton(AF_INET, address, &made.sin_addr) != 1 || made.sin_port == 0)
		fail(EX_USAGE, "wants IPv4 addresses and ports");
	return made;
}

static int open_socket(void)
{
	int size = SOCKET_BYTES;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fail(EX_OSERR, "socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	return fd;
}

static void open_sockets(struct delay *delay, char **words)
{
	struct sockaddr_in front = read_address(words[0], words[1]);
	struct sockaddr_in back = read_address(words[2], words[3]);
	delay->front_fd = open_socket();
	delay->back_fd = open_socket();
	if (bind(delay->front_fd, (struct sockaddr *)&front, sizeof(front)) != 0)
		fail(EX_UNAVAILABLE, "bind");
	if (connect(delay->back_fd, (struct sockaddr *)&back, sizeof(back)) != 0)
		fail(EX_UNAVAILABLE, "connect");
}

static void print_counters(const struct delay *delay)
{
	printf("queries=%" PRIu64 " answers=%" PRIu64 " held_ms=%" PRIu64 " lost=%" PRIu64
	       " texts=%" PRIu64 "\n",
	       delay->queries, delay->answers, delay->held_ms, delay->lost, delay->texts);
	if (fflush(stdout) != 0)
		fail(EX_IOERR, "standard output");
}

static _Noreturn void run(struct delay *delay)
{
	struct pollfd polled[] = { { .fd = delay->front_fd, .events = POLLIN },
				   { .fd = delay->back_fd, .events = POLLIN } };
	for (;;) {
		if (is_asked) {
			is_asked = 0;
			print_counters(delay);
		}
		/* A signal between these two is seen a moment later. */
		int count = poll(polled, 2, delay->waiting > 0 ? 1 : 100);
		uint64_t now_ms = clock_ms();
		if (count > 0 && polled[0].revents != 0)
			take_question(delay, now_ms);
		if (count > 0 && polled[1].revents != 0)
			take_answer(delay, now_ms);
		turn(delay, now_ms);
	}
}

static void read_words(struct delay *delay, int argc, char **argv)
{
	static const struct option options[] = { { "texts-at-once", no_argument, NULL, 't' },
						 { NULL, 0, NULL, 0 } };
	int option = 0;
	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (option != 't')
			exit(EX_USAGE);
		delay->has_prompt_texts = true;
	}
	char **words = argv + optind;
	if (argc - optind < 7) {
		errno = 0;
		fail(EX_USAGE, "wants SEED ADDRESS PORT SERVER-ADDRESS SERVER-PORT SHARE:MS ...");
	}
	delay->state = strtoull(words[0], NULL, 10);
	for (int i = 5; i < argc - optind; i++)
		add_quantile(delay, words[i]);
	if (delay->quantiles[delay->quantile_count - 1].share < 1)
		fail(EX_USAGE, "wants quantiles up to 1");
	open_sockets(delay, words + 1);
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct delay *delay = calloc(1, sizeof(*delay));
	if (delay == NULL)
		fail(EX_OSERR, "no memory");
	memset(delay->wheel, 0xff, sizeof(delay->wheel));
	read_words(delay, argc, argv);
	sigaction(SIGUSR1, &action, NULL);
	delay->turned_ms = clock_ms();
	puts("ready");
	fflush(stdout);
	run(delay);
}
