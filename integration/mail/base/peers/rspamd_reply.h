/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rspamd_reply.h - the action of rspamd's reply, out of HTTP and JSON, as they come in.
 *
 * Flow: the bytes of a connection -> rspamd_reply_push() -> peer_rspamd.c, which decides what the
 *       action means.
 *
 *     HTTP/1.1 200 OK
 *     Content-Length: 81
 *
 *     {"score":16.2,"action":"reject","messages":{"smtp_message":"Spam, we say"}}
 *
 * Only these two texts are kept, of the outermost object; the rest is read past, whatever its size.
 * Bounded: lines of the head, their count, the depth of the JSON. What is not whole, or is said
 * twice, is REPLY_BAD: an action that is not understood is never taken for "no action".
 *
 * The result does not depend on where the input is cut. It begins as zero, lies in the memory of its
 * owner and is not moved; no I/O, no clock, no memory of its own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/peers/peer_replies.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RSPAMD_LINE_MAX	 1024
#define RSPAMD_LINES_MAX 100
#define RSPAMD_DEPTH_MAX 64
#define RSPAMD_KEY_MAX	 16 /* longer keys are none of ours */

enum rspamd_want { RSPAMD_STATUS_LINE, RSPAMD_FIELDS, RSPAMD_BODY };

/* What the JSON may have next. */
enum rspamd_json {
	RSPAMD_VALUE,
	RSPAMD_FIRST_VALUE, /* or the end of the array */
	RSPAMD_FIRST_KEY,   /* or the end of the object */
	RSPAMD_KEY,
	RSPAMD_COLON,
	RSPAMD_COMMA, /* or the end */
	RSPAMD_NOTHING,
};

struct rspamd_reply {
	enum rspamd_want want;
	char line[RSPAMD_LINE_MAX];
	size_t line_size;
	unsigned lines;
	unsigned code; /* of HTTP */
	bool has_length;
	uint64_t left; /* of the body, with has_length */
	/* JSON */
	enum rspamd_json json;
	unsigned depth;
	uint64_t objects; /* a bit for each depth: an object, no array */
	bool is_in_string, is_in_word;
	bool is_key;
	unsigned escaped; /* 1: behind a backslash, 2 to 5: digits that are left, and one */
	unsigned escape;  /* what the digits say */
	char key[RSPAMD_KEY_MAX + 1];
	size_t key_size;
	bool is_in_messages; /* the object at depth 2 */
	char *into;	     /* a text that is read, of the two below; or NULL */
	size_t into_size;
	bool has_action, has_message;
	char action[REPLY_TEXT_MAX];
	char message[REPLY_TEXT_MAX]; /* "" without */
};

enum reply_status rspamd_reply_push(struct rspamd_reply *reply, const uint8_t *bytes, size_t size);
/* The connection was closed: is it whole then? */
enum reply_status rspamd_reply_close(const struct rspamd_reply *reply);

#ifdef __cplusplus
}
#endif
