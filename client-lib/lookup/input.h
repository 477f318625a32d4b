/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * input.h - addresses from the command line, or from the lines of a descriptor.
 *
 * Flow: main.c -> input_init() -> verdicts.c, decode.c -> input_next() until 0
 *
 * Lines are handed out as they come, as many as are there: a program that writes one and waits for
 * its verdict gets it. A blank line, and one that begins with "#", is nothing. What is no address
 * is named on standard error, with its line, and the next one is read.
 */

#include "client-lib/lookup/lookup.h"

#define INPUT_BUFFER_SIZE 16384 /* a longer line is no address either */

struct input {
	char *const *operands; /* borrowed; NULL: lines of fd */
	size_t operand_count;
	int fd;
	bool is_at_end;
	bool is_skipping; /* the rest of a line that is too long */
	bool has_bad;	  /* something was no address, or could not be read */
	unsigned long line;
	size_t begin, end; /* what is not yet handed out, in buffer */
	char buffer[INPUT_BUFFER_SIZE];
};

/* No operand, or "-" alone: standard input. */
void input_init(struct input *input, char *const *operands, size_t count);

/* The next addresses, at most max of them; 0 at the end. Waits for the first alone. */
size_t input_next(struct input *input, struct dnsblv6_ip *ret_ips, size_t max);
