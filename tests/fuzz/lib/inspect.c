/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A mail or a file with all that is in it, in one piece and in pieces: the same findings, objects and archives for
 * another process, wherever the input is cut.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   a mail, or whatever the head says
 *        1      1   size of the pieces
 *        2      .   its bytes
 */

#include "lib/inspect/inspect.h"

#include <string.h>

#include "tests/fuzz/match/signatures.h"

#define ARCHIVES 64

/* Of what is in samples, or is soon made of them. */
static const struct signatures_file signatures[] = {
	{ "a.ndb", "Pair:0:*:6161\n"
		   "Gap:0:*:61{3-30}62\n"
		   "Begin:0:0:61\n"
		   "End:0:EOF-4,4:61\n"
		   "Far:0:*:61*0d0a62\n" },
	{ "a.ldb", "Count;Target:0;(0>4);61\n"
		   "Without;Target:0;0&1=0;61;6263\n"
		   "Zipped;Container:CL_TYPE_ZIP,Target:0;0;61\n" },
	{ "a.hdb", "0cc175b9c0f1b6a831c399e269772661:1:Whole\n" },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* FNV-1a of what has gone to another process. */
struct archives {
	uint64_t hashes[ARCHIVES];
	unsigned begun;
	unsigned ended;
};

static void see(struct archives *archives, unsigned number, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t *hash = &archives->hashes[number % ARCHIVES];
	for (size_t i = 0; i < size; i++)
		*hash = (*hash ^ at[i]) * UINT64_C(0x100000001b3);
}

static void begin(void *context, unsigned number, const struct inspect_origin *origin)
{
	struct archives *archives = context;
	require(number == archives->begun, "archives are counted");
	require(origin->depth <= INSPECT_DEPTH, "no deeper than the limit");
	archives->begun++;
	see(archives, number, &origin->kind, sizeof(origin->kind));
	see(archives, number, origin->path, strlen(origin->path));
}

static void push(void *context, unsigned number, const uint8_t *bytes, size_t size)
{
	require(size > 0, "some bytes");
	see(context, number, bytes, size);
}

static void end(void *context, unsigned number, bool is_whole)
{
	struct archives *archives = context;
	archives->ended++;
	see(archives, number, &is_whole, sizeof(is_whole));
}

static void run(struct inspect_pool *pool, enum inspect_kind kind, size_t piece,
		const uint8_t *bytes, size_t size, struct archives *ret_archives,
		struct inspect_result *ret_result)
{
	static const struct inspect_apart apart = { begin, push, end };
	const struct inspect_rules rules = {
		.budget = { .total_left = 1 << 20,
			    .ratio = 100,
			    .ratio_from = 65536,
			    .spool_left = 65536,
			    .members_left = 100 },
		.apart = &apart,
		.apart_context = ret_archives,
	};
	struct inspection *inspection;
	memset(ret_archives, 0, sizeof(*ret_archives));
	require(inspect_begin(pool, kind, &rules, &inspection) == 0, "a slot is free");
	for (size_t at = 0; at < size; at += piece)
		inspect_push(inspection, bytes + at, size - at < piece ? size - at : piece);
	inspect_end(inspection, true);
	memcpy(ret_result, inspect_result(inspection), sizeof(*ret_result));
	inspect_free(inspection);
	require(ret_archives->begun == ret_archives->ended, "archives end");
}

static void compare_findings(const struct inspect_result *whole, const struct inspect_result *cut)
{
	require(whole->finding_count == cut->finding_count, "as many findings");
	for (unsigned i = 0; i < whole->finding_count; i++) {
		require(strcmp(whole->findings[i].name, cut->findings[i].name) == 0, "names");
		require(strcmp(whole->findings[i].path, cut->findings[i].path) == 0, "paths");
		require(whole->findings[i].offset == cut->findings[i].offset, "places");
	}
}

static void compare_all(const struct inspect_result *whole, const struct inspect_result *cut,
			const struct archives *whole_archives, const struct archives *cut_archives)
{
	compare_findings(whole, cut);
	require(memcmp(whole->counts, cut->counts, sizeof(cut->counts)) == 0, "the same counts");
	require(whole->bytes == cut->bytes, "as many bytes");
	require(whole->objects == cut->objects, "as many objects");
	require(memcmp(whole_archives, cut_archives, sizeof(*cut_archives)) == 0,
		"the same archives for another process");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct inspect_sizes sizes = {
		.inspections = 1, .objects = 1024, .mails = 256, .decoders = 256
	};
	static struct inspect_pool *pool;
	static struct inspect_result whole;
	static struct inspect_result cut;
	static struct archives whole_archives;
	static struct archives cut_archives;
	if (size < 2)
		return 0;
	const enum inspect_kind kind = data[0] % 2 == 0 ? INSPECT_MAIL : INSPECT_FILE;
	if (pool == NULL) {
		struct match_worker *worker =
			signatures_open(signatures, sizeof(signatures) / sizeof(signatures[0]));
		require(inspect_pool_new(worker, &sizes, &pool) == 0, "memory");
	}
	run(pool, kind, SIZE_MAX / 2, data + 2, size - 2, &whole_archives, &whole);
	run(pool, kind, data[1] + 1U, data + 2, size - 2, &cut_archives, &cut);
	compare_all(&whole, &cut, &whole_archives, &cut_archives);
	return 0;
}
