/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tnef_properties.h - the properties of MAPI in an attribute of TNEF (MS-OXTNEF 2.1.3.4).
 *
 * Flow: tnef.c: the bytes of attMAPIProps or attAttachment -> tnef_properties_next() -> the values
 *       that have a length of their own, one after another.
 *
 *     do {
 *             size_t used = tnef_properties_next(&properties, bytes, size, &token);
 *             bytes += used;
 *             size -= used;
 *     } while (token.kind != TNEF_NOTHING);
 *
 * Values of fixed sizes are passed. A plain value; the tokens point into the bytes that were given,
 * and do not depend on where these are cut, but for how data is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TNEF_STRING  0x1e
#define TNEF_UNICODE 0x1f
#define TNEF_BINARY  0x102
#define TNEF_OBJECT  0x0d /* its interface, 16 bytes, is passed */

enum tnef_token_kind {
	TNEF_NOTHING, /* all bytes are used */
	TNEF_BEGIN,   /* a value of .id and .type */
	TNEF_DATA,
	TNEF_END,
	TNEF_BAD, /* a type that there is none: what follows is passed */
};

struct tnef_token {
	enum tnef_token_kind kind;
	uint16_t id;
	uint16_t type;
	const uint8_t *bytes; /* of TNEF_DATA */
	size_t size;
};

struct tnef_properties {
	/* All is tnef_properties.c's own. */
	uint8_t step;
	uint8_t wanted; /* bytes of a step... */
	uint8_t gathered_size;
	bool is_value; /* was begun */
	uint16_t id;
	uint16_t type;
	uint8_t gathered[24];
	uint32_t properties_left;
	uint32_t values_left;
	uint32_t value_left;
	uint32_t padding;
	uint64_t pass; /* ...behind so many that are passed */
};

void tnef_properties_begin(struct tnef_properties *ret_properties);
/* How many bytes were used. */
size_t tnef_properties_next(struct tnef_properties *properties, const uint8_t *bytes, size_t size,
			    struct tnef_token *ret_token);

#ifdef __cplusplus
}
#endif
