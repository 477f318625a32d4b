/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/transfer/notify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libknot/libknot.h>

#include "lib/common/log.h"
#include "lib/dns/peer.h"
#include "lib/dns/soa.h"

#define INTERVAL_MS	   500
#define TRIES_MAX	   5
#define FIRST_TIMEOUT_MS   2000
#define DOWN_INTERVAL_MS   60000 /* the interval of RFC 1996 section 3.6 */
#define WORKERS_TIMEOUT_MS 30000
#define MESSAGE_MAX	   2048 /* two names of 255 octets, an SOA of two more, a TSIG */

/* ---- the message ---- */

static int put_message(knot_pkt_t *packet, const struct zone *zone)
{
	knot_rrset_t soa;
	/* libknot's owner is not const; it only reads it. */
	knot_dname_t *apex = (knot_dname_t *)(uintptr_t)zone->apex;
	knot_rrset_init(&soa, apex, KNOT_RRTYPE_SOA, KNOT_CLASS_IN, zone->soa_ttl);
	int ret = knot_rrset_add_rdata(&soa, zone->soa, zone->soa_size, NULL);
	if (ret == KNOT_EOK)
		ret = knot_pkt_put_question(packet, apex, KNOT_CLASS_IN, KNOT_RRTYPE_SOA);
	if (ret == KNOT_EOK)
		ret = knot_pkt_begin(packet, KNOT_ANSWER);
	if (ret == KNOT_EOK)
		ret = knot_pkt_put(packet, KNOT_COMPR_HINT_QNAME, &soa, 0);
	knot_rdataset_clear(&soa.rrs, NULL);
	return ret == KNOT_EOK ? 0 : -ENOMEM;
}

/* Into ret_wire, which has MESSAGE_MAX bytes. Returns the size, or 0. */
static size_t make_message(struct notify_target *target, const struct zone *zone, uint8_t *ret_wire)
{
	knot_pkt_t *packet = knot_pkt_new(ret_wire, MESSAGE_MAX, NULL);
	if (packet == NULL)
		return 0;
	knot_pkt_clear(packet);
	knot_wire_set_id(ret_wire, target->id);
	knot_wire_set_opcode(ret_wire, KNOT_OPCODE_NOTIFY);
	knot_wire_set_aa(ret_wire);
	int ret = put_message(packet, zone);
	size_t size = packet->size;
	knot_pkt_free(packet);
	if (ret == 0 && target->secondary->key != NULL)
		ret = tsig_sign_query(&target->tsig, target->secondary->key, ret_wire, &size,
				      MESSAGE_MAX);
	return ret == 0 ? size : 0;
}

/* ---- the answer ---- */

/* Its TSIG apart. */
static bool is_answer(const struct notify *notify, const struct notify_target *target,
		      knot_pkt_t *packet)
{
	const struct zone *zone = &notify->catalog->zones[target->zone];
	if (packet->size < KNOT_WIRE_HEADER_SIZE || !knot_wire_get_qr(packet->wire) ||
	    knot_wire_get_id(packet->wire) != target->id ||
	    knot_wire_get_opcode(packet->wire) != KNOT_OPCODE_NOTIFY ||
	    knot_pkt_parse(packet, 0) != KNOT_EOK || packet->qname_size != zone->apex_size ||
	    memcmp(knot_pkt_qname(packet), zone->apex, zone->apex_size) != 0)
		return false;
	return knot_pkt_qtype(packet) == KNOT_RRTYPE_SOA;
}

static enum notify_answer read_rcode(const struct notify_target *target, knot_pkt_t *packet)
{
	bool is_taken = knot_wire_get_rcode(packet->wire) == KNOT_RCODE_NOERROR;
	if (target->secondary->key == NULL || tsig_check_response(&target->tsig, packet))
		return is_taken ? NOTIFY_TAKEN : NOTIFY_REFUSED;
	return is_taken ? NOTIFY_OTHER : NOTIFY_REFUSED_UNSIGNED;
}

enum notify_answer notify_read_answer(const struct notify *notify,
				      const struct notify_target *target, uint8_t *wire,
				      size_t size)
{
	knot_pkt_t *packet = knot_pkt_new(wire, (uint16_t)size, NULL);
	if (packet == NULL)
		return NOTIFY_OTHER;
	packet->size = size;
	enum notify_answer answer = NOTIFY_OTHER;
	if (is_answer(notify, target, packet))
		answer = read_rcode(target, packet);
	knot_pkt_free(packet);
	return answer;
}

/* ---- one target ---- */

static void log_target(const struct notify *notify, const struct notify_target *target,
		       enum log_level level, const char *what)
{
	char address[PEER_TEXT_SIZE];
	uint16_t port = peer_format((const struct sockaddr *)target->address, address);
	log_line(level, notify->settings->zones[target->zone].domain.text,
		 "%s, secondary=%s address=%s port=%u serial=%u", what, target->secondary->id,
		 address, port, target->serial);
}

static void stop(struct notify *notify, struct notify_target *target)
{
	outward_close(&notify->turns, &target->fd);
	target->is_asking = false;
}

/* What was said about a secondary is not said again before that has changed. */
static void take_for(struct notify *notify, struct notify_target *target, bool is_down,
		     const char *what)
{
	if (is_down)
		counters_count(&notify->counters.server[COUNTERS_SERVER_NOTIFIES_FAILED]);
	if (is_down != target->is_down)
		log_target(notify, target, is_down ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, what);
	else
		log_target(notify, target, LOG_LEVEL_DEBUG, what);
	target->is_down = is_down;
}

/* No way to it, no socket, no server at the port: any of that may change until the next try. */
static void send_try(struct notify *notify, struct notify_target *target, uint64_t now_ms)
{
	uint8_t wire[MESSAGE_MAX];
	target->next_ms =
		now_ms + (target->tries < TRIES_MAX ? (uint64_t)FIRST_TIMEOUT_MS << target->tries
						    : DOWN_INTERVAL_MS);
	target->tries++;
	if (target->fd < 0)
		target->fd = outward_open(&notify->turns, notify->settings, target->address);
	if (target->fd < 0) {
		take_for(notify, target, true, "NOTIFY cannot be sent");
		return;
	}
	target->sent_ms = now_ms;
	size_t size = make_message(target, &notify->catalog->zones[target->zone], wire);
	if (size > 0 && send(target->fd, wire, size, MSG_NOSIGNAL) >= 0)
		counters_count(&notify->counters.server[COUNTERS_SERVER_NOTIFIES]);
}

static void begin(struct notify *notify, struct notify_target *target, uint32_t serial,
		  uint64_t now_ms)
{
	stop(notify, target);
	target->serial = serial;
	target->tries = 0;
	target->sent_ms = 0;
	target->is_asking = true;
	if (getentropy(&target->id, sizeof(target->id)) != 0)
		target->id = (uint16_t)now_ms; /* so few bytes are always to be had */
	send_try(notify, target, now_ms);
}

/* True when it was an answer, or nonsense; false when there is nothing to read. */
static bool receive(struct notify *notify, struct notify_target *target)
{
	uint8_t wire[MESSAGE_MAX];
	ssize_t size = recv(target->fd, wire, sizeof(wire), 0);
	if (size < 0)
		return errno == EINTR || errno == ECONNREFUSED;
	enum notify_answer answer = notify_read_answer(notify, target, wire, (size_t)size);
	if (answer == NOTIFY_OTHER)
		return true;
	if (answer == NOTIFY_REFUSED_UNSIGNED) {
		if (!target->is_down)
			take_for(notify, target, true, "secondary refuses NOTIFY unsigned");
		return true;
	}
	stop(notify, target);
	take_for(notify, target, answer == NOTIFY_REFUSED,
		 answer == NOTIFY_REFUSED ? "secondary refuses NOTIFY"
					  : "secondary answers NOTIFY");
	return true;
}

static void read_answers(struct notify *notify, struct notify_target *target, uint64_t now_ms)
{
	enum { READS_MAX = 16 }; /* of a secondary that floods, the rest has to wait */
	for (int i = 0; i < READS_MAX && target->fd >= 0 && receive(notify, target); i++)
		continue;
	if (notify->turns.is_short && now_ms - target->sent_ms >= FIRST_TIMEOUT_MS)
		outward_close(&notify->turns, &target->fd);
}

/* For a socket, until the next tick. */
static bool has_to_wait(struct notify *notify, size_t index)
{
	if (notify->targets[index].fd >= 0 || !outward_is_full(&notify->turns))
		return false;
	outward_wait(&notify->turns, index);
	return true;
}

static void tend(struct notify *notify, size_t index, uint64_t now_ms)
{
	struct notify_target *target = &notify->targets[index];
	if (!target->is_asking || now_ms < target->next_ms || has_to_wait(notify, index))
		return;
	if (target->tries == TRIES_MAX && target->sent_ms > 0)
		take_for(notify, target, true, "secondary does not answer NOTIFY");
	send_try(notify, target, now_ms);
}

/* ---- twice a second ---- */

/* A secondary that is told asks any worker for the SOA, and does not come again for an old one. */
static void take_serial(struct notify *notify, size_t index, uint32_t newest, uint64_t now_ms)
{
	struct notify_zone *zone = &notify->zones[index];
	if (!zone->is_waiting) {
		if (zone->has_serial && zone->serial == newest)
			return;
		zone->is_waiting = true;
		zone->next_serial = newest;
		zone->since_ms = now_ms;
	}
	/* A store that was put back, and no worker will have what it had. */
	if (!soa_is_as_new(newest, zone->next_serial))
		zone->next_serial = newest;
	if (!zonestatus_all_have(notify->zonestatus, index, zone->next_serial) &&
	    now_ms - zone->since_ms < WORKERS_TIMEOUT_MS)
		return;
	zone->is_waiting = false;
	zone->has_serial = true;
	zone->serial = zone->next_serial;
}

static void look(struct notify *notify, size_t index, uint64_t now_ms)
{
	struct zone *zone = &notify->catalog->zones[index];
	if (notify->settings->zones[index].secondaries.count == 0)
		return;
	int ret = zone_begin(zone);
	zone_end(zone);
	if (ret == 0)
		take_serial(notify, index, zone->facts.serial, now_ms);
}

static bool is_behind(const struct notify *notify, const struct notify_target *target)
{
	const struct notify_zone *zone = &notify->zones[target->zone];
	return zone->has_serial && (target->tries == 0 || target->serial != zone->serial);
}

/*
 * Each that is told may ask for a transfer at once, and one too many is refused: most secondaries
 * try again when their retry time is over, and not before. So all have their turn.
 */
static void begin_some(struct notify *notify, uint64_t now_ms)
{
	unsigned max = notify->settings->transfer_max;
	unsigned left = max < 4 ? 1 : max / 4;
	for (size_t i = 0; i < notify->target_count && left > 0; i++) {
		struct notify_target *target = &notify->targets[notify->turn];
		bool is_next = is_behind(notify, target);
		if (is_next && has_to_wait(notify, notify->turn))
			return;
		notify->turn = (notify->turn + 1) % notify->target_count;
		if (!is_next)
			continue;
		begin(notify, target, notify->zones[target->zone].serial, now_ms);
		left--;
	}
}

static void timer_on_tick(uv_timer_t *timer)
{
	struct notify *notify = timer->data;
	uint64_t now_ms = uv_now(notify->loop);
	for (size_t i = 0; i < notify->catalog->zone_count; i++)
		look(notify, i, now_ms);
	size_t first = outward_begin(&notify->turns);
	for (size_t i = 0; i < notify->target_count; i++)
		read_answers(notify, &notify->targets[i], now_ms);
	begin_some(notify, now_ms);
	for (size_t i = 0; i < notify->target_count; i++)
		tend(notify, (first + i) % notify->target_count, now_ms);
}

/* ---- life ---- */

int notify_open(struct notify *notify, uv_loop_t *loop, struct catalog *catalog,
		const struct settings *settings, const struct zonestatus *zonestatus,
		const struct counters *counters)
{
	*notify = (struct notify){
		.loop = loop,
		.settings = settings,
		.catalog = catalog,
		.zonestatus = zonestatus,
		.counters = *counters,
		.turns = { .max = settings->outward_max },
	};
	notify->zones = calloc(settings->zone_count + 1, sizeof(*notify->zones));
	notify->targets = calloc(outward_count(settings) + 1, sizeof(*notify->targets));
	if (notify->zones == NULL || notify->targets == NULL)
		return -ENOMEM;
	struct outward_address found;
	while (outward_find(settings, notify->target_count, &found))
		notify->targets[notify->target_count++] =
			(struct notify_target){ .zone = found.zone,
						.secondary = found.secondary,
						.address = found.address,
						.fd = -1 };
	uv_timer_init(loop, &notify->timer);
	notify->timer.data = notify;
	return notify->target_count == 0
		       ? 0
		       : uv_timer_start(&notify->timer, timer_on_tick, 0, INTERVAL_MS);
}

void notify_close(struct notify *notify)
{
	for (size_t i = 0; i < notify->target_count; i++)
		stop(notify, &notify->targets[i]);
	uv_close((uv_handle_t *)&notify->timer, NULL);
}

void notify_free(struct notify *notify)
{
	free(notify->zones);
	free(notify->targets);
	memset(notify, 0, sizeof(*notify));
}
