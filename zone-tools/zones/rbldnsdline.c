/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zones/rbldnsdline.h"

#include "zone-tools/lists/rbldnsd.h"
#include "zone-tools/zones/zonesconf.h"

#include "lib/common/values.h"
#include "lib/format/name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 8192, LIST_MAX = 4096 };

static const char with_argument[] = "urwbtcplsFxX";
static const char without_argument[] = "46veqnfdaAC";

/* ---- words ---- */

/* One byte of a word, or the end of a quote; false when the word ends there. */
static bool take_byte(const char **in, char **out, char *quote)
{
	char c = **in;
	if (c == '\0' || (*quote == '\0' && isspace((unsigned char)c)))
		return false;
	++*in;
	if (*quote == '\0' && (c == '\'' || c == '"')) {
		*quote = c;
	} else if (c == *quote) {
		*quote = '\0';
	} else if (c == '\\' && *quote != '\'' && **in != '\0') {
		*(*out)++ = *(*in)++;
	} else {
		*(*out)++ = c;
	}
	return true;
}

/* text has room in words. Returns how many, or WORDS_MAX for too many; *ret_is_open: a quote is. */
static size_t split(const char *text, char *words, const char **ret_words, bool *ret_is_open)
{
	size_t count = 0;
	char quote = '\0';
	while (isspace((unsigned char)*text))
		text++;
	while (*text != '\0' && count < WORDS_MAX) {
		ret_words[count++] = words;
		while (take_byte(&text, &words, &quote))
			continue;
		*words++ = '\0';
		while (isspace((unsigned char)*text))
			text++;
	}
	*ret_is_open = quote != '\0';
	return count;
}

/* ---- options ---- */

static bool take_unit(char unit, uint64_t *number)
{
	static const char units[] = "smhdw";
	static const uint32_t seconds[] = { 1, 60, 3600, 86400, 604800 };
	const char *found = unit != '\0' ? strchr(units, tolower((unsigned char)unit)) : NULL;
	if (found == NULL)
		return false;
	*number *= seconds[found - units];
	return true;
}

/* "35m", "1h30m", "2100". */
static bool parse_time(const char *text, size_t size, uint32_t *ret_seconds)
{
	uint64_t sum = 0;
	size_t i = 0;
	while (i < size) {
		uint64_t number = 0;
		size_t begin = i;
		for (; i < size && isdigit((unsigned char)text[i]) && i - begin < 10; i++)
			number = number * 10 + (uint64_t)(text[i] - '0');
		if (i == begin || (i < size && !take_unit(text[i], &number)))
			return false;
		i += i < size;
		sum += number;
	}
	*ret_seconds = (uint32_t)sum;
	return size > 0 && sum > 0 && sum <= INT32_MAX;
}

/* DEFAULT:LEAST:MOST, any of which may lack. */
static const char *take_ttl(struct rbldnsdline *line, const char *text)
{
	size_t size = strcspn(text, ":");
	line->has_ttl = size > 0;
	if (size > 0 && !parse_time(text, size, &line->ttl))
		return "-t: not a time";
	line->has_ttl_limits = line->has_ttl_limits || strpbrk(text + size, "0123456789") != NULL;
	return NULL;
}

static const char *take_option(struct rbldnsdline *line, char letter, const char *argument)
{
	line->has_option[(unsigned char)letter] = true;
	switch (letter) {
	case 'r':
		line->root = argument;
		return argument[0] == '/' ? NULL : "-r: not an absolute path";
	case 'w':
		line->directory = argument;
		return NULL;
	case 't':
		return take_ttl(line, argument);
	case 'b':
		if (line->listen_count == RBLDNSDLINE_LISTEN_MAX)
			return "-b: more than 16 addresses";
		line->listen[line->listen_count++] = argument;
		return NULL;
	default:
		return NULL;
	}
}

/* The letters of one word; *next is that behind it, which may be the argument of the last. */
static const char *take_letters(struct rbldnsdline *line, const char *word,
				const char *const *words, size_t count, size_t *next,
				char *ret_reason)
{
	for (const char *letter = word + 1; *letter != '\0'; letter++) {
		const char *argument = NULL;
		if (strchr(with_argument, *letter) != NULL) {
			argument = letter[1] != '\0' ? letter + 1
				   : *next < count   ? words[(*next)++]
						     : NULL;
			if (argument == NULL) {
				snprintf(ret_reason, RBLDNSDLINE_REASON_MAX,
					 "-%c: needs an argument", *letter);
				return ret_reason;
			}
			return take_option(line, *letter, argument);
		}
		if (strchr(without_argument, *letter) == NULL) {
			bool is_shown = isgraph((unsigned char)*letter) != 0;
			snprintf(ret_reason, RBLDNSDLINE_REASON_MAX,
				 "-%c: rbldnsd has no such option", is_shown ? *letter : '?');
			return ret_reason;
		}
		line->has_option[(unsigned char)*letter] = true;
	}
	return NULL;
}

/* ---- zones ---- */

static bool has_zone(const struct rbldnsdline *line, const char *name, size_t *ret_index)
{
	for (*ret_index = 0; *ret_index < line->zone_count; ++*ret_index) {
		if (zonesconf_is_same_name(line->zones[*ret_index], name))
			return true;
	}
	return false;
}

static const char *find_zone(struct rbldnsdline *line, const char *name, size_t *ret_index)
{
	struct dnsblv6_labels labels;
	size_t size = strlen(name);
	if (has_zone(line, name, ret_index))
		return NULL;
	if (line->zone_count == RBLDNSDLINE_ZONES_MAX)
		return "more than 1000 zones";
	if (size == 0 || dnsblv6_name_from_text(name, &labels) != 0 || labels.size == 0)
		return "not the name of a zone";
	line->zones[line->zone_count++] = name;
	return NULL;
}

/* As rbldnsd finds it: below -r, and from -w on. */
static int format_file(const struct rbldnsdline *line, const char *here, const char *file,
		       size_t size, char *ret_text, size_t text_max)
{
	const char *root = line->root != NULL ? line->root : "";
	const char *work = line->directory != NULL ? line->directory : "";
	int root_size = (int)strlen(root);
	while (root_size > 0 && root[root_size - 1] == '/')
		root_size--;
	if (file[0] == '/')
		return snprintf(ret_text, text_max, "%.*s%.*s", root_size, root, (int)size, file);
	const char *base = line->root == NULL && work[0] != '/' ? here : "";
	const char *slash = work[0] != '\0' && work[0] != '/' ? "/" : "";
	return snprintf(ret_text, text_max, "%.*s%s%s%s/%.*s", root_size, root, base, slash, work,
			(int)size, file);
}

/* files is "FILE,FILE". */
static const char *make_list(const struct rbldnsdline *line, const char *here, const char *type,
			     size_t type_size, const char *files, char *ret_list)
{
	size_t used = (size_t)snprintf(ret_list, LIST_MAX, "%.*s:", (int)type_size, type);
	for (const char *file = files;; file++) {
		size_t size = strcspn(file, ",");
		if (size == 0)
			return "no file of its list";
		int more = format_file(line, here, file, size, ret_list + used, LIST_MAX - used);
		if (more < 0 || (size_t)more + 1 >= LIST_MAX - used)
			return "names of files are too long";
		/* rbldnsd splits a list before it adds the directory; zones.conf would split that, too. */
		if (memchr(ret_list + used, ',', (size_t)more) != NULL)
			return "the directory of its files has a comma in its name";
		used += (size_t)more;
		file += size;
		if (*file == '\0')
			return NULL;
		ret_list[used++] = ',';
	}
}

/* The characters that a value of zones.conf can have. */
static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f || *text == '"' || *text == '\\')
			return false;
	}
	return true;
}

/* ZONE:TYPE:FILE[,FILE...] */
static const char *take_zone(struct rbldnsdline *line, char *word, const char *here)
{
	char list[LIST_MAX];
	enum rbldnsd_type known;
	size_t zone;
	char *type = strchr(word, ':');
	char *files = type != NULL ? strchr(type + 1, ':') : NULL;
	if (files == NULL)
		return "not of the form ZONE:TYPE:FILE";
	*type++ = '\0';
	if (rbldnsd_type_find(type, (size_t)(files - type), &known) != DNSBLV6_OK)
		return "its type is none that is taken over";
	if (line->list_count == RBLDNSDLINE_LISTS_MAX)
		return "more than 4096 lists";
	const char *reason = NULL;
	if (*word == '\0' && known == RBLDNSD_ACL)
		zone = RBLDNSDLINE_ALL_ZONES;
	else
		reason = find_zone(line, word, &zone);
	if (reason == NULL)
		reason = make_list(line, here, type, (size_t)(files - type), files + 1, list);
	if (reason == NULL && !is_printable(list))
		reason = "a file has a quote or a control character in its name";
	if (reason != NULL)
		return reason;
	char *copy = strdup(list);
	if (copy == NULL)
		return "out of memory";
	line->lists[line->list_count++] = (struct rbldnsdline_list){ zone, copy };
	return NULL;
}

/* ---- the line ---- */

/* Debian's /etc/default/rbldns has a name there. */
static bool is_program(const char *word)
{
	return word[0] != '-' || word[1] == '\0';
}

static const char *take_options(struct rbldnsdline *line, const char *const *words, size_t count,
				size_t *next, char *ret_reason)
{
	while (*next < count && words[*next][0] == '-' && words[*next][1] != '\0') {
		const char *word = words[(*next)++];
		if (strcmp(word, "--") == 0)
			return NULL;
		const char *reason = take_letters(line, word, words, count, next, ret_reason);
		if (reason != NULL)
			return reason;
	}
	return NULL;
}

static const char *take_zones(struct rbldnsdline *line, const char *const *words, size_t count,
			      size_t next, const char *here, char *ret_reason)
{
	for (size_t i = next; i < count; i++) {
		char word[64];
		snprintf(word, sizeof(word), "%s", words[i]);
		const char *reason = take_zone(line, (char *)(uintptr_t)words[i], here);
		if (reason == NULL)
			continue;
		for (char *c = word; *c != '\0'; c++)
			*c = isgraph((unsigned char)*c) ? *c : '?';
		snprintf(ret_reason, RBLDNSDLINE_REASON_MAX, "%s: %s", word, reason);
		return ret_reason;
	}
	return line->zone_count > 0 ? NULL : "no ZONE:TYPE:FILE in it";
}

const char *rbldnsdline_parse(const char *text, const char *here, struct rbldnsdline *ret_line,
			      char *ret_reason)
{
	const char *words[WORDS_MAX];
	bool is_open = false;
	ret_line->words = malloc(2 * strlen(text) + 2);
	if (ret_line->words == NULL)
		return "out of memory";
	size_t count = split(text, ret_line->words, words, &is_open);
	size_t next = count > 0 && is_program(words[0]) && strchr(words[0], ':') == NULL ? 1 : 0;
	if (is_open)
		return "a quote is not closed";
	if (count == WORDS_MAX)
		return "more than 8191 words";
	const char *reason = take_options(ret_line, words, count, &next, ret_reason);
	return reason == NULL ? take_zones(ret_line, words, count, next, here, ret_reason) : reason;
}

void rbldnsdline_deinit(struct rbldnsdline *line)
{
	for (size_t i = 0; i < line->list_count; i++)
		free(line->lists[i].list);
	free(line->words);
	*line = (struct rbldnsdline){ 0 };
}

/* ---- what becomes of it ---- */

bool rbldnsdline_make_name(const struct rbldnsdline *line, size_t zone, char *ret_name,
			   size_t name_max)
{
	static const char *const more[] = { "6", "-6" };
	const char *name = line->zones[zone];
	struct dnsblv6_labels labels;
	size_t other;
	size_t label = strcspn(name, ".");
	size_t size = strlen(name);
	bool has_dot = size > 0 && name[size - 1] == '.';
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		int made = snprintf(ret_name, name_max, "%.*s%s%s%s", (int)label, name, more[i],
				    name + label, has_dot ? "" : ".");
		if (made > 0 && (size_t)made < name_max &&
		    dnsblv6_name_from_text(ret_name, &labels) == 0 &&
		    !has_zone(line, ret_name, &other))
			return true;
	}
	return false;
}

bool rbldnsdline_make_listen(const char *text, char *ret_listen, size_t listen_max)
{
	struct sockaddr_storage address;
	size_t size = strcspn(text, "/");
	const char *port = text[size] == '/' ? text + size + 1 : "53";
	int made = snprintf(ret_listen, listen_max, "%.*s@%s", (int)size, text, port);
	return made > 0 && (size_t)made < listen_max &&
	       values_parse_address(ret_listen, 0, 1, &address);
}
