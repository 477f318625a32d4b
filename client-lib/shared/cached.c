/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/shared/cached.h"

#include <errno.h>

#include "lib/format/bytes.h"

#define MAGIC_SIZE 4

static const uint8_t request_magic[MAGIC_SIZE] = { 'b', '6', 'c', '1' };
static const uint8_t reply_magic[MAGIC_SIZE] = { 'b', '6', 'r', '1' };

enum { FLAG_LISTED = 1, FLAG_STALE = 2, FLAG_SECURE = 4, FLAGS_ALL = 7 };

static bool is_timeout(uint32_t timeout_ms)
{
	return timeout_ms >= 1 && timeout_ms <= CACHED_TIMEOUT_MAX;
}

/* What a zone is made of is the resolver's business; here it is printable text without blanks. */
static bool is_zone(const char *zone, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (zone[i] <= ' ' || zone[i] >= 0x7f)
			return false;
	}
	return size >= 1 && size <= CACHED_ZONE_MAX;
}

bool cached_is_greeting(const uint8_t *bytes, size_t size)
{
	return size == CACHED_GREETING_SIZE && memcmp(bytes, CACHED_GREETING, size) == 0;
}

int cached_encode_request(const struct cached_request *request, uint8_t *ret_bytes)
{
	if (!is_timeout(request->timeout_ms) || !is_zone(request->zone, request->zone_size))
		return -EINVAL;
	uint8_t *out = ret_bytes;
	bytes_put_string(&out, request_magic, MAGIC_SIZE);
	bytes_put(&out, request->id, 4);
	bytes_put_string(&out, request->ip.bytes, sizeof(request->ip.bytes));
	bytes_put(&out, request->timeout_ms, 4);
	bytes_put_string(&out, (const uint8_t *)request->zone, request->zone_size);
	return (int)(out - ret_bytes);
}

/* What is behind the magic and the id; false without them. */
static bool take_head(struct bytes_input *in, const uint8_t *magic, uint32_t *ret_id)
{
	const uint8_t *begin = bytes_take_string(in, MAGIC_SIZE);

	*ret_id = (uint32_t)bytes_take(in, 4);
	return !in->has_failed && memcmp(begin, magic, MAGIC_SIZE) == 0;
}

int cached_decode_request(const uint8_t *bytes, size_t size, struct cached_request *ret_request)
{
	struct bytes_input in = { .data = bytes, .size = size };
	struct cached_request request;

	if (!take_head(&in, request_magic, &request.id))
		return -EPROTO;
	const uint8_t *ip = bytes_take_string(&in, sizeof(request.ip.bytes));
	request.timeout_ms = (uint32_t)bytes_take(&in, 4);
	request.zone = (const char *)in.data;
	request.zone_size = in.size;
	if (in.has_failed || !is_timeout(request.timeout_ms) ||
	    !is_zone(request.zone, request.zone_size))
		return -EPROTO;
	memcpy(request.ip.bytes, ip, sizeof(request.ip.bytes));
	*ret_request = request;
	return 0;
}

void cached_encode_reply(const struct cached_reply *reply, uint8_t *ret_bytes)
{
	uint8_t *out = ret_bytes;
	unsigned flags = (reply->is_listed ? FLAG_LISTED : 0) | (reply->is_stale ? FLAG_STALE : 0) |
			 (reply->is_secure ? FLAG_SECURE : 0);

	bytes_put_string(&out, reply_magic, MAGIC_SIZE);
	bytes_put(&out, reply->id, 4);
	bytes_put(&out, reply->outcome, 1);
	bytes_put(&out, reply->outcome == CACHED_ANSWERED ? flags : 0, 1);
	bytes_put(&out, 0, 2);
	bytes_put(&out, reply->ttl_s, 4);
}

int cached_decode_reply(const uint8_t *bytes, size_t size, struct cached_reply *ret_reply)
{
	struct bytes_input in = { .data = bytes, .size = size };
	uint32_t id;

	if (!take_head(&in, reply_magic, &id))
		return -EPROTO;
	unsigned outcome = (unsigned)bytes_take(&in, 1);
	unsigned flags = (unsigned)bytes_take(&in, 1);
	bool has_rest = bytes_take(&in, 2) != 0;
	uint32_t ttl_s = (uint32_t)bytes_take(&in, 4);
	if (bytes_finish(&in) != DNSBLV6_OK || has_rest || outcome < CACHED_ANSWERED ||
	    outcome > CACHED_BUSY || flags > (outcome == CACHED_ANSWERED ? FLAGS_ALL : 0))
		return -EPROTO;
	*ret_reply = (struct cached_reply){
		.id = id,
		.outcome = (enum cached_outcome)outcome,
		.is_listed = (flags & FLAG_LISTED) != 0,
		.is_stale = (flags & FLAG_STALE) != 0,
		.is_secure = (flags & FLAG_SECURE) != 0,
		.ttl_s = ttl_s,
	};
	return 0;
}
