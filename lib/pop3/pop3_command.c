/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/pop3_command.h"

#include "lib/format/ascii.h"

#include <string.h>
#include <strings.h>

static const struct verb {
	const char *name;
	enum pop3_verb verb;
} verbs[] = {
	{ "USER", POP3_VERB_USER },	  { "PASS", POP3_VERB_PASS },
	{ "APOP", POP3_VERB_APOP },	  { "AUTH", POP3_VERB_AUTH },
	{ "STLS", POP3_VERB_STLS },	  { "UTF8", POP3_VERB_UTF8 },
	{ "CAPA", POP3_VERB_CAPA },	  { "STAT", POP3_VERB_STAT },
	{ "LIST", POP3_VERB_LIST },	  { "UIDL", POP3_VERB_UIDL },
	{ "RETR", POP3_VERB_RETR },	  { "TOP", POP3_VERB_TOP },
	{ "DELE", POP3_VERB_DELE },	  { "NOOP", POP3_VERB_NOOP },
	{ "RSET", POP3_VERB_RSET },	  { "QUIT", POP3_VERB_QUIT },
	{ "GET", POP3_VERB_FOREIGN },	  { "HEAD", POP3_VERB_FOREIGN },
	{ "POST", POP3_VERB_FOREIGN },	  { "PUT", POP3_VERB_FOREIGN },
	{ "CONNECT", POP3_VERB_FOREIGN }, { "OPTIONS", POP3_VERB_FOREIGN },
	{ "DELETE", POP3_VERB_FOREIGN },  { "PATCH", POP3_VERB_FOREIGN },
	{ "TRACE", POP3_VERB_FOREIGN },
};
#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static void skip_blanks(struct pop3_text *rest)
{
	while (rest->size > 0 && *rest->at == ' ') {
		rest->at++;
		rest->size--;
	}
}

struct pop3_text pop3_command_word(struct pop3_text *rest)
{
	skip_blanks(rest);
	const char *blank = rest->size > 0 ? memchr(rest->at, ' ', rest->size) : NULL;
	const size_t size = blank != NULL ? (size_t)(blank - rest->at) : rest->size;
	const struct pop3_text word = { rest->at, size };
	rest->at += size;
	rest->size -= size;
	skip_blanks(rest);
	return word;
}

bool pop3_command_is(struct pop3_text word, const char *keyword)
{
	return word.size == strlen(keyword) && strncasecmp(word.at, keyword, word.size) == 0;
}

void pop3_command_parse(const char *line, size_t line_size, struct pop3_command *ret_command)
{
	const char *blank = line_size > 0 ? memchr(line, ' ', line_size) : NULL;
	const size_t verb_size = blank != NULL ? (size_t)(blank - line) : line_size;
	const size_t raw_at = blank != NULL ? verb_size + 1 : verb_size;
	struct pop3_text verb = { line, verb_size };
	ret_command->raw = (struct pop3_text){ line + raw_at, line_size - raw_at };
	ret_command->arguments = ret_command->raw;
	struct pop3_text *arguments = &ret_command->arguments;
	skip_blanks(arguments);
	while (arguments->size > 0 && ascii_is_blank(arguments->at[arguments->size - 1]))
		arguments->size--;
	while (verb.size > 0 && verb.at[verb.size - 1] == '\t')
		verb.size--;
	ret_command->verb = POP3_VERB_UNKNOWN;
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (pop3_command_is(verb, verbs[i].name))
			ret_command->verb = verbs[i].verb;
}

bool pop3_command_number(struct pop3_text word, uint64_t *ret_number)
{
	uint64_t number = 0;
	if (word.size == 0 || (word.at[0] == '0' && word.size > 1))
		return false;
	for (size_t i = 0; i < word.size; i++) {
		const unsigned digit = (unsigned)(word.at[i] - '0');
		if (word.at[i] < '0' || word.at[i] > '9')
			return false;
		number = number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : number * 10 + digit;
	}
	*ret_number = number;
	return true;
}
