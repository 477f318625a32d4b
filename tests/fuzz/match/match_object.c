/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any object against signatures of each construct: what is found does not depend on how it is cut, on
 * when its kind is said, or on its beginning having been another object's, too.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   of the cuts
 *        1      1   bits 0 and 1: what it is; bit 2: it is a member of a zip
 *        2      1   in 256ths of it, where it becomes another object
 *        3      .   the object
 */

#include "tests/fuzz/match/signatures.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FOUND_MAX 64

/* Hashes of sections are those of the first sample, and of bytes of one kind. */
static const struct signatures_file files[] = {
	{ "a.ndb", "Plain:0:*:414243\n"
		   "Gap:0:*:4142*4344\n"
		   "Near:0:*:4142{2-4}4344\n"
		   "Far:0:*:4142{90-100}4344*4546\n"
		   "Ring:0:*:4142*4344{40-50}4546\n"
		   "Either:0:*:4142(43|444444)45\n"
		   "Neither:0:*:4142!(4343|4344)45\n"
		   "Bound:0:*:(B)4142(B)\n"
		   "Line:0:*:(L)4142(L)\n"
		   "Byte:0:*:58[1-3]4142\n"
		   "At:0:2:4142\n"
		   "Within:0:0,2:4142\n"
		   "End:0:EOF-4:4142\n"
		   "EndWithin:0:EOF-60,20:4142\n"
		   "EndGap:0:EOF-60,20:4142{2-40}4344\n"
		   "Entry:1:EP+0:45504142\n"
		   "EntryMinus:1:EP-16,20:4142\n"
		   "EntryGap:1:EP+0:455041{10-300}43444546\n"
		   "First:1:S0+16:4550\n"
		   "Last:1:SL+188:43444546\n"
		   "In:1:SE0:4344\n" },
	{ "a.ldb", "Both;Target:0;(0&1);4141;4242\n"
		   "Without;Target:0;0&1=0;4141;4343\n"
		   "Count;Target:0;(0>2);4141\n"
		   "Mixed;Target:0;((0|1)>1)&2;4141;4242;4343\n"
		   "Run;Engine:81-255,Target:0;0&1;6576616c28;0/eval\\('[^']{20,}'/si\n"
		   "Ole;Target:2;0&1;4142;4344{40-50}4142\n"
		   "Zipped;Container:CL_TYPE_ZIP,Target:0;0;4142*4344\n"
		   "Wide;Target:0;0;4142::wa\n"
		   "Case;Target:0;0;4142::i\n"
		   "Sized;FileSize:3-40,Target:0;0;4142\n"
		   "Point;EntryPoint:500-600,Target:1;0;4142\n"
		   "Sections;NumberOfSections:1-2,Target:1;0;4142\n" },
	{ "a.mdb", "512:60936987ebc526f6759154b05b042a9d:SectionProgram\n"
		   "512:bf619eac0cdf3f68d496ea9344137e8b:SectionZeros\n"
		   "512:65638969ed7274877aa64d0e752aa1bf:SectionQ\n"
		   "512:8f87f1f7564f495ceb03d176620ae9f3:SectionHead\n"
		   "*:0cc175b9c0f1b6a831c399e269772661:SectionEmpty:73\n" },
	{ "a.hdb", "900150983cd24fb0d6963f7d28e17f72:3:Whole\n" },
};

struct found {
	uint64_t places[FOUND_MAX]; /* of each finding a number, in order */
	uint64_t names[FOUND_MAX];
	unsigned count;
};

struct input {
	const uint8_t *bytes;
	size_t size;
	enum content_kind kind;
	enum content_kind container;
	uint32_t seed; /* 0: one piece */
};

static struct match_object *object;
static struct match_object *other;

static void start(void)
{
	struct match_worker *worker = signatures_open(files, sizeof(files) / sizeof(files[0]));
	require(match_object_new(worker, &object) == 0 && match_object_new(worker, &other) == 0,
		"memory");
}

static void insert(uint64_t *numbers, unsigned count, uint64_t number)
{
	for (; count > 0 && numbers[count - 1] > number; count--)
		numbers[count] = numbers[count - 1];
	numbers[count] = number;
}

static void take(void *context, const struct match_finding *finding)
{
	struct found *found = context;
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	require(found->count < FOUND_MAX, "a signature is found once");
	for (const char *at = finding->name; *at != '\0'; at++)
		sum = (sum ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
	insert(found->names, found->count, sum);
	insert(found->places, found->count++, sum + finding->offset);
}

/* The bytes from one place to another, in pieces, each in memory of its size. */
static void push(struct match_object *to, const struct input *input, size_t from, size_t end)
{
	uint32_t seed = input->seed;
	while (from < end) {
		seed = seed * 1664525 + 1013904223;
		const size_t wanted =
			(seed >> 30) == 0 ? (seed >> 8) % 800 + 1 : (seed >> 8) % 40 + 1;
		const size_t part = input->seed == 0 || wanted > end - from ? end - from : wanted;
		uint8_t *copy = malloc(part);
		require(copy != NULL, "memory");
		memcpy(copy, input->bytes + from, part);
		match_push(to, copy, part);
		free(copy);
		from += part;
	}
}

/* kind_at: where its kind is said. */
static void look(const struct input *input, size_t kind_at, struct found *ret_found)
{
	memset(ret_found, 0, sizeof(*ret_found));
	match_begin(object, take, ret_found);
	push(object, input, 0, kind_at);
	match_set_kind(object, input->kind, input->container);
	push(object, input, kind_at, input->size);
	match_end(object);
}

/* Of two objects with one beginning. */
static void look_twice(const struct input *input, size_t split, struct found *ret_found)
{
	struct found found = { .count = 0 };
	memset(ret_found, 0, sizeof(*ret_found));
	match_begin(other, take, &found);
	push(other, input, split, input->size);
	match_begin(object, take, ret_found);
	match_set_kind(object, input->kind, input->container);
	push(object, input, 0, split);
	match_copy(other, object, take, ret_found);
	push(other, input, split, input->size);
	match_end(other);
}

static bool is_same(const uint64_t *one, const uint64_t *two)
{
	return memcmp(one, two, FOUND_MAX * sizeof(*one)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum content_kind kinds[] = { CONTENT_OTHER, CONTENT_PE, CONTENT_OLE,
						   CONTENT_PE };
	static struct found whole;
	static struct found again;
	if (object == NULL)
		start();
	if (size < 3)
		return 0;
	struct input input = { .bytes = data + 3,
			       .size = size - 3,
			       .kind = kinds[data[1] & 3],
			       .container = (data[1] & 4) != 0 ? CONTENT_ZIP : CONTENT_OTHER };
	const size_t split = input.size * data[2] / 256;
	look(&input, 0, &whole);
	input.seed = data[0] + 1;
	look(&input, 0, &again);
	require(is_same(whole.places, again.places), "cuts do not matter");
	look(&input, split, &again);
	require(is_same(whole.names, again.names), "nor when its kind is said");
	look_twice(&input, split, &again);
	require(is_same(whole.places, again.places), "nor does another object");
	return 0;
}
