/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * questions.h - what a client may ask that is not about mails: the cluster, the node of a mailbox.
 *
 * Flow: requests.c has CLUSTER or LOCATE of storewire.h -> the functions of a program's kind of
 *       layer -> rows of text -> requests.c.
 *
 * The functions are called in threads, many at a time, and may block. A store of one machine has none:
 * requests.c says -EOPNOTSUPP.
 */

#include "integration/mail/base/store/storewire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lines that grow. All zero is empty; questions_free_rows() in any case. */
struct questions_rows {
	uint8_t *bytes;
	size_t size;
	size_t room;
	uint32_t count;
	int status; /* -ENOMEM or -E2BIG: lines are missing */
};

/*
 * A line of words "key=value", and its end. Beyond STOREWIRE_TEXT_MAX none is added. A control in it, such
 * as a line end in the name of a mailbox, would begin a line of its own: it becomes "?".
 */
void questions_add(struct questions_rows *rows, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void questions_free_rows(struct questions_rows *rows);

/* NULL for what cannot be asked. 0, or a status of status.h; the number is that of the reply. */
struct questions {
	/* bytes are of USERS_PUT; else NULL. */
	int (*cluster)(struct questions *questions, enum storewire_question question,
		       const uint8_t *bytes, size_t size, struct questions_rows *rows);
	int (*locate)(struct questions *questions, struct mailname mailbox, uint64_t *ret_node,
		      struct questions_rows *rows);
};

#ifdef __cplusplus
}
#endif
