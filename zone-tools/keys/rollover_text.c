/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/keys/rollover_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "rollover 1"

/* The rest of a text that is read word by word. */
struct words {
	char text[ROLLOVER_TEXT_SIZE];
	char *at;
};

/* The next line without its end; NULL behind the last. */
static char *next_line(struct words *words)
{
	char *line = words->at;
	char *end = strchr(line, '\n');
	if (end == NULL)
		return NULL;
	*end = '\0';
	words->at = end + 1;
	return line;
}

/*
 * What follows "name=" at *at, up to a blank or the end; *at moves behind it. NULL: it is not there, or the
 * blank is the last of its line.
 */
static char *take_value(char **at, const char *name)
{
	size_t size = strlen(name);
	char *value = *at;
	if (strncmp(value, name, size) != 0 || value[size] != '=')
		return NULL;
	value += size + 1;
	*at = value + strcspn(value, " ");
	if (**at == '\0')
		return value;
	*(*at)++ = '\0';
	return **at != '\0' ? value : NULL;
}

static bool take_number(char **at, const char *name, uint64_t max, uint64_t *ret_number)
{
	char again[24];
	const char *value = take_value(at, name);
	if (value == NULL)
		return false;
	uint64_t number = strtoull(value, NULL, 10);
	snprintf(again, sizeof(again), "%" PRIu64, number);
	if (strcmp(value, again) != 0 || number > max)
		return false;
	*ret_number = number;
	return true;
}

static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c == '\0' ? NULL : strchr(digits, c);
	return found == NULL ? -1 : (int)(found - digits);
}

static bool take_dnskey(char **at, struct rollover_key *key)
{
	const char *value = take_value(at, "dnskey");
	if (value == NULL || strlen(value) % 2 != 0 || strlen(value) / 2 > KEY_DNSKEY_MAX)
		return false;
	for (; *value != '\0'; value += 2) {
		int high = digit_of(value[0]);
		int low = digit_of(value[1]);
		if (high < 0 || low < 0)
			return false;
		key->dnskey[key->dnskey_size++] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool parse_ttls(char *line, struct rollover *rollover)
{
	uint64_t dnskey;
	uint64_t zone;
	uint64_t ds;
	char *at = line + strlen("ttl ");
	if (strncmp(line, "ttl ", strlen("ttl ")) != 0 ||
	    !take_number(&at, "dnskey", INT32_MAX, &dnskey) ||
	    !take_number(&at, "zone", INT32_MAX, &zone) ||
	    !take_number(&at, "ds", INT32_MAX, &ds) || *at != '\0')
		return false;
	rollover->dnskey_ttl = (uint32_t)dnskey;
	rollover->zone_ttl = (uint32_t)zone;
	rollover->ds_ttl = (uint32_t)ds;
	return true;
}

static bool parse_key(char *line, struct rollover_key *key)
{
	/* So far away that no sum of a time and a wait overflows. */
	static const uint64_t time_max = INT64_MAX / 2;
	char *word = line + strlen("key ");
	if (strncmp(line, "key ", strlen("key ")) != 0)
		return false;
	char *at = word + strcspn(word, " ");
	if (*at == '\0')
		return false;
	*at++ = '\0';
	return rollover_parse_state(word, &key->state) &&
	       take_number(&at, "made", time_max, &key->made_s) &&
	       take_number(&at, "since", time_max, &key->since_s) &&
	       take_number(&at, "ds-seen", time_max, &key->ds_seen_s) && take_dnskey(&at, key) &&
	       *at == '\0';
}

static const char *parse_lines(struct words *words, struct rollover *rollover)
{
	char *line = next_line(words);
	if (line == NULL || strcmp(line, HEAD) != 0)
		return "keys: of a later version, or damaged";
	line = next_line(words);
	if (line == NULL || !parse_ttls(line, rollover))
		return "keys: TTLs are damaged";
	while ((line = next_line(words)) != NULL) {
		if (rollover->key_count == ROLLOVER_KEYS_MAX ||
		    !parse_key(line, &rollover->keys[rollover->key_count++]))
			return "keys: a key is damaged, or there are too many";
	}
	return *words->at == '\0' ? NULL : "keys: cut short";
}

const char *rollover_text_parse(const char *text, size_t size, struct rollover *ret_rollover)
{
	struct words words;
	struct rollover rollover;
	if (size >= sizeof(words.text) || memchr(text, '\0', size) != NULL)
		return "keys: too long, or damaged";
	memcpy(words.text, text, size);
	words.text[size] = '\0';
	words.at = words.text;
	memset(&rollover, 0, sizeof(rollover));
	const char *problem = parse_lines(&words, &rollover);
	if (problem == NULL && (rollover.key_count == 0 || !rollover_is_sound(&rollover)))
		problem = "keys: keys are in states that do not go together";
	if (problem == NULL)
		*ret_rollover = rollover;
	return problem;
}

static size_t write_key(const struct rollover_key *key, char *ret_text, size_t text_size)
{
	int written = snprintf(
		ret_text, text_size,
		"key %s made=%" PRIu64 " since=%" PRIu64 " ds-seen=%" PRIu64 " dnskey=",
		rollover_state_word(key->state), key->made_s, key->since_s, key->ds_seen_s);
	size_t size = (size_t)written;
	for (unsigned i = 0; i < key->dnskey_size; i++)
		size += (size_t)snprintf(ret_text + size, text_size - size, "%02x", key->dnskey[i]);
	return size + (size_t)snprintf(ret_text + size, text_size - size, "\n");
}

size_t rollover_text_write(const struct rollover *rollover, char *ret_text)
{
	/* A key takes 250 bytes at most. */
	size_t size =
		(size_t)snprintf(ret_text, ROLLOVER_TEXT_SIZE,
				 HEAD "\nttl dnskey=%" PRIu32 " zone=%" PRIu32 " ds=%" PRIu32 "\n",
				 rollover->dnskey_ttl, rollover->zone_ttl, rollover->ds_ttl);
	for (size_t i = 0; i < rollover->key_count; i++)
		size += write_key(&rollover->keys[i], ret_text + size, ROLLOVER_TEXT_SIZE - size);
	return size;
}
