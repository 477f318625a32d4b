/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * messageid.h - the Message-ID of a mail, read while the mail goes by.
 *
 * Flow: body.h -> parcel.c -> messageid_take() with each block -> maillog.h.
 *
 *     Message-ID:
 *      <1@example.net> (by hand)        is  <1@example.net> (by hand)
 *
 * It is the first field of that name in the header, unfolded, for the log: whatever stands there
 * is taken, and no more of it than MESSAGEID_MAX bytes. Header fields beyond MESSAGEID_LOOK_MAX
 * bytes are not looked at, so a mail without an empty line costs no more than others.
 *
 * A plain value of fixed size. No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* More than is shown, so that what is cut can be seen to be. */
#define MESSAGEID_MAX	   160
#define MESSAGEID_LOOK_MAX 65536

struct messageid {
	char text[MESSAGEID_MAX + 1]; /* as it came; "": none till now */
	/* ---- messageid.c's own ---- */
	unsigned at;
	size_t size;	/* of text; while the name is read, how many bytes of it were there */
	size_t seen;	/* bytes of the mail */
	bool has_blank; /* one is to be written before what comes next */
};

void messageid_init(struct messageid *ret_messageid);
/* The next bytes of a mail whose lines end in CRLF. */
void messageid_take(struct messageid *messageid, const uint8_t *bytes, size_t size);

#ifdef __cplusplus
}
#endif
