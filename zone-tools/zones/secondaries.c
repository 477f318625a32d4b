/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zones/secondaries.h"

#include "lib/common/values.h"
#include "lib/process/clock.h"

#include <libknot/libknot.h>

#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	DNS_PORT = 53,
	QUESTION_MAX = 512,
	ANSWER_MAX = 4096,
	TRY_MS = 1000,	/* until a question that has no answer is put again */
	PAUSE_MS = 200, /* between two questions to one that answers, and has another serial */
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
	if (!values_parse_address(argument, DNS_PORT, &secondary->address))
		return "not an IPv4 or IPv6 address, with @port or without";
	secondaries->count++;
	return NULL;
}

/* ---- messages ---- */

static void make_name(const struct dnsblv6_labels *zone, uint8_t *ret_name)
{
	memcpy(ret_name, zone->wire, zone->size);
	ret_name[zone->size] = 0;
}

size_t secondaries_make_question(const struct dnsblv6_labels *zone, uint16_t id, uint8_t *ret_wire)
{
	uint8_t name[DNSBLV6_LABELS_MAX + 1];
	knot_pkt_t *packet = knot_pkt_new(ret_wire, QUESTION_MAX, NULL);
	if (packet == NULL)
		return 0;
	make_name(zone, name);
	knot_pkt_clear(packet);
	knot_wire_set_id(ret_wire, id);
	int ret = knot_pkt_put_question(packet, name, KNOT_CLASS_IN, KNOT_RRTYPE_SOA);
	size_t size = ret == KNOT_EOK ? packet->size : 0;
	knot_pkt_free(packet);
	return size;
}

static bool is_answer(const knot_pkt_t *packet, const struct dnsblv6_labels *zone, uint16_t id)
{
	uint8_t name[DNSBLV6_LABELS_MAX + 1];
	make_name(zone, name);
	return knot_wire_get_qr(packet->wire) && knot_wire_get_id(packet->wire) == id &&
	       knot_wire_get_opcode(packet->wire) == KNOT_OPCODE_QUERY &&
	       knot_wire_get_rcode(packet->wire) == KNOT_RCODE_NOERROR &&
	       knot_wire_get_aa(packet->wire) && knot_pkt_qname(packet) != NULL &&
	       knot_dname_is_case_equal(knot_pkt_qname(packet), name) &&
	       knot_pkt_qtype(packet) == KNOT_RRTYPE_SOA;
}

static bool read_packet(knot_pkt_t *packet, const struct dnsblv6_labels *zone, uint16_t id,
			uint32_t *ret_serial)
{
	if (packet->size < KNOT_WIRE_HEADER_SIZE || knot_pkt_parse(packet, 0) != KNOT_EOK ||
	    !is_answer(packet, zone, id))
		return false;
	const knot_pktsection_t *section = knot_pkt_section(packet, KNOT_ANSWER);
	const knot_rrset_t *rr = section->count > 0 ? knot_pkt_rr(section, 0) : NULL;
	if (rr == NULL || rr->type != KNOT_RRTYPE_SOA || rr->rrs.count != 1)
		return false;
	*ret_serial = knot_soa_serial(rr->rrs.rdata);
	return true;
}

bool secondaries_read_answer(uint8_t *wire, size_t size, const struct dnsblv6_labels *zone,
			     uint16_t id, uint32_t *ret_serial)
{
	knot_pkt_t *packet = knot_pkt_new(wire, (uint16_t)size, NULL);
	if (packet == NULL)
		return false;
	bool is_read = read_packet(packet, zone, id, ret_serial);
	knot_pkt_free(packet);
	return is_read;
}

/* ---- asking ---- */

static void close_socket(struct asked *asked)
{
	if (asked->fd >= 0)
		close(asked->fd);
	asked->fd = -1;
}

/* What fails is tried again: an interface or a route may come. */
static void ask(struct asked *asked, const struct dnsblv6_labels *zone, uint64_t now_ms)
{
	uint8_t question[QUESTION_MAX];
	const struct sockaddr_storage *address = &asked->secondary->address;
	close_socket(asked);
	asked->again_ms = now_ms + TRY_MS;
	asked->fd = socket(address->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (asked->fd < 0 || getrandom(&asked->id, sizeof(asked->id), 0) != sizeof(asked->id))
		return;
	size_t size = secondaries_make_question(zone, asked->id, question);
	if (connect(asked->fd, (const struct sockaddr *)address, values_address_size(address)) == 0)
		(void)!send(asked->fd, question, size, MSG_NOSIGNAL);
}

/* RFC 1982: is a newer than b, or b? */
static bool is_there(uint32_t a, uint32_t b)
{
	return a - b < (uint32_t)1 << 31;
}

static void receive(struct asked *asked, const struct dnsblv6_labels *zone, uint32_t serial,
		    uint64_t now_ms)
{
	uint8_t wire[ANSWER_MAX];
	struct secondary *secondary = asked->secondary;
	ssize_t size = recv(asked->fd, wire, sizeof(wire), 0);
	if (size < 0) {
		close_socket(asked); /* refused: it is asked again when its time has come */
		return;
	}
	if (!secondaries_read_answer(wire, (size_t)size, zone, asked->id, &secondary->serial))
		return;
	secondary->has_answered = true;
	secondary->has_it = is_there(secondary->serial, serial);
	asked->again_ms = now_ms + PAUSE_MS;
	close_socket(asked);
}

/* All that are due, and then what comes until the next is due. */
static void ask_round(struct asked *asked, size_t count, const struct dnsblv6_labels *zone,
		      uint32_t serial, uint64_t end_ms)
{
	struct pollfd pollers[SECONDARIES_MAX];
	uint64_t now_ms = clock_now_ms();
	uint64_t next_ms = end_ms;
	for (size_t i = 0; i < count; i++) {
		bool is_waiting = !asked[i].secondary->has_it;
		if (is_waiting && asked[i].again_ms <= now_ms)
			ask(&asked[i], zone, now_ms);
		if (is_waiting && asked[i].again_ms < next_ms)
			next_ms = asked[i].again_ms;
		pollers[i] = (struct pollfd){ .fd = asked[i].fd, .events = POLLIN };
	}
	if (poll(pollers, count, next_ms > now_ms ? (int)(next_ms - now_ms) : 0) <= 0)
		return;
	now_ms = clock_now_ms();
	for (size_t i = 0; i < count; i++) {
		if (pollers[i].revents != 0)
			receive(&asked[i], zone, serial, now_ms);
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
	uint64_t wait_s = secondaries->wait_s != 0 ? secondaries->wait_s : SECONDARIES_WAIT_S;
	uint64_t end_ms = clock_now_ms() + wait_s * 1000;
	for (size_t i = 0; i < secondaries->count; i++)
		asked[i] = (struct asked){ .secondary = &secondaries->items[i], .fd = -1 };
	while (count_waiting(secondaries) > 0 && clock_now_ms() < end_ms)
		ask_round(asked, secondaries->count, zone, serial, end_ms);
	for (size_t i = 0; i < secondaries->count; i++)
		close_socket(&asked[i]);
	return count_waiting(secondaries);
}
