/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zones/secondaries.h"

#include "lib/common/values.h"
#include "lib/dns/soa.h"
#include "lib/process/clock.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
	DNS_PORT = 53,
	ANSWER_MAX = 4096,
	TRY_MS = 1000,	/* until a question that has no answer is put again */
	PAUSE_MS = 200, /* between two questions to one that answers, and has another serial */
};

/* The name of the zone, with the root label. */
struct apex {
	uint8_t name[DNSBLV6_LABELS_MAX + 1];
	size_t size;
};

/* One secondary that has not got it. */
struct asked {
	struct secondary *secondary;
	int fd; /* -1: none; it is opened anew for each question */
	uint16_t id;
	uint64_t again_ms;
};

const char *secondaries_add(void *member, const char *argument)
{
	struct secondaries *secondaries = member;
	if (secondaries->count == SECONDARIES_MAX)
		return "more than 16 secondaries";
	struct secondary *secondary = &secondaries->items[secondaries->count];
	*secondary = (struct secondary){ .text = argument };
	if (!values_parse_address(argument, DNS_PORT, 1, &secondary->address))
		return "not an IPv4 or IPv6 address, with @port or without";
	secondaries->count++;
	return NULL;
}

/* ---- asking ---- */

static void close_socket(struct asked *asked)
{
	if (asked->fd >= 0)
		close(asked->fd);
	asked->fd = -1;
}

/* What fails is tried again: an interface or a route may come. */
static void ask(struct asked *asked, const struct apex *apex, uint64_t now_ms)
{
	uint8_t question[SOA_QUESTION_MAX];
	const struct sockaddr_storage *address = &asked->secondary->address;
	close_socket(asked);
	asked->again_ms = now_ms + TRY_MS;
	asked->fd = socket(address->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (asked->fd < 0 || getentropy(&asked->id, sizeof(asked->id)) != 0)
		return;
	size_t size = soa_make_question(apex->name, apex->size, asked->id, question);
	if (connect(asked->fd, (const struct sockaddr *)address, values_address_size(address)) == 0)
		(void)!send(asked->fd, question, size, MSG_NOSIGNAL);
}

static void receive(struct asked *asked, const struct apex *apex, uint32_t serial, uint64_t now_ms)
{
	uint8_t wire[ANSWER_MAX];
	struct secondary *secondary = asked->secondary;
	ssize_t size = recv(asked->fd, wire, sizeof(wire), 0);
	if (size < 0) {
		close_socket(asked); /* refused: it is asked again when its time has come */
		return;
	}
	if (!soa_read_serial(wire, (size_t)size, apex->name, apex->size, asked->id,
			     &secondary->serial))
		return;
	secondary->has_answered = true;
	secondary->has_it = soa_is_as_new(secondary->serial, serial);
	asked->again_ms = now_ms + PAUSE_MS;
	close_socket(asked);
}

/* All that are due, and then what comes until the next is due. */
static void ask_round(struct asked *asked, size_t count, const struct apex *apex, uint32_t serial,
		      uint64_t end_ms)
{
	struct pollfd pollers[SECONDARIES_MAX];
	uint64_t now_ms = clock_now_ms();
	uint64_t next_ms = end_ms;
	for (size_t i = 0; i < count; i++) {
		bool is_waiting = !asked[i].secondary->has_it;
		if (is_waiting && asked[i].again_ms <= now_ms)
			ask(&asked[i], apex, now_ms);
		if (is_waiting && asked[i].again_ms < next_ms)
			next_ms = asked[i].again_ms;
		pollers[i] = (struct pollfd){ .fd = asked[i].fd, .events = POLLIN };
	}
	if (poll(pollers, count, next_ms > now_ms ? (int)(next_ms - now_ms) : 0) <= 0)
		return;
	now_ms = clock_now_ms();
	for (size_t i = 0; i < count; i++) {
		if (pollers[i].revents != 0)
			receive(&asked[i], apex, serial, now_ms);
	}
}

static size_t count_waiting(const struct secondaries *secondaries)
{
	size_t count = 0;
	for (size_t i = 0; i < secondaries->count; i++)
		count += !secondaries->items[i].has_it;
	return count;
}

size_t secondaries_wait(struct secondaries *secondaries, const struct dnsblv6_labels *zone,
			uint32_t serial)
{
	struct asked asked[SECONDARIES_MAX];
	struct apex apex = { .size = zone->size + 1U };
	memcpy(apex.name, zone->wire, zone->size);
	uint64_t wait_s = secondaries->wait_s != 0 ? secondaries->wait_s : SECONDARIES_WAIT_S;
	uint64_t end_ms = clock_now_ms() + wait_s * 1000;
	for (size_t i = 0; i < secondaries->count; i++)
		asked[i] = (struct asked){ .secondary = &secondaries->items[i], .fd = -1 };
	while (count_waiting(secondaries) > 0 && clock_now_ms() < end_ms)
		ask_round(asked, secondaries->count, &apex, serial, end_ms);
	for (size_t i = 0; i < secondaries->count; i++)
		close_socket(&asked[i]);
	return count_waiting(secondaries);
}
