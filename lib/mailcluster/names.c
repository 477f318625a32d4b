/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/names.h"

#include "lib/format/hex.h"

#include <errno.h>
#include <string.h>

#include <openssl/evp.h>

#define NODE_MAX    63
#define DIGITS	    16
#define DIGITS_TEXT "0123456789abcdef"

static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@._+-";

/* ---- numbers ---- */

void names_digits(uint64_t number, char *ret_digits)
{
	for (unsigned i = 0; i < DIGITS; i++)
		ret_digits[i] = DIGITS_TEXT[number >> (4 * (DIGITS - 1 - i)) & 15];
	ret_digits[DIGITS] = '\0';
}

bool names_parse_digits(const char *digits, uint64_t *ret_number)
{
	return strlen(digits) == DIGITS && strspn(digits, DIGITS_TEXT) == DIGITS &&
	       hex_number(digits, DIGITS, ret_number);
}

void names_number(char kind, uint64_t number, char *ret_name)
{
	ret_name[0] = kind;
	ret_name[1] = '.';
	names_digits(number, ret_name + 2);
}

bool names_parse_number(char kind, const char *name, uint64_t *ret_number)
{
	return name[0] == kind && name[1] == '.' && names_parse_digits(name + 2, ret_number);
}

/* ---- mailboxes ---- */

void names_box(struct mailname box, char *ret_name)
{
	char *out = ret_name;
	*out++ = 'x';
	*out++ = '.';
	for (size_t i = 0; i < box.size; i++) {
		uint8_t byte = box.bytes[i];
		if (byte != '\0' && strchr(kept, byte) != NULL) {
			*out++ = (char)byte;
			continue;
		}
		*out++ = '%';
		*out++ = DIGITS_TEXT[byte >> 4];
		*out++ = DIGITS_TEXT[byte & 15];
	}
	*out = '\0';
}

/* The next byte of a name, and how many characters it takes; 0 where that is none. */
static size_t take_byte(const char *name, uint8_t *ret_byte)
{
	if (name[0] != '%') {
		*ret_byte = (uint8_t)name[0];
		return strchr(kept, name[0]) != NULL ? 1 : 0;
	}
	if (name[1] == '\0' || strchr(DIGITS_TEXT, name[1]) == NULL || name[2] == '\0' ||
	    strchr(DIGITS_TEXT, name[2]) == NULL)
		return 0;
	*ret_byte = (uint8_t)(hex_value(name[1]) << 4 | hex_value(name[2]));
	return *ret_byte == '\0' || strchr(kept, *ret_byte) != NULL ? 0 : 3;
}

static bool parse_box(const char *name, struct names_parsed *parsed)
{
	size_t size = 0;
	while (*name != '\0' && size < sizeof(parsed->box)) {
		size_t taken = take_byte(name, &parsed->box[size]);
		if (taken == 0)
			return false;
		name += taken;
		size++;
	}
	parsed->box_size = size;
	return size > 0 && *name == '\0';
}

void names_box_key(struct mailname box, char *ret_key)
{
	if (box.size > 0)
		memcpy(ret_key, box.bytes, box.size);
	ret_key[box.size] = '\0';
}

void names_owner_key(struct mailname box, char *ret_key)
{
	ret_key[0] = 'x';
	ret_key[1] = '.';
	names_box_key(box, ret_key + 2);
}

int names_hash(struct mailname box, uint8_t *ret_hash)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	if (EVP_Digest(box.bytes, box.size, digest, NULL, EVP_sha256(), NULL) != 1)
		return -ENOMEM;
	memcpy(ret_hash, digest, NAMES_HASH_SIZE);
	return 0;
}

/* ---- the others ---- */

void names_directory(const uint8_t *hash, char *ret_name)
{
	ret_name[0] = 'd';
	ret_name[1] = '.';
	ret_name[2] = DIGITS_TEXT[hash[0] >> 4];
	ret_name[3] = '\0';
}

void names_journal(const char *node, unsigned at, char *ret_name)
{
	size_t size = strlen(node);
	ret_name[0] = 'j';
	ret_name[1] = '.';
	memcpy(ret_name + 2, node, size);
	ret_name[2 + size] = '.';
	ret_name[3 + size] = (char)('0' + at % NAMES_JOURNALS);
	ret_name[4 + size] = '\0';
}

void names_id(const struct mailid *id, char *ret_name)
{
	ret_name[0] = 'i';
	ret_name[1] = '.';
	mailid_format(id, ret_name + 2);
}

bool names_is_node(const char *node)
{
	size_t size = strlen(node);
	return size > 0 && size <= NODE_MAX &&
	       strspn(node, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

void names_parse(const char *name, struct names_parsed *ret_parsed)
{
	struct names_parsed *parsed = ret_parsed;
	*parsed = (struct names_parsed){ .kind = NAMES_OTHER };
	if (strcmp(name, "store") == 0)
		parsed->kind = NAMES_STORE;
	else if (strcmp(name, "nodes") == 0)
		parsed->kind = NAMES_NODES;
	else if (strcmp(name, "u") == 0)
		parsed->kind = NAMES_USERS;
	else if (names_parse_number('b', name, &parsed->number))
		parsed->kind = NAMES_MAIL;
	else if (names_parse_number('u', name, &parsed->number))
		parsed->kind = NAMES_USERS_BYTES;
	else if (strncmp(name, "x.", 2) == 0 && parse_box(name + 2, parsed))
		parsed->kind = NAMES_BOX;
	else if (strncmp(name, "i.", 2) == 0 && mailid_parse(name + 2, &parsed->id) == 0)
		parsed->kind = NAMES_ID;
	else if (strncmp(name, "d.", 2) == 0)
		parsed->kind = NAMES_DIRECTORY;
	else if (strncmp(name, "j.", 2) == 0)
		parsed->kind = NAMES_JOURNAL;
}
