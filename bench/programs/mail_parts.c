/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * mail_parts - how fast lib/mstream has the parts of a mail.
 *
 *     mail_parts FILE [TIMES [PIECE]]
 *
 * FILE is read once, and given TIMES times (100), in pieces of PIECE bytes (65536). Prints MB/s, of 10^6
 * bytes, of its bytes, each the best of five:
 *
 *     memcpy    a copy of the same pieces
 *     decode    OpenSSL's EVP_DecodeBlock() on those of its bytes that base64 is made of, 16 KiB at a time
 *     mstream   parts found and decoded, and their bytes taken by a function that does nothing
 *     touched   the same, and each decoded byte is read once
 *
 * and how many parts there were, and decoded bytes.
 */

#include "lib/mstream/mstream.h"

#include <openssl/evp.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define ROUNDS	    5
#define BLOCK_SIZE  16384
#define MEGABYTE    1e6
#define TIMES_USUAL 100
#define PIECE_USUAL 65536

struct run {
	const uint8_t *bytes;
	size_t size;
	size_t piece;
	uint8_t *room; /* as much as size */
	uint8_t *base64;
	size_t base64_size;
	void *memory;
	bool is_touched;
	/* of the last time */
	uint64_t parts, out_size;
	uint64_t sum;
};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *begin(void *context, const struct mstream_part *part)
{
	struct run *run = context;
	(void)part;
	run->parts++;
	return run;
}

static void data(void *context, void *part, const uint8_t *bytes, size_t size)
{
	struct run *run = context;
	(void)part;
	run->out_size += size;
	for (size_t i = 0; run->is_touched && i < size; i++)
		run->sum += bytes[i];
}

static void end(void *context, void *part, bool is_whole)
{
	(void)context;
	(void)part;
	(void)is_whole;
}

static void odd(void *context, enum mstream_oddity oddity, const char *position)
{
	(void)context;
	(void)oddity;
	(void)position;
}

static const struct mstream_events events = { begin, data, end, odd };

static void run_mstream(struct run *run)
{
	run->parts = 0;
	run->out_size = 0;
	struct mstream *mail = mstream_begin(run->memory, &events, run);
	for (size_t at = 0; at < run->size; at += run->piece) {
		const size_t left = run->size - at;
		mstream_push(mail, run->bytes + at, left < run->piece ? left : run->piece);
	}
	mstream_end(mail, true);
}

static void run_touched(struct run *run)
{
	run->is_touched = true;
	run_mstream(run);
	run->is_touched = false;
}

static void run_memcpy(struct run *run)
{
	for (size_t at = 0; at < run->size; at += run->piece) {
		const size_t left = run->size - at;
		memcpy(run->room, run->bytes + at, left < run->piece ? left : run->piece);
		run->sum += run->room[0];
	}
}

static void run_decode(struct run *run)
{
	for (size_t at = 0; at < run->base64_size; at += BLOCK_SIZE) {
		const size_t left = run->base64_size - at;
		const int size = EVP_DecodeBlock(run->room, run->base64 + at,
						 left < BLOCK_SIZE ? (int)left : BLOCK_SIZE);
		run->sum += (uint64_t)size;
	}
}

/* MB/s of the best round; size is what the function is given each time. */
static double measure(struct run *run, void (*function)(struct run *run), size_t size,
		      unsigned times)
{
	double best = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const double start = now();
		for (unsigned i = 0; i < times; i++)
			function(run);
		const double rate = (double)size * times / MEGABYTE / (now() - start);
		best = rate > best ? rate : best;
	}
	return best;
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
		return NULL;
	const long size = ftell(file);
	rewind(file);
	uint8_t *bytes = size > 0 ? malloc((size_t)size) : NULL;
	if (bytes != NULL && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
		free(bytes);
		bytes = NULL;
	}
	fclose(file);
	*ret_size = bytes != NULL ? (size_t)size : 0;
	return bytes;
}

static void keep_base64(struct run *run)
{
	for (size_t i = 0; i < run->size; i++) {
		const uint8_t byte = run->bytes[i];
		if (isalnum(byte) || byte == '+' || byte == '/')
			run->base64[run->base64_size++] = byte;
	}
	run->base64_size -= run->base64_size % 4;
}

static void release(struct run *run, uint8_t *bytes)
{
	free(bytes);
	free(run->room);
	free(run->base64);
	free(run->memory);
}

int main(int argument_count, char **arguments)
{
	struct run run = { .piece = PIECE_USUAL };
	unsigned times = TIMES_USUAL;
	if (argument_count < 2 || argument_count > 4) {
		fprintf(stderr, "usage: mail_parts FILE [TIMES [PIECE]]\n");
		return EX_USAGE;
	}
	if (argument_count > 2)
		times = (unsigned)strtoul(arguments[2], NULL, 10);
	if (argument_count > 3)
		run.piece = strtoul(arguments[3], NULL, 10);
	uint8_t *bytes = read_file(arguments[1], &run.size);
	run.bytes = bytes;
	run.room = malloc(run.size + 1);
	run.base64 = malloc(run.size + 1);
	run.memory = malloc(mstream_size());
	if (bytes == NULL || run.room == NULL || run.base64 == NULL || run.memory == NULL ||
	    times == 0 || run.piece == 0) {
		fprintf(stderr, "mail_parts: %s: cannot be read\n", arguments[1]);
		release(&run, bytes);
		return EX_NOINPUT;
	}
	keep_base64(&run);
	printf("memcpy   %8.0f MB/s\n", measure(&run, run_memcpy, run.size, times));
	printf("decode   %8.0f MB/s\n", measure(&run, run_decode, run.base64_size, times));
	printf("mstream  %8.0f MB/s\n", measure(&run, run_mstream, run.size, times));
	printf("touched  %8.0f MB/s\n", measure(&run, run_touched, run.size, times));
	printf("parts    %8" PRIu64 ", %" PRIu64 " bytes\n", run.parts, run.out_size);
	release(&run, bytes);
	return EX_OK;
}
