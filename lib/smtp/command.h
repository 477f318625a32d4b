/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * command.h - the syntax of commands: which it is, and what MAIL, RCPT and BDAT say.
 *
 * Flow: dialogue.c has a line -> command_parse() -> by its verb command_parse_mail(),
 *       command_parse_rcpt(), command_parse_bdat(), command_take_helo() -> the state of dialogue.c.
 *
 *     MAIL FROM:<a@example.org> SIZE=4711 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=x+2Dy
 *     RCPT TO:<b@example.net> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;b@example.net
 *     BDAT 1000 LAST
 *
 * The syntax is that of RFC 5321, 1870, 3030, 3461, 6152 and 6531. Blanks at the end of a line and
 * behind the colon are passed over, since many clients send them and they end nothing. A parameter
 * that is not known is 555, also one of an extension that is not offered; one that is known and
 * wrong, or said twice, is 501.
 *
 * No function here keeps a pointer, allocates or logs; outputs are written on success only, but
 * for *ret_bad.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/smtp/envelope.h"

#ifdef __cplusplus
extern "C" {
#endif

enum command_verb {
	COMMAND_UNKNOWN,
	COMMAND_HELO,
	COMMAND_EHLO,
	COMMAND_LHLO, /* RFC 2033 */
	COMMAND_MAIL,
	COMMAND_RCPT,
	COMMAND_DATA,
	COMMAND_BDAT,
	COMMAND_RSET,
	COMMAND_NOOP,
	COMMAND_HELP,
	COMMAND_VRFY,
	COMMAND_QUIT,
	COMMAND_STARTTLS,
	COMMAND_XCLIENT,
	COMMAND_AUTH,
	COMMAND_EXPN,
	COMMAND_ETRN,
	COMMAND_TURN,
	COMMAND_FOREIGN, /* of HTTP: a browser is made to send it here */
	COMMAND_VERB_COUNT,
};

struct command {
	enum command_verb verb;
	const char *arguments; /* into the line, without blanks around; borrowed */
	size_t arguments_size;
};

/* What is wrong with a command. */
struct command_bad {
	int code;
	const char *text; /* with the enhanced code; static */
};

void command_parse(const char *line, size_t line_size, struct command *ret_command);

/*
 * What stands behind HELO and EHLO, to ret_helo of ENVELOPE_HELO_MAX + 1 bytes. Many clients say
 * something that is no name; as with Postfix a byte that could do harm in a header becomes "?".
 * False: there is nothing, or too much.
 */
bool command_take_helo(const char *text, size_t text_size, char *ret_helo);

/* What stands behind "MAIL" and "RCPT". False: ret_bad is the reply. */
bool command_parse_mail(const char *text, size_t text_size, unsigned withheld,
			struct envelope *ret_envelope, struct command_bad *ret_bad);
/* is_utf8: the transaction's MAIL said SMTPUTF8. */
bool command_parse_rcpt(const char *text, size_t text_size, unsigned withheld, bool is_utf8,
			struct recipient *ret_recipient, struct command_bad *ret_bad);
/* What stands behind "BDAT"; any size that 64 bits hold. */
bool command_parse_bdat(const char *text, size_t text_size, uint64_t *ret_size, bool *ret_is_last);

/* xtext of RFC 3461, 4: printable, "+" with two hexadecimal digits for other bytes; no controls. */
bool command_is_xtext(const char *text, size_t text_size);
/* "type;xtext" (RFC 3461, 4.2); with is_utf8 also "utf-8;" and UTF-8 (RFC 6533, 3). */
bool command_is_orcpt(const char *text, size_t text_size, bool is_utf8);

#ifdef __cplusplus
}
#endif
