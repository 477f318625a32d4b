/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/zone/clients.h"

#include "lib/dns/peer.h"
#include "lib/store/tables.h"

/* The segment that holds addr. DNSBLV6_ENOTFOUND when there is none. */
static int find_segment(struct zone *zone, struct dnsblv6_addr addr,
			struct dnsblv6_segment *ret_segment)
{
	uint8_t key[DNSBLV6_SEGMENT_KEY_MAX];
	struct store_bytes found;
	struct store_bytes value;
	uint16_t origin;
	size_t size = dnsblv6_segment_make_key(DNSBLV6_ORIGIN_ACL, addr, key);
	int ret = reader_seek(zone->reader, STORE_SEGMENTS, key, size, &found, &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_segment_decode(found.data, found.size, value.data, value.size,
					     &origin, ret_segment);
	if (ret != DNSBLV6_OK)
		return ret;
	return dnsblv6_addr_is_ipv4(ret_segment->first) == dnsblv6_addr_is_ipv4(addr) &&
			       dnsblv6_addr_compare(ret_segment->first, addr) <= 0
		       ? DNSBLV6_OK
		       : DNSBLV6_ENOTFOUND;
}

static enum clients_verdict verdict_of(const struct dnsblv6_value *value)
{
	if (value->a != 0)
		return CLIENTS_LISTED;
	switch (value->ttl) {
	case DNSBLV6_ACL_IGNORE:
		return CLIENTS_IGNORE;
	case DNSBLV6_ACL_REFUSE:
		return CLIENTS_REFUSE;
	case DNSBLV6_ACL_EMPTY:
		return CLIENTS_EMPTY;
	case DNSBLV6_ACL_PASS:
		return CLIENTS_PASS;
	default:
		return CLIENTS_BROKEN;
	}
}

static enum clients_verdict read_set(struct zone *zone, uint32_t set)
{
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	struct store_bytes found;
	struct dnsblv6_value value;
	size_t offset = 0;
	dnsblv6_set_make_key(set, key);
	int ret = reader_get(zone->reader, STORE_SETS, key, sizeof(key), &found);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_set_next(found.data, found.size, &offset, &value);
	return ret == DNSBLV6_OK ? verdict_of(&value) : CLIENTS_BROKEN;
}

struct clients_answer clients_judge(struct zone *zone, const struct sockaddr *client)
{
	struct clients_answer answer = { .verdict = CLIENTS_PASS };
	struct dnsblv6_segment segment;
	if (!zone->has_clients || client == NULL)
		return answer;
	answer.addr = peer_address(client);
	int ret = find_segment(zone, answer.addr, &segment);
	if (ret == DNSBLV6_OK) {
		answer.set = segment.set;
		answer.verdict = read_set(zone, segment.set);
	} else if (ret != DNSBLV6_ENOTFOUND) {
		answer.verdict = CLIENTS_BROKEN;
	}
	return answer;
}
