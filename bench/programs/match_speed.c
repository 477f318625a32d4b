/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * match_speed.c - how fast lib/match looks at plain bytes, beside Vectorscan's own stream loop.
 *
 *     match_speed DATABASE FILE [SECONDS [PIECE]]
 *
 * DATABASE is one of compile_write(). FILE goes through as one object in pieces of so many bytes, again
 * and again for so many seconds in each way, by turns: with Vectorscan's stream functions alone and a
 * callback that counts, and with lib/match, with the hashes that the database has. Prints a line for
 * each way, "WAY MB/s FOUND", and what an object takes. Hashes are also timed alone.
 */

#include <hs/hs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/match/match.h"
#include "lib/match/stream/match_db.h"
#include "lib/match/stream/match_digest.h"

#define FILE_MAX (64 << 20)

struct run {
	const struct match_db *db;
	struct match_object *object;
	hs_stream_t *stream;
	hs_scratch_t *scratch;
	struct match_digest digest;
	const uint8_t *bytes;
	size_t size;
	size_t piece;
	unsigned long found;
};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int take_pattern(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
			void *context)
{
	struct run *run = context;
	(void)id;
	(void)from;
	(void)to;
	(void)flags;
	run->found++;
	return 0;
}

static void take(void *context, const struct match_finding *finding)
{
	struct run *run = context;
	(void)finding;
	run->found++;
}

static void take_hash(void *context, uint32_t name, uint64_t size)
{
	struct run *run = context;
	(void)name;
	(void)size;
	run->found++;
}

static size_t piece_at(const struct run *run, size_t at)
{
	return run->size - at < run->piece ? run->size - at : run->piece;
}

static void run_alone(struct run *run)
{
	hs_reset_stream(run->stream, 0, NULL, NULL, NULL);
	for (size_t at = 0; at < run->size; at += run->piece)
		hs_scan_stream(run->stream, (const char *)run->bytes + at,
			       (unsigned)piece_at(run, at), 0, run->scratch, take_pattern, run);
	hs_reset_stream(run->stream, 0, run->scratch, take_pattern, run);
}

static void run_match(struct run *run)
{
	match_begin(run->object, take, run);
	match_set_kind(run->object,
		       content_kind(run->bytes,
				    run->size < CONTENT_HEAD_SIZE ? run->size : CONTENT_HEAD_SIZE),
		       CONTENT_OTHER);
	for (size_t at = 0; at < run->size; at += run->piece)
		match_push(run->object, run->bytes + at, piece_at(run, at));
	match_end(run->object);
}

static void run_hashes(struct run *run)
{
	match_digest_begin(&run->digest);
	for (size_t at = 0; at < run->size; at += run->piece)
		match_digest_push(&run->digest, run->bytes + at, piece_at(run, at));
	match_digest_end(&run->digest, take_hash, run);
}

static const struct {
	const char *name;
	void (*run)(struct run *run);
} ways[] = {
	{ "vectorscan", run_alone },
	{ "match", run_match },
	{ "hashes", run_hashes },
};

#define WAYS ((size_t)3)
_Static_assert(WAYS == sizeof(ways) / sizeof(ways[0]), "each has its figures");

static void measure(struct run *run, double seconds)
{
	double spent[WAYS] = { 0 };
	unsigned long rounds = 0;
	unsigned long found[WAYS] = { 0 };
	for (double begin = now(); now() - begin < seconds * (double)WAYS; rounds++) {
		for (size_t i = 0; i < WAYS; i++) {
			run->found = 0;
			const double start = now();
			ways[i].run(run);
			spent[i] += now() - start;
			found[i] = run->found;
		}
	}
	for (size_t i = 0; i < WAYS; i++)
		printf("%s %.1f MB/s %lu\n", ways[i].name,
		       (double)run->size * (double)rounds / spent[i] / 1e6, found[i]);
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	uint8_t *bytes = malloc(FILE_MAX);
	FILE *file = fopen(path, "rb");
	if (file == NULL || bytes == NULL) {
		perror(path);
		exit(66);
	}
	*ret_size = fread(bytes, 1, FILE_MAX, file);
	fclose(file);
	return bytes;
}

int main(int argc, char **argv)
{
	char error[MATCH_ERROR_SIZE] = "";
	struct match_db *db = NULL;
	struct match_worker *worker = NULL;
	struct run run = { .piece = argc > 4 ? strtoul(argv[4], NULL, 10) : 65536 };
	if (argc < 3)
		return 64;
	if (match_open(argv[1], &db, error) != 0) {
		fprintf(stderr, "%s\n", error);
		return 65;
	}
	run.db = db;
	uint8_t *bytes = read_file(argv[2], &run.size);
	run.bytes = bytes;
	if (db->hs[IMAGE_ALL] == NULL || match_worker_new(db, &worker) != 0 ||
	    match_object_new(worker, &run.object) != 0 ||
	    hs_alloc_scratch(db->hs[IMAGE_ALL], &run.scratch) != HS_SUCCESS ||
	    hs_open_stream(db->hs[IMAGE_ALL], 0, &run.stream) != HS_SUCCESS ||
	    match_digest_new(&run.digest, db, MATCH_DIGEST_OBJECT) != 0)
		return 71;
	printf("signatures %u, database %zu bytes, stream %u, object %zu\n", match_count(db),
	       db->size, db->numbers[IMAGE_STREAM_SIZE], match_object_size(db));
	measure(&run, argc > 3 ? strtod(argv[3], NULL) : 3);
	hs_close_stream(run.stream, NULL, NULL, NULL);
	hs_free_scratch(run.scratch);
	match_digest_free(&run.digest);
	match_object_free(run.object);
	match_worker_free(worker);
	match_close(db);
	free(bytes);
	return 0;
}
