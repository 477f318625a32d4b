/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rados_json.h - single values out of a text of JSON (RFC 8259) that is whole in memory.
 *
 * Flow: a monitor's answer -> rados_looks.c takes the few members out that it wants.
 *
 *     struct json_at all = json_whole(text, size), nodes, node;
 *     if (json_member(all, "nodes", &nodes)) {
 *             struct json_at rest = nodes;
 *             while (json_next(&rest, &node))
 *                     ... json_is(json_member(node, "type", &type), "host") ...
 *     }
 *
 * A value is two pointers into the text, which is the caller's. What is no JSON has no members and no
 * items; the part of it before the fault may have been seen by then. Deeper than JSON_DEPTH_MAX is no
 * JSON. Texts are compared as they are written: an escape in a key is no letter. No memory, no I/O.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JSON_DEPTH_MAX 32

struct json_at {
	const char *at, *end;
};

struct json_at json_whole(const char *text, size_t size);
/* Of an object: the first value of that key. */
bool json_member(struct json_at object, const char *key, struct json_at *ret_value);
/* The items of an array, one at a time; *array becomes what is behind. */
bool json_next(struct json_at *array, struct json_at *ret_item);
bool json_is_text(struct json_at value, const char *text);
/* A whole number from 0 on. */
bool json_number(struct json_at value, uint64_t *ret_number);

#ifdef __cplusplus
}
#endif
