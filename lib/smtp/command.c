/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/smtp/command.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "lib/format/ascii.h"
#include "lib/format/hex.h"
#include "lib/smtp/address.h"
#include "lib/wire/word.h"
#include "lib/wire/utf8.h"

static const struct verb {
	const char *name;
	enum command_verb verb;
} verbs[] = {
	{ "HELO", COMMAND_HELO },	{ "EHLO", COMMAND_EHLO },
	{ "MAIL", COMMAND_MAIL },	{ "RCPT", COMMAND_RCPT },
	{ "DATA", COMMAND_DATA },	{ "BDAT", COMMAND_BDAT },
	{ "RSET", COMMAND_RSET },	{ "NOOP", COMMAND_NOOP },
	{ "HELP", COMMAND_HELP },	{ "VRFY", COMMAND_VRFY },
	{ "QUIT", COMMAND_QUIT },	{ "STARTTLS", COMMAND_STARTTLS },
	{ "XCLIENT", COMMAND_XCLIENT }, { "AUTH", COMMAND_AUTH },
	{ "EXPN", COMMAND_EXPN },	{ "ETRN", COMMAND_ETRN },
	{ "TURN", COMMAND_TURN },	{ "ATRN", COMMAND_TURN },
	{ "GET", COMMAND_FOREIGN },	{ "HEAD", COMMAND_FOREIGN },
	{ "POST", COMMAND_FOREIGN },	{ "PUT", COMMAND_FOREIGN },
	{ "CONNECT", COMMAND_FOREIGN }, { "OPTIONS", COMMAND_FOREIGN },
	{ "DELETE", COMMAND_FOREIGN },	{ "PATCH", COMMAND_FOREIGN },
	{ "TRACE", COMMAND_FOREIGN },	{ "LHLO", COMMAND_LHLO },
};
#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

/* ---- words ---- */

/* What is still to be read. */
struct rest {
	const char *at;
	const char *end;
};

static void skip_blanks(struct rest *rest)
{
	while (rest->at < rest->end && *rest->at == ' ')
		rest->at++;
}

/* The next word and the blanks around it. Empty at the end. */
static struct rest take_word(struct rest *rest)
{
	skip_blanks(rest);
	struct rest word = { rest->at, rest->at };
	while (word.end < rest->end && *word.end != ' ')
		word.end++;
	rest->at = word.end;
	skip_blanks(rest);
	return word;
}

void command_parse(const char *line, size_t line_size, struct command *ret_command)
{
	while (line_size > 0 && ascii_is_blank(line[line_size - 1]))
		line_size--;
	const char *blank = line_size > 0 ? memchr(line, ' ', line_size) : NULL;
	size_t verb_size = blank != NULL ? (size_t)(blank - line) : line_size;
	struct rest rest = { line + verb_size, line + line_size };
	skip_blanks(&rest);
	ret_command->verb = COMMAND_UNKNOWN;
	ret_command->arguments = rest.at;
	ret_command->arguments_size = (size_t)(rest.end - rest.at);
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (word_is(line, verb_size, verbs[i].name))
			ret_command->verb = verbs[i].verb;
}

bool command_take_helo(const char *text, size_t text_size, char *ret_helo)
{
	if (text_size == 0 || text_size > ENVELOPE_HELO_MAX)
		return false;
	for (size_t i = 0; i < text_size; i++) {
		const bool is_harmful =
			text[i] <= ' ' || text[i] > '~' || strchr("<>()\\\";@", text[i]) != NULL;
		ret_helo[i] = is_harmful ? '?' : text[i];
	}
	ret_helo[text_size] = '\0';
	return true;
}

/* ---- xtext ---- */

/*
 * Size of the xtext character that text begins with; 0 when it is none. RFC 3461 wants it to be
 * printable also when it is decoded, as it will be in a header of a notification: a control
 * character is none.
 */
static size_t xtext_size(const char *text, size_t text_size)
{
	if (text[0] != '+')
		return text[0] > ' ' && text[0] <= '~' && text[0] != '=' ? 1 : 0;
	const int value = text_size >= 3 ? hex_pair(text + 1) : -1;
	return value >= ' ' && value != 0x7f ? 3 : 0;
}

static bool is_encoded(const char *text, size_t text_size, bool allows_utf8)
{
	for (size_t i = 0; i < text_size;) {
		size_t size = xtext_size(text + i, text_size - i);
		if (size == 0 && allows_utf8)
			size = utf8_size(text + i, text_size - i);
		if (size == 0)
			return false;
		i += size;
	}
	return true;
}

bool command_is_xtext(const char *text, size_t text_size)
{
	return is_encoded(text, text_size, false);
}

bool command_is_orcpt(const char *text, size_t text_size, bool is_utf8)
{
	const char *semicolon = memchr(text, ';', text_size);
	if (semicolon == NULL || text_size > ENVELOPE_ORCPT_MAX)
		return false;
	size_t type_size = (size_t)(semicolon - text);
	for (size_t i = 0; i < type_size; i++)
		if (!ascii_is_alnum(text[i]) && text[i] != '-')
			return false;
	bool allows_utf8 = is_utf8 && word_is(text, type_size, "utf-8");
	return type_size > 0 && is_encoded(semicolon + 1, text_size - type_size - 1, allows_utf8);
}

/* ---- parameters ---- */

static const struct command_bad bad_parameter = { 501, "5.5.4 Bad parameter" };
static const struct command_bad unknown_parameter = { 555, "5.5.4 Unsupported parameter" };

/* The command that a parameter belongs to; one of the two is NULL. */
struct subject {
	unsigned withheld; /* extensions */
	struct envelope *envelope;
	struct recipient *recipient;
	bool is_utf8; /* of the transaction */
	unsigned seen;
};

static bool take_number(const char *text, size_t text_size, uint64_t *ret_number)
{
	uint64_t number = 0;
	/* RFC 1870, 6: 20 digits; as many are the most that 64 bits need. */
	if (text_size == 0 || text_size > 20)
		return false;
	for (size_t i = 0; i < text_size; i++) {
		unsigned digit = (unsigned)(text[i] - '0');
		if (!ascii_is_digit(text[i]))
			return false;
		if (number > (UINT64_MAX - digit) / 10) {
			*ret_number = UINT64_MAX;
			return false;
		}
		number = number * 10 + digit;
	}
	*ret_number = number;
	return true;
}

static bool take_size(struct subject *subject, const char *text, size_t text_size)
{
	uint64_t size = 0;
	/* More than 64 bits hold is a size, and above every limit. */
	bool is_number = take_number(text, text_size, &size) || size == UINT64_MAX;
	subject->envelope->size_bytes = size;
	return is_number;
}

static bool take_body(struct subject *subject, const char *text, size_t text_size)
{
	bool is_8bit = word_is(text, text_size, "8BITMIME");
	subject->envelope->body = is_8bit ? ENVELOPE_8BITMIME : ENVELOPE_7BIT;
	return is_8bit || word_is(text, text_size, "7BIT");
}

static bool take_utf8(struct subject *subject, const char *text, size_t text_size)
{
	subject->envelope->is_utf8 = true;
	return text == NULL && text_size == 0;
}

static bool take_ret(struct subject *subject, const char *text, size_t text_size)
{
	bool is_full = word_is(text, text_size, "FULL");
	subject->envelope->ret = is_full ? ENVELOPE_RET_FULL : ENVELOPE_RET_HDRS;
	return is_full || word_is(text, text_size, "HDRS");
}

static bool take_envid(struct subject *subject, const char *text, size_t text_size)
{
	/* RFC 3461 would have an empty one, too, which is as good as none. */
	if (text_size == 0 || text_size > ENVELOPE_ENVID_MAX || !command_is_xtext(text, text_size))
		return false;
	memcpy(subject->envelope->envid, text, text_size);
	return true;
}

static unsigned notify_bit(const char *text, size_t text_size)
{
	if (word_is(text, text_size, "SUCCESS"))
		return ENVELOPE_NOTIFY_SUCCESS;
	if (word_is(text, text_size, "FAILURE"))
		return ENVELOPE_NOTIFY_FAILURE;
	return word_is(text, text_size, "DELAY") ? ENVELOPE_NOTIFY_DELAY : 0;
}

static bool take_notify(struct subject *subject, const char *text, size_t text_size)
{
	unsigned *notify = &subject->recipient->notify;
	if (word_is(text, text_size, "NEVER")) {
		*notify = ENVELOPE_NOTIFY_NEVER;
		return true;
	}
	for (size_t begin = 0; begin <= text_size;) {
		const char *comma = memchr(text + begin, ',', text_size - begin);
		size_t end = comma != NULL ? (size_t)(comma - text) : text_size;
		unsigned bit = notify_bit(text + begin, end - begin);
		if (bit == 0)
			return false;
		*notify |= bit;
		begin = end + 1;
	}
	return true;
}

static bool take_orcpt(struct subject *subject, const char *text, size_t text_size)
{
	if (!command_is_orcpt(text, text_size, subject->is_utf8))
		return false;
	memcpy(subject->recipient->orcpt, text, text_size);
	return true;
}

static const struct parameter {
	const char *name;
	bool is_of_mail; /* not of RCPT */
	bool has_value;
	unsigned extension; /* of those that may be withheld, or 0 */
	/* Text is NULL without a value. What it has written counts for nothing if it fails. */
	bool (*take)(struct subject *subject, const char *text, size_t text_size);
} parameters[] = {
	{ "SIZE", true, true, 0, take_size },
	{ "BODY", true, true, ENVELOPE_EXTENSION_8BITMIME, take_body },
	{ "SMTPUTF8", true, false, ENVELOPE_EXTENSION_SMTPUTF8, take_utf8 },
	{ "RET", true, true, ENVELOPE_EXTENSION_DSN, take_ret },
	{ "ENVID", true, true, ENVELOPE_EXTENSION_DSN, take_envid },
	{ "NOTIFY", false, true, ENVELOPE_EXTENSION_DSN, take_notify },
	{ "ORCPT", false, true, ENVELOPE_EXTENSION_DSN, take_orcpt },
};
#define PARAMETER_COUNT (sizeof(parameters) / sizeof(parameters[0]))

/* PARAMETER_COUNT: none of this command. */
static size_t find_parameter(const struct subject *subject, const char *name, size_t name_size)
{
	size_t i = 0;
	while (i < PARAMETER_COUNT && (parameters[i].is_of_mail != (subject->envelope != NULL) ||
				       (subject->withheld & parameters[i].extension) != 0 ||
				       !word_is(name, name_size, parameters[i].name)))
		i++;
	return i;
}

static const struct command_bad *take_parameter(struct subject *subject, struct rest word)
{
	const char *equals = memchr(word.at, '=', (size_t)(word.end - word.at));
	const char *name_end = equals != NULL ? equals : word.end;
	size_t found = find_parameter(subject, word.at, (size_t)(name_end - word.at));
	if (found == PARAMETER_COUNT)
		return &unknown_parameter;
	const struct parameter *parameter = &parameters[found];
	bool is_again = (subject->seen >> found & 1U) != 0;
	subject->seen |= 1U << found;
	if (is_again || parameter->has_value != (equals != NULL))
		return &bad_parameter;
	const char *value = equals != NULL ? equals + 1 : NULL;
	size_t value_size = equals != NULL ? (size_t)(word.end - value) : 0;
	return parameter->take(subject, value, value_size) ? NULL : &bad_parameter;
}

static const struct command_bad *take_parameters(struct subject *subject, struct rest *rest)
{
	const struct command_bad *bad = NULL;
	if (rest->at < rest->end && *rest->at != ' ')
		return &bad_parameter;
	skip_blanks(rest);
	while (bad == NULL && rest->at < rest->end)
		bad = take_parameter(subject, take_word(rest));
	return bad;
}

/* ---- MAIL, RCPT and BDAT ---- */

/* "FROM:" and a path. */
static enum address_status take_path(struct rest *rest, const char *word,
				     struct address *ret_address)
{
	size_t used = 0;
	size_t left = (size_t)(rest->end - rest->at);
	if (left < strlen(word) || strncasecmp(rest->at, word, strlen(word)) != 0)
		return ADDRESS_MALFORMED;
	rest->at += strlen(word);
	skip_blanks(rest);
	enum address_status status =
		address_parse_path(rest->at, (size_t)(rest->end - rest->at), ret_address, &used);
	rest->at += used;
	return status;
}

static const struct command_bad *parse_mail(struct rest rest, unsigned withheld,
					    struct envelope *envelope)
{
	static const struct command_bad malformed = { 501, "5.1.7 Syntax: MAIL FROM:<address>" };
	static const struct command_bad too_long = { 501, "5.1.7 Sender address too long" };
	static const struct command_bad beyond_ascii = { 553,
							 "5.6.7 Sender address needs SMTPUTF8" };
	struct subject subject = { .withheld = withheld, .envelope = envelope };
	struct address address = { .mailbox = NULL };
	enum address_status status = take_path(&rest, "FROM:", &address);
	if (status == ADDRESS_TOO_LONG)
		return &too_long;
	if (status != ADDRESS_OK || address.is_postmaster)
		return &malformed;
	memcpy(envelope->sender, address.mailbox, address.mailbox_size);
	const struct command_bad *bad = take_parameters(&subject, &rest);
	if (bad == NULL && address.is_utf8 && !envelope->is_utf8)
		bad = &beyond_ascii;
	return bad;
}

bool command_parse_mail(const char *text, size_t text_size, unsigned withheld,
			struct envelope *ret_envelope, struct command_bad *ret_bad)
{
	struct envelope envelope;
	memset(&envelope, 0, sizeof(envelope));
	struct rest rest = { text, text + text_size };
	const struct command_bad *bad = parse_mail(rest, withheld, &envelope);
	if (bad != NULL)
		*ret_bad = *bad;
	else
		*ret_envelope = envelope;
	return bad == NULL;
}

static const struct command_bad *parse_rcpt(struct rest rest, unsigned withheld, bool is_utf8,
					    struct recipient *recipient)
{
	static const struct command_bad malformed = { 501, "5.1.3 Syntax: RCPT TO:<address>" };
	static const struct command_bad too_long = { 501, "5.1.3 Recipient address too long" };
	static const struct command_bad beyond_ascii = { 553,
							 "5.6.7 Recipient address needs SMTPUTF8" };
	struct subject subject = { .withheld = withheld,
				   .recipient = recipient,
				   .is_utf8 = is_utf8 };
	struct address address = { .mailbox = NULL };
	enum address_status status = take_path(&rest, "TO:", &address);
	if (status == ADDRESS_TOO_LONG)
		return &too_long;
	if (status != ADDRESS_OK || address.mailbox_size == 0)
		return &malformed;
	if (address.is_utf8 && !is_utf8)
		return &beyond_ascii;
	memcpy(recipient->address, address.mailbox, address.mailbox_size);
	for (char *c = recipient->address; address.is_postmaster && *c != '\0'; c++)
		*c = (char)(*c | 0x20);
	return take_parameters(&subject, &rest);
}

bool command_parse_rcpt(const char *text, size_t text_size, unsigned withheld, bool is_utf8,
			struct recipient *ret_recipient, struct command_bad *ret_bad)
{
	struct recipient recipient;
	memset(&recipient, 0, sizeof(recipient));
	struct rest rest = { text, text + text_size };
	const struct command_bad *bad = parse_rcpt(rest, withheld, is_utf8, &recipient);
	if (bad != NULL)
		*ret_bad = *bad;
	else
		*ret_recipient = recipient;
	return bad == NULL;
}

bool command_parse_bdat(const char *text, size_t text_size, uint64_t *ret_size, bool *ret_is_last)
{
	struct rest rest = { text, text + text_size };
	struct rest number = take_word(&rest);
	struct rest last = take_word(&rest);
	uint64_t size = 0;
	bool is_last = word_is(last.at, (size_t)(last.end - last.at), "LAST");
	if (rest.at != rest.end || (!is_last && last.at != last.end) ||
	    !take_number(number.at, (size_t)(number.end - number.at), &size))
		return false;
	*ret_size = size;
	*ret_is_last = is_last;
	return true;
}
