/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/rados/rados_place.h"

struct state {
	uint32_t a, b, c;
};

static void mix(struct state *s)
{
	static const struct {
		unsigned first, second, third;
	} shifts[] = { { 13, 8, 13 }, { 12, 16, 5 }, { 3, 10, 15 } };
	for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
		s->a = (s->a - s->b - s->c) ^ (s->c >> shifts[i].first);
		s->b = (s->b - s->c - s->a) ^ (s->a << shifts[i].second);
		s->c = (s->c - s->a - s->b) ^ (s->b >> shifts[i].third);
	}
}

static uint32_t load(const uint8_t *bytes, size_t size)
{
	uint32_t value = 0;
	for (size_t i = 0; i < 4 && i < size; i++)
		value |= (uint32_t)bytes[i] << (8 * i);
	return value;
}

/* The lowest byte of the last c is left for the size. */
static uint32_t hash(const uint8_t *bytes, size_t size)
{
	struct state s = { 0x9e3779b9, 0x9e3779b9, 0 };
	size_t at = 0;
	for (; size - at >= 12; at += 12) {
		s.a += load(bytes + at, 4);
		s.b += load(bytes + at + 4, 4);
		s.c += load(bytes + at + 8, 4);
		mix(&s);
	}
	const size_t left = size - at;
	s.a += load(bytes + at, left);
	if (left > 4)
		s.b += load(bytes + at + 4, left - 4);
	if (left > 8)
		s.c += load(bytes + at + 8, left - 8) << 8;
	s.c += (uint32_t)size;
	mix(&s);
	return s.c;
}

uint32_t rados_place(const char *name, size_t size, uint32_t groups)
{
	const uint32_t value = hash((const uint8_t *)name, size);
	uint32_t mask = 1;
	while (mask < groups && mask < UINT32_C(1) << 31)
		mask <<= 1;
	mask--;
	return (value & mask) < groups ? value & mask : value & (mask >> 1);
}
