/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/logic/siglogic.h"

#include <string.h>

#include "lib/format/ascii.h"

#define NESTING_MAX 70

size_t siglogic_arguments(unsigned code)
{
	switch (code) {
	case SIGLOGIC_COUNT:
	case SIGLOGIC_GATED:
	case SIGLOGIC_EQUAL:
	case SIGLOGIC_LESS:
	case SIGLOGIC_MORE:
		return 1;
	case SIGLOGIC_BLOCK_EQUAL:
	case SIGLOGIC_BLOCK_LESS:
	case SIGLOGIC_BLOCK_MORE:
		return 2;
	default:
		return 0;
	}
}

/* ---- reading ---- */

struct reader {
	struct sigwords *program;
	uint32_t sub_count;
};

static const char *read_number(const char **at, const char *end, uint32_t *ret_number)
{
	if (*at == end || !ascii_is_digit(**at))
		return "a number is missing";
	const int64_t number = ascii_take_number(at, end, INT32_MAX);
	if (number < 0)
		return "a number is too large";
	*ret_number = (uint32_t)number;
	return NULL;
}

static bool is_comparison(char c)
{
	return c == '=' || c == '<' || c == '>';
}

/* Where the expression is divided: the first & or | outside of parentheses, of a block the last; or end. */
static const char *find_operator(const char *at, const char *end, bool is_block)
{
	const char *division = end;
	int depth = 0;
	for (; at < end; at++) {
		if (*at == '(')
			depth++;
		else if (*at == ')')
			depth--;
		else if (depth == 0 && (*at == '&' || *at == '|'))
			division = at;
		if (depth < 0)
			return NULL;
		if (division != end && !is_block)
			return division;
	}
	return depth == 0 ? division : NULL;
}

/* The parenthesis that closes the one at at. */
static const char *find_closing(const char *at, const char *end)
{
	int depth = 0;
	for (; at < end; at++) {
		if (*at == '(')
			depth++;
		else if (*at == ')' && --depth == 0)
			return at;
	}
	return NULL;
}

/* "=3" and the like, and ",2" of a block. */
static const char *read_comparison(struct reader *reader, const char *at, const char *end,
				   bool is_block)
{
	const char sign = *at++;
	uint32_t number = 0;
	uint32_t kinds = 0;
	const char *why = read_number(&at, end, &number);
	if (why == NULL && at < end && *at == ',') {
		at++;
		why = read_number(&at, end, &kinds);
	}
	if (why != NULL)
		return why;
	if (at != end)
		return "something stands behind a comparison";
	enum siglogic_code code = sign == '='	? SIGLOGIC_EQUAL
				  : sign == '<' ? SIGLOGIC_LESS
						: SIGLOGIC_MORE;
	if (is_block)
		code = code - SIGLOGIC_EQUAL + SIGLOGIC_BLOCK_EQUAL;
	sigwords_add(reader->program, siglogic_word(code, 0));
	sigwords_add(reader->program, number);
	if (is_block)
		sigwords_add(reader->program, kinds);
	return NULL;
}

static const char *read_sub(struct reader *reader, const char *at, const char *end)
{
	uint32_t sub = 0;
	const char *why = read_number(&at, end, &sub);
	if (why != NULL)
		return why;
	if (sub >= reader->sub_count || sub >= SIGLOGIC_SUBS_MAX)
		return "the logic names a sub-signature that is not there";
	sigwords_add(reader->program, siglogic_word(SIGLOGIC_COUNT, sub));
	sigwords_add(reader->program, sub);
	if (at == end)
		return NULL;
	return is_comparison(*at) ? read_comparison(reader, at, end, false)
				  : "something stands behind a number";
}

static const char *read_expression(struct reader *reader, const char *at, const char *end,
				   bool is_block, int depth);

/* In parentheses, and what stands behind them. */
static const char *read_block(struct reader *reader, const char *at, const char *end, int depth)
{
	const char *close = find_closing(at, end);
	if (close == NULL)
		return "( has no )";
	const char *why = read_expression(reader, at + 1, close, true, depth + 1);
	if (why != NULL || close + 1 == end)
		return why;
	if (!is_comparison(close[1]))
		return "something stands behind a )";
	return read_comparison(reader, close + 1, end, true);
}

/* Bounded by depth. */
static const char *read_expression(struct reader *reader, const char *at, const char *end,
				   bool is_block, int depth)
{
	if (depth > NESTING_MAX)
		return "parentheses are nested too deep";
	if (at >= end)
		return "an operand is missing";
	const char *division = find_operator(at, end, is_block);
	if (division == NULL)
		return "parentheses do not match";
	if (division == end)
		return *at == '(' ? read_block(reader, at, end, depth) : read_sub(reader, at, end);
	const char *why = read_expression(reader, at, division, false, depth + 1);
	if (why == NULL)
		why = read_expression(reader, division + 1, end, false, depth + 1);
	if (why == NULL)
		sigwords_add(reader->program,
			     siglogic_word(*division == '&' ? SIGLOGIC_AND : SIGLOGIC_OR, 0));
	return why;
}

const char *siglogic_parse(const char *text, uint32_t sub_count, struct sigwords *program)
{
	struct reader reader = { .program = program, .sub_count = sub_count };
	const char *why = read_expression(&reader, text, text + strlen(text), false, 0);
	if (why == NULL && program->is_failed)
		why = "out of memory";
	if (why == NULL && program->count > SIGLOGIC_WORDS_MAX)
		why = "the logic is too long";
	return why;
}

/* ---- looking at programs ---- */

/* The stack behind an instruction at a depth, or -1. */
static int depth_behind(int depth, unsigned code)
{
	const bool takes_two = code == SIGLOGIC_AND || code == SIGLOGIC_OR;
	if (depth < (code == SIGLOGIC_COUNT ? 0 : takes_two ? 2 : 1))
		return -1;
	return code == SIGLOGIC_COUNT ? depth + 1 : takes_two ? depth - 1 : depth;
}

bool siglogic_check(const uint32_t *words, size_t count, uint32_t content_count)
{
	int depth = 0;
	if (count > SIGLOGIC_WORDS_MAX)
		return false;
	for (size_t i = 0; i < count;) {
		const unsigned code = siglogic_code(words[i]);
		const size_t arguments = siglogic_arguments(code);
		if (code >= SIGLOGIC_CODE_COUNT || count - i - 1 < arguments ||
		    siglogic_sub(words[i]) >= SIGLOGIC_SUBS_MAX)
			return false;
		if ((code == SIGLOGIC_COUNT || code == SIGLOGIC_GATED) &&
		    words[i + 1] >= content_count)
			return false;
		depth = depth_behind(depth, code);
		if (depth < 0 || depth > SIGLOGIC_DEPTH_MAX)
			return false;
		i += 1 + arguments;
	}
	return depth == 1;
}

bool siglogic_is_monotone(const uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i += 1 + siglogic_arguments(siglogic_code(words[i]))) {
		const unsigned code = siglogic_code(words[i]);
		if (code == SIGLOGIC_EQUAL || code == SIGLOGIC_LESS ||
		    code == SIGLOGIC_BLOCK_EQUAL || code == SIGLOGIC_BLOCK_LESS)
			return false;
	}
	return true;
}

static void raise_caps(uint32_t *caps, uint64_t subs, uint32_t number)
{
	for (unsigned i = 0; i < SIGLOGIC_SUBS_MAX; i++)
		if (subs >> i & 1 && caps[i] < number + 1)
			caps[i] = number + 1;
}

void siglogic_caps(const uint32_t *words, size_t count, uint32_t *ret_caps)
{
	uint64_t stack[SIGLOGIC_DEPTH_MAX + 1] = { 0 };
	int depth = 0;
	for (unsigned i = 0; i < SIGLOGIC_SUBS_MAX; i++)
		ret_caps[i] = 1;
	for (size_t i = 0; i < count; i += 1 + siglogic_arguments(siglogic_code(words[i]))) {
		const unsigned code = siglogic_code(words[i]);
		if (code == SIGLOGIC_COUNT) {
			stack[depth++] = UINT64_C(1) << siglogic_sub(words[i]);
		} else if (code == SIGLOGIC_GATED) {
			stack[depth - 1] = UINT64_C(1) << siglogic_sub(words[i]);
		} else if (code == SIGLOGIC_AND || code == SIGLOGIC_OR) {
			depth--;
			stack[depth - 1] |= stack[depth];
		} else {
			raise_caps(ret_caps, stack[depth - 1], words[i + 1]);
		}
	}
}

/* ---- deciding ---- */

struct value {
	bool is_true;
	uint32_t count;
	uint64_t
		subs; /* that are there, when it is true: also one of which a count of 0 is right */
};

static bool compares(unsigned code, uint32_t count, uint32_t number)
{
	if (code == SIGLOGIC_EQUAL || code == SIGLOGIC_BLOCK_EQUAL)
		return count == number;
	if (code == SIGLOGIC_LESS || code == SIGLOGIC_BLOCK_LESS)
		return count < number;
	return count > number;
}

static struct value counted(uint32_t word, uint32_t count)
{
	return (struct value){ .is_true = count > 0,
			       .count = count,
			       .subs = UINT64_C(1) << siglogic_sub(word) };
}

static uint64_t subs_of(const struct value *value)
{
	return value->is_true ? value->subs : 0;
}

static struct value joined(unsigned code, const struct value *left, const struct value *right)
{
	const struct value none = { .is_true = false };
	if (code == SIGLOGIC_AND && !(left->is_true && right->is_true))
		return none;
	return (struct value){ .is_true = left->is_true || right->is_true,
			       .count = left->count + right->count,
			       .subs = subs_of(left) | subs_of(right) };
}

static struct value compared(const uint32_t *words, struct value value)
{
	const struct value none = { .is_true = false };
	const unsigned code = siglogic_code(words[0]);
	if (!compares(code, value.count, words[1]))
		return none;
	if (code >= SIGLOGIC_BLOCK_EQUAL) {
		if (words[2] > 0 && (uint32_t)__builtin_popcountll(subs_of(&value)) < words[2])
			return none;
		/* A block is one thing for the block around it. */
		value.subs = 0;
	}
	value.is_true = true;
	return value;
}

bool siglogic_decide(const uint32_t *words, size_t count, siglogic_count_fn *count_of,
		     const void *context)
{
	struct value stack[SIGLOGIC_DEPTH_MAX + 1] = { { .is_true = false } };
	int depth = 0;
	for (size_t i = 0; i < count; i += 1 + siglogic_arguments(siglogic_code(words[i]))) {
		const unsigned code = siglogic_code(words[i]);
		if (code == SIGLOGIC_COUNT) {
			stack[depth++] = counted(words[i], count_of(context, words[i + 1]));
		} else if (code == SIGLOGIC_GATED) {
			const bool is_open = stack[depth - 1].is_true;
			stack[depth - 1] =
				counted(words[i], is_open ? count_of(context, words[i + 1]) : 0);
		} else if (code == SIGLOGIC_AND || code == SIGLOGIC_OR) {
			depth--;
			stack[depth - 1] = joined(code, &stack[depth - 1], &stack[depth]);
		} else {
			stack[depth - 1] = compared(words + i, stack[depth - 1]);
		}
	}
	return depth == 1 && stack[0].is_true;
}
