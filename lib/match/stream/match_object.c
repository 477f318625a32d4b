/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/match.h"

#include <errno.h>
#include <hs/hs.h>
#include <stdlib.h>

#include "lib/content/pe.h"
#include "lib/match/stream/match_db.h"
#include "lib/match/stream/match_digest.h"
#include "lib/match/logic/siglogic.h"
#include "lib/match/logic/sigplace.h"

#define RING_SIZE	8  /* ends of a part that are kept, as ClamAV does */
#define PENDING_MAX	32 /* findings that wait until the object is known to be no harmless one */
#define BATCH_MAX	16 /* findings that are put in order */
#define PIECE_MAX	(1U << 30)
#define SECTION_DIGESTS 4    /* sections of a program that may overlap */
#define FIRST_SIZE	1024 /* of a program, that wait for its headers */
#define PAGE_SIZE	4096
#define VECTOR_SIZE	64 /* bytes of the largest that Vectorscan has */

struct match_worker {
	const struct match_db *db;
	hs_scratch_t *scratch; /* NULL without expressions */
};

struct pending {
	const char *name;
	uint64_t offset;
};

/* A section of a program, and which digest it has. */
struct hashed {
	struct pe_section section;
	unsigned digest;
};

/* What few objects use: it takes no page before. */
struct rare {
	struct hashed hashed[PE_SECTIONS]; /* by where they begin */
	uint8_t first[FIRST_SIZE];	   /* of what may be a program */
	struct pending batch[BATCH_MAX];   /* findings among the bytes of one push, by place */
	/* Findings, with hashes of harmless objects in the database. */
	struct pending pending[PENDING_MAX];
	/* Places that are kept for later, by their lower 32 bits: what is counted from them is less than 1 GiB away. */
	uint32_t rings[][RING_SIZE];
};

struct match_object {
	const struct match_worker *worker;
	const struct match_db *db;
	match_found_fn *found;
	void *context;
	hs_stream_t *streams[IMAGE_GROUP_COUNT]; /* NULL without expressions */
	bool is_open[IMAGE_GROUP_COUNT];	 /* may be for this object, as far as is known */
	uint64_t position;
	bool has_kind;
	bool is_ending;
	uint64_t kind; /* bits, as of a signature's */
	uint64_t container;
	struct match_digest digest;
	/* Programs for Windows. */
	struct pe pe;
	struct match_digest section_digests[SECTION_DIGESTS];
	unsigned hashed_count;
	uint64_t section_end; /* of the one that is looked up */
	unsigned held_size;   /* of .rare->first */
	/* Of .rare. */
	unsigned batch_count;
	unsigned pending_count;
	bool is_allowed;
	/* By numbers of the database, cleared together. */
	size_t cleared_size;
	uint32_t *slots; /* an end, and one; 0: none; the largest number for all behind 4 GiB */
	uint32_t *counters;
	uint32_t *is_counted; /* a bit for each content */
	uint32_t *is_found;   /* a bit for each signature */
	uint8_t *ring_counts;
	struct rare *rare; /* in front of these */
};

static bool has_bit(const uint32_t *bits, uint32_t number)
{
	return bits[number / 32] >> (number % 32) & 1;
}

static void set_bit(uint32_t *bits, uint32_t number)
{
	bits[number / 32] |= UINT32_C(1) << (number % 32);
}

/* ---- findings ---- */

static void report(struct match_object *object, const char *name, uint64_t offset)
{
	const struct match_finding finding = { .name = name, .offset = offset };
	if (!object->db->numbers[IMAGE_HAS_ALLOWED]) {
		object->found(object->context, &finding);
	} else if (object->pending_count < PENDING_MAX) {
		object->rare->pending[object->pending_count].name = name;
		object->rare->pending[object->pending_count++].offset = offset;
	}
}

/* What a push has found in one stream behind the other goes out in the order of the bytes. */
static void report_batch(struct match_object *object)
{
	for (unsigned i = 0; i < object->batch_count; i++)
		report(object, object->rare->batch[i].name, object->rare->batch[i].offset);
	object->batch_count = 0;
}

static void report_later(struct match_object *object, const char *name, uint64_t offset)
{
	if (object->batch_count == BATCH_MAX)
		report_batch(object);
	unsigned at = object->batch_count++;
	for (; at > 0 && object->rare->batch[at - 1].offset > offset; at--)
		object->rare->batch[at] = object->rare->batch[at - 1];
	object->rare->batch[at] = (struct pending){ .name = name, .offset = offset };
}

static void take_hash(void *context, uint32_t name, uint64_t size)
{
	struct match_object *object = context;
	if (name == IMAGE_NONE)
		object->is_allowed = true;
	else
		report(object, match_db_name(object->db, name), size);
}

static void take_section_hash(void *context, uint32_t name, uint64_t size)
{
	struct match_object *object = context;
	(void)size;
	if (name != IMAGE_NONE)
		report_later(object, match_db_name(object->db, name), object->section_end);
}

/* ---- signatures ---- */

static uint32_t count_of(const void *context, uint32_t number)
{
	const struct match_object *object = context;
	if (!has_bit(object->is_counted, number))
		return 0;
	const struct image_content content = match_db_content(object->db, number);
	return content.counter != IMAGE_NONE ? object->counters[content.counter] : 1;
}

static uint64_t mask_of(const uint32_t words[2])
{
	uint64_t mask = 0;
	memcpy(&mask, words, sizeof(mask));
	return mask;
}

static bool is_within(uint64_t number, const uint32_t range[2])
{
	return number >= range[0] && number <= range[1];
}

/* Is the object what the signature is for, as far as is known now? */
static bool is_for(const struct match_object *object, const struct image_signature *signature)
{
	const uint64_t kinds = mask_of(signature->kinds);
	const uint64_t containers = mask_of(signature->containers);
	const bool wants_pe = signature->flags & (IMAGE_HAS_ENTRY | IMAGE_HAS_SECTIONS);
	if (kinds != UINT64_MAX && !(object->has_kind && (kinds & object->kind)))
		return false;
	if (containers != UINT64_MAX && !(object->has_kind && (containers & object->container)))
		return false;
	if (wants_pe && object->pe.state != PE_READY)
		return false;
	if ((signature->flags & IMAGE_HAS_ENTRY) &&
	    (object->pe.entry == PE_NO_ENTRY || !is_within(object->pe.entry, signature->entry)))
		return false;
	if ((signature->flags & IMAGE_HAS_SECTIONS) &&
	    !is_within(object->pe.section_count, signature->sections))
		return false;
	return !(signature->flags & IMAGE_HAS_FILE_SIZE) ||
	       is_within(object->position, signature->file_size);
}

static void decide(struct match_object *object, uint32_t number, uint64_t offset)
{
	const struct match_db *db = object->db;
	if (has_bit(object->is_found, number) ||
	    (number >= db->numbers[IMAGE_EARLY_COUNT] && !object->is_ending))
		return;
	const struct image_signature signature = match_db_signature(db, number);
	if (!is_for(object, &signature) ||
	    !siglogic_decide(match_db_logic(db, signature.logic), signature.logic_count, count_of,
			     object))
		return;
	set_bit(object->is_found, number);
	report_later(object, match_db_name(db, signature.name), offset);
}

static void decide_users(struct match_object *object, const struct image_content *content,
			 uint64_t offset)
{
	for (uint32_t i = 0; i < content->user_count; i++)
		decide(object, match_db_user(object->db, content->user + i), offset);
}

/* All that may be true now, of contents that are there. */
static void decide_counted(struct match_object *object)
{
	const uint32_t words = (object->db->counts[IMAGE_CONTENTS] + 31) / 32;
	for (uint32_t i = 0; i < words; i++) {
		for (uint32_t bits = object->is_counted[i]; bits != 0; bits &= bits - 1) {
			const uint32_t number = 32 * i + (uint32_t)__builtin_ctz(bits);
			const struct image_content content = match_db_content(object->db, number);
			decide_users(object, &content, object->position);
		}
	}
}

/* ---- places ---- */

static bool section_range(const struct match_object *object, const struct image_content *content,
			  uint64_t *ret_min, uint64_t *ret_max)
{
	const struct pe *pe = &object->pe;
	const bool is_last = content->place == SIGPLACE_SECTION_LAST;
	const uint32_t number = is_last ? pe->section_count - 1 : content->section;
	if (pe->section_count == 0 || number >= pe->section_count)
		return false;
	const struct pe_section *section = &pe->sections[number];
	*ret_min = (uint64_t)section->raw_offset + content->value;
	*ret_max = *ret_min + content->shift;
	if (content->place == SIGPLACE_SECTION_WITHIN)
		*ret_max = *ret_min + section->raw_size + content->shift;
	return true;
}

/* Where a content may begin; false: not known, or nowhere. */
static bool place_range(const struct match_object *object, const struct image_content *content,
			uint64_t *ret_min, uint64_t *ret_max)
{
	if (content->place == SIGPLACE_ABSOLUTE) {
		*ret_min = content->value;
		*ret_max = *ret_min + content->shift;
		return true;
	}
	if (content->place == SIGPLACE_END) {
		if (object->position < content->value)
			return false;
		*ret_min = object->position - content->value;
		*ret_max = *ret_min + content->shift;
		return true;
	}
	if (object->pe.state != PE_READY)
		return false;
	if (content->place != SIGPLACE_ENTRY_PLUS && content->place != SIGPLACE_ENTRY_MINUS)
		return section_range(object, content, ret_min, ret_max);
	if (object->pe.entry == PE_NO_ENTRY ||
	    (content->place == SIGPLACE_ENTRY_MINUS && object->pe.entry < content->value))
		return false;
	*ret_min = content->place == SIGPLACE_ENTRY_PLUS ? object->pe.entry + content->value
							 : object->pe.entry - content->value;
	*ret_max = *ret_min + content->shift;
	return true;
}

static bool is_in_place(const struct match_object *object, const struct image_content *content,
			uint64_t start)
{
	uint64_t min = 0;
	uint64_t max = 0;
	return place_range(object, content, &min, &max) && start >= min && start <= max;
}

/* ---- parts ---- */

static void ring_add(struct match_object *object, uint32_t number, uint64_t at)
{
	uint8_t *count = &object->ring_counts[number];
	object->rare->rings[number][*count % RING_SIZE] = (uint32_t)at;
	(*count)++;
	if (*count == 2 * RING_SIZE)
		*count = RING_SIZE;
}

static unsigned ring_count(const struct match_object *object, uint32_t number)
{
	const unsigned count = object->ring_counts[number];
	return count < RING_SIZE ? count : RING_SIZE;
}

/* One more of a content; a signature of it may be true now. */
static void count_content(struct match_object *object, uint32_t number,
			  const struct image_content *content, uint64_t offset)
{
	if (content->counter != IMAGE_NONE) {
		uint32_t *counter = &object->counters[content->counter];
		if (*counter >= content->cap)
			return;
		(*counter)++;
	} else if (has_bit(object->is_counted, number)) {
		return;
	}
	set_bit(object->is_counted, number);
	decide_users(object, content, offset);
}

/* Is there an end of the part before this one in the right distance? */
static bool follows(const struct match_object *object, const struct image_part *part,
		    uint64_t start)
{
	if (part->gap_max == IMAGE_FAR) {
		const uint64_t end = object->slots[part->before_slot];
		return end != 0 && start + 1 >= end + part->gap_min;
	}
	const uint32_t *ring = object->rare->rings[part->before_ring];
	for (unsigned i = 0; i < ring_count(object, part->before_ring); i++) {
		const uint32_t gap = (uint32_t)start - ring[i];
		if (gap >= part->gap_min && gap <= part->gap_max)
			return true;
	}
	return false;
}

/* Is the beginning where the content's place is? One that is before the end is kept for later. */
static bool begins_in_place(struct match_object *object, const struct image_part *part,
			    uint64_t start)
{
	const struct image_content content = match_db_content(object->db, part->content);
	if (content.place != SIGPLACE_END)
		return is_in_place(object, &content, start);
	ring_add(object, content.ring, start);
	return false;
}

/*
 * A part has been found: its content is, or the parts behind it may come. Most of what Vectorscan
 * reports ends at the first two questions.
 */
static void take_part(struct match_object *object, uint32_t number, uint64_t start, uint64_t end,
		      uint64_t offset)
{
	const struct image_part part = match_db_part(object->db, number);
	if (!(part.flags & IMAGE_PART_FIRST) && !follows(object, &part, start))
		return;
	if ((part.flags & IMAGE_PART_ONCE) && has_bit(object->is_counted, part.content))
		return;
	if ((part.flags & IMAGE_PART_PLACED) && !begins_in_place(object, &part, start))
		return;
	if (part.flags & IMAGE_PART_LAST) {
		const struct image_content content = match_db_content(object->db, part.content);
		count_content(object, part.content, &content, offset);
	}
	if (part.slot != IMAGE_NONE && object->slots[part.slot] == 0)
		object->slots[part.slot] = end < UINT32_MAX ? (uint32_t)end + 1 : UINT32_MAX;
	if (part.ring != IMAGE_NONE)
		ring_add(object, part.ring, end);
}

/* Vectorscan's callback. */
static int take_pattern(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
			void *context)
{
	struct match_object *object = context;
	const struct match_db *db = object->db;
	(void)from;
	(void)flags;
	if (id >= db->counts[IMAGE_PATTERNS])
		return 0;
	const struct image_pattern pattern = match_db_pattern(db, id);
	for (uint32_t i = 0; i < pattern.use_count; i++) {
		const struct image_use use = match_db_use(db, pattern.use + i);
		const uint64_t end = to - use.tail;
		const uint64_t start = use.length != IMAGE_NONE ? end - use.length : end;
		take_part(object, use.part, start, end, to);
	}
	return 0;
}

/* Those that begin so many bytes before the end. */
static void take_rings(struct match_object *object)
{
	const struct match_db *db = object->db;
	for (uint32_t i = 0; i < db->counts[IMAGE_CONTENTS] && db->has_ends; i++) {
		const struct image_content content = match_db_content(db, i);
		if (content.place != SIGPLACE_END)
			continue;
		const uint32_t *ring = object->rare->rings[content.ring];
		for (unsigned k = 0; k < ring_count(object, content.ring); k++) {
			const uint32_t back = (uint32_t)object->position - ring[k];
			if (is_in_place(object, &content, object->position - back))
				count_content(object, i, &content, object->position);
		}
	}
}

/* ---- sections of programs ---- */

static uint64_t end_of(const struct pe_section *section)
{
	return (uint64_t)section->raw_offset + section->raw_size;
}

/* By where they begin. One that has begun already, with a part of long headers, has no hash. */
static void sort_sections(struct match_object *object)
{
	const struct pe_section *sections = object->pe.sections;
	object->hashed_count = 0;
	for (unsigned i = 0; i < object->pe.section_count; i++) {
		if (sections[i].raw_size == 0 || sections[i].raw_offset < object->position)
			continue;
		unsigned at = object->hashed_count++;
		for (; at > 0 &&
		       object->rare->hashed[at - 1].section.raw_offset > sections[i].raw_offset;
		     at--)
			object->rare->hashed[at] = object->rare->hashed[at - 1];
		object->rare->hashed[at].section = sections[i];
	}
}

/* Those that overlap have a digest each; one that more of them overlap than there are has none. */
static void give_digests(struct match_object *object)
{
	unsigned count = 0;
	sort_sections(object);
	for (unsigned i = 0; i < object->hashed_count; i++) {
		struct hashed *to = &object->rare->hashed[count];
		unsigned taken = 0;
		*to = object->rare->hashed[i];
		for (unsigned k = 0; k < count; k++)
			if (end_of(&object->rare->hashed[k].section) > to->section.raw_offset)
				taken |= 1U << object->rare->hashed[k].digest;
		for (to->digest = 0; taken >> to->digest & 1; to->digest++)
			continue;
		count += to->digest < SECTION_DIGESTS;
	}
	object->hashed_count = count;
}

static void end_section(struct match_object *object, const struct hashed *hashed, uint64_t end)
{
	object->section_end = end;
	match_digest_end(&object->section_digests[hashed->digest], take_section_hash, object);
}

/* What of these bytes is in a section goes into its hash. */
static void hash_section(struct match_object *object, const struct hashed *hashed,
			 const uint8_t *bytes, size_t size)
{
	struct match_digest *digest = &object->section_digests[hashed->digest];
	const uint64_t begin = hashed->section.raw_offset;
	const uint64_t end = end_of(&hashed->section);
	const uint64_t stop = object->position + size < end ? object->position + size : end;
	const uint64_t at = object->position > begin ? object->position : begin;
	if (at >= stop)
		return;
	if (at == begin)
		match_digest_begin(digest);
	match_digest_push(digest, bytes + (at - object->position), (size_t)(stop - at));
	if (stop == end)
		end_section(object, hashed, end);
}

/* Sections that were to go on behind the end have ended there, as ClamAV has it. */
static void end_sections(struct match_object *object)
{
	for (unsigned i = 0; i < object->hashed_count; i++) {
		const struct hashed *hashed = &object->rare->hashed[i];
		if (hashed->section.raw_offset < object->position &&
		    end_of(&hashed->section) > object->position)
			end_section(object, hashed, object->position);
	}
}

/* ---- objects ---- */

int match_worker_new(const struct match_db *db, struct match_worker **ret_worker)
{
	struct match_worker *worker = calloc(1, sizeof(*worker));
	if (worker == NULL)
		return -ENOMEM;
	worker->db = db;
	for (unsigned i = 0; i < IMAGE_GROUP_COUNT; i++) {
		if (db->hs[i] != NULL &&
		    hs_alloc_scratch(db->hs[i], &worker->scratch) != HS_SUCCESS) {
			match_worker_free(worker);
			return -ENOMEM;
		}
	}
	*ret_worker = worker;
	return 0;
}

void match_worker_free(struct match_worker *worker)
{
	if (worker == NULL)
		return;
	hs_free_scratch(worker->scratch);
	free(worker);
}

static size_t cleared_size(const struct match_db *db)
{
	const size_t words = db->numbers[IMAGE_SLOT_COUNT] + db->numbers[IMAGE_COUNTER_COUNT] +
			     (db->counts[IMAGE_CONTENTS] + 31) / 32 +
			     (db->counts[IMAGE_SIGNATURES] + 31) / 32;
	return words * sizeof(uint32_t) + db->numbers[IMAGE_RING_COUNT];
}

/* In whole pages. */
static size_t memory_size(const struct match_db *db)
{
	const size_t size = sizeof(struct rare) +
			    db->numbers[IMAGE_RING_COUNT] * RING_SIZE * sizeof(uint32_t) +
			    cleared_size(db);
	return (size + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
}

size_t match_object_size(const struct match_db *db)
{
	return sizeof(struct match_object) + memory_size(db) + db->numbers[IMAGE_STREAM_SIZE];
}

/* What is cleared comes last, and so is on as few pages as can be. */
static int give_memory(struct match_object *object)
{
	const struct match_db *db = object->db;
	const size_t size = memory_size(db);
	uint8_t *memory = aligned_alloc(PAGE_SIZE, size);
	if (memory == NULL)
		return -ENOMEM;
	object->rare = (struct rare *)(void *)memory;
	object->cleared_size = cleared_size(db);
	object->slots = (uint32_t *)(void *)(memory + (size - object->cleared_size) / 4 * 4);
	object->counters = object->slots + db->numbers[IMAGE_SLOT_COUNT];
	object->is_counted = object->counters + db->numbers[IMAGE_COUNTER_COUNT];
	object->is_found = object->is_counted + (db->counts[IMAGE_CONTENTS] + 31) / 32;
	object->ring_counts =
		(uint8_t *)(object->is_found + (db->counts[IMAGE_SIGNATURES] + 31) / 32);
	return 0;
}

int match_object_new(struct match_worker *worker, struct match_object **ret_object)
{
	struct match_object *object = calloc(1, sizeof(*object));
	if (object == NULL)
		return -ENOMEM;
	object->worker = worker;
	object->db = worker->db;
	int status = give_memory(object);
	if (status == 0)
		status = match_digest_new(&object->digest, worker->db, MATCH_DIGEST_OBJECT);
	for (unsigned i = 0; i < SECTION_DIGESTS && status == 0; i++)
		status = match_digest_new(&object->section_digests[i], worker->db,
					  MATCH_DIGEST_SECTION);
	for (unsigned i = 0; i < IMAGE_GROUP_COUNT && status == 0; i++)
		if (worker->db->hs[i] != NULL &&
		    hs_open_stream(worker->db->hs[i], 0, &object->streams[i]) != HS_SUCCESS)
			status = -ENOMEM;
	if (status != 0) {
		match_object_free(object);
		return status;
	}
	*ret_object = object;
	return 0;
}

void match_object_free(struct match_object *object)
{
	if (object == NULL)
		return;
	for (unsigned i = 0; i < IMAGE_GROUP_COUNT; i++)
		if (object->streams[i] != NULL)
			hs_close_stream(object->streams[i], NULL, NULL, NULL);
	match_digest_free(&object->digest);
	for (unsigned i = 0; i < SECTION_DIGESTS; i++)
		match_digest_free(&object->section_digests[i]);
	free(object->rare);
	free(object);
}

void match_begin(struct match_object *object, match_found_fn *found, void *context)
{
	object->found = found;
	object->context = context;
	object->position = 0;
	object->has_kind = false;
	object->is_ending = false;
	object->batch_count = 0;
	object->pending_count = 0;
	object->is_allowed = false;
	memset(object->slots, 0, object->cleared_size);
	for (unsigned i = 0; i < IMAGE_GROUP_COUNT; i++) {
		object->is_open[i] = object->streams[i] != NULL;
		if (object->is_open[i])
			hs_reset_stream(object->streams[i], 0, NULL, NULL, NULL);
	}
	match_digest_begin(&object->digest);
	pe_begin(&object->pe);
	object->hashed_count = 0;
	object->held_size = 0;
}

void match_copy(struct match_object *object, const struct match_object *from, match_found_fn *found,
		void *context)
{
	object->found = found;
	object->context = context;
	object->position = from->position;
	object->has_kind = from->has_kind;
	object->is_ending = false;
	object->kind = from->kind;
	object->container = from->container;
	object->pe = from->pe;
	object->section_end = from->section_end;
	object->batch_count = 0;
	memcpy(object->rare->pending, from->rare->pending,
	       from->pending_count * sizeof(from->rare->pending[0]));
	object->pending_count = from->pending_count;
	object->is_allowed = from->is_allowed;
	memcpy(object->slots, from->slots, object->cleared_size);
	for (uint32_t i = 0; i < object->db->numbers[IMAGE_RING_COUNT]; i++)
		if (object->ring_counts[i] > 0)
			memcpy(object->rare->rings[i], from->rare->rings[i],
			       RING_SIZE * sizeof(uint32_t));
	for (unsigned i = 0; i < IMAGE_GROUP_COUNT; i++) {
		object->is_open[i] = from->is_open[i];
		if (object->is_open[i])
			hs_reset_and_copy_stream(object->streams[i], from->streams[i], NULL, NULL,
						 NULL);
	}
	object->held_size = from->held_size;
	memcpy(object->rare->first, from->rare->first, from->held_size);
	match_digest_copy(&object->digest, &from->digest);
	for (unsigned i = 0; i < SECTION_DIGESTS; i++)
		match_digest_copy(&object->section_digests[i], &from->section_digests[i]);
	memcpy(object->rare->hashed, from->rare->hashed,
	       from->hashed_count * sizeof(from->rare->hashed[0]));
	object->hashed_count = from->hashed_count;
}

void match_set_kind(struct match_object *object, enum content_kind kind,
		    enum content_kind container)
{
	object->has_kind = true;
	object->kind = UINT64_C(1) << kind;
	object->container = UINT64_C(1) << container;
	if (kind != CONTENT_OLE)
		object->is_open[IMAGE_OLE] = false;
	if (container == CONTENT_OTHER)
		object->is_open[IMAGE_CONTAINED] = false;
	decide_counted(object);
	report_batch(object);
}

static void scan(struct match_object *object, const uint8_t *bytes, size_t size)
{
	for (unsigned i = 0; i < IMAGE_GROUP_COUNT && size > 0; i++)
		if (object->is_open[i])
			hs_scan_stream(object->streams[i], (const char *)bytes, (unsigned)size, 0,
				       object->worker->scratch, take_pattern, object);
}

/*
 * What stands behind the last whole vector goes to Vectorscan by itself. With AVX-512, its version 5.4.9
 * looks for the byte that ends a run, such as of [^']*, in whole vectors, whose places are multiples of
 * their size in memory, and passes over it in what is left of the piece. In less than a vector it looks
 * at one byte after the other.
 */
static void push_piece(struct match_object *object, const uint8_t *bytes, size_t size)
{
	const size_t behind = ((uintptr_t)bytes + size) % VECTOR_SIZE;
	const size_t whole = size > behind ? size - behind : 0;
	match_digest_push(&object->digest, bytes, size);
	for (unsigned i = 0; i < object->hashed_count; i++)
		hash_section(object, &object->rare->hashed[i], bytes, size);
	scan(object, bytes, whole);
	scan(object, bytes + whole, size - whole);
	report_batch(object);
	object->position += size;
}

static void know_sections(struct match_object *object)
{
	if (object->pe.state == PE_READY && object->db->has_section_hashes)
		give_digests(object);
}

/*
 * The first bytes of a program wait for its headers, as code and sections may stand in them and before them. Of
 * longer headers what is found is found before entry point and sections are known, wherever the bytes are cut.
 */
static void let_go(struct match_object *object)
{
	const unsigned size = object->held_size;
	object->held_size = 0;
	know_sections(object);
	push_piece(object, object->rare->first, size);
}

static size_t hold(struct match_object *object, const uint8_t *bytes, size_t size)
{
	const size_t room = FIRST_SIZE - object->held_size;
	const size_t some = size < room ? size : room;
	pe_push(&object->pe, bytes, some);
	if (object->pe.state == PE_NOT && object->held_size == 0)
		return 0;
	memcpy(object->rare->first + object->held_size, bytes, some);
	object->held_size += (unsigned)some;
	if (object->pe.state != PE_MORE || object->held_size == FIRST_SIZE)
		let_go(object);
	return some;
}

static size_t push_headers(struct match_object *object, const uint8_t *bytes, size_t size)
{
	struct pe pe = object->pe;
	size_t used = 0;
	while (used < size && pe.state == PE_MORE)
		pe_push(&pe, bytes + used++, 1);
	push_piece(object, bytes, used);
	object->pe = pe;
	know_sections(object);
	return used;
}

void match_push(struct match_object *object, const uint8_t *bytes, size_t size)
{
	while (object->pe.state == PE_MORE && size > 0 && object->db->numbers[IMAGE_WANTS_PE]) {
		const size_t used = object->position == 0 ? hold(object, bytes, size)
							  : push_headers(object, bytes, size);
		bytes += used;
		size -= used;
	}
	while (size > 0) {
		const size_t piece = size < PIECE_MAX ? size : PIECE_MAX;
		push_piece(object, bytes, piece);
		bytes += piece;
		size -= piece;
	}
}

void match_end(struct match_object *object)
{
	const struct match_db *db = object->db;
	if (object->held_size > 0)
		let_go(object);
	/* What is only known to be at the end is found now. */
	for (unsigned i = 0; i < IMAGE_GROUP_COUNT; i++)
		if (object->is_open[i])
			hs_reset_stream(object->streams[i], 0, object->worker->scratch,
					take_pattern, object);
	take_rings(object);
	end_sections(object);
	object->is_ending = true;
	decide_counted(object);
	for (uint32_t i = db->numbers[IMAGE_EARLY_COUNT]; i < db->counts[IMAGE_SIGNATURES]; i++)
		decide(object, i, object->position);
	report_batch(object);
	match_digest_end(&object->digest, take_hash, object);
	for (unsigned i = 0; i < object->pending_count && !object->is_allowed; i++) {
		const struct match_finding finding = { .name = object->rare->pending[i].name,
						       .offset = object->rare->pending[i].offset };
		object->found(object->context, &finding);
	}
	object->pending_count = 0;
}
