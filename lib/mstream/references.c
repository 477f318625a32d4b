/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/references.h"

#include <string.h>

#include "lib/format/ascii.h"
#include "lib/format/hex.h"

enum reference {
	REFERENCE_NONE,
	REFERENCE_NAME,
	REFERENCE_NUMBER,
	REFERENCE_DECIMAL,
	REFERENCE_HEX
};

/* All of ASCII, but for that of "#", which ends an address. Common ones come first. */
static const struct {
	const char *name;
	uint8_t character;
} named[] = {
	{ "&amp", '&' },
	{ "&lt", '<' },
	{ "&gt", '>' },
	{ "&quot", '"' },
	{ "&Tab", '\t' },
	{ "&NewLine", '\n' },
	{ "&excl", '!' },
	{ "&QUOT", '"' },
	{ "&dollar", '$' },
	{ "&percnt", '%' },
	{ "&AMP", '&' },
	{ "&apos", '\'' },
	{ "&lpar", '(' },
	{ "&rpar", ')' },
	{ "&ast", '*' },
	{ "&midast", '*' },
	{ "&plus", '+' },
	{ "&comma", ',' },
	{ "&period", '.' },
	{ "&sol", '/' },
	{ "&colon", ':' },
	{ "&semi", ';' },
	{ "&LT", '<' },
	{ "&equals", '=' },
	{ "&GT", '>' },
	{ "&quest", '?' },
	{ "&commat", '@' },
	{ "&lsqb", '[' },
	{ "&lbrack", '[' },
	{ "&bsol", '\\' },
	{ "&rsqb", ']' },
	{ "&rbrack", ']' },
	{ "&Hat", '^' },
	{ "&lowbar", '_' },
	{ "&UnderBar", '_' },
	{ "&grave", '`' },
	{ "&DiacriticalGrave", '`' },
	{ "&lcub", '{' },
	{ "&lbrace", '{' },
	{ "&verbar", '|' },
	{ "&vert", '|' },
	{ "&VerticalLine", '|' },
	{ "&rcub", '}' },
	{ "&rbrace", '}' },
};

/* 0: it is none of these. */
static uint8_t find_named(const char *name)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		if (named[i].name[1] == name[1] && strcmp(named[i].name, name) == 0)
			return named[i].character;
	}
	return 0;
}

/* Ends the reference. false: it is none, and was text. */
static bool end_reference(struct references *references, const uint8_t **ret_run,
			  size_t *ret_run_size)
{
	const uint32_t character = references->state == REFERENCE_NAME
					   ? find_named(references->name)
					   : references->character;
	const bool is_it = character != 0 && character <= 0x7f;
	references->state = REFERENCE_NONE;
	references->byte = (uint8_t)character;
	*ret_run = is_it ? &references->byte : (const uint8_t *)references->name;
	*ret_run_size = is_it ? 1 : references->name_size;
	return is_it;
}

static bool take_digit(struct references *references, uint8_t byte)
{
	const bool is_hex = references->state == REFERENCE_HEX;
	const int digit = hex_value((char)byte);
	if (digit < 0 || (digit > 9 && !is_hex))
		return false;
	references->state = is_hex ? REFERENCE_HEX : REFERENCE_DECIMAL;
	if (references->character <= 0x7f)
		references->character =
			references->character * (is_hex ? 16 : 10) + (uint32_t)digit;
	return true;
}

/* Is the byte a part of the reference? Then it was taken. */
static bool take_byte(struct references *references, uint8_t byte)
{
	if (byte == '\0') /* of UTF-16 */
		return true;
	if (references->state == REFERENCE_NAME && references->name_size == 1 && byte == '#') {
		references->state = REFERENCE_NUMBER;
	} else if (references->state == REFERENCE_NAME) {
		if (!ascii_is_letter(byte) || references->name_size == REFERENCES_NAME_SIZE - 1)
			return false;
		references->name[references->name_size++] = (char)byte;
		references->name[references->name_size] = '\0';
	} else if (references->state == REFERENCE_NUMBER && (byte | 0x20) == 'x') {
		references->state = REFERENCE_HEX;
	} else {
		return take_digit(references, byte);
	}
	return true;
}

/* Does one begin at mark, as far as its next byte says? Those of "&nbsp;" are passed by it. */
static bool may_begin(const uint8_t *mark, const uint8_t *end)
{
	return mark + 1 == end ||
	       strchr("#ADGHLNQTUVabcdeglmpqrsv", mark[1]) != NULL; /* also behind a NUL */
}

size_t references_undo(struct references *references, const uint8_t *bytes, size_t size,
		       const uint8_t **ret_run, size_t *ret_run_size)
{
	*ret_run = bytes;
	*ret_run_size = 0;
	if (references->state != REFERENCE_NONE) {
		size_t used = 0;
		while (used < size && take_byte(references, bytes[used]))
			used++;
		if (used == size)
			return used;
		return used +
		       (end_reference(references, ret_run, ret_run_size) && bytes[used] == ';');
	}
	const uint8_t *end = bytes + size;
	const uint8_t *mark = bytes;
	while ((mark = memchr(mark, '&', (size_t)(end - mark))) != NULL && !may_begin(mark, end))
		mark++;
	*ret_run_size = mark != NULL ? (size_t)(mark - bytes) : size;
	if (mark == NULL)
		return size;
	references->state = REFERENCE_NAME;
	references->character = 0;
	references->name_size = 1;
	memcpy(references->name, "&", 2);
	return *ret_run_size + 1;
}

bool references_is_open(const struct references *references)
{
	return references->state != REFERENCE_NONE;
}

void references_end(struct references *references, const uint8_t **ret_run, size_t *ret_run_size)
{
	*ret_run = NULL;
	*ret_run_size = 0;
	if (references->state != REFERENCE_NONE)
		(void)end_reference(references, ret_run, ret_run_size);
}
