/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/lines/sigbody.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/format/hex.h"
#include "lib/match/lines/sigbody_variants.h"

#define CHOICES_MAX 256 /* of one alternative */
#define ANCHOR_MAX  32	/* AC_CH_MAXDIST of ClamAV */
/*
 * Gaps up to it become part of the expression. With more than 59 bytes of any value in a row,
 * Vectorscan 5.4.9 misses what it is to find, in streams and also in one piece.
 */
#define FOLDED_GAP   32
#define FOLDED_EXACT 48
#define LITERAL_GAP  128 /* ClamAV's; from it on {n} is a distance */
#define OTHERS_MAX   32	 /* digits of a string that is not to be there */

/* ---- pieces ---- */

static void part_clear(struct part *part)
{
	for (size_t i = 0; i < part->piece_count; i++)
		for (size_t k = 0; k < part->pieces[i].count; k++)
			sigtext_free(&part->pieces[i].choices[k].text);
	sigtext_free(&part->before);
	memset(part, 0, sizeof(*part));
	part->is_open = true;
}

static bool is_fixed(const struct piece *piece)
{
	return piece->count == 1;
}

/* A new piece, or NULL when there are too many. */
static struct piece *add_piece(struct parser *parser)
{
	if (parser->part.piece_count == SIGBODY_PIECES_MAX) {
		parser->reason = COMPILE_COMPLEX;
		return NULL;
	}
	return &parser->part.pieces[parser->part.piece_count++];
}

/* The choice at the end that is fixed, so that more may be added to it. */
static struct choice *fixed_end(struct parser *parser)
{
	struct part *part = &parser->part;
	if (part->piece_count > 0 && is_fixed(&part->pieces[part->piece_count - 1]))
		return &part->pieces[part->piece_count - 1].choices[0];
	struct piece *piece = add_piece(parser);
	if (piece == NULL)
		return NULL;
	piece->count = 1;
	return &piece->choices[0];
}

/* ---- bytes ---- */

static bool is_byte(const char *at)
{
	return (hex_value(at[0]) >= 0 || at[0] == '?') && (hex_value(at[1]) >= 0 || at[1] == '?');
}

static void say_low_nibble(struct sigtext *text, int low)
{
	sigtext_add(text, "[", 1);
	for (int high = 0; high < 16; high++)
		sigtext_say(text, "\\x%x%x", (unsigned)high, (unsigned)low);
	sigtext_add(text, "]", 1);
}

/* One byte of two characters; is it a fixed one? */
static bool say_byte(struct sigtext *text, const char *at, unsigned flags)
{
	const int high = hex_value(at[0]);
	const int low = hex_value(at[1]);
	if (high >= 0 && low >= 0) {
		sigtext_say(text, "\\x%x%x", (unsigned)high, (unsigned)low);
		return true;
	}
	if (high < 0 && low < 0) {
		sigtext_add(text, ".", 1);
		return false;
	}
	/* Halves are what they are in either case. */
	if (flags & SIGBODY_NOCASE)
		sigtext_add(text, "(?-i:", 5);
	if (high >= 0)
		sigtext_say(text, "[\\x%x0-\\x%xf]", (unsigned)high, (unsigned)high);
	else
		say_low_nibble(text, low);
	if (flags & SIGBODY_NOCASE)
		sigtext_add(text, ")", 1);
	return false;
}

static void take_byte(struct parser *parser)
{
	struct choice *end = fixed_end(parser);
	if (end == NULL)
		return;
	struct part *part = &parser->part;
	const bool is_exact = say_byte(&end->text, parser->at, parser->flags);
	end->length++;
	part->run = is_exact ? part->run + 1 : 0;
	if (parser->flags & SIGBODY_WIDE) {
		sigtext_add(&end->text, "\\x00", 4);
		end->length++;
		part->run++;
	}
	if (part->run > part->longest_run)
		part->longest_run = part->run;
	part->is_open = false;
	parser->at += 2;
}

/* ---- alternatives ---- */

/* The parenthesis that closes, or NULL; at stands behind the one that opens. */
static const char *closing(const char *at)
{
	int depth = 0;
	for (; *at != '\0'; at++) {
		if (*at == '(')
			depth++;
		else if (*at == ')' && depth-- == 0)
			return at;
	}
	return NULL;
}

/* One alternative without more of them inside, in hexadecimal up to its end; it may be empty. */
static const char *say_choice(struct parser *parser, const char *at, const char *end,
			      struct choice *choice)
{
	for (; at < end; at += 2) {
		if (end - at < 2 || !is_byte(at))
			return "an alternative has something else than bytes";
		say_byte(&choice->text, at, parser->flags);
		choice->length++;
		if (parser->flags & SIGBODY_WIDE) {
			sigtext_add(&choice->text, "\\x00", 4);
			choice->length++;
		}
	}
	return NULL;
}

/* Adds a choice to those of its length; takes its text. */
static bool add_choice(struct piece *piece, struct choice *choice)
{
	for (size_t i = 0; i < piece->count; i++) {
		if (piece->choices[i].length != choice->length)
			continue;
		sigtext_add(&piece->choices[i].text, "|", 1);
		sigtext_add(&piece->choices[i].text, choice->text.bytes, choice->text.size);
		sigtext_free(&choice->text);
		return true;
	}
	if (piece->count == SIGBODY_LENGTHS_MAX) {
		sigtext_free(&choice->text);
		return false;
	}
	sigtext_add(&piece->choices[piece->count].text, "(?:", 3);
	sigtext_add(&piece->choices[piece->count].text, choice->text.bytes, choice->text.size);
	piece->choices[piece->count++].length = choice->length;
	sigtext_free(&choice->text);
	return true;
}

/* A piece of one choice is joined to what is fixed before it. */
static void join_fixed(struct parser *parser)
{
	struct part *part = &parser->part;
	if (part->piece_count < 2)
		return;
	struct piece *last = &part->pieces[part->piece_count - 1];
	struct piece *before = last - 1;
	if (!is_fixed(last) || !is_fixed(before))
		return;
	sigtext_add(&before->choices[0].text, last->choices[0].text.bytes,
		    last->choices[0].text.size);
	before->choices[0].length += last->choices[0].length;
	sigtext_free(&last->choices[0].text);
	memset(last, 0, sizeof(*last));
	part->piece_count--;
}

static const char *take_choices(struct parser *parser, const char *end)
{
	struct piece *piece = add_piece(parser);
	if (piece == NULL)
		return NULL;
	const char *at = parser->at;
	for (size_t i = 0;; i++) {
		const char *stop = at;
		while (stop < end && *stop != '|')
			stop++;
		struct choice choice = { .length = 0 };
		const char *why = say_choice(parser, at, stop, &choice);
		if (why != NULL || i == CHOICES_MAX || !add_choice(piece, &choice)) {
			sigtext_free(&choice.text);
			parser->reason = COMPILE_COMPLEX;
			return why;
		}
		if (stop == end)
			break;
		at = stop + 1;
	}
	for (size_t i = 0; i < piece->count; i++)
		sigtext_add(&piece->choices[i].text, ")", 1);
	join_fixed(parser);
	return NULL;
}

/* What is not to be there: strings of one length, in hexadecimal with | between them. */
struct others {
	const char *at;
	size_t count;
	size_t digits; /* of each */
};

/* Does the string of this number begin like prefix? */
static bool begins_like(const struct others *others, size_t number, const char *prefix,
			size_t digits)
{
	return strncasecmp(others->at + number * (others->digits + 1), prefix, digits) == 0;
}

/*
 * So many bytes that are none of the strings that begin with prefix: a byte that none of them has
 * there and any others, or one of theirs and what is none of the rest. Bounded by digits.
 */
static void say_others(struct sigtext *text, const struct others *others, const char *prefix,
		       size_t digits)
{
	const size_t left = (others->digits - digits) / 2 - 1;
	sigtext_add(text, "(?:[^", 5);
	for (size_t i = 0; i < others->count; i++)
		if (begins_like(others, i, prefix, digits))
			sigtext_say(text, "\\x%.2s",
				    others->at + i * (others->digits + 1) + digits);
	sigtext_add(text, "]", 1);
	if (left > 0)
		sigtext_say(text, ".{%zu}", left);
	for (size_t i = 0; i < others->count && left > 0; i++) {
		const char *string = others->at + i * (others->digits + 1);
		bool is_said = !begins_like(others, i, prefix, digits);
		for (size_t k = 0; k < i; k++)
			is_said = is_said || begins_like(others, k, string, digits + 2);
		if (is_said)
			continue;
		sigtext_say(text, "|\\x%.2s", string + digits);
		say_others(text, others, string, digits + 2);
	}
	sigtext_add(text, ")", 1);
}

/* Bytes that are none of those. */
static const char *take_others(struct parser *parser, const char *end)
{
	const size_t size = (size_t)(end - parser->at);
	struct others others = { .at = parser->at, .digits = strcspn(parser->at, "|)") };
	for (size_t i = 0; i < size; i++) {
		const bool is_between = i % (others.digits + 1) == others.digits;
		if (is_between ? parser->at[i] != '|' : hex_value(parser->at[i]) < 0)
			return "!(...) has something else than bytes of one length";
	}
	if (others.digits == 0 || others.digits % 2 != 0 || (size + 1) % (others.digits + 1) != 0)
		return "!(...) has something else than bytes of one length";
	others.count = (size + 1) / (others.digits + 1);
	struct choice *fixed = fixed_end(parser);
	if (fixed == NULL)
		return NULL;
	if (others.digits > OTHERS_MAX || ((parser->flags & SIGBODY_WIDE) && others.digits > 2)) {
		parser->reason = COMPILE_COMPLEX;
		return NULL;
	}
	sigtext_add(&fixed->text, "(?-i:", 5);
	say_others(&fixed->text, &others, "", 0);
	sigtext_add(&fixed->text, ")", 1);
	fixed->length += (uint32_t)others.digits / 2;
	if (parser->flags & SIGBODY_WIDE) {
		sigtext_add(&fixed->text, "\\x00", 4);
		fixed->length++;
	}
	return NULL;
}

/* ---- boundaries ---- */

/* The bytes that are one before, behind and within a part; ClamAV's table for (B). */
static const char *boundary_set(char which, char side)
{
	if (which == 'W')
		return "^0-9A-Za-z";
	if (which == 'L')
		return "\\n";
	if (side == '<')
		return " \\-./<@_";
	if (side == '>')
		return "\\n\\r \"'\\-/=>_";
	return "\\n\\r \"'\\-./<=>@_";
}

static const char *opposite(const char *set, char room[32])
{
	room[0] = '^';
	strncpy(room + 1, set, 30);
	room[31] = '\0';
	return *set == '^' ? set + 1 : room;
}

static void add_tail(struct parser *parser, const char *text, uint32_t size)
{
	struct part *part = &parser->part;
	const size_t room = strlen(text) + 1;
	if (part->tail_count == SIGBODY_TAILS_MAX || room > sizeof(part->tails[0].text)) {
		parser->reason = COMPILE_COMPLEX;
		return;
	}
	struct tail *tail = &part->tails[part->tail_count++];
	memcpy(tail->text, text, room);
	tail->size = size;
}

static void boundary_before(struct parser *parser, char which)
{
	struct sigtext *before = &parser->part.before;
	const char *set = boundary_set(which, '<');
	/* A word's beginning has been asked for: one byte would have to be in two sets. */
	if (before->size > 0)
		parser->reason = COMPILE_COMPLEX;
	else if (which == 'W' && (parser->flags & SIGBODY_WIDE))
		sigtext_say(before, "(?-i:^|^.|[^\\x00]|[%s]\\x00)", set);
	else
		sigtext_say(before, "(?-i:^|[%s])", set);
}

static void boundary_behind(struct parser *parser, char which, bool is_not)
{
	const char *set = boundary_set(which, '>');
	char room[32];
	char text[80];
	struct sigtext class = { .bytes = NULL };
	/* The letter f asks for a word's end behind another boundary. */
	if (parser->part.tail_count > 0)
		parser->reason = COMPILE_COMPLEX;
	sigtext_say(&class, "(?-i:[%s])", is_not ? opposite(set, room) : set);
	strncpy(text, class.bytes != NULL ? class.bytes : "", sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	sigtext_free(&class);
	add_tail(parser, text, 1);
	if (is_not)
		return;
	if (which == 'L')
		add_tail(parser, "\\r\\n", 2);
	if (which == 'W' && (parser->flags & SIGBODY_WIDE))
		add_tail(parser, "(?-i:[0-9A-Za-z])[^\\x00]", 2);
	add_tail(parser, "\\z", 0);
}

/* In the middle it is bytes like others, and with a ! at the beginning, too. */
static void boundary_within(struct parser *parser, char which, bool is_not)
{
	char room[32];
	const char *set = boundary_set(which, '=');
	struct piece *piece = add_piece(parser);
	if (piece == NULL)
		return;
	piece->count = 1;
	piece->choices[0].length = 1;
	sigtext_say(&piece->choices[0].text, "(?-i:[%s])", is_not ? opposite(set, room) : set);
	if (which == 'L' && !is_not) {
		piece->count = 2;
		piece->choices[1].length = 2;
		sigtext_say(&piece->choices[1].text, "\\r\\n");
	}
	join_fixed(parser);
}

static bool ends_part(const char *at)
{
	return *at == '\0' || *at == '*' || *at == '{';
}

static const char *take_group(struct parser *parser, bool is_not)
{
	parser->at += is_not ? 2 : 1;
	const char *end = closing(parser->at);
	const char *why = NULL;
	if (end == NULL)
		return "( has no )";
	parser->part.run = 0;
	if (end == parser->at + 1 && strchr("BLW", *parser->at) != NULL) {
		if (ends_part(end + 1))
			boundary_behind(parser, *parser->at, is_not);
		else if (parser->part.is_open && !is_not)
			boundary_before(parser, *parser->at);
		else
			boundary_within(parser, *parser->at, is_not);
	} else if (memchr(parser->at, '(', (size_t)(end - parser->at)) != NULL) {
		parser->reason = COMPILE_COMPLEX; /* alternatives within one */
	} else {
		why = is_not ? take_others(parser, end) : take_choices(parser, end);
	}
	parser->part.is_open = false;
	parser->at = end + 1;
	return why;
}

/* ---- ranges ---- */

/* n, n-m, n-, -m between two brackets; at goes behind the second. */
static const char *read_range(struct parser *parser, char end, uint32_t *ret_min, uint32_t *ret_max)
{
	const char *at = parser->at + 1;
	uint32_t numbers[2] = { 0, SIGBODY_FAR };
	bool has[2] = { false, false };
	bool has_dash = false;
	for (; *at != end; at++) {
		const unsigned which = has_dash;
		if (*at == '-' && !has_dash) {
			has_dash = true;
		} else if (*at >= '0' && *at <= '9') {
			const uint32_t before = has[which] ? numbers[which] : 0;
			if (before >= 100000000)
				return "a range is too large";
			numbers[which] = before * 10 + (uint32_t)(*at - '0');
			has[which] = true;
		} else {
			return "a range is not n, n-m, n- or -m";
		}
	}
	if (!has[0] && !has[1])
		return "a range has no number";
	if (!has_dash)
		numbers[1] = numbers[0];
	if (numbers[0] > numbers[1])
		return "a range ends before it begins";
	parser->at = at + 1;
	*ret_min = numbers[0];
	*ret_max = numbers[1];
	return NULL;
}

/* ---- what is between parts, and anchors ---- */

/* Bytes that are not looked at become a part of the expression while that is cheap. */
static bool fold_gap(struct parser *parser, uint32_t min, uint32_t max)
{
	const bool is_first = parser->body->part_count == 0 && !parser->wants_start;
	if (max > (min == max ? FOLDED_EXACT : FOLDED_GAP) || parser->part.tail_count > 0 ||
	    (min != max && !is_first))
		return false;
	struct choice *end = fixed_end(parser);
	if (end == NULL)
		return true;
	if (min == max)
		sigtext_say(&end->text, ".{%u}", max);
	else
		sigtext_say(&end->text, ".{%u,%u}", min, max);
	end->length += min;
	if (min != max)
		parser->part.has_no_length = true;
	parser->part.run = 0;
	return true;
}

static bool is_boundary(const char *at)
{
	return at[0] == '(' && at[1] != '\0' && strchr("BLW", at[1]) != NULL && at[2] == ')';
}

/*
 * Does what stands at a range's end belong to a part of its own? A boundary, or one byte near the others,
 * is looked at from where a part begins or ends.
 */
static bool begins_part(const char *at)
{
	return is_boundary(at) || memchr(at, '[', strcspn(at, "*{")) != NULL;
}

static const char *take_gap(struct parser *parser)
{
	uint32_t min = 0;
	uint32_t max = SIGBODY_FAR;
	if (parser->part.is_open)
		return "a range or * stands at the beginning, or behind another";
	if (*parser->at == '*') {
		parser->at++;
	} else {
		const char *why = read_range(parser, '}', &min, &max);
		if (why != NULL)
			return why;
		/* ClamAV reads {n} as so many ??, beside which a boundary is a byte. */
		if (min == max && max > 0 && max < LITERAL_GAP &&
		    (is_boundary(parser->at) || parser->part.tail_count > 0)) {
			parser->reason = COMPILE_COMPLEX;
			return NULL;
		}
		if (max == 0) /* for it, the same as * */
			max = SIGBODY_FAR;
		if (!begins_part(parser->at) && fold_gap(parser, min, max))
			return NULL;
	}
	const char *why = sigbody_variants_make(parser);
	part_clear(&parser->part);
	parser->gap_min = min;
	parser->gap_max = max;
	return why;
}

/* REST[n-m]aa: the byte behind is looked at like a boundary. */
static void anchor_behind(struct parser *parser, uint32_t min, uint32_t max)
{
	struct sigtext byte = { .bytes = NULL };
	say_byte(&byte, parser->at, parser->flags);
	for (uint32_t gap = min; gap <= max; gap++) {
		struct sigtext text = { .bytes = NULL };
		if (gap > 0)
			sigtext_say(&text, ".{%u}", gap);
		sigtext_add(&text, byte.bytes, byte.size);
		if (!text.is_failed)
			add_tail(parser, text.bytes, gap + 1);
		sigtext_free(&text);
	}
	sigtext_free(&byte);
	parser->at += 2;
}

/* aa[n-m]REST: what was read so far is looked at before the beginning. */
static void anchor_before(struct parser *parser, uint32_t min, uint32_t max)
{
	struct part *part = &parser->part;
	struct choice *byte = &part->pieces[0].choices[0];
	sigtext_add(&part->before, byte->text.bytes, byte->text.size);
	if (max > 0)
		sigtext_say(&part->before, ".{%u,%u}", min, max);
	sigtext_free(&byte->text);
	byte->length = 0;
	part->run = 0;
	part->longest_run = 0;
}

static const char *take_anchor(struct parser *parser)
{
	struct part *part = &parser->part;
	uint32_t min = 0;
	uint32_t max = 0;
	const char *why = read_range(parser, ']', &min, &max);
	if (why != NULL)
		return why;
	if (parser->flags & (SIGBODY_FULLWORD | SIGBODY_WIDE)) {
		/* There ClamAV reads braces. */
		if (max == 0 || !fold_gap(parser, min, max))
			parser->reason = COMPILE_COMPLEX;
		return NULL;
	}
	if (max > ANCHOR_MAX)
		return "[n-m] is too large";
	if (part->piece_count == 1 && is_fixed(&part->pieces[0]) &&
	    part->pieces[0].choices[0].length == 1 && part->before.size == 0)
		anchor_before(parser, min, max);
	else if (is_byte(parser->at) && ends_part(parser->at + 2) && part->tail_count == 0)
		anchor_behind(parser, min, max);
	else
		return "[n-m] has no single byte on one side";
	return NULL;
}

/* ---- the whole ---- */

static const char *take_all(struct parser *parser)
{
	const char *why = NULL;
	part_clear(&parser->part);
	if (parser->flags & SIGBODY_FULLWORD)
		boundary_before(parser, 'W');
	while (*parser->at != '\0' && why == NULL && parser->reason == COMPILE_STREAMS) {
		if (*parser->at == '*' || *parser->at == '{')
			why = take_gap(parser);
		else if (*parser->at == '(')
			why = take_group(parser, false);
		else if (parser->at[0] == '!' && parser->at[1] == '(')
			why = take_group(parser, true);
		else if (*parser->at == '[')
			why = take_anchor(parser);
		else if (parser->at[1] != '\0' && is_byte(parser->at))
			take_byte(parser);
		else
			why = "not hexadecimal";
	}
	if (why != NULL || parser->reason != COMPILE_STREAMS)
		return why;
	if (parser->part.is_open)
		return "a * or a range is the end";
	if (parser->flags & SIGBODY_FULLWORD)
		boundary_behind(parser, 'W', false);
	return sigbody_variants_make(parser);
}

const char *sigbody_parse(const char *text, unsigned flags, bool wants_start,
			  struct sigbody *ret_body, enum compile_reason *ret_reason)
{
	struct parser *parser = calloc(1, sizeof(*parser));
	if (parser == NULL)
		return SIGBODY_NO_MEMORY;
	memset(ret_body, 0, sizeof(*ret_body));
	parser->at = text;
	parser->flags = flags;
	parser->wants_start = wants_start;
	parser->gap_max = SIGBODY_FAR;
	parser->body = ret_body;
	const char *why = *text == '\0' ? "there are no bytes" : take_all(parser);
	*ret_reason = parser->reason;
	if (why != NULL || parser->reason != COMPILE_STREAMS)
		sigbody_free(ret_body);
	part_clear(&parser->part);
	free(parser);
	return why;
}

void sigbody_free(struct sigbody *body)
{
	for (size_t i = 0; i < body->part_count; i++) {
		for (size_t k = 0; k < body->parts[i].variant_count; k++)
			free(body->parts[i].variants[k].expression);
		free(body->parts[i].variants);
	}
	free(body->parts);
	memset(body, 0, sizeof(*body));
}
