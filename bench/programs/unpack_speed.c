/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * unpack_speed - gzip and zip through lib/unpack, beside zlib's inflate and checksum alone.
 *
 *     unpack_speed [FILE] [PIECE]
 *
 * The file, or numbers as text, is packed in memory, and unpacked in pieces of that size, 16 KiB if
 * none is said. All three do the same work: deflate and a CRC-32. Prints a line for each, the best of
 * several runs, in bytes that come out.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zlib.h>

#include "lib/unpack/unpack.h"

#define RUNS 7

struct bytes {
	uint8_t *at;
	size_t size;
};

static void *member_begin(void *context, const char *name)
{
	(void)name;
	return context;
}

static void member_data(void *context, void *member, const uint8_t *bytes, size_t size)
{
	(void)member;
	(void)bytes;
	*(uint64_t *)context += size;
}

static void member_end(void *context, void *member, bool is_whole)
{
	(void)context;
	(void)member;
	if (!is_whole)
		exit(1);
}

static void flaw(void *context, enum unpack_flaw which, const char *name)
{
	(void)context;
	fprintf(stderr, "unpack_speed: %s %s\n", unpack_flaw_text(which), name);
	exit(1);
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct bytes read_input(const char *path)
{
	const size_t room = 64 << 20;
	struct bytes bytes = { malloc(room), 0 };
	if (bytes.at == NULL)
		exit(1);
	if (path == NULL) {
		for (unsigned i = 0; bytes.size < (16 << 20); i++)
			bytes.size += (size_t)sprintf((char *)bytes.at + bytes.size, "%u ",
						      i * 2654435761U >> 12);
		return bytes;
	}
	FILE *file = fopen(path, "rb");
	if (file == NULL) {
		perror(path);
		exit(1);
	}
	bytes.size = fread(bytes.at, 1, room, file);
	fclose(file);
	return bytes;
}

static struct bytes pack(struct bytes plain, int window)
{
	z_stream stream;
	memset(&stream, 0, sizeof(stream));
	deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
	struct bytes packed = { malloc(plain.size + plain.size / 8 + 4096), 0 };
	if (packed.at == NULL)
		exit(1);
	stream.next_in = plain.at;
	stream.avail_in = (uInt)plain.size;
	stream.next_out = packed.at;
	stream.avail_out = (uInt)(plain.size + plain.size / 8 + 4096);
	deflate(&stream, Z_FINISH);
	packed.size = stream.total_out;
	deflateEnd(&stream);
	return packed;
}

static void put(struct bytes *bytes, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		bytes->at[bytes->size++] = (uint8_t)(value >> (8 * i));
}

/* One member, and its directory. */
static struct bytes zip_of(struct bytes deflated, struct bytes plain)
{
	struct bytes zip = { malloc(deflated.size + 200), 0 };
	const uint64_t crc = crc32(0, plain.at, (uInt)plain.size);
	if (zip.at == NULL)
		exit(1);
	for (unsigned is_central = 0; is_central < 2; is_central++) {
		put(&zip, is_central ? 0x02014b50 : 0x04034b50, 4);
		put(&zip, 20, is_central ? 4 : 2);
		put(&zip, 8 << 16, 4);
		put(&zip, 0, 4);
		put(&zip, crc, 4);
		put(&zip, deflated.size, 4);
		put(&zip, plain.size, 4);
		put(&zip, 1, 4);
		if (is_central) {
			put(&zip, 0, 8);
			put(&zip, 0, 6);
		}
		zip.at[zip.size++] = 'a';
		if (!is_central) {
			memcpy(zip.at + zip.size, deflated.at, deflated.size);
			zip.size += deflated.size;
		}
	}
	put(&zip, 0x06054b50, 4);
	put(&zip, 0, 4);
	put(&zip, 0x10001, 4);
	put(&zip, 47, 4);
	put(&zip, deflated.size + 31, 4);
	put(&zip, 0, 2);
	return zip;
}

static void run_bare(struct bytes packed, size_t piece)
{
	static uint8_t out[16384];
	z_stream stream;
	memset(&stream, 0, sizeof(stream));
	inflateInit2(&stream, 31); /* gzip: it checks as well */
	for (size_t at = 0; at < packed.size; at += piece) {
		stream.next_in = packed.at + at;
		stream.avail_in = (uInt)(packed.size - at < piece ? packed.size - at : piece);
		do {
			stream.next_out = out;
			stream.avail_out = sizeof(out);
			if (inflate(&stream, Z_NO_FLUSH) < Z_BUF_ERROR)
				exit(1);
		} while (stream.avail_out == 0);
	}
	inflateEnd(&stream);
}

static void run_row(enum content_kind kind, struct bytes packed, size_t piece, uint64_t wanted)
{
	static _Alignas(16) uint8_t memory[UNPACK_HERE_MEMORY];
	static const struct unpack_events events = { member_begin, member_data, member_end, flaw,
						     NULL };
	struct unpack_budget budget = UNPACK_BUDGET;
	struct unpack *unpack = NULL;
	uint64_t out = 0;
	if (unpack_begin(unpack_find(kind), memory, &budget, &events, &out, &unpack) < 0)
		exit(1);
	for (size_t at = 0; at < packed.size; at += piece)
		unpack_push(unpack, packed.at + at,
			    packed.size - at < piece ? packed.size - at : piece);
	unpack_end(unpack, true);
	if (out != wanted)
		exit(1);
}

int main(int argc, char **argv)
{
	const struct bytes plain = read_input(argc > 1 ? argv[1] : NULL);
	const size_t piece = argc > 2 ? strtoul(argv[2], NULL, 10) : 16384;
	const struct bytes gzip = pack(plain, 31);
	const struct bytes zip = zip_of(pack(plain, -15), plain);
	double best[3] = { 1e9, 1e9, 1e9 };
	if (piece == 0)
		return 64;
	for (int run = 0; run < RUNS; run++) {
		for (int way = 0; way < 3; way++) {
			const double start = now();
			if (way == 0)
				run_bare(gzip, piece);
			else
				run_row(way == 1 ? CONTENT_GZIP : CONTENT_ZIP,
					way == 1 ? gzip : zip, piece, plain.size);
			const double taken = now() - start;
			best[way] = taken < best[way] ? taken : best[way];
		}
	}
	static const char *const names[3] = { "inflate", "gzip", "zip" };
	for (int way = 0; way < 3; way++)
		printf("%s %.0f MB/s %.3f\n", names[way], 1e-6 * (double)plain.size / best[way],
		       best[0] / best[way]);
	return 0;
}
