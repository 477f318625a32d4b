/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/content/tarhead.h"

#include "lib/format/ascii.h"

#define SUM_SIZE 8

/* What comes before digits is no digit itself. */
static bool is_before(uint8_t byte)
{
	return byte == '\0' || byte == '+' || ascii_is_blank(byte);
}

static bool get_octal(const uint8_t *field, size_t size, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t i = 0;
	while (i < size && is_before(field[i]))
		i++;
	const size_t begin = i;
	for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
		number = number * 8 + (uint64_t)(field[i] - '0');
	*ret_number = number;
	return i > begin;
}

bool tarhead_number(const uint8_t *field, size_t size, uint64_t *ret_number)
{
	uint64_t number = 0;
	if (field[0] != 0x80)
		return get_octal(field, size, ret_number);
	for (size_t i = 1; i < size; i++) {
		if (number >> 55 != 0)
			return false;
		number = number << 8 | field[i];
	}
	*ret_number = number;
	return true;
}

static bool is_in_sum(size_t at)
{
	return at >= TARHEAD_SUM_AT && at < TARHEAD_SUM_AT + SUM_SIZE;
}

uint32_t tarhead_sum(const uint8_t *block)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < TARHEAD_SIZE; i++)
		sum += is_in_sum(i) ? ' ' : block[i];
	return sum;
}

bool tarhead_is_right(const uint8_t *block)
{
	const uint32_t sum = tarhead_sum(block);
	uint64_t said = 0;
	uint32_t high = 0;
	for (size_t i = 0; i < TARHEAD_SIZE; i++)
		high += !is_in_sum(i) && block[i] >= 0x80;
	return tarhead_number(block + TARHEAD_SUM_AT, SUM_SIZE, &said) &&
	       (said == sum || said == (uint64_t)sum - (uint64_t)high * 0x100);
}
