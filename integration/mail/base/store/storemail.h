/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * storemail.h - a mail on its way to mail-stored: its recipients, and its bytes as they come.
 *
 * Flow: sink_store.c, the LMTP process -> storemail_begin(), storemail_append() ->
 *       storemail_finish() -> DELIVER of storewire.h, by storelink.h.
 *
 * A small mail lies in the buffer here and goes in one packet. A larger one is in a memfd, which is
 * sealed when it is finished, so that the daemon can map what can change no more, and none of the two
 * has a copy in memory of its own.
 *
 * Used again and again by one thread. Nothing is logged.
 */

#include "integration/mail/base/store/storelink.h"

#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct storemail {
	uint8_t *buffer;     /* STOREWIRE_INLINE_MAX bytes */
	size_t buffer_size;  /* in it, that are not in the memfd */
	int fd;		     /* -1: all is in the buffer */
	uint64_t text_at;    /* behind the meta */
	uint64_t total_size; /* meta and text */
	struct iovec part;   /* of storemail_finish() */
};

/* 0 or -ENOMEM. storemail_deinit() takes one that is all zero, too. */
int storemail_init(struct storemail *ret_mail);
void storemail_deinit(struct storemail *mail);

/* Forgets what there was. Names are as mailmeta_encode() takes them. 0 or -errno. */
int storemail_begin(struct storemail *mail, struct mailname sender,
		    const struct mailname *recipients, size_t recipient_count);
/* 0 or -errno; after that storemail_abort(). */
int storemail_append(struct storemail *mail, const void *bytes, size_t size);
/* The request and what goes with it, both good until the next call. 0 or -errno. */
int storemail_finish(struct storemail *mail, struct storewire_request *ret_request,
		     struct storelink_memory *ret_memory);
/* Bytes of what has been finished, the meta among them. 0 or -errno. */
int storemail_read(const struct storemail *mail, uint64_t at, void *bytes, size_t size);
/* Forgets it; takes one that has not begun. */
void storemail_abort(struct storemail *mail);

/* ---- other memory ---- */

/* Any bytes as a sealed memfd, for ERASE. A descriptor or -errno. */
int storemail_seal(const void *bytes, size_t size);

/* The same in steps: a memfd, or -errno; bytes by wholefile_put(); then 0 or -errno. */
int storemail_make_memory(void);
int storemail_seal_memory(int fd);
/* Sealed if ret, of what was written, is 0, and else closed. The descriptor or -errno. */
int storemail_end_memory(int fd, int ret);

#ifdef __cplusplus
}
#endif
