/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/compiler/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <hs/hs.h>
#include <stdlib.h>

#include "lib/content/kind.h"
#include "lib/format/array.h"

#define TRIGGER_DEPTH 4 /* expressions whose triggers name others */

/* One use of a pattern by a part, or of a content by a signature. */
struct link {
	uint32_t from;
	uint32_t number;
	uint32_t length;
	uint32_t tail;
};

struct links {
	struct link *at;
	size_t count;
	size_t room;
};

struct maker {
	struct tables *tables;
	void *names; /* trees of sigtext.h */
	void *contents;
	void *patterns;
	struct image_content *content;
	size_t content_count;
	size_t content_room;
	struct image_part *part;
	size_t part_count;
	size_t part_room;
	struct links uses;
	struct links users;
	size_t expression_room;
	unsigned group; /* of the signature that is added */
	bool is_failed;
};

/* ---- things that are there once ---- */

/* For one more; array is the address of a pointer. */
static void grow(struct maker *maker, void *array, size_t count, size_t *room, size_t size)
{
	if (!array_grow(array, size, count + 1, room))
		maker->is_failed = true;
}

static void add_link(struct maker *maker, struct links *links, struct link link)
{
	grow(maker, &links->at, links->count, &links->room, sizeof(*links->at));
	if (!maker->is_failed)
		links->at[links->count++] = link;
}

static void add_bytes(struct maker *maker, enum image_section section, const void *bytes,
		      size_t size)
{
	struct sigtext *text = &maker->tables->sections[section];
	sigtext_add(text, bytes, size);
	if (text->is_failed || text->size > UINT32_MAX)
		maker->is_failed = true;
}

static uint32_t name_of(struct maker *maker, const char *name)
{
	struct signame *node = signame_get(&maker->names, name);
	if (node == NULL) {
		maker->is_failed = true;
		return IMAGE_NONE;
	}
	if (node->number == SIGNAME_NEW) {
		node->number = (uint32_t)maker->tables->sections[IMAGE_NAMES].size;
		add_bytes(maker, IMAGE_NAMES, name, strlen(name) + 1);
	}
	return node->number;
}

static uint32_t pattern_of(struct maker *maker, const char *expression, unsigned flags,
			   struct tables_ends ends)
{
	struct sigtext key = { .bytes = NULL };
	struct tables *tables = maker->tables;
	sigtext_say(&key, "%u %x %" PRIu64 " %" PRIu64 " ", maker->group, flags, ends.min,
		    ends.max);
	sigtext_add(&key, expression, strlen(expression));
	struct signame *node = key.is_failed ? NULL : signame_get(&maker->patterns, key.bytes);
	sigtext_free(&key);
	if (node == NULL) {
		maker->is_failed = true;
		return IMAGE_NONE;
	}
	if (node->number != SIGNAME_NEW)
		return node->number;
	size_t room = maker->expression_room;
	size_t ends_room = room;
	size_t groups_room = room;
	grow(maker, &tables->expressions, tables->expression_count, &room,
	     sizeof(*tables->expressions));
	grow(maker, &tables->ends, tables->expression_count, &ends_room, sizeof(*tables->ends));
	grow(maker, &tables->groups, tables->expression_count, &groups_room,
	     sizeof(*tables->groups));
	grow(maker, &tables->flags, tables->expression_count, &maker->expression_room,
	     sizeof(*tables->flags));
	if (maker->is_failed)
		return IMAGE_NONE;
	tables->expressions[tables->expression_count] = expression;
	tables->flags[tables->expression_count] = flags;
	tables->ends[tables->expression_count] = ends;
	tables->groups[tables->expression_count] = (uint8_t)maker->group;
	node->number = (uint32_t)tables->expression_count++;
	return node->number;
}

/* ---- contents ---- */

static char *key_of(const struct siglist_sub *sub, unsigned group)
{
	struct sigtext key = { .bytes = NULL };
	sigtext_say(&key, "%u %u %u %u %u %u %c", group, sub->place.kind, sub->place.section,
		    sub->place.value, sub->place.shift, sub->flags & SIGBODY_NOCASE,
		    sub->regex != NULL ? 'r' : 'b');
	if (sub->regex != NULL) {
		sigtext_say(&key, "%x ", sub->regex_flags);
		sigtext_add(&key, sub->regex, strlen(sub->regex));
	}
	for (unsigned b = 0; b < sub->body_count; b++) {
		for (size_t i = 0; i < sub->bodies[b].part_count; i++) {
			const struct sigbody_part *part = &sub->bodies[b].parts[i];
			sigtext_say(&key, "\n%c%u %u", i == 0 ? 'f' : ' ', part->gap_min,
				    part->gap_max);
			for (size_t k = 0; k < part->variant_count; k++) {
				const struct sigbody_variant *variant = &part->variants[k];
				sigtext_say(&key, "\n%u %u ", variant->length, variant->tail);
				sigtext_add(&key, variant->expression, strlen(variant->expression));
			}
		}
	}
	if (key.is_failed)
		sigtext_free(&key);
	return key.bytes;
}

static struct image_part *add_part(struct maker *maker, uint32_t content)
{
	grow(maker, &maker->part, maker->part_count, &maker->part_room, sizeof(*maker->part));
	if (maker->is_failed)
		return NULL;
	struct image_part *part = &maker->part[maker->part_count++];
	memset(part, 0, sizeof(*part));
	part->content = content;
	part->gap_max = IMAGE_FAR;
	part->slot = IMAGE_NONE;
	part->ring = IMAGE_NONE;
	part->before_slot = IMAGE_NONE;
	part->before_ring = IMAGE_NONE;
	return part;
}

/* Where it ends in the object when it begins at its place; Vectorscan looks nowhere else then. */
static struct tables_ends ends_of(const struct image_content *content,
				  const struct image_part *part, uint32_t length, uint32_t tail)
{
	struct tables_ends ends = { .min = 0, .max = UINT64_MAX };
	if (content->place != SIGPLACE_ABSOLUTE || !(part->flags & IMAGE_PART_FIRST) ||
	    length == IMAGE_NONE)
		return ends;
	ends.min = (uint64_t)content->value + length + tail;
	ends.max = ends.min + content->shift;
	return ends;
}

static void add_use(struct maker *maker, const char *expression, unsigned flags, uint32_t length,
		    uint32_t tail)
{
	const struct image_part *part = &maker->part[maker->part_count - 1];
	const struct tables_ends ends = ends_of(&maker->content[part->content], part, length, tail);
	const struct link link = { .from = pattern_of(maker, expression, flags, ends),
				   .number = (uint32_t)maker->part_count - 1,
				   .length = length,
				   .tail = tail };
	add_link(maker, &maker->uses, link);
}

static void add_body(struct maker *maker, const struct sigbody *body, uint32_t content,
		     unsigned flags)
{
	for (size_t i = 0; i < body->part_count; i++) {
		const struct sigbody_part *from = &body->parts[i];
		struct image_part *part = add_part(maker, content);
		if (part == NULL)
			return;
		part->flags = (i == 0 ? IMAGE_PART_FIRST : 0) |
			      (i + 1 == body->part_count ? IMAGE_PART_LAST : 0);
		if (i == 0 && maker->content[content].place != SIGPLACE_ANY)
			part->flags |= IMAGE_PART_PLACED;
		if (i > 0) {
			part->before_slot = part[-1].slot;
			part->before_ring = part[-1].ring;
		}
		part->gap_min = from->gap_min;
		part->gap_max = from->gap_max;
		/* The first end is the best one before any number of bytes. */
		if (i + 1 < body->part_count && from[1].gap_max == SIGBODY_FAR)
			part->slot = maker->tables->numbers[IMAGE_SLOT_COUNT]++;
		else if (i + 1 < body->part_count)
			part->ring = maker->tables->numbers[IMAGE_RING_COUNT]++;
		for (size_t k = 0; k < from->variant_count; k++)
			add_use(maker, from->variants[k].expression, flags,
				from->variants[k].length, from->variants[k].tail);
	}
}

static void add_parts(struct maker *maker, const struct siglist_sub *sub, uint32_t content)
{
	const unsigned flags =
		HS_FLAG_DOTALL | (sub->flags & SIGBODY_NOCASE ? HS_FLAG_CASELESS : 0);
	if (sub->regex != NULL) {
		struct image_part *part = add_part(maker, content);
		if (part == NULL)
			return;
		part->flags = IMAGE_PART_FIRST | IMAGE_PART_LAST;
		add_use(maker, sub->regex, sub->regex_flags, IMAGE_NONE, 0);
	}
	for (unsigned i = 0; i < sub->body_count; i++)
		add_body(maker, &sub->bodies[i], content, flags);
}

/* The number of what a sub-signature looks for. */
static uint32_t content_of(struct maker *maker, const struct siglist_sub *sub)
{
	char *key = key_of(sub, maker->group);
	struct signame *node = key != NULL ? signame_get(&maker->contents, key) : NULL;
	free(key);
	grow(maker, &maker->content, maker->content_count, &maker->content_room,
	     sizeof(*maker->content));
	if (node == NULL || maker->is_failed) {
		maker->is_failed = true;
		return 0;
	}
	if (node->number != SIGNAME_NEW)
		return node->number;
	node->number = (uint32_t)maker->content_count;
	struct image_content *content = &maker->content[maker->content_count++];
	memset(content, 0, sizeof(*content));
	content->place = sub->place.kind;
	content->section = sub->place.section;
	content->value = sub->place.value;
	content->shift = sub->place.shift;
	content->cap = 1;
	content->counter = IMAGE_NONE;
	content->ring = IMAGE_NONE;
	if (sub->place.kind == SIGPLACE_END)
		content->ring = maker->tables->numbers[IMAGE_RING_COUNT]++;
	else if (sub->place.kind > SIGPLACE_END)
		maker->tables->numbers[IMAGE_WANTS_PE] = 1;
	content->part = (uint32_t)maker->part_count;
	add_parts(maker, sub, node->number);
	maker->content[node->number].part_count =
		(uint32_t)maker->part_count - maker->content[node->number].part;
	return node->number;
}

/* ---- signatures ---- */

/*
 * A program of numbers of sub-signatures becomes one of contents; before an expression stands the
 * program of its trigger. Bounded by depth.
 */
static void expand(const struct siglist_signature *signature, const uint32_t *contents,
		   const struct sigwords *program, int depth, struct sigwords *ret_words)
{
	for (size_t i = 0; i < program->count && ret_words->count <= SIGLOGIC_WORDS_MAX;) {
		const uint32_t word = program->at[i];
		const size_t arguments = siglogic_arguments(siglogic_code(word));
		if (siglogic_code(word) == SIGLOGIC_COUNT) {
			const uint32_t sub = siglogic_sub(word);
			const struct sigwords *trigger = &signature->subs[sub].trigger;
			const bool is_gated = trigger->count > 0 && depth < TRIGGER_DEPTH;
			if (is_gated)
				expand(signature, contents, trigger, depth + 1, ret_words);
			sigwords_add(
				ret_words,
				siglogic_word(is_gated ? SIGLOGIC_GATED : SIGLOGIC_COUNT, sub));
			sigwords_add(ret_words, contents[sub]);
		} else {
			for (size_t k = 0; k <= arguments; k++)
				sigwords_add(ret_words, program->at[i + k]);
		}
		i += 1 + arguments;
	}
}

bool tables_has_room(const struct siglist_signature *signature)
{
	const uint32_t contents[SIGLOGIC_SUBS_MAX] = { 0 };
	struct sigwords program = { .at = NULL };
	expand(signature, contents, &signature->logic, 0, &program);
	const bool has_room = !program.is_failed && siglogic_check(program.at, program.count, 1);
	sigwords_free(&program);
	return has_room;
}

static void set_range(const struct sigtarget_range *range, uint32_t flag, uint32_t *flags,
		      uint32_t *ret_words)
{
	ret_words[0] = range->min;
	ret_words[1] = range->is_set ? range->max : UINT32_MAX;
	if (range->is_set)
		*flags |= flag;
}

static bool is_early(const struct siglist_signature *signature)
{
	if (signature->target.file_size.is_set ||
	    !siglogic_is_monotone(signature->logic.at, signature->logic.count))
		return false;
	for (unsigned i = 0; i < signature->sub_count; i++)
		if (!siglogic_is_monotone(signature->subs[i].trigger.at,
					  signature->subs[i].trigger.count))
			return false;
	return true;
}

static void raise_caps(struct maker *maker, const struct siglist_signature *signature,
		       const uint32_t *contents, const struct sigwords *program)
{
	uint32_t caps[SIGLOGIC_SUBS_MAX];
	siglogic_caps(program->at, program->count, caps);
	for (unsigned i = 0; i < signature->sub_count; i++) {
		struct image_content *content = &maker->content[contents[i]];
		/* An expression is there or not, however often Vectorscan finds an end of it. */
		if (content->cap < caps[i] && signature->subs[i].regex == NULL)
			content->cap = caps[i];
	}
}

static void add_signature(struct maker *maker, const struct siglist_signature *signature,
			  uint32_t number)
{
	uint32_t contents[SIGLOGIC_SUBS_MAX] = { 0 };
	struct sigwords program = { .at = NULL };
	struct image_signature record;
	for (unsigned i = 0; i < signature->sub_count && !maker->is_failed; i++) {
		contents[i] = content_of(maker, &signature->subs[i]);
		const struct link link = { .from = contents[i], .number = number };
		add_link(maker, &maker->users, link);
	}
	expand(signature, contents, &signature->logic, 0, &program);
	if (maker->is_failed || program.is_failed) {
		maker->is_failed = true;
		sigwords_free(&program);
		return;
	}
	raise_caps(maker, signature, contents, &program);
	const struct sigtarget *target = &signature->target;
	memset(&record, 0, sizeof(record));
	record.name = name_of(maker, signature->name);
	record.flags = is_early(signature) ? 0 : IMAGE_AT_END;
	memcpy(record.kinds, &target->kinds, sizeof(record.kinds));
	memcpy(record.containers, &target->containers, sizeof(record.containers));
	record.logic = (uint32_t)(maker->tables->sections[IMAGE_LOGIC].size / sizeof(uint32_t));
	record.logic_count = (uint32_t)program.count;
	set_range(&target->file_size, IMAGE_HAS_FILE_SIZE, &record.flags, record.file_size);
	set_range(&target->entry_point, IMAGE_HAS_ENTRY, &record.flags, record.entry);
	set_range(&target->sections, IMAGE_HAS_SECTIONS, &record.flags, record.sections);
	if (record.flags & (IMAGE_HAS_ENTRY | IMAGE_HAS_SECTIONS))
		maker->tables->numbers[IMAGE_WANTS_PE] = 1;
	add_bytes(maker, IMAGE_LOGIC, program.at, program.count * sizeof(*program.at));
	add_bytes(maker, IMAGE_SIGNATURES, &record, sizeof(record));
	sigwords_free(&program);
}

static unsigned group_of(const struct sigtarget *target)
{
	if (target->kinds == UINT64_C(1) << CONTENT_OLE)
		return IMAGE_OLE;
	const bool is_contained = !(target->containers & UINT64_C(1) << CONTENT_OTHER);
	return is_contained ? IMAGE_CONTAINED : IMAGE_ALL;
}

static void add_signatures(struct maker *maker, const struct siglist *list)
{
	uint32_t number = 0;
	for (int is_late = 0; is_late < 2; is_late++) {
		for (size_t i = 0; i < list->signature_count; i++) {
			const struct siglist_signature *signature = &list->signatures[i];
			if (signature->is_ignored || is_early(signature) != !is_late)
				continue;
			maker->group = group_of(&signature->target);
			add_signature(maker, signature, number++);
		}
		if (!is_late)
			maker->tables->numbers[IMAGE_EARLY_COUNT] = number;
	}
	maker->tables->numbers[IMAGE_SIGNATURE_COUNT] = number;
}

/* ---- links and hashes ---- */

static int compare_links(const void *left, const void *right)
{
	const struct link *a = left;
	const struct link *b = right;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void write_uses(struct maker *maker)
{
	const struct links *uses = &maker->uses;
	if (uses->count > 0)
		qsort(uses->at, uses->count, sizeof(*uses->at), compare_links);
	size_t at = 0;
	for (uint32_t i = 0; i < maker->tables->expression_count; i++) {
		struct image_pattern pattern = { .use = (uint32_t)at };
		for (; at < uses->count && uses->at[at].from == i; at++) {
			const struct image_use use = { .part = uses->at[at].number,
						       .length = uses->at[at].length,
						       .tail = uses->at[at].tail };
			add_bytes(maker, IMAGE_USES, &use, sizeof(use));
			pattern.use_count++;
		}
		add_bytes(maker, IMAGE_PATTERNS, &pattern, sizeof(pattern));
	}
}

static void write_contents(struct maker *maker)
{
	const struct links *users = &maker->users;
	if (users->count > 0)
		qsort(users->at, users->count, sizeof(*users->at), compare_links);
	size_t at = 0;
	for (uint32_t i = 0; i < maker->content_count; i++) {
		struct image_content *content = &maker->content[i];
		content->user = (uint32_t)at;
		for (; at < users->count && users->at[at].from == i; at++) {
			add_bytes(maker, IMAGE_USERS, &users->at[at].number, sizeof(uint32_t));
			content->user_count++;
		}
		if (content->cap > 1)
			content->counter = maker->tables->numbers[IMAGE_COUNTER_COUNT]++;
		add_bytes(maker, IMAGE_CONTENTS, content, sizeof(*content));
	}
	for (size_t i = 0; i < maker->part_count; i++) {
		struct image_part *part = &maker->part[i];
		if ((part->flags & IMAGE_PART_LAST) && maker->content[part->content].cap == 1)
			part->flags |= IMAGE_PART_ONCE;
		add_bytes(maker, IMAGE_PARTS, part, sizeof(*part));
	}
}

struct sorted {
	const struct siglist_hash *hash;
};

static int compare_hashes(const void *left, const void *right)
{
	const struct siglist_hash *a = ((const struct sorted *)left)->hash;
	const struct siglist_hash *b = ((const struct sorted *)right)->hash;
	const int order = memcmp(a->digest, b->digest, SIGLINE_DIGEST);
	if (order != 0)
		return order;
	return a->size < b->size ? -1 : a->size > b->size;
}

static void add_hash(struct maker *maker, const struct siglist_hash *hash)
{
	const unsigned kind = hash->digest_size == 16 ? 0 : hash->digest_size == 20 ? 1 : 2;
	const struct image_hash record = { .size = hash->size,
					   .name = hash->name != NULL ? name_of(maker, hash->name)
								      : IMAGE_NONE };
	const unsigned section = (hash->is_section ? IMAGE_SECTION_MD5 : IMAGE_MD5) + kind;
	add_bytes(maker, section, hash->digest, hash->digest_size);
	add_bytes(maker, section, &record, sizeof(record));
	if (hash->name == NULL)
		maker->tables->numbers[IMAGE_HAS_ALLOWED] = 1;
	else
		maker->tables->numbers[IMAGE_SIGNATURE_COUNT]++;
	if (hash->is_section)
		maker->tables->numbers[IMAGE_WANTS_PE] = 1;
}

static void add_hashes(struct maker *maker, const struct siglist *list)
{
	struct sorted *sorted = calloc(list->hash_count + 1, sizeof(*sorted));
	size_t count = 0;
	if (sorted == NULL) {
		maker->is_failed = true;
		return;
	}
	for (size_t i = 0; i < list->hash_count; i++)
		if (!list->hashes[i].is_ignored)
			sorted[count++].hash = &list->hashes[i];
	qsort(sorted, count, sizeof(*sorted), compare_hashes);
	for (size_t i = 0; i < count; i++)
		add_hash(maker, sorted[i].hash);
	free(sorted);
}

int tables_make(const struct siglist *list, struct tables *ret_tables)
{
	struct maker maker = { .tables = ret_tables };
	memset(ret_tables, 0, sizeof(*ret_tables));
	add_signatures(&maker, list);
	if (!maker.is_failed) {
		add_hashes(&maker, list);
		write_uses(&maker);
		write_contents(&maker);
	}
	signame_free(maker.names);
	signame_free(maker.contents);
	signame_free(maker.patterns);
	free(maker.content);
	free(maker.part);
	free(maker.uses.at);
	free(maker.users.at);
	return maker.is_failed ? -ENOMEM : 0;
}

void tables_free(struct tables *tables)
{
	for (unsigned i = 0; i < IMAGE_SECTION_COUNT; i++)
		sigtext_free(&tables->sections[i]);
	free(tables->expressions);
	free(tables->flags);
	free(tables->ends);
	free(tables->groups);
	memset(tables, 0, sizeof(*tables));
}
