/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/keys/parent.h"

#include "lib/common/values.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <libknot/libknot.h>

enum {
	QUESTION_MAX = 512,
	DS_HEAD_SIZE = 4, /* key tag, algorithm, type of digest */
	DIGEST_TYPE = 3,
	UDP_PAYLOAD = 1232, /* what no link on the way cuts into pieces */
	RRSIG_HEAD_SIZE = 18,
	TRIES = 3,
	TRY_MS = 2000,
	TCP_S = 4,
};

const char *parent_strerror(int status)
{
	switch (status) {
	case PARENT_ESILENT:
		return "no answer";
	case PARENT_EREFUSED:
		return "it answers with an error";
	case PARENT_EDOUBTED:
		return "its answer is neither an authority's nor validated";
	case PARENT_ECUT:
		return "its answer is cut, by TCP as well";
	case PARENT_EFOREIGN:
		return "it answers another question";
	default:
		return key_strerror(status);
	}
}

/* ---- the question ---- */

/* With its root label. Returns the size. */
static size_t make_name(const struct dnsblv6_labels *zone, uint8_t *ret_name)
{
	memcpy(ret_name, zone->wire, zone->size);
	ret_name[zone->size] = 0;
	return zone->size + 1U;
}

/* With DO, for the RRSIG of the DS. */
static int put_opt(knot_pkt_t *packet)
{
	knot_rrset_t opt;
	int ret = knot_edns_init(&opt, UDP_PAYLOAD, 0, KNOT_EDNS_VERSION, NULL);
	if (ret != KNOT_EOK)
		return ret;
	knot_edns_set_do(&opt);
	ret = knot_pkt_begin(packet, KNOT_ADDITIONAL);
	if (ret == KNOT_EOK)
		ret = knot_pkt_put(packet, KNOT_COMPR_HINT_NONE, &opt, 0);
	knot_rrset_clear(&opt, NULL);
	return ret;
}

size_t parent_make_question(const struct dnsblv6_labels *zone, uint16_t id, uint8_t *ret_wire)
{
	uint8_t name[DNSBLV6_LABELS_MAX + 1];
	knot_pkt_t *packet = knot_pkt_new(ret_wire, QUESTION_MAX, NULL);
	if (packet == NULL)
		return 0;
	make_name(zone, name);
	knot_pkt_clear(packet);
	knot_wire_set_id(ret_wire, id);
	knot_wire_set_rd(ret_wire);
	knot_wire_set_ad(
		ret_wire); /* wants to know whether it is validated, RFC 6840 section 5.7 */
	int ret = knot_pkt_put_question(packet, name, KNOT_CLASS_IN, KNOT_RRTYPE_DS);
	if (ret == KNOT_EOK)
		ret = put_opt(packet);
	size_t size = ret == KNOT_EOK ? packet->size : 0;
	knot_pkt_free(packet);
	return size;
}

/* ---- the answer ---- */

static bool is_answer(knot_pkt_t *packet, const struct dnsblv6_labels *zone, uint16_t id)
{
	uint8_t name[DNSBLV6_LABELS_MAX + 1];
	make_name(zone, name);
	return packet->size >= KNOT_WIRE_HEADER_SIZE && knot_wire_get_qr(packet->wire) &&
	       knot_wire_get_id(packet->wire) == id &&
	       knot_wire_get_opcode(packet->wire) == KNOT_OPCODE_QUERY &&
	       knot_pkt_parse(packet, 0) == KNOT_EOK && knot_pkt_qname(packet) != NULL &&
	       knot_dname_is_case_equal(knot_pkt_qname(packet), name) &&
	       knot_pkt_qtype(packet) == KNOT_RRTYPE_DS;
}

static void take_ds(struct parent_answer *answer, const knot_rdata_t *rdata)
{
	if (answer->ds_count == PARENT_DS_MAX || rdata->len < DS_HEAD_SIZE)
		return;
	struct parent_ds *ds = &answer->ds[answer->ds_count++];
	ds->size = rdata->len < KEY_DS_MAX ? rdata->len : KEY_DS_MAX;
	memcpy(ds->rdata, rdata->data, ds->size);
}

static void take_ttl(struct parent_answer *answer, uint32_t ttl)
{
	if (ttl > answer->ttl)
		answer->ttl = ttl;
}

/*
 * What the TTL is at an authority. The TTL of a resolver's answer is what is left of it, and less
 * yet where the resolver has a limit of its own: other resolvers keep the DS for longer.
 */
static void take_rrsig(struct parent_answer *answer, const knot_rdata_t *rdata)
{
	if (rdata->len > RRSIG_HEAD_SIZE && knot_rrsig_type_covered(rdata) == KNOT_RRTYPE_DS)
		take_ttl(answer, knot_rrsig_original_ttl(rdata));
}

/* knot_pkt_parse() leaves each RR an RRset of its own. */
static void take_rr(struct parent_answer *answer, const knot_rrset_t *rr,
		    const struct dnsblv6_labels *zone)
{
	uint8_t name[DNSBLV6_LABELS_MAX + 1];
	make_name(zone, name);
	if (!knot_dname_is_case_equal(rr->owner, name))
		return;
	if (rr->type == KNOT_RRTYPE_DS)
		take_ttl(answer, rr->ttl);
	const knot_rdata_t *rdata = rr->rrs.rdata;
	for (unsigned i = 0; i < rr->rrs.count; i++) {
		if (rr->type == KNOT_RRTYPE_DS)
			take_ds(answer, rdata);
		else if (rr->type == KNOT_RRTYPE_RRSIG)
			take_rrsig(answer, rdata);
		rdata = knot_rdataset_next((knot_rdata_t *)(uintptr_t)rdata);
	}
}

static int read_packet(knot_pkt_t *packet, const struct dnsblv6_labels *zone, uint16_t id,
		       struct parent_answer *answer)
{
	if (!is_answer(packet, zone, id))
		return PARENT_EFOREIGN;
	if (knot_wire_get_tc(packet->wire))
		return PARENT_ECUT;
	unsigned rcode = knot_wire_get_rcode(packet->wire);
	if (rcode != KNOT_RCODE_NOERROR && rcode != KNOT_RCODE_NXDOMAIN)
		return PARENT_EREFUSED;
	if (!knot_wire_get_aa(packet->wire) && !knot_wire_get_ad(packet->wire))
		return PARENT_EDOUBTED;
	const knot_pktsection_t *section = knot_pkt_section(packet, KNOT_ANSWER);
	for (unsigned i = 0; i < section->count; i++)
		take_rr(answer, knot_pkt_rr(section, (uint16_t)i), zone);
	if (answer->ttl > INT32_MAX)
		answer->ttl = INT32_MAX;
	return DNSBLV6_OK;
}

int parent_read_answer(uint8_t *wire, size_t size, const struct dnsblv6_labels *zone, uint16_t id,
		       struct parent_answer *ret_answer)
{
	struct parent_answer answer = { .ds_count = 0 };
	knot_pkt_t *packet = knot_pkt_new(wire, (uint16_t)size, NULL);
	if (packet == NULL)
		return -ENOMEM;
	packet->size = size;
	int ret = read_packet(packet, zone, id, &answer);
	knot_pkt_free(packet);
	if (ret == DNSBLV6_OK)
		*ret_answer = answer;
	return ret;
}

/* ---- sockets ---- */

/* Connected: then only that address and port can answer. */
static int open_socket(const struct sockaddr_storage *address, int type)
{
	struct timeval limit = { .tv_sec = TCP_S };
	int fd = socket(address->ss_family, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
	    connect(fd, (const struct sockaddr *)address, values_address_size(address)) == 0)
		return fd;
	int ret = errno == EINPROGRESS || errno == EAGAIN ? PARENT_ESILENT : -errno;
	close(fd);
	return ret;
}

/* What comes until then that is no answer is not there: anything may be sent to a port. */
static int await_answer(int fd, const struct dnsblv6_labels *zone, uint16_t id, uint8_t *wire,
			struct parent_answer *ret_answer)
{
	uint64_t end_ms = clock_now_ms() + TRY_MS;
	int ret = PARENT_ESILENT;
	for (;;) {
		uint64_t at_ms = clock_now_ms();
		struct pollfd poller = { .fd = fd, .events = POLLIN };
		if (at_ms >= end_ms || poll(&poller, 1, (int)(end_ms - at_ms)) <= 0)
			return ret;
		ssize_t size = recv(fd, wire, PARENT_WIRE_MAX, 0);
		if (size < 0)
			return errno == ECONNREFUSED ? -errno : ret;
		ret = parent_read_answer(wire, (size_t)size, zone, id, ret_answer);
		if (ret != PARENT_EFOREIGN)
			return ret;
	}
}

/* Each try has a port and a number of its own. */
static int ask_by_udp(const struct sockaddr_storage *address, const struct dnsblv6_labels *zone,
		      uint8_t *wire, struct parent_answer *ret_answer)
{
	uint8_t question[QUESTION_MAX];
	uint16_t id;
	int fd = open_socket(address, SOCK_DGRAM);
	if (fd < 0)
		return fd;
	int ret = getentropy(&id, sizeof(id)) == 0 ? DNSBLV6_OK : -errno;
	size_t size = ret == DNSBLV6_OK ? parent_make_question(zone, id, question) : 0;
	if (ret == DNSBLV6_OK)
		ret = size == 0 ? -ENOMEM : PARENT_ESILENT;
	if (size > 0 && send(fd, question, size, MSG_NOSIGNAL) == (ssize_t)size)
		ret = await_answer(fd, zone, id, wire, ret_answer);
	close(fd);
	return ret;
}

/* False also when it is not there at end_ms, however much has come. */
static bool receive_all(int fd, uint8_t *bytes, size_t size, uint64_t end_ms)
{
	while (size > 0) {
		uint64_t at_ms = clock_now_ms();
		struct pollfd poller = { .fd = fd, .events = POLLIN };
		if (at_ms >= end_ms || poll(&poller, 1, (int)(end_ms - at_ms)) <= 0)
			return false;
		ssize_t count = recv(fd, bytes, size, 0);
		if (count <= 0)
			return false;
		bytes += count;
		size -= (size_t)count;
	}
	return true;
}

static int ask_by_tcp(const struct sockaddr_storage *address, const struct dnsblv6_labels *zone,
		      uint8_t *wire, struct parent_answer *ret_answer)
{
	enum { LENGTH_SIZE = 2 };
	uint8_t question[LENGTH_SIZE + QUESTION_MAX];
	uint8_t length[LENGTH_SIZE];
	static const uint16_t id = 0; /* nothing but the answer can come on this connection */
	size_t size = parent_make_question(zone, id, question + LENGTH_SIZE);
	if (size == 0)
		return -ENOMEM;
	int fd = open_socket(address, SOCK_STREAM);
	if (fd < 0)
		return fd;
	knot_wire_write_u16(question, (uint16_t)size);
	uint64_t end_ms = clock_now_ms() + TCP_S * 1000;
	int ret = PARENT_ESILENT;
	if (send(fd, question, LENGTH_SIZE + size, MSG_NOSIGNAL) == (ssize_t)(LENGTH_SIZE + size) &&
	    receive_all(fd, length, sizeof(length), end_ms)) {
		size = knot_wire_read_u16(length);
		if (receive_all(fd, wire, size, end_ms))
			ret = parent_read_answer(wire, size, zone, id, ret_answer);
	}
	close(fd);
	return ret;
}

int parent_ask(const struct sockaddr_storage *address, const struct dnsblv6_labels *zone,
	       struct parent_answer *ret_answer)
{
	int ret = PARENT_ESILENT;
	uint8_t *wire = malloc(PARENT_WIRE_MAX);
	if (wire == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < TRIES && (ret == PARENT_ESILENT || ret == PARENT_EFOREIGN); i++)
		ret = ask_by_udp(address, zone, wire, ret_answer);
	if (ret == PARENT_ECUT)
		ret = ask_by_tcp(address, zone, wire, ret_answer);
	free(wire);
	return ret;
}

/* ---- the verdict ---- */

static bool is_ds_of(const struct parent_ds *ds, const struct dnsblv6_labels *zone,
		     const struct rollover_key *key)
{
	uint8_t rdata[KEY_DS_MAX];
	size_t size = key_ds_of(zone, key->dnskey, key->dnskey_size, ds->rdata[DIGEST_TYPE], rdata);
	return size != 0 && size == ds->size && memcmp(rdata, ds->rdata, size) == 0;
}

enum parent_verdict parent_judge(const struct parent_answer *answer,
				 const struct dnsblv6_labels *zone,
				 const struct rollover_key *new_key, const struct rollover_key *old)
{
	bool has_new = false;
	bool has_old = false;
	for (size_t i = 0; i < answer->ds_count; i++) {
		const struct parent_ds *ds = &answer->ds[i];
		has_new = has_new || is_ds_of(ds, zone, new_key);
		has_old = has_old || (old != NULL && is_ds_of(ds, zone, old));
	}
	if (has_new)
		return has_old ? PARENT_HAS_BOTH : PARENT_HAS_NEW;
	if (has_old)
		return PARENT_HAS_OLD;
	return answer->ds_count > 0 ? PARENT_HAS_OTHER : PARENT_HAS_NONE;
}
