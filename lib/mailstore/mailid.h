/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * mailid.h - the name of a mail: 128 bits that only its store can make.
 *
 * Flow: mailstore.c makes one for each mail; clients keep it (UIDL of POP3) and give it back.
 *
 * The first half is random, the second SipHash-2-4 of the first under the store's key. A program
 * that may write mails but does not know the key cannot guess the id of a mail, and by writing to
 * it put its own text into other mailboxes or learn what is there (the attack of section 6.4 of the
 * paper on spam-aware mail servers). Pure functions; safe from any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAILID_SIZE	 16
#define MAILID_KEY_SIZE	 16
#define MAILID_TEXT_SIZE 33 /* hexadecimal digits and a NUL */

struct mailid {
	uint8_t bytes[MAILID_SIZE];
};

/* random has 8 bytes that never come twice. 0 or -ENOMEM. */
int mailid_make(const uint8_t *key, const uint8_t *random, struct mailid *ret_id);
/* Was it made with this key? False too when memory runs out. */
bool mailid_is_of(const uint8_t *key, const struct mailid *id);

/* ret_text has MAILID_TEXT_SIZE bytes. */
void mailid_format(const struct mailid *id, char *ret_text);
/* 0 or -EINVAL: exactly 32 digits in lower case, as mailid_format() writes. */
int mailid_parse(const char *text, struct mailid *ret_id);

#ifdef __cplusplus
}
#endif
