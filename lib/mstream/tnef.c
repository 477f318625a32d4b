/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/tnef.h"

#include "lib/content/little.h"
#include "lib/content/unicode.h"
#include "lib/mstream/outflow.h"

#include <string.h>

/*
 *     4 signature, 2 key; for each attribute: 1 level, 2 id, 2 type, 4 size, its bytes,
 *     2 their sum
 */
enum tnef_step { STEP_SIGNATURE, STEP_ATTRIBUTE, STEP_DATA, STEP_SUM, STEP_OVER };

#define SIGNATURE      0x223e9f78
#define SIGNATURE_SIZE 6
#define ATTRIBUTE_SIZE 9
#define SUM_SIZE       2

/* What is done with the bytes of an attribute, or of a property. */
enum tnef_use {
	USE_NOTHING,
	USE_FILE,
	USE_WIDE_FILE, /* UTF-16 */
	USE_NAME,
	USE_WIDE_NAME,
	USE_PROPERTIES,
};

#define ATTRIBUTE_BODY		     0x800c
#define ATTRIBUTE_ATTACH_DATA	     0x800f
#define ATTRIBUTE_ATTACH_TITLE	     0x8010
#define ATTRIBUTE_ATTACH_METAFILE    0x8011
#define ATTRIBUTE_ATTACH_TRANSPORT   0x9001
#define ATTRIBUTE_ATTACH_RENDDATA    0x9002
#define ATTRIBUTE_MESSAGE_PROPERTIES 0x9003
#define ATTRIBUTE_ATTACH_PROPERTIES  0x9005

#define PROPERTY_BODY		  0x1000
#define PROPERTY_RTF		  0x1009
#define PROPERTY_HTML		  0x1013
#define PROPERTY_ATTACH_DATA	  0x3701
#define PROPERTY_ATTACH_FILENAME  0x3704
#define PROPERTY_ATTACH_LONG_NAME 0x3707
#define PROPERTY_ATTACH_RENDERING 0x3709
#define PROPERTY_ATTACH_PATH	  0x3708
#define PROPERTY_ATTACH_LONG_PATH 0x370d
#define PROPERTY_ATTACH_TRANSPORT 0x370c

struct flow {
	struct tnef *tnef;
	const struct mstream_files *files;
	void *context;
	struct outflow out;
};

void tnef_begin(struct tnef *ret_tnef)
{
	memset(ret_tnef, 0, sizeof(*ret_tnef));
}

static void say_odd(struct flow *flow)
{
	if (!flow->tnef->has_odd)
		flow->files->odd(flow->context, MSTREAM_BAD_CODING);
	flow->tnef->has_odd = true;
}

/* ---- files ---- */

static void begin_file(struct flow *flow, const char *name)
{
	flow->files->begin(flow->context, MSTREAM_TNEF, name);
	flow->tnef->is_open = true;
}

static void end_file(struct flow *flow, bool is_whole)
{
	if (flow->tnef->is_open)
		flow->files->end(flow->context, is_whole);
	flow->tnef->is_open = false;
}

/* ---- names: the last one that has a byte, UTF-8 where it was UTF-16 ---- */

static void put_name(struct tnef *tnef, uint8_t byte)
{
	if (byte == '\0')
		tnef->is_name_over = true;
	if (tnef->is_name_over || tnef->name_size == MSTREAM_NAME_SIZE - 1)
		return;
	tnef->name[tnef->name_size++] = (char)byte;
	tnef->name[tnef->name_size] = '\0';
}

/* ---- UTF-16, as UTF-8: of a name, or of a file ---- */

static void put_byte(struct flow *flow, enum tnef_use use, uint32_t byte)
{
	if (use == USE_WIDE_NAME)
		put_name(flow->tnef, (uint8_t)byte);
	else
		outflow_put(&flow->out, (uint8_t)byte);
}

static void put_character(struct flow *flow, enum tnef_use use, uint32_t character)
{
	uint8_t bytes[UNICODE_PUT_MAX];
	const size_t size = unicode_put(character, bytes);
	for (size_t i = 0; i < size; i++)
		put_byte(flow, use, bytes[i]);
}

/* A half of a character without the other is shown as '?'. */
static void put_wide(struct flow *flow, enum tnef_use use, uint16_t unit)
{
	const uint16_t high = flow->tnef->wide_high;
	const bool is_low = unit >= 0xdc00 && unit < 0xe000;
	flow->tnef->wide_high = 0;
	if (high != 0 && is_low) {
		put_character(flow, use,
			      0x10000 + ((uint32_t)(high - 0xd800) << 10) + (unit - 0xdc00U));
		return;
	}
	if (high != 0 || is_low)
		put_byte(flow, use, '?');
	if (unit >= 0xd800 && unit < 0xdc00)
		flow->tnef->wide_high = unit;
	else if (!is_low)
		put_character(flow, use, unit);
}

static void begin_wide(struct tnef *tnef)
{
	tnef->wide_high = 0;
	tnef->is_wide_half = false;
}

static void begin_name(struct tnef *tnef)
{
	tnef->name_size = 0;
	tnef->name[0] = '\0';
	tnef->is_name_over = false;
	begin_wide(tnef);
}

static void take_wide_byte(struct flow *flow, enum tnef_use use, uint8_t byte)
{
	struct tnef *tnef = flow->tnef;
	if (tnef->is_wide_half)
		put_wide(flow, use, (uint16_t)(byte << 8 | tnef->wide_low));
	tnef->wide_low = byte;
	tnef->is_wide_half = !tnef->is_wide_half;
}

/* ---- bytes of an attribute or of a property ---- */

static void take_bytes(struct flow *flow, enum tnef_use use, const uint8_t *bytes, size_t size)
{
	if (use == USE_FILE)
		flow->files->data(flow->context, bytes, size);
	for (size_t i = 0; i < size && use == USE_NAME; i++)
		put_name(flow->tnef, bytes[i]);
	for (size_t i = 0; i < size && (use == USE_WIDE_NAME || use == USE_WIDE_FILE); i++)
		take_wide_byte(flow, use, bytes[i]);
	outflow_flush(&flow->out);
}

/* ---- properties ---- */

static const char *name_of_body(uint16_t id)
{
	if (id == PROPERTY_RTF)
		return "body.rtf";
	return id == PROPERTY_HTML ? "body.html" : "body.txt";
}

static enum tnef_use use_of_property(const struct tnef_token *token)
{
	switch (token->id) {
	case PROPERTY_BODY:
		return token->type == TNEF_UNICODE ? USE_WIDE_FILE : USE_FILE;
	case PROPERTY_RTF:
	case PROPERTY_HTML:
	case PROPERTY_ATTACH_DATA:
	case PROPERTY_ATTACH_RENDERING:
		return USE_FILE;
	case PROPERTY_ATTACH_FILENAME:
	case PROPERTY_ATTACH_LONG_NAME:
	case PROPERTY_ATTACH_PATH:
	case PROPERTY_ATTACH_LONG_PATH:
	case PROPERTY_ATTACH_TRANSPORT:
		return token->type == TNEF_UNICODE ? USE_WIDE_NAME : USE_NAME;
	default:
		return USE_NOTHING;
	}
}

static void take_token(struct flow *flow, const struct tnef_token *token)
{
	const enum tnef_use use = use_of_property(token);
	const bool is_file = use == USE_FILE || use == USE_WIDE_FILE;
	const bool is_body = token->id == PROPERTY_BODY || token->id == PROPERTY_RTF ||
			     token->id == PROPERTY_HTML;
	if (token->kind == TNEF_BAD) {
		say_odd(flow);
	} else if (token->kind == TNEF_BEGIN && is_file) {
		begin_wide(flow->tnef);
		begin_file(flow, is_body ? name_of_body(token->id) : flow->tnef->name);
	} else if (token->kind == TNEF_BEGIN && use != USE_NOTHING) {
		begin_name(flow->tnef);
	} else if (token->kind == TNEF_DATA) {
		take_bytes(flow, use, token->bytes, token->size);
	} else if (token->kind == TNEF_END && is_file) {
		end_file(flow, true);
	}
}

static void take_properties(struct flow *flow, const uint8_t *bytes, size_t size)
{
	struct tnef_token token;
	size_t at = 0;
	do {
		at += tnef_properties_next(&flow->tnef->properties, bytes + at, size - at, &token);
		take_token(flow, &token);
	} while (token.kind != TNEF_NOTHING);
}

/* ---- attributes ---- */

static void begin_data(struct flow *flow, uint32_t id)
{
	struct tnef *tnef = flow->tnef;
	tnef->use = USE_NOTHING;
	switch (id) {
	case ATTRIBUTE_ATTACH_RENDDATA:
		begin_name(tnef);
		break;
	case ATTRIBUTE_ATTACH_TITLE:
	case ATTRIBUTE_ATTACH_TRANSPORT:
		begin_name(tnef);
		tnef->use = USE_NAME;
		break;
	case ATTRIBUTE_BODY:
		begin_file(flow, "body.txt");
		tnef->use = USE_FILE;
		break;
	case ATTRIBUTE_ATTACH_DATA:
	case ATTRIBUTE_ATTACH_METAFILE:
		begin_file(flow, tnef->name);
		tnef->use = USE_FILE;
		break;
	case ATTRIBUTE_MESSAGE_PROPERTIES:
	case ATTRIBUTE_ATTACH_PROPERTIES:
		tnef_properties_begin(&tnef->properties);
		tnef->use = USE_PROPERTIES;
		break;
	default:
		break;
	}
}

/* A property that reaches behind its attribute ends with it. */
static void end_data(struct flow *flow)
{
	if (flow->tnef->use == USE_PROPERTIES && flow->tnef->is_open)
		say_odd(flow);
	end_file(flow, true);
	flow->tnef->step = STEP_SUM;
}

static void begin_attribute(struct flow *flow)
{
	struct tnef *tnef = flow->tnef;
	const uint8_t *attribute = tnef->gathered;
	/* Some readers stop at a level that there is none, and others do not look at it. */
	if (attribute[0] != 1 && attribute[0] != 2)
		say_odd(flow);
	tnef->left = little_get32(attribute + 5);
	tnef->sum = 0;
	tnef->step = STEP_DATA;
	begin_data(flow, little_get16(attribute + 1));
	if (tnef->left == 0)
		end_data(flow);
}

static size_t push_data(struct flow *flow, const uint8_t *bytes, size_t size)
{
	struct tnef *tnef = flow->tnef;
	const size_t taken = tnef->left < size ? tnef->left : size;
	uint32_t sum = tnef->sum;
	for (size_t i = 0; i < taken; i++)
		sum += bytes[i];
	tnef->sum = (uint16_t)sum;
	if (tnef->use == USE_PROPERTIES)
		take_properties(flow, bytes, taken);
	else
		take_bytes(flow, (enum tnef_use)tnef->use, bytes, taken);
	tnef->left -= (uint32_t)taken;
	if (tnef->left == 0)
		end_data(flow);
	return taken;
}

/* ---- what stands between ---- */

static unsigned wanted_size(const struct tnef *tnef)
{
	if (tnef->step == STEP_SIGNATURE)
		return SIGNATURE_SIZE;
	return tnef->step == STEP_SUM ? SUM_SIZE : ATTRIBUTE_SIZE;
}

static size_t push_between(struct flow *flow, const uint8_t *bytes, size_t size)
{
	struct tnef *tnef = flow->tnef;
	const unsigned wanted = wanted_size(tnef);
	const size_t missing = wanted - tnef->gathered_size;
	const size_t taken = missing < size ? missing : size;
	memcpy(tnef->gathered + tnef->gathered_size, bytes, taken);
	tnef->gathered_size += (uint8_t)taken;
	if (tnef->gathered_size < wanted)
		return taken;
	tnef->gathered_size = 0;
	if (tnef->step == STEP_ATTRIBUTE) {
		begin_attribute(flow);
		return taken;
	}
	const bool is_right = tnef->step == STEP_SIGNATURE
				      ? little_get32(tnef->gathered) == SIGNATURE
				      : little_get16(tnef->gathered) == tnef->sum;
	if (!is_right)
		say_odd(flow);
	tnef->step = is_right || tnef->step == STEP_SUM ? STEP_ATTRIBUTE : STEP_OVER;
	return taken;
}

void tnef_push(struct tnef *tnef, const uint8_t *bytes, size_t size,
	       const struct mstream_files *files, void *context)
{
	struct flow flow = { tnef, files, context, { .files = files, .context = context } };
	size_t at = 0;
	while (at < size && tnef->step != STEP_OVER) {
		if (tnef->step == STEP_DATA)
			at += push_data(&flow, bytes + at, size - at);
		else
			at += push_between(&flow, bytes + at, size - at);
	}
}

/* In the midst of something. What is too short for an attribute and begins like none is nothing. */
static bool is_open_end(const struct tnef *tnef)
{
	if (tnef->step == STEP_ATTRIBUTE)
		return tnef->gathered_size > 0 &&
		       (tnef->gathered[0] == 1 || tnef->gathered[0] == 2);
	return tnef->step != STEP_OVER;
}

void tnef_end(struct tnef *tnef, bool is_whole, const struct mstream_files *files, void *context)
{
	struct flow flow = { tnef, files, context, { .files = files, .context = context } };
	if (is_whole && is_open_end(tnef))
		files->odd(context, MSTREAM_NO_END);
	end_file(&flow, is_whole);
	tnef_begin(tnef);
}
