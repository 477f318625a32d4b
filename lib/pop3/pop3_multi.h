/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pop3_multi.h - a mail in an answer of several lines: out of its dots, and into them again.
 *
 * Flow: a server's answer to RETR or TOP -> pop3_multi_take() -> the mail as it is -> whatever looks
 *       at it -> pop3_multi_put(), pop3_multi_close() -> the answer to a client.
 *
 *     pop3_multi_init(&multi);
 *     do {
 *             read(server, in, sizeof(in));
 *             status = pop3_multi_take(&multi, in, in_size, &used, out, out_room, &out_size);
 *     } while (status == POP3_MULTI_MORE);
 *     // what is behind in + used is the next answer
 *
 * The end is CR LF . CR LF and nothing else (the CR LF of the first line counts; RFC 1939, part 3).
 * A lone LF comes out as CR LF, as a client may take it for the end of a line, and has no part in
 * the end: a dot behind it is text, and gets another dot on its way out. A lone CR and a NUL are
 * text: a mail that a server has is not kept from its user for them. So what goes out has one end
 * for every reader, whatever it takes for the end of a line.
 *
 * Plain values. No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* pop3_multi_take() makes no progress with less room. */
#define POP3_MULTI_ROOM_MIN 3
/* pop3_multi_close() writes as many at most. */
#define POP3_MULTI_END_MAX 5

enum pop3_multi_status {
	POP3_MULTI_MORE, /* bytes, or room */
	POP3_MULTI_END,
};

struct pop3_multi {
	unsigned at; /* pop3_multi.c's own, as is the next */
	bool has_cr;
};

void pop3_multi_init(struct pop3_multi *ret_multi);
/*
 * Takes what there is room for, up to the end and never more; *ret_used says how much. out has room
 * bytes and is not in. Not to be called after the end.
 */
enum pop3_multi_status pop3_multi_take(struct pop3_multi *multi, const uint8_t *in, size_t in_size,
				       size_t *ret_used, uint8_t *out, size_t room,
				       size_t *ret_out_size);

/* The other way: what was put last. */
struct pop3_multi_put {
	bool is_within; /* a line has begun */
};

void pop3_multi_put_init(struct pop3_multi_put *ret_put);
/*
 * Doubles dots at the beginning of lines, which end in LF. Takes what there is room for; *ret_used
 * says how much. Returns the size of what is in out.
 */
size_t pop3_multi_put(struct pop3_multi_put *put, const uint8_t *in, size_t in_size,
		      size_t *ret_used, uint8_t *out, size_t room);
/* Ends the last line where it has none, and the answer. out has POP3_MULTI_END_MAX bytes. */
size_t pop3_multi_close(struct pop3_multi_put *put, uint8_t *out);

#ifdef __cplusplus
}
#endif
