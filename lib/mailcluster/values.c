/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/values.h"

/* Behind the version; *ret_input has failed where there is none. */
static struct bytes_input begin(const uint8_t *bytes, size_t size)
{
	struct bytes_input input = { .data = bytes, .size = size };
	if (bytes_take(&input, 1) != VALUES_VERSION)
		input.has_failed = true;
	return input;
}

static void take(struct bytes_input *input, void *out, size_t size)
{
	const uint8_t *bytes = bytes_take_string(input, size);
	if (bytes != NULL)
		memcpy(out, bytes, size);
}

static bool is_whole(const struct bytes_input *input)
{
	return bytes_finish(input) == DNSBLV6_OK;
}

void nodevalue_encode(const struct nodevalue *value, uint8_t *out)
{
	bytes_put(&out, VALUES_VERSION, 1);
	bytes_put(&out, value->slot, 2);
	bytes_put_string(&out, value->incarnation, sizeof(value->incarnation));
	bytes_put(&out, value->beat, 8);
	bytes_put(&out, value->limit, 8);
	bytes_put(&out, value->time_us, 8);
	bytes_put(&out, value->oldest_lock, 8);
}

bool nodevalue_decode(const uint8_t *bytes, size_t size, struct nodevalue *ret_value)
{
	struct bytes_input input = begin(bytes, size);
	struct nodevalue value = { .slot = (uint16_t)bytes_take(&input, 2) };
	take(&input, value.incarnation, sizeof(value.incarnation));
	value.beat = bytes_take(&input, 8);
	value.limit = bytes_take(&input, 8);
	value.time_us = bytes_take(&input, 8);
	value.oldest_lock = bytes_take(&input, 8);
	if (!is_whole(&input))
		return false;
	*ret_value = value;
	return true;
}

void ownervalue_encode(const struct ownervalue *value, uint8_t *out)
{
	bytes_put(&out, VALUES_VERSION, 1);
	bytes_put(&out, value->state, 1);
	bytes_put(&out, value->slot, 2);
	bytes_put(&out, value->attempt, 8);
}

bool ownervalue_decode(const uint8_t *bytes, size_t size, struct ownervalue *ret_value)
{
	struct bytes_input input = begin(bytes, size);
	struct ownervalue value = { .state = (uint8_t)bytes_take(&input, 1) };
	value.slot = (uint16_t)bytes_take(&input, 2);
	value.attempt = bytes_take(&input, 8);
	if (!is_whole(&input) || value.state < OWNERVALUE_NEW || value.state > OWNERVALUE_REFUSED)
		return false;
	*ret_value = value;
	return true;
}

void entryvalue_encode(const struct entryvalue *value, uint8_t *out)
{
	bytes_put(&out, VALUES_VERSION, 1);
	bytes_put_string(&out, value->entry.id.bytes, MAILID_SIZE);
	bytes_put(&out, value->entry.octets, 8);
	bytes_put(&out, value->entry.wire_size, 8);
	bytes_put(&out, value->entry.text_size, 8);
	bytes_put(&out, value->entry.time_us, 8);
	bytes_put(&out, value->recipients, 4);
}

bool entryvalue_decode(const uint8_t *bytes, size_t size, struct entryvalue *ret_value)
{
	struct bytes_input input = begin(bytes, size);
	struct entryvalue value = { .recipients = 0 };
	take(&input, value.entry.id.bytes, MAILID_SIZE);
	value.entry.octets = bytes_take(&input, 8);
	value.entry.wire_size = bytes_take(&input, 8);
	value.entry.text_size = bytes_take(&input, 8);
	value.entry.time_us = bytes_take(&input, 8);
	value.recipients = (uint32_t)bytes_take(&input, 4);
	if (!is_whole(&input))
		return false;
	*ret_value = value;
	return true;
}

void gonevalue_encode(const struct gonevalue *value, uint8_t *out)
{
	bytes_put(&out, VALUES_VERSION, 1);
	bytes_put(&out, value->why, 1);
	bytes_put(&out, value->time_us, 8);
}

bool gonevalue_decode(const uint8_t *bytes, size_t size, struct gonevalue *ret_value)
{
	struct bytes_input input = begin(bytes, size);
	struct gonevalue value = { .why = (uint8_t)bytes_take(&input, 1) };
	value.time_us = bytes_take(&input, 8);
	if (!is_whole(&input) || (value.why != GONEVALUE_ERASED && value.why != GONEVALUE_REFUSED))
		return false;
	*ret_value = value;
	return true;
}

void lockvalue_encode(const struct lockvalue *value, uint8_t *out)
{
	bytes_put(&out, VALUES_VERSION, 1);
	bytes_put(&out, value->slot, 2);
	bytes_put_string(&out, value->incarnation, sizeof(value->incarnation));
	bytes_put(&out, value->number, 8);
}

bool lockvalue_decode(const uint8_t *bytes, size_t size, struct lockvalue *ret_value)
{
	struct bytes_input input = begin(bytes, size);
	struct lockvalue value = { .slot = (uint16_t)bytes_take(&input, 2) };
	take(&input, value.incarnation, sizeof(value.incarnation));
	value.number = bytes_take(&input, 8);
	if (!is_whole(&input))
		return false;
	*ret_value = value;
	return true;
}

void journalvalue_encode(const struct journalvalue *value, uint8_t *out)
{
	bytes_put(&out, VALUES_VERSION, 1);
	bytes_put_string(&out, value->incarnation, sizeof(value->incarnation));
	bytes_put(&out, value->attempt, 8);
}

void usersvalue_encode(const struct usersvalue *value, uint8_t *out)
{
	bytes_put(&out, VALUES_VERSION, 1);
	bytes_put(&out, value->version, 8);
	bytes_put(&out, value->number, 8);
	bytes_put(&out, value->size, 8);
	bytes_put_string(&out, value->digest, sizeof(value->digest));
	bytes_put(&out, value->time_us, 8);
}

bool usersvalue_decode(const uint8_t *bytes, size_t size, struct usersvalue *ret_value)
{
	struct bytes_input input = begin(bytes, size);
	struct usersvalue value = { .version = bytes_take(&input, 8) };
	value.number = bytes_take(&input, 8);
	value.size = bytes_take(&input, 8);
	take(&input, value.digest, sizeof(value.digest));
	value.time_us = bytes_take(&input, 8);
	if (!is_whole(&input))
		return false;
	*ret_value = value;
	return true;
}
