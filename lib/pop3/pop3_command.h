/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pop3_command.h - the syntax of commands: which it is, its words, and the numbers of messages.
 *
 * Flow: pop3_dialogue.c has a line -> pop3_command_parse() -> by its verb pop3_command_word(),
 *       pop3_command_number() -> the state of pop3_dialogue.c.
 *
 *     TOP 3 10
 *     PASS my words, with blanks
 *
 * Blanks at the end of a line and more than one between words are passed over, since many clients
 * send them and they end nothing; those of a password count (RFC 1939, part 7, PASS). A number has
 * one spelling, in decimal digits without a sign or zeros before it.
 *
 * No function here keeps a pointer, allocates or logs; outputs are written on success only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pop3_verb {
	POP3_VERB_UNKNOWN,
	POP3_VERB_USER,
	POP3_VERB_PASS,
	POP3_VERB_APOP,
	POP3_VERB_AUTH,
	POP3_VERB_SASL, /* no verb: a line of an exchange behind AUTH */
	POP3_VERB_STLS,
	POP3_VERB_UTF8,
	POP3_VERB_CAPA,
	POP3_VERB_STAT,
	POP3_VERB_LIST,
	POP3_VERB_UIDL,
	POP3_VERB_RETR,
	POP3_VERB_TOP,
	POP3_VERB_DELE,
	POP3_VERB_NOOP,
	POP3_VERB_RSET,
	POP3_VERB_QUIT,
	POP3_VERB_FOREIGN, /* of HTTP: a browser is made to send it here */
	POP3_VERB_COUNT,
};

/* A part of the line; borrowed. */
struct pop3_text {
	const char *at;
	size_t size;
};

struct pop3_command {
	enum pop3_verb verb;
	struct pop3_text arguments; /* without blanks around */
	struct pop3_text raw;	    /* all that stands behind the verb and one blank */
};

void pop3_command_parse(const char *line, size_t line_size, struct pop3_command *ret_command);

/* The next word of the rest, and the blanks behind it. Empty at the end. */
struct pop3_text pop3_command_word(struct pop3_text *rest);
/* In any case of letters. */
bool pop3_command_is(struct pop3_text word, const char *keyword);
/* More than 64 bits hold is UINT64_MAX, which no maildrop and no mail comes near. */
bool pop3_command_number(struct pop3_text word, uint64_t *ret_number);

#ifdef __cplusplus
}
#endif
