/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/dns/soa.h"

#include "lib/format/ascii.h"
#include "lib/format/bytes.h"

enum {
	TYPE_SOA = 6,
	CLASS_IN = 1,
	FLAGS_READ = 0xfe0f,   /* all but RD, RA, Z, AD and CD */
	FLAGS_WANTED = 0x8400, /* an answer, of an authority, without an error; whole, of QUERY */
	POINTER = 0xc0,
	POINTER_SIZE = 2,
	NUMBERS_SIZE = 20, /* serial, refresh, retry, expire, minimum */
};

size_t soa_make_question(const uint8_t *apex, size_t apex_size, uint16_t id, uint8_t *ret_wire)
{
	uint8_t *out = ret_wire;
	bytes_put(&out, id, 2);
	bytes_put(&out, 0, 2);
	bytes_put(&out, 1, 2);
	bytes_put(&out, 0, 2);
	bytes_put(&out, 0, 4);
	bytes_put_string(&out, apex, apex_size);
	bytes_put(&out, TYPE_SOA, 2);
	bytes_put(&out, CLASS_IN, 2);
	return (size_t)(out - ret_wire);
}

/* Over a name, which a pointer may end. */
static void skip_name(struct bytes_input *input)
{
	for (;;) {
		uint64_t size = bytes_take(input, 1);
		if (input->has_failed || size == 0)
			return;
		if (size >= POINTER) {
			bytes_take(input, POINTER_SIZE - 1);
			return;
		}
		bytes_take_string(input, size);
	}
}

/* Servers may answer in another case. */
static bool is_question(struct bytes_input *input, const uint8_t *apex, size_t apex_size)
{
	const uint8_t *name = bytes_take_string(input, apex_size);
	uint64_t type = bytes_take(input, 2);
	uint64_t class = bytes_take(input, 2);
	if (input->has_failed || type != TYPE_SOA || class != CLASS_IN)
		return false;
	/* Sizes of labels are below all letters. */
	for (size_t i = 0; i < apex_size; i++) {
		if (ascii_lower(name[i]) != ascii_lower(apex[i]))
			return false;
	}
	return true;
}

static bool is_head(struct bytes_input *input, uint16_t id)
{
	bool is_right = bytes_take(input, 2) == id;
	is_right = (bytes_take(input, 2) & FLAGS_READ) == FLAGS_WANTED && is_right;
	is_right = bytes_take(input, 2) == 1 && is_right;
	is_right = bytes_take(input, 2) >= 1 && is_right;
	bytes_take(input, 4);
	return is_right && !input->has_failed;
}

bool soa_read_serial(const uint8_t *wire, size_t size, const uint8_t *apex, size_t apex_size,
		     uint16_t id, uint32_t *ret_serial)
{
	struct bytes_input input = { wire, size, false };
	if (!is_head(&input, id) || !is_question(&input, apex, apex_size))
		return false;
	skip_name(&input);
	bool is_soa = bytes_take(&input, 2) == TYPE_SOA;
	is_soa = bytes_take(&input, 2) == CLASS_IN && is_soa;
	bytes_take(&input, 4); /* TTL */
	size_t rdata_size = (size_t)bytes_take(&input, 2);
	const uint8_t *rdata = bytes_take_string(&input, rdata_size);
	if (input.has_failed || !is_soa)
		return false;
	struct bytes_input numbers = { rdata, rdata_size, false };
	skip_name(&numbers);
	skip_name(&numbers);
	if (numbers.has_failed || numbers.size != NUMBERS_SIZE)
		return false;
	*ret_serial = (uint32_t)bytes_take(&numbers, 4);
	return true;
}

bool soa_is_as_new(uint32_t serial, uint32_t other)
{
	return serial - other < (uint32_t)1 << 31;
}
