/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mbox.h - an mbox, mails one after the other in one file, taken apart and put together.
 *
 * Flow: import -> mbox_next(), mbox_unquote(); export -> mbox_write().
 *
 * The form is mboxrd: a mail begins with a line "From sender date" at the beginning or behind an
 * empty line, a line of the mail that begins with any number of ">" and then "From " has one ">"
 * more, and an empty line follows each mail. A mail that ends with a line end comes out of it as it
 * went in. No function here does I/O but mbox_write().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct mbox_mail {
	const uint8_t *sender; /* borrowed */
	size_t sender_size;
	uint64_t time_us;    /* 0: its line has no date */
	const uint8_t *text; /* borrowed, quoted as it stands */
	size_t size;
};

/*
 * The mail at *at, which moves behind it. 1; 0 at the end; -EBADMSG when there is something else than
 * a mail at *at.
 */
int mbox_next(const uint8_t *bytes, size_t size, size_t *at, struct mbox_mail *ret_mail);
/* The text without quotes: writes at most mail->size bytes to out and returns their number. */
size_t mbox_unquote(const struct mbox_mail *mail, uint8_t *out);

/*
 * Writes a mail. An empty sender is MAILER-DAEMON, which mbox_next() makes empty again; blanks and
 * control characters in one are written as "_". Returns whether out has taken it.
 */
bool mbox_write(FILE *out, const uint8_t *sender, size_t sender_size, uint64_t time_us,
		const uint8_t *text, size_t size);
