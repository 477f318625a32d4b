/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/tnef_properties.h"

#include "lib/content/little.h"

#include <string.h>

/*
 *     4 how many properties; for each: 2 type, 2 id;
 *     of ids from 0x8000 on: 16 GUID, 4 kind, and 4 a number, or 4 the size of a name, the name;
 *     of types with a length, or of several values: 4 how many; for each: 4 size, its bytes
 *
 * Names and values are padded to 4.
 */
enum properties_step {
	STEP_COUNT,
	STEP_TAG,
	STEP_NAMED,
	STEP_VALUE_COUNT,
	STEP_VALUE_SIZE,
	STEP_VALUE,
	STEP_DONE,
};

#define NAMED_FROM	 0x8000
#define NAMED_SIZE	 24 /* with the number, or the size of the name */
#define KIND_NAME	 1
#define MULTIPLE	 0x1000
#define INTERFACE_SIZE	 16
#define SIZE_UNKNOWN	 0
#define SIZE_IS_VARIABLE UINT32_MAX

static uint32_t padding_of(uint32_t size)
{
	return -size & 3;
}

/* A step that needs so many bytes at once. */
static void want(struct tnef_properties *properties, enum properties_step step, uint8_t wanted)
{
	properties->step = (uint8_t)step;
	properties->wanted = wanted;
	properties->gathered_size = 0;
}

void tnef_properties_begin(struct tnef_properties *ret_properties)
{
	memset(ret_properties, 0, sizeof(*ret_properties));
	want(ret_properties, STEP_COUNT, 4);
}

/* As it takes room here: two bytes are padded to four. */
static uint32_t size_of_type(uint32_t type)
{
	switch (type & ~(uint32_t)MULTIPLE) {
	case 0x02: /* integers, errors, truth */
	case 0x03:
	case 0x04:
	case 0x0a:
	case 0x0b:
		return 4;
	case 0x05: /* numbers, money, times */
	case 0x06:
	case 0x07:
	case 0x14:
	case 0x40:
		return 8;
	case 0x48:
		return 16;
	case TNEF_STRING:
	case TNEF_UNICODE:
	case TNEF_BINARY:
	case TNEF_OBJECT:
		return SIZE_IS_VARIABLE;
	default:
		return SIZE_UNKNOWN;
	}
}

static void want_property(struct tnef_properties *properties)
{
	if (properties->properties_left == 0) {
		want(properties, STEP_DONE, 0);
		return;
	}
	properties->properties_left--;
	want(properties, STEP_TAG, 4);
}

static void want_value(struct tnef_properties *properties)
{
	if (properties->values_left == 0) {
		want_property(properties);
		return;
	}
	properties->values_left--;
	want(properties, STEP_VALUE_SIZE, 4);
}

/* Behind the tag, and the name of those that have one. false: there is no such type. */
static bool take_type(struct tnef_properties *properties)
{
	const uint32_t size = size_of_type(properties->type);
	if (size == SIZE_UNKNOWN) {
		want(properties, STEP_DONE, 0);
		return false;
	}
	if (size == SIZE_IS_VARIABLE || (properties->type & MULTIPLE) != 0) {
		want(properties, STEP_VALUE_COUNT, 4);
		return true;
	}
	properties->pass += size;
	want_property(properties);
	return true;
}

static bool take_tag(struct tnef_properties *properties)
{
	properties->type = little_get16(properties->gathered);
	properties->id = little_get16(properties->gathered + 2);
	if (properties->id < NAMED_FROM)
		return take_type(properties);
	want(properties, STEP_NAMED, NAMED_SIZE);
	return true;
}

static bool take_named(struct tnef_properties *properties)
{
	const uint32_t kind = little_get32(properties->gathered + 16);
	const uint32_t size = little_get32(properties->gathered + 20);
	if (kind == KIND_NAME)
		properties->pass = (uint64_t)size + padding_of(size);
	return take_type(properties);
}

static void take_value_count(struct tnef_properties *properties)
{
	const uint32_t count = little_get32(properties->gathered);
	const uint32_t size = size_of_type(properties->type);
	if (size == SIZE_IS_VARIABLE) {
		properties->values_left = count;
		want_value(properties);
		return;
	}
	properties->pass = (uint64_t)count * size;
	want_property(properties);
}

static void take_value_size(struct tnef_properties *properties)
{
	const uint32_t size = little_get32(properties->gathered);
	const bool is_object = (properties->type & ~MULTIPLE) == TNEF_OBJECT;
	properties->padding = padding_of(size);
	properties->pass = is_object && size >= INTERFACE_SIZE ? INTERFACE_SIZE : 0;
	properties->value_left = size - (uint32_t)properties->pass;
	properties->is_value = false;
	want(properties, STEP_VALUE, 0);
}

/* All that the step wants is there. false: it cannot be. */
static bool take_gathered(struct tnef_properties *properties)
{
	switch ((enum properties_step)properties->step) {
	case STEP_COUNT:
		properties->properties_left = little_get32(properties->gathered);
		want_property(properties);
		return true;
	case STEP_TAG:
		return take_tag(properties);
	case STEP_NAMED:
		return take_named(properties);
	case STEP_VALUE_COUNT:
		take_value_count(properties);
		return true;
	case STEP_VALUE_SIZE:
		take_value_size(properties);
		return true;
	case STEP_VALUE:
	case STEP_DONE:
		break;
	}
	return true;
}

static size_t smaller(uint64_t wanted, size_t size)
{
	return wanted < size ? (size_t)wanted : size;
}

/* What a value has to say next. */
static size_t next_of_value(struct tnef_properties *properties, const uint8_t *bytes, size_t size,
			    struct tnef_token *ret_token)
{
	ret_token->id = properties->id;
	ret_token->type = properties->type & (uint16_t)~MULTIPLE;
	if (!properties->is_value) {
		properties->is_value = true;
		ret_token->kind = TNEF_BEGIN;
		return 0;
	}
	if (properties->value_left == 0) {
		ret_token->kind = TNEF_END;
		properties->pass = properties->padding;
		want_value(properties);
		return 0;
	}
	const size_t taken = smaller(properties->value_left, size);
	if (taken > 0) {
		ret_token->kind = TNEF_DATA;
		ret_token->bytes = bytes;
		ret_token->size = taken;
		properties->value_left -= (uint32_t)taken;
	}
	return taken;
}

/* Bytes of a step, as far as they are there. */
static size_t gather(struct tnef_properties *properties, const uint8_t *bytes, size_t size)
{
	const size_t taken = smaller(properties->wanted - properties->gathered_size, size);
	if (taken > 0)
		memcpy(properties->gathered + properties->gathered_size, bytes, taken);
	properties->gathered_size += (uint8_t)taken;
	return taken;
}

size_t tnef_properties_next(struct tnef_properties *properties, const uint8_t *bytes, size_t size,
			    struct tnef_token *ret_token)
{
	size_t used = 0;
	memset(ret_token, 0, sizeof(*ret_token));
	while (ret_token->kind == TNEF_NOTHING) {
		const size_t passed = smaller(properties->pass, size - used);
		properties->pass -= passed;
		used += passed;
		if (properties->pass > 0)
			break;
		if (properties->step == STEP_DONE)
			return size;
		if (properties->step == STEP_VALUE) {
			used += next_of_value(properties, bytes + used, size - used, ret_token);
			break;
		}
		used += gather(properties, bytes + used, size - used);
		if (properties->gathered_size < properties->wanted)
			break;
		if (!take_gathered(properties))
			ret_token->kind = TNEF_BAD;
	}
	return used;
}
