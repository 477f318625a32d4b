/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/lookup/input.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

void input_init(struct input *input, char *const *operands, size_t count)
{
	bool is_lines = count == 0 || (count == 1 && strcmp(operands[0], "-") == 0);

	*input = (struct input){
		.operands = is_lines ? NULL : operands,
		.operand_count = is_lines ? 0 : count,
		.fd = STDIN_FILENO,
	};
}

static void show_bad(struct input *input, const char *text)
{
	input->has_bad = true;
	if (input->operands == NULL)
		lookup_fail(0, "line %lu: \"%.60s\" is no IP address", input->line, text);
	else
		lookup_fail(0, "\"%.60s\" is no IP address", text);
}

static size_t next_operands(struct input *input, struct dnsblv6_ip *ret_ips, size_t max)
{
	size_t count = 0;

	while (input->operand_count > 0 && count < max) {
		const char *text = *input->operands++;

		input->operand_count--;
		if (dnsblv6_ip_parse(text, &ret_ips[count]) == 0)
			count++;
		else
			show_bad(input, text);
	}
	return count;
}

/* More bytes behind those that are there; false at the end. */
static bool fill(struct input *input)
{
	memmove(input->buffer, input->buffer + input->begin, input->end - input->begin);
	input->end -= input->begin;
	input->begin = 0;

	ssize_t size;
	do {
		size = read(input->fd, input->buffer + input->end,
			    sizeof(input->buffer) - 1 - input->end);
	} while (size < 0 && errno == EINTR);
	if (size < 0) {
		lookup_fail(0, "standard input: %s", strerror(errno));
		input->has_bad = true;
	}
	if (size <= 0) {
		input->is_at_end = true;
		return false;
	}
	input->end += (size_t)size;
	return true;
}

/*
 * The next line without its end, NUL behind it; NULL when there is none yet. Of
 * one that the buffer does not hold, a piece.
 */
static char *take_piece(struct input *input)
{
	char *piece = input->buffer + input->begin;
	size_t size = input->end - input->begin;
	char *newline = memchr(piece, '\n', size);
	bool is_full = size == sizeof(input->buffer) - 1;

	if (newline == NULL && !is_full && (!input->is_at_end || size == 0))
		return NULL;
	input->is_skipping = newline == NULL && is_full;
	if (newline != NULL)
		size = (size_t)(newline - piece);
	input->begin += size + (newline != NULL);
	for (size_t i = 0; i < size; i++) {
		if (piece[i] == '\0')
			piece[i] = '?'; /* which no address has */
	}
	piece[size] = '\0'; /* there is a byte more than is ever filled */
	return piece;
}

static char *take_line(struct input *input)
{
	for (;;) {
		bool is_rest = input->is_skipping;
		char *line = take_piece(input);

		if (line == NULL || !is_rest)
			return line;
	}
}

static char *trim(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	size_t size = strlen(text);
	while (size > 0 && isspace((unsigned char)text[size - 1]))
		text[--size] = '\0';
	return text;
}

static size_t next_lines(struct input *input, struct dnsblv6_ip *ret_ips, size_t max)
{
	size_t count = 0;
	char *line;

	while (count < max && (line = take_line(input)) != NULL) {
		line = trim(line);
		input->line++;
		if (*line == '\0' || *line == '#')
			continue;
		if (dnsblv6_ip_parse(line, &ret_ips[count]) == 0)
			count++;
		else
			show_bad(input, line);
	}
	return count;
}

size_t input_next(struct input *input, struct dnsblv6_ip *ret_ips, size_t max)
{
	if (input->operands != NULL)
		return next_operands(input, ret_ips, max);
	for (;;) {
		size_t count = next_lines(input, ret_ips, max);
		if (count > 0)
			return count;
		if (input->is_at_end || !fill(input))
			return next_lines(input, ret_ips, max);
	}
}
