/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pop3_maildrop.h - what a session knows of its mails: sizes, unique ids, and which are deleted.
 *
 * Flow: the caller has read a mailbox -> pop3_maildrop_init() -> pop3_dialogue.c, which marks and
 *       unmarks -> at POP3_UPDATE the caller removes those with .is_deleted. LIST and UIDL of all
 *       mails: pop3_list_fill(), as often as it has something.
 *
 * Message number N of the protocol is messages[N - 1] through the whole session (RFC 1939, part 5).
 * The array is the caller's and borrowed; a maildrop of 100,000 mails is 8 MB there and nothing
 * here. No function here allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POP3_UID_MAX 70 /* RFC 1939, part 7, UIDL */

struct pop3_message {
	uint64_t octets;	    /* with CR LF at line ends, without doubled dots */
	char uid[POP3_UID_MAX + 1]; /* at least one character, 0x21 to 0x7e */
	bool is_deleted;	    /* in this session */
};

struct pop3_maildrop {
	struct pop3_message *messages; /* borrowed */
	size_t message_count;
	size_t left_count;    /* without those that are deleted */
	uint64_t left_octets; /* of these */
};

/* Nothing is deleted yet, whatever the array says. */
void pop3_maildrop_init(struct pop3_message *messages, size_t message_count,
			struct pop3_maildrop *ret_maildrop);
/* Of one that is there and not deleted. */
void pop3_maildrop_delete(struct pop3_maildrop *maildrop, size_t index);
void pop3_maildrop_reset(struct pop3_maildrop *maildrop);

/* ---- multi-line answers ---- */

/* Room that is always enough for a line: two numbers or a number and a uid, CR LF and a NUL. */
#define POP3_LIST_ROOM_MIN 128

/* How far it has come. A plain value. */
struct pop3_list {
	bool is_uidl;
	bool is_done;
	size_t next_index;
};

/*
 * The next whole lines that fit into room, at least POP3_LIST_ROOM_MIN; the last is ".". Returns
 * their size; 0 when all was there. No command may be given to the dialogue before that.
 */
size_t pop3_list_fill(struct pop3_list *list, const struct pop3_maildrop *maildrop, char *out,
		      size_t room);

#ifdef __cplusplus
}
#endif
