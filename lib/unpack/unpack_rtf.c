/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/format/ascii.h"
#include "lib/unpack/unpack_rows.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/content/little.h"
#include "lib/format/hex.h"
#include "lib/unpack/unpack_name.h"
#include "lib/unpack/unpack_native.h"

/*
 * Objects in a text of RTF: {\object ... {\*\objdata 0105000002000000...}}, in hexadecimal, which is
 * an object of OLE 1.0 (MS-OLEDS 2.2.5):
 *
 *     4 version, 4 format; three strings, each 4 size, its bytes: class, topic, item; 4 size, data
 *
 * Data of the class "Package" has a file in it (unpack_native.h); other data is mostly a compound
 * file. What has another form is given as it is. As readers do, blanks, control words, and groups of
 * another destination are passed.
 */
enum rtf_mode {
	RTF_TEXT,
	RTF_ESCAPE, /* behind a backslash */
	RTF_WORD,
	RTF_NUMBER,
	RTF_CHARACTER, /* two digits of a character, \'e4 */
	RTF_BINARY,
};

#define WORD_SIZE   20 /* of a longer one, which is none of ours, as much is kept */
#define HEAD_SIZE   (512 + UNPACK_NATIVE_HEAD) /* of an object, as far as its data */
#define OUT_SIZE    4096
#define STRINGS	    3
#define STRING_KEPT 160 /* three have room in the head, which is full then */
#define STRING_MAX  65536

struct rtf_state {
	enum rtf_mode mode;
	unsigned digits_left;
	uint32_t number; /* of a control word */
	uint32_t binary_left;
	uint32_t depth;
	uint32_t object_depth; /* of the group that has the data; 0: none */
	uint32_t other_depth;  /* of one within, of another destination; 0: none */
	bool is_negative;      /* the number */
	unsigned word_size;
	bool has_nibble;
	uint8_t nibble;
	/* The object. */
	bool is_given; /* its head was taken */
	uint64_t left;
	size_t pass; /* bytes of a string */
	size_t head_size;
	size_t out_size;
	char word[WORD_SIZE];
	uint8_t head[HEAD_SIZE];
	uint8_t out[OUT_SIZE];
};

_Static_assert(sizeof(struct rtf_state) <= UNPACK_SMALL_STATE, "the row has room for it");

/* ---- objects ---- */

/* By its format: linked, embedded, or a picture alone; other programs write none. */
static bool is_object(const struct rtf_state *state)
{
	const uint32_t format = state->head_size >= 8 ? little_get32(state->head + 4) : 3;
	return format <= 2 || format == 5;
}

/* Where the data begins, and its size; 0 when it has another form. */
static size_t find_data(const struct rtf_state *state, const uint8_t **ret_class,
			size_t *ret_class_size)
{
	const uint8_t *head = state->head;
	size_t at = 8;
	for (unsigned i = 0; i < STRINGS; i++) {
		if (!is_object(state) || state->head_size < at + 4)
			return 0;
		const uint32_t size = little_get32(head + at);
		at += 4;
		if (size > state->head_size - at)
			return 0;
		if (i == 0) {
			*ret_class = head + at;
			*ret_class_size = size;
		}
		at += size;
	}
	return state->head_size >= at + 4 ? at + 4 : 0;
}

/* A long string, so that the head has room for what follows, is passed, and stays as one of no bytes. */
static bool pass_string(struct rtf_state *state)
{
	size_t at = 8;
	for (unsigned i = 0; i < STRINGS && is_object(state); i++) {
		const uint32_t size = little_get32(state->head + at);
		at += 4;
		if (size > STRING_MAX)
			return false;
		if (size > STRING_KEPT) {
			const size_t left = state->head_size - at;
			const size_t there = size < left ? size : left;
			memmove(state->head + at, state->head + at + there, left - there);
			memset(state->head + at - 4, 0, 4);
			state->pass = size - there;
			state->head_size -= there;
			return true;
		}
		at += size;
	}
	return false;
}

static void give_left(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct rtf_state *state = unpack->state;
	if (size > state->left)
		size = (size_t)state->left;
	state->left -= size;
	if (size > 0)
		unpack_give(unpack, bytes, size);
}

/* Classes are found in a registry without regard to case. */
static bool is_class(const uint8_t *class_, size_t size, const char *name)
{
	return size == strlen(name) + 1 && strncasecmp((const char *)class_, name, size) == 0;
}

/* All of the head is there, or the object has ended. */
static void take_head(struct unpack *unpack)
{
	struct rtf_state *state = unpack->state;
	const uint8_t *name = (const uint8_t *)"object";
	size_t name_size = strlen("object");
	char shown[UNPACK_NAME_SIZE];
	size_t at = find_data(state, &name, &name_size);
	struct unpack_native native;
	state->is_given = true;
	state->left = at > 0 ? little_get32(state->head + at - 4) : UINT64_MAX;
	if (at > 0 && is_class(name, name_size, "Package") &&
	    unpack_native(state->head + at, state->head_size - at, &native)) {
		name = native.name;
		name_size = native.name_size;
		state->left = native.size;
		at += native.offset;
	}
	unpack_name(name, name_size, UNPACK_NAME_LATIN1, shown);
	if (unpack_open(unpack, shown))
		give_left(unpack, state->head + at, state->head_size - at);
}

static void flush(struct unpack *unpack)
{
	struct rtf_state *state = unpack->state;
	const uint8_t *bytes = state->out;
	size_t size = state->out_size;
	state->out_size = 0;
	while (!state->is_given && size > 0) {
		const size_t passed = size < state->pass ? size : state->pass;
		const size_t room = HEAD_SIZE - state->head_size;
		const size_t taken = size - passed < room ? size - passed : room;
		memcpy(state->head + state->head_size, bytes + passed, taken);
		state->pass -= passed;
		state->head_size += taken;
		bytes += passed + taken;
		size -= passed + taken;
		if (state->head_size == HEAD_SIZE && !pass_string(state))
			take_head(unpack);
	}
	give_left(unpack, bytes, size);
}

static void put(struct unpack *unpack, uint8_t byte)
{
	struct rtf_state *state = unpack->state;
	state->out[state->out_size++] = byte;
	if (state->out_size == OUT_SIZE)
		flush(unpack);
}

static void begin_object(struct rtf_state *state)
{
	state->object_depth = state->depth;
	state->other_depth = 0;
	state->has_nibble = false;
	state->is_given = false;
	state->pass = 0;
	state->head_size = 0;
	state->out_size = 0;
}

static void end_object(struct unpack *unpack)
{
	struct rtf_state *state = unpack->state;
	if (state->object_depth == 0)
		return;
	state->object_depth = 0;
	flush(unpack);
	if (!state->is_given && state->head_size > 0)
		take_head(unpack);
	unpack_close(unpack, true);
}

/* ---- bytes ---- */

/* A group within has the destination of the one around it. */
static bool is_in_data(const struct rtf_state *state)
{
	return state->object_depth != 0 && state->other_depth == 0;
}

static void take_digit(struct unpack *unpack, uint8_t byte)
{
	struct rtf_state *state = unpack->state;
	const int digit = hex_value((char)byte);
	if (digit < 0 || !is_in_data(state))
		return;
	if (state->has_nibble)
		put(unpack, (uint8_t)(state->nibble << 4 | digit));
	state->nibble = (uint8_t)digit;
	state->has_nibble = !state->has_nibble;
}

static void take_text(struct unpack *unpack, uint8_t byte)
{
	struct rtf_state *state = unpack->state;
	if (byte == '\\') {
		state->mode = RTF_ESCAPE;
	} else if (byte == '{') {
		state->depth++;
	} else if (byte == '}') {
		if (state->depth == state->object_depth)
			end_object(unpack);
		if (state->depth == state->other_depth)
			state->other_depth = 0;
		state->depth -= state->depth > 0;
	} else {
		take_digit(unpack, byte);
	}
}

static void begin_other(struct rtf_state *state)
{
	if (is_in_data(state) && state->depth > state->object_depth)
		state->other_depth = state->depth;
}

static void take_escape(struct rtf_state *state, uint8_t byte)
{
	state->mode = RTF_TEXT;
	if (byte == '*')
		begin_other(state);
	if (byte == '\'') {
		/* As Word does, which is left with half a byte; amid another group it counts for nothing. */
		if (is_in_data(state))
			state->has_nibble = false;
		state->mode = RTF_CHARACTER;
		state->digits_left = 2;
	} else if (ascii_is_letter(byte)) {
		state->mode = RTF_WORD;
		state->word[0] = (char)byte;
		state->word_size = 1;
		state->number = 0;
		state->is_negative = false;
	}
}

static bool is_word(const struct rtf_state *state, const char *word)
{
	return state->word_size == strlen(word) && memcmp(state->word, word, state->word_size) == 0;
}

/* Those of the specification, in order, of which some readers want no "\*" before them. */
static const char *const destinations[] = {
	"aftncn",
	"aftnsep",
	"aftnsepc",
	"annotation",
	"atnauthor",
	"atndate",
	"atnicn",
	"atnid",
	"atnparent",
	"atnref",
	"atntime",
	"atrfend",
	"atrfstart",
	"author",
	"background",
	"bkmkend",
	"bkmkstart",
	"blipuid",
	"buptim",
	"category",
	"colorschememapping",
	"colortbl",
	"comment",
	"company",
	"creatim",
	"datafield",
	"datastore",
	"defchp",
	"defpap",
	"do",
	"doccomm",
	"docvar",
	"dptxbxtext",
	"ebcend",
	"ebcstart",
	"factoidname",
	"falt",
	"fchars",
	"ffdeftext",
	"ffentrymcr",
	"ffexitmcr",
	"ffformat",
	"ffhelptext",
	"ffl",
	"ffname",
	"ffstattext",
	"field",
	"file",
	"filetbl",
	"fldinst",
	"fldrslt",
	"fldtype",
	"fname",
	"fontemb",
	"fontfile",
	"fonttbl",
	"footer",
	"footerf",
	"footerl",
	"footerr",
	"footnote",
	"formfield",
	"ftncn",
	"ftnsep",
	"ftnsepc",
	"generator",
	"gridtbl",
	"header",
	"headerf",
	"headerl",
	"headerr",
	"hl",
	"hlfr",
	"hlinkbase",
	"hlloc",
	"hlsrc",
	"hsv",
	"htmltag",
	"info",
	"keycode",
	"keywords",
	"latentstyles",
	"lchars",
	"levelnumbers",
	"leveltext",
	"lfolevel",
	"linkval",
	"list",
	"listlevel",
	"listname",
	"listoverride",
	"listpicture",
	"liststylename",
	"listtable",
	"listtext",
	"lsdlockedexcept",
	"mailmerge",
	"manager",
	"mhtmltag",
	"mmath",
	"nesttableprops",
	"nextfile",
	"nonesttables",
	"objalias",
	"objclass",
	"object",
	"objname",
	"objsect",
	"objtime",
	"oldcprops",
	"oldpprops",
	"oldsprops",
	"oldtprops",
	"oleclsid",
	"operator",
	"panose",
	"password",
	"passwordhash",
	"pgp",
	"pgptbl",
	"picprop",
	"pict",
	"pn",
	"pnseclvl",
	"pntext",
	"pntxta",
	"pntxtb",
	"printim",
	"private",
	"propname",
	"protend",
	"protstart",
	"protusertbl",
	"pxe",
	"result",
	"revtbl",
	"revtim",
	"rsidtbl",
	"rxe",
	"shp",
	"shpgrp",
	"shpinst",
	"shppict",
	"shprslt",
	"shptxt",
	"sn",
	"sp",
	"staticval",
	"stylesheet",
	"subject",
	"sv",
	"svb",
	"tc",
	"template",
	"themedata",
	"title",
	"txe",
	"ud",
	"upr",
	"userprops",
	"wgrffmtfilter",
	"windowcaption",
	"writereservation",
	"writereservhash",
	"xe",
	"xform",
	"xmlattrname",
	"xmlattrvalue",
	"xmlclose",
	"xmlname",
	"xmlnstbl",
	"xmlopen",
};

static int compare_word(const void *key, const void *other)
{
	const struct rtf_state *state = key;
	const char *word = *(const char *const *)other;
	const int order = strncmp(state->word, word, state->word_size);
	return order != 0 ? order : -(word[state->word_size] != '\0');
}

static bool is_destination(const struct rtf_state *state)
{
	return bsearch(state, destinations, sizeof(destinations) / sizeof(destinations[0]),
		       sizeof(destinations[0]), compare_word) != NULL;
}

/* A blank behind it is its own; anything else is text. */
static void end_word(struct unpack *unpack, uint8_t byte)
{
	struct rtf_state *state = unpack->state;
	state->mode = RTF_TEXT;
	if (is_word(state, "objdata")) {
		end_object(unpack);
		begin_object(state);
	}
	if (is_destination(state))
		begin_other(state);
	if (is_word(state, "bin") && state->number > 0 && !state->is_negative) {
		state->mode = RTF_BINARY;
		state->binary_left = state->number;
	}
	if (byte == ' ')
		return;
	if (state->mode == RTF_TEXT)
		take_text(unpack, byte);
}

static void take_word(struct unpack *unpack, uint8_t byte)
{
	struct rtf_state *state = unpack->state;
	if (state->mode == RTF_WORD && ascii_is_letter(byte)) {
		if (state->word_size < WORD_SIZE)
			state->word[state->word_size++] = (char)byte;
	} else if (byte >= '0' && byte <= '9') {
		state->mode = RTF_NUMBER;
		state->number =
			state->number < 100000000 ? state->number * 10 + byte - '0' : state->number;
	} else if (state->mode == RTF_WORD && byte == '-') {
		state->mode = RTF_NUMBER;
		state->is_negative = true;
	} else {
		end_word(unpack, byte);
	}
}

static void take_binary(struct unpack *unpack, uint8_t byte)
{
	struct rtf_state *state = unpack->state;
	if (is_in_data(state))
		put(unpack, byte);
	if (--state->binary_left == 0)
		state->mode = RTF_TEXT;
}

static void take_byte(struct unpack *unpack, uint8_t byte)
{
	struct rtf_state *state = unpack->state;
	switch (state->mode) {
	case RTF_TEXT:
		take_text(unpack, byte);
		break;
	case RTF_ESCAPE:
		take_escape(state, byte);
		break;
	case RTF_WORD:
	case RTF_NUMBER:
		take_word(unpack, byte);
		break;
	case RTF_CHARACTER:
		if (--state->digits_left == 0)
			state->mode = RTF_TEXT;
		break;
	case RTF_BINARY:
		take_binary(unpack, byte);
		break;
	}
}

void unpack_rtf_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size && !unpack->is_over; i++) {
		unpack->in++;
		take_byte(unpack, bytes[i]);
	}
}

void unpack_rtf_end(struct unpack *unpack)
{
	if (!unpack->is_over)
		end_object(unpack);
}
