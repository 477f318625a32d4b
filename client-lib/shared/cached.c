/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/shared/cached.h"

#include <errno.h>
#include <string.h>

#define MAGIC_SIZE 4

static const uint8_t request_magic[MAGIC_SIZE] = { 'b', '6', 'c', '1' };
static const uint8_t reply_magic[MAGIC_SIZE] = { 'b', '6', 'r', '1' };

enum { FLAG_LISTED = 1, FLAG_STALE = 2, FLAG_SECURE = 4, FLAGS_ALL = 7 };

static void put_number(uint8_t *bytes, uint32_t number)
{
	for (unsigned i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(number >> (24 - 8 * i));
}

static uint32_t get_number(const uint8_t *bytes)
{
	uint32_t number = 0;
	for (unsigned i = 0; i < 4; i++)
		number = number << 8 | bytes[i];
	return number;
}

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
	memcpy(ret_bytes, request_magic, MAGIC_SIZE);
	put_number(ret_bytes + 4, request->id);
	memcpy(ret_bytes + 8, request->ip.bytes, sizeof(request->ip.bytes));
	put_number(ret_bytes + 24, request->timeout_ms);
	memcpy(ret_bytes + CACHED_REQUEST_HEAD, request->zone, request->zone_size);
	return (int)(CACHED_REQUEST_HEAD + request->zone_size);
}

int cached_decode_request(const uint8_t *bytes, size_t size, struct cached_request *ret_request)
{
	if (size <= CACHED_REQUEST_HEAD || size > CACHED_REQUEST_MAX ||
	    memcmp(bytes, request_magic, MAGIC_SIZE) != 0)
		return -EPROTO;
	struct cached_request request = {
		.id = get_number(bytes + 4),
		.timeout_ms = get_number(bytes + 24),
		.zone = (const char *)bytes + CACHED_REQUEST_HEAD,
		.zone_size = size - CACHED_REQUEST_HEAD,
	};
	if (!is_timeout(request.timeout_ms) || !is_zone(request.zone, request.zone_size))
		return -EPROTO;
	memcpy(request.ip.bytes, bytes + 8, sizeof(request.ip.bytes));
	*ret_request = request;
	return 0;
}

void cached_encode_reply(const struct cached_reply *reply, uint8_t *ret_bytes)
{
	memset(ret_bytes, 0, CACHED_REPLY_SIZE);
	memcpy(ret_bytes, reply_magic, MAGIC_SIZE);
	put_number(ret_bytes + 4, reply->id);
	ret_bytes[8] = (uint8_t)reply->outcome;
	if (reply->outcome == CACHED_ANSWERED)
		ret_bytes[9] = (uint8_t)((reply->is_listed ? FLAG_LISTED : 0) |
					 (reply->is_stale ? FLAG_STALE : 0) |
					 (reply->is_secure ? FLAG_SECURE : 0));
	put_number(ret_bytes + 12, reply->ttl_s);
}

int cached_decode_reply(const uint8_t *bytes, size_t size, struct cached_reply *ret_reply)
{
	if (size != CACHED_REPLY_SIZE || memcmp(bytes, reply_magic, MAGIC_SIZE) != 0)
		return -EPROTO;
	uint8_t outcome = bytes[8];
	uint8_t flags = bytes[9];
	bool may_have_flags = outcome == CACHED_ANSWERED;
	if (outcome < CACHED_ANSWERED || outcome > CACHED_BUSY || flags > FLAGS_ALL ||
	    (flags != 0 && !may_have_flags) || bytes[10] != 0 || bytes[11] != 0)
		return -EPROTO;
	*ret_reply = (struct cached_reply){
		.id = get_number(bytes + 4),
		.outcome = (enum cached_outcome)outcome,
		.is_listed = (flags & FLAG_LISTED) != 0,
		.is_stale = (flags & FLAG_STALE) != 0,
		.is_secure = (flags & FLAG_SECURE) != 0,
		.ttl_s = get_number(bytes + 12),
	};
	return 0;
}
