/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/inspection.h"

#include <stdio.h>
#include <string.h>

#include "lib/content/pgp.h"
#include "lib/content/mark.h"
#include "lib/inspect/mailparts.h"
#include "lib/inspect/path.h"

/* An image of a disc has its mark behind an area that no reader of it looks at: a type, and this. */
#define DISC_MARK_AT   32768
#define DISC_MARK_SIZE 6
static const char disc_mark[] = "CD001";

static void add(struct object *object, enum inspect_class class_, const char *name)
{
	finding_add(object->inspection, class_, name, object->path, 0);
}

/* ---- what comes out of an archive ---- */

static void push_member(void *context, void *member, const uint8_t *bytes, size_t size)
{
	(void)context;
	object_push((struct object *)member, bytes, size);
}

static void *begin_member(void *context, const char *name)
{
	struct object *archive = (struct object *)context;
	archive->has_given = true;
	/* Of a file that is only compressed: what it was compressed with. */
	return object_begin(archive->inspection, archive,
			    name[0] != '\0' ? name : content_kind_name(archive->kind));
}

/* Do so few bytes make an object of that kind that it may be something else? */
static bool is_weak(const struct object *object)
{
	const enum content_kind kind = object->kind;
	if (content_is_sure(kind, object->head, object->head_size))
		return object->is_guess;
	return object->is_guess || kind == CONTENT_ZLIB || kind == CONTENT_LZMA ||
	       kind == CONTENT_COMPRESS || kind == CONTENT_LHA || kind == CONTENT_CPIO;
}

static bool may_be_torn(enum content_kind container)
{
	return container == CONTENT_OLE || container == CONTENT_PDF;
}

static enum inspect_class class_of_flaw(enum unpack_flaw flaw)
{
	switch (flaw) {
	case UNPACK_RATIO:
	case UNPACK_TOTAL:
	case UNPACK_MEMBERS:
	case UNPACK_MEMORY:
	/* Clients that go by the directory have files that were not looked at. */
	case UNPACK_LYING:
		return INSPECT_BOMB;
	case UNPACK_ENCRYPTED:
		return INSPECT_ENCRYPTED;
	default:
		return INSPECT_SUSPICIOUS;
	}
}

static void tell_flaw(struct object *archive, enum unpack_flaw flaw, const char *member)
{
	const enum inspect_class class_ = class_of_flaw(flaw);
	char name[MATCH_NAME_MAX + 1];
	char path[INSPECT_PATH_SIZE];
	if (flaw == UNPACK_ENCRYPTED)
		snprintf(name, sizeof(name), "encrypted");
	else
		snprintf(name, sizeof(name), "%s: %s", inspect_class_name(class_),
			 unpack_flaw_text(flaw));
	path_join(archive->path, member, path);
	finding_add(archive->inspection, class_, name, path, 0);
}

/* What only looks like an archive has flaws, too; a limit is one all the same. */
static void take_flaw(void *context, enum unpack_flaw flaw, const char *member)
{
	struct object *archive = (struct object *)context;
	const bool is_limit = class_of_flaw(flaw) == INSPECT_BOMB && flaw != UNPACK_LYING;
	const bool is_found_zip = archive->is_guess && archive->kind == CONTENT_ZIP;
	archive->is_broken = archive->is_broken || flaw != UNPACK_ENCRYPTED;
	if (!archive->has_given && is_weak(archive) &&
	    (flaw == UNPACK_DAMAGED || flaw == UNPACK_CUT))
		return;
	if (is_limit || (flaw == UNPACK_ENCRYPTED && !is_found_zip)) {
		tell_flaw(archive, flaw, member);
	} else if (archive->is_beside && !is_found_zip) {
		return;
	} else if (is_found_zip) {
		/* Programs have its mark in their code, and documents have parts of one anywhere. */
		if (flaw == UNPACK_ENCRYPTED || !may_be_torn(archive->container))
			archive->held |= 1U << flaw;
	} else if (!archive->is_guess || archive->has_given) {
		tell_flaw(archive, flaw, member);
	}
}

/*
 * Is it a zip after all? A password is believed when a list says so that is right; a list that lies may be why no
 * member was given, and is one when it counts its records.
 */
static void tell_held(struct object *archive)
{
	const bool is_sure = unpack_is_sure(archive->unpack);
	const bool is_some = archive->has_given || unpack_has_counted(archive->unpack);
	if (archive->is_beside && !archive->is_behind)
		return;
	if (!is_sure && !(is_some && unpack_has_list(archive->unpack)))
		return;
	for (unsigned flaw = 0; flaw < UNPACK_FLAW_COUNT; flaw++) {
		if ((archive->held >> flaw & 1) != 0 && (is_sure || flaw != UNPACK_ENCRYPTED))
			tell_flaw(archive, (enum unpack_flaw)flaw, "");
	}
}

/* Its bytes are the archive's, which are matched, and so are those that stand in it besides. */
static void *begin_copy(void *context, enum content_kind kind)
{
	struct object *archive = (struct object *)context;
	struct object *copy = object_begin(archive->inspection, archive, "");
	if (copy == NULL)
		return NULL;
	copy->depth = archive->depth;
	copy->container = archive->container;
	copy->forced_kind = kind;
	copy->is_guess = true;
	copy->is_bare_text = true;
	copy->match = NULL;
	return copy;
}

static const struct unpack_events archive_events = { begin_member, push_member, object_end_within,
						     take_flaw, begin_copy };

/* ---- which way an object goes ---- */

static void open_mail(struct object *object)
{
	object->slot = slots_take(&object->inspection->pool->mails);
	if (object->slot == NULL) {
		add(object, INSPECT_BUSY, "busy: mails");
		return;
	}
	mailparts_begin(object);
	object->route = OBJECT_MAIL;
}

static struct unpack_budget *budget_of(struct object *object)
{
	struct inspection *inspection = object->inspection;
	return object->is_beside ? &inspection->beside : inspection->budget;
}

static void open_here(struct object *object, const struct unpack_row *row)
{
	struct inspection *inspection = object->inspection;
	struct slots *arenas = &inspection->pool->arenas;
	const bool is_here = unpack_place(row) == UNPACK_HERE;
	object->slot = is_here ? slots_take(arenas) : NULL;
	if (is_here && object->slot == NULL) {
		add(object, INSPECT_BUSY, "busy: decoders");
		return;
	}
	if (unpack_begin(row, object->slot, budget_of(object), &archive_events, object,
			 &object->unpack) != 0) {
		slots_give(arenas, object->slot);
		object->slot = NULL;
		add(object, INSPECT_BOMB, "bomb: memory");
		return;
	}
	object->route = is_here ? OBJECT_HERE : OBJECT_ALLOCATED;
}

static void open_apart(struct object *object)
{
	struct inspection *inspection = object->inspection;
	const struct inspect_origin origin = { object->kind, object->depth, object->is_guess,
					       object->is_beside, object->path };
	object->number = inspection->next_number++;
	object->route = OBJECT_APART;
	inspection->rules.apart->begin(inspection->rules.apart_context, object->number, &origin);
}

static bool may_have_files(const struct object *object)
{
	if (object->kind == CONTENT_TNEF)
		return !object->is_tnef_searched;
	return !object->is_searched &&
	       content_may_have_files(object->kind, object->head, object->head_size);
}

static void open_route(struct object *object)
{
	const struct inspect_rules *rules = &object->inspection->rules;
	const struct unpack_row *row = unpack_find(object->kind);
	object->route = OBJECT_PLAIN;
	if (may_have_files(object)) {
		object->route = OBJECT_WITHIN;
		within_begin(object);
		return;
	}
	if (row == NULL && object->kind != CONTENT_MAIL)
		return;
	if (object->depth >= INSPECT_DEPTH)
		add(object, INSPECT_BOMB, "bomb: depth");
	else if (object->kind == CONTENT_MAIL)
		open_mail(object);
	else if (unpack_place(row) == UNPACK_APART && rules->apart != NULL)
		open_apart(object);
	else
		open_here(object, row);
}

void object_set_kind(struct object *object, enum content_kind kind)
{
	object->kind = kind;
	if (object->match != NULL)
		match_set_kind(object->match, kind, object->container);
	open_route(object);
}

static void push_mail(struct object *object, const uint8_t *bytes, size_t size)
{
	while (object->has_lines && size > 0 && (*bytes == '\r' || *bytes == '\n')) {
		bytes++;
		size--;
	}
	if (size == 0)
		return;
	object->has_lines = false;
	mstream_push((struct mstream *)object->slot, bytes, size);
}

static void push_route(struct object *object, const uint8_t *bytes, size_t size)
{
	const struct inspect_rules *rules = &object->inspection->rules;
	if (size == 0)
		return;
	switch (object->route) {
	case OBJECT_MAIL:
		push_mail(object, bytes, size);
		break;
	case OBJECT_HERE:
	case OBJECT_ALLOCATED:
		unpack_push(object->unpack, bytes, size);
		break;
	case OBJECT_APART:
		rules->apart->data(rules->apart_context, object->number, bytes, size);
		break;
	case OBJECT_WITHIN:
		within_push(object, bytes, size);
		break;
	default:
		break;
	}
}

static void close_route(struct object *object, bool is_whole)
{
	struct inspection *inspection = object->inspection;
	const struct inspect_rules *rules = &inspection->rules;
	switch (object->route) {
	case OBJECT_MAIL:
		mstream_end((struct mstream *)object->slot, is_whole);
		slots_give(&inspection->pool->mails, object->slot);
		break;
	case OBJECT_HERE:
	case OBJECT_ALLOCATED:
		tell_held(object);
		unpack_end(object->unpack, is_whole);
		slots_give(&inspection->pool->arenas, object->slot);
		break;
	case OBJECT_APART:
		rules->apart->end(rules->apart_context, object->number, is_whole);
		break;
	case OBJECT_WITHIN:
		within_end(object, is_whole);
		break;
	default:
		break;
	}
	object->route = OBJECT_PLAIN;
}

/* ---- images of discs, whose mark is behind the head ---- */

/* What stands before the end of the mark, into the image. */
static void push_mark(struct object *image, uint8_t type,
		      void (*push)(struct object *image, const uint8_t *bytes, size_t size))
{
	static const uint8_t nothing[4096];
	for (size_t at = 0; at < DISC_MARK_AT; at += sizeof(nothing))
		push(image, nothing, sizeof(nothing));
	push(image, &type, 1);
	push(image, (const uint8_t *)disc_mark, DISC_MARK_SIZE - 1);
}

static void open_disc(struct object *object)
{
	object->kind = CONTENT_ISO9660;
	open_route(object);
	push_mark(object, object->disc_type, push_route);
}

static bool is_archive(const struct object *object)
{
	return object->route == OBJECT_HERE || object->route == OBJECT_ALLOCATED ||
	       object->route == OBJECT_APART;
}

/* A mail that is none by its place alone. */
static bool is_found_mail(const struct object *object)
{
	return object->route == OBJECT_MAIL && object->is_settled &&
	       object->forced_kind == CONTENT_OTHER;
}

/* It is an archive or a mail by its head as well: the image is another object, which finds its mark itself. */
static void open_disc_beside(struct object *object)
{
	object->disc = object_begin(object->inspection, object, content_kind_name(CONTENT_ISO9660));
	if (object->disc != NULL)
		push_mark(object->disc, object->disc_type, object_push);
}

/* A reader of discs does not care for what the area before the mark looks like. */
static bool may_be_disc(const struct object *object)
{
	return object->disc_seen < DISC_MARK_SIZE &&
	       (object->route == OBJECT_PLAIN || object->route == OBJECT_WITHIN ||
		is_found_mail(object) || (object->is_settled && is_archive(object)));
}

/* Descriptors are in any order: of what starts a machine, of one of the trees, of a part; or their end. */
static bool is_of_mark(const struct object *object, uint8_t byte)
{
	if (object->disc_seen == 0)
		return byte <= 3 || byte == 0xff;
	return byte == (uint8_t)disc_mark[object->disc_seen - 1];
}

/* Does the mark end in bytes, which are at the object's offset? Then *ret_at is behind it. */
static bool find_disc(struct object *object, const uint8_t *bytes, size_t size, size_t *ret_at)
{
	const uint64_t wanted = DISC_MARK_AT + object->disc_seen;
	if (!may_be_disc(object) || object->offset > wanted || wanted - object->offset >= size)
		return false;
	size_t at = (size_t)(wanted - object->offset);
	while (at < size && object->disc_seen < DISC_MARK_SIZE && is_of_mark(object, bytes[at])) {
		if (object->disc_seen++ == 0)
			object->disc_type = bytes[at];
		at++;
	}
	*ret_at = at;
	return object->disc_seen == DISC_MARK_SIZE;
}

/* ---- zips, which are read from their end: anything may stand before ---- */

static void push_zip(struct object *object, const uint8_t *bytes, size_t size)
{
	size_t behind = 0;
	if (!object->may_have_zip || size == 0)
		return;
	if (object->zip == NULL) {
		if (!mark_find(ZIPMARK, ZIPMARK_SIZE, &object->zip_seen, bytes, size, &behind))
			return;
		object->zip =
			object_begin(object->inspection, object, content_kind_name(CONTENT_ZIP));
		object->may_have_zip = object->zip != NULL;
		if (object->zip == NULL)
			return;
		object->zip->is_guess = true;
		object->zip->forced_kind = CONTENT_ZIP;
		/* One that is stored there comes out of the archive as well. */
		object->zip->is_beside = object->is_beside || object->kind >= CONTENT_GZIP ||
					 object->kind == CONTENT_MAIL;
		object_push(object->zip, (const uint8_t *)ZIPMARK, ZIPMARK_SIZE);
	}
	object_push(object->zip, bytes + behind, size - behind);
}

/* ---- other archives, which their readers find behind a program or an image ---- */

/* Has its head said that it has members? */
static bool has_members(const struct object *object)
{
	return object->head_kind >= CONTENT_ZIP && object->head_kind <= CONTENT_XAR;
}

/*
 * One that was found so has none again, nor has an archive in it, or each that is stored in another would double what
 * those within it cost.
 */
static bool may_have_pack(const struct object *object)
{
	return !object->is_guess && !(object->is_beside && has_members(object));
}

/* Programs that write or read documents have parts of one in their sections. */
static bool is_in_program(const struct object *object, uint64_t at)
{
	return object->kind == CONTENT_ELF || object->kind == CONTENT_MACHO ||
	       (object->kind == CONTENT_PE && at < object->more->selfpack.end);
}

/*
 * A document is one of an archive's members where readers of documents do not look for it any more. A compound file has
 * its own in pieces, too, and gives what stands behind it itself.
 */
static bool is_wanted(const struct object *object, const struct selfpack_found *found)
{
	const uint64_t at = object->more->selfpack.offset - found->size - found->before_size;
	const bool is_compound = object->kind == CONTENT_OLE;
	if (found->kind != CONTENT_PDF)
		return !is_compound;
	return at < CONTENT_HEAD_SIZE ||
	       !(is_compound || has_members(object) || is_in_program(object, at));
}

/* None is opened any more when there is no slot for one. */
static void open_pack(struct object *object, const struct selfpack_found *found, const uint8_t *end)
{
	struct object *pack =
		object_begin(object->inspection, object, content_kind_name(found->kind));
	object->may_have_pack = pack != NULL;
	if (pack == NULL)
		return;
	pack->is_guess = true;
	pack->is_beside = object->is_beside || unpack_find(object->head_kind) != NULL;
	object->packs[object->pack_count++] = pack;
	object_push(pack, found->before, found->before_size);
	object_push(pack, end - found->size, found->size);
}

static void push_packs(struct object *object, const uint8_t *bytes, size_t size)
{
	struct selfpack_found found[SELFPACK_FOUND];
	for (unsigned i = 0; i < object->pack_count; i++)
		object_push(object->packs[i], bytes, size);
	if (!object->may_have_pack || size == 0)
		return;
	const unsigned count = selfpack_push(&object->more->selfpack, bytes, size, found);
	for (unsigned i = 0; i < count && object->may_have_pack; i++) {
		if (is_wanted(object, &found[i]))
			open_pack(object, &found[i], bytes + size);
	}
}

/*
 * Has it given what is stored in it, so that a zip there is in pieces, which differ from its list? What ends before the
 * file does, or is none after all, has not, and these kinds store nothing.
 */
static bool has_stored(const struct object *object)
{
	switch (object->kind) {
	case CONTENT_BZIP2:
	case CONTENT_LZMA:
	case CONTENT_LZIP:
	case CONTENT_COMPRESS:
		return object->is_beside;
	default:
		return object->is_beside || !object->is_broken;
	}
}

/* ---- objects ---- */

static void link_open(struct inspection *inspection, struct object *object)
{
	object->next = inspection->open;
	if (object->next != NULL)
		object->next->before = object;
	inspection->open = object;
	inspection->open_count++;
}

static void unlink_open(struct inspection *inspection, struct object *object)
{
	inspection->open_count--;
	if (object->next != NULL)
		object->next->before = object->before;
	if (object->before != NULL)
		object->before->next = object->next;
	else
		inspection->open = object->next;
}

/* The matcher's part of a slot is made once, when the slot is first used. */
static void begin_match(struct object *object)
{
	struct inspect_pool *pool = object->inspection->pool;
	if (pool->matches == NULL)
		return;
	struct match_object **match = &pool->matches[slots_number(&pool->objects, object)];
	if (*match == NULL && match_object_new(pool->worker, match) != 0) {
		*match = NULL;
		add(object, INSPECT_BUSY, "busy: memory");
		return;
	}
	object->match = *match;
	match_begin(object->match, finding_take, object);
}

struct object *object_begin(struct inspection *inspection, struct object *parent, const char *name)
{
	struct inspect_pool *pool = inspection->pool;
	const char *parent_path = parent != NULL ? parent->path : "";
	if (inspection->open_count == INSPECT_OPEN) {
		finding_add(inspection, INSPECT_BOMB, "bomb: objects", parent_path, 0);
		return NULL;
	}
	struct object *object = (struct object *)slots_take(&pool->objects);
	if (object == NULL) {
		finding_add(inspection, INSPECT_BUSY, "busy: objects", parent_path, 0);
		return NULL;
	}
	/* But for the head and the path, which are written before they are read. */
	memset(object, 0, offsetof(struct object, head));
	object->inspection = inspection;
	object->more =
		(struct object_more *)slots_at(&pool->more, slots_number(&pool->objects, object));
	object->block = (uint8_t *)slots_at(&pool->blocks, slots_number(&pool->objects, object));
	path_join(parent_path, name, object->path);
	object->depth = parent != NULL ? parent->depth + 1 : 0;
	object->is_beside = parent != NULL && parent->is_beside;
	object->container = parent == NULL			 ? CONTENT_OTHER
			    : parent->kind == CONTENT_PDF_SEALED ? CONTENT_PDF
								 : parent->kind;
	link_open(inspection, object);
	begin_match(object);
	inspection->result.objects++;
	return object;
}

static void match_bytes(struct object *object, const uint8_t *bytes, size_t size)
{
	if (object->match != NULL && size > 0)
		match_push(object->match, bytes, size);
	object->inspection->result.bytes += size;
}

/* In another way as well; behind its head bytes come as they do to packs. */
static void open_as(struct object *object, enum content_kind kind, bool is_beside)
{
	struct object *besides = object_begin(object->inspection, object, content_kind_name(kind));
	if (besides == NULL)
		return;
	besides->depth = object->depth;
	besides->is_guess = true;
	besides->is_beside = object->is_beside || is_beside;
	besides->forced_kind = kind;
	object->packs[object->pack_count++] = besides;
	object_push(besides, object->head, object->head_size);
}

/* As what its head permits besides: as a text, as an archive, or as both. */
static void open_besides(struct object *object)
{
	const uint8_t *head = object->head;
	const size_t size = object->head_size;
	const enum content_kind text = content_kind_besides(object->kind, head, size);
	const enum content_kind archive = content_archive_besides(object->kind, head, size);
	if (object->is_bare_text)
		return;
	/*
	 * One that is read so already would have each in the other, and so on. What is stored in it may be met in
	 * another reading, too, and would double what is within each time.
	 */
	if (archive != CONTENT_OTHER && object->forced_kind == CONTENT_OTHER)
		open_as(object, archive,
			text != CONTENT_OTHER || unpack_find(object->head_kind) != NULL);
	/* A text of fields is mostly none: where a mail is too deep to be opened it is no bomb. */
	if (text != CONTENT_OTHER &&
	    (object->kind != CONTENT_TEXT || object->depth < INSPECT_DEPTH))
		open_as(object, text, false);
}

/* A text may cite one, or a mail have it in a part: what is text says so, and what is nothing else. */
static void look_for_pgp(struct object *object)
{
	const enum content_kind kind = object->kind;
	const bool may_be = kind == CONTENT_TEXT || kind == CONTENT_HTML || kind == CONTENT_OTHER;
	if (may_be && !object->is_guess && pgp_is_encrypted(object->head, object->head_size))
		tell_flaw(object, UNPACK_ENCRYPTED, "");
}

static void settle_head(struct object *object)
{
	enum content_kind kind = content_kind(object->head, object->head_size);
	if (kind == CONTENT_MAIL && object->is_bare_text)
		kind = CONTENT_TEXT;
	/* Else one that has the mark of a picture, too, would have a zip at its beginning again, and so on. */
	if (object->forced_kind != CONTENT_OTHER)
		kind = object->forced_kind;
	/* Else each empty line before it would be a header, and what follows a mail in it. */
	object->has_lines = kind == CONTENT_MAIL;
	object_set_kind(object, kind);
	object->is_settled = true;
	/* A zip's own reader finds them, and those of what is read in two ways are found in the first. */
	object->may_have_zip = kind != CONTENT_ZIP && object->forced_kind == CONTENT_OTHER;
	object->head_kind = kind;
	look_for_pgp(object);
	object->may_have_pack = may_have_pack(object);
	if (object->may_have_pack)
		selfpack_begin(&object->more->selfpack, kind);
	push_route(object, object->head, object->head_size);
	push_zip(object, object->head, object->head_size);
	push_packs(object, object->head, object->head_size);
	open_besides(object);
}

/* Into the head, which tells what it is when it is full. How many bytes it took. */
static size_t push_head(struct object *object, const uint8_t *bytes, size_t size)
{
	const size_t room = CONTENT_HEAD_SIZE - object->head_size;
	const size_t part = size < room ? size : room;
	memcpy(object->head + object->head_size, bytes, part);
	object->head_size += part;
	match_bytes(object, bytes, part);
	object->offset += part;
	if (object->head_size == CONTENT_HEAD_SIZE)
		settle_head(object);
	return part;
}

/* Bytes up to the end of the mark, and those behind it in the piece for a disc beside. */
static void push_disc(struct object *object, const uint8_t *bytes, size_t at, size_t size)
{
	push_route(object, bytes, at);
	if (is_archive(object) || object->route == OBJECT_MAIL) {
		open_disc_beside(object);
		if (object->disc != NULL)
			object_push(object->disc, bytes + at, size - at);
	} else {
		close_route(object, true);
		open_disc(object);
	}
}

/* Of what is known before its bytes are here the head is kept for what it says besides. */
static void keep_head(struct object *object, const uint8_t *bytes, size_t size)
{
	const size_t room = CONTENT_HEAD_SIZE - object->head_size;
	const size_t part = size < room ? size : room;
	if (part > 0 && object->offset == object->head_size)
		memcpy(object->head + object->head_size, bytes, part);
	object->head_size += object->offset == object->head_size ? part : 0;
}

static void take(struct object *object, const uint8_t *bytes, size_t size)
{
	if (object->route != OBJECT_HEAD && !object->is_settled)
		keep_head(object, bytes, size);
	if (object->route == OBJECT_HEAD) {
		const size_t used = push_head(object, bytes, size);
		bytes += used;
		size -= used;
	}
	if (size == 0)
		return;
	if (object->is_unopened)
		add(object, INSPECT_SUSPICIOUS, "suspicious: two readings");
	object->is_unopened = false;
	match_bytes(object, bytes, size);
	size_t at = 0;
	if (find_disc(object, bytes, size, &at)) {
		push_disc(object, bytes, at, size);
	} else {
		at = 0;
		if (object->disc != NULL)
			object_push(object->disc, bytes, size);
	}
	push_route(object, bytes + at, size - at);
	push_zip(object, bytes, size);
	push_packs(object, bytes, size);
	object->offset += size;
}

static void take_block(struct object *object)
{
	const size_t size = object->block_size;
	object->block_size = 0;
	take(object, object->block, size);
}

/* A whole block is taken from where it is. */
void object_push(struct object *object, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		const size_t room = OBJECT_BLOCK - object->block_size;
		const size_t part = size < room ? size : room;
		if (part == OBJECT_BLOCK) {
			take(object, bytes, part);
		} else {
			memcpy(object->block + object->block_size, bytes, part);
			object->block_size += part;
			if (object->block_size == OBJECT_BLOCK)
				take_block(object);
		}
		bytes += part;
		size -= part;
	}
}

bool object_spend(struct object *object, size_t size)
{
	struct unpack_budget *budget = budget_of(object);
	if (size <= budget->total_left) {
		budget->total_left -= size;
		return true;
	}
	budget->total_left = 0;
	add(object, INSPECT_BOMB, "bomb: total size");
	return false;
}

bool object_count(struct object *object)
{
	struct unpack_budget *budget = budget_of(object);
	if (budget->members_left > 0) {
		budget->members_left--;
		return true;
	}
	add(object, INSPECT_BOMB, "bomb: members");
	return false;
}

void object_end(struct object *object, bool is_whole)
{
	struct inspection *inspection = object->inspection;
	if (object->block_size > 0)
		take_block(object);
	if (object->route == OBJECT_HEAD)
		settle_head(object);
	close_route(object, is_whole && !inspection->is_cut);
	if (object->zip != NULL) {
		object->zip->is_behind = !has_stored(object);
		object_end(object->zip, is_whole);
	}
	if (object->disc != NULL)
		object_end(object->disc, is_whole);
	for (unsigned i = 0; i < object->pack_count; i++)
		object_end(object->packs[i], is_whole);
	/*
	 * A part whose end is missing is opened by a client all the same, so it is decided like any
	 * other one; but not what was cut with all the mail.
	 */
	if (object->match != NULL && !inspection->is_cut)
		match_end(object->match);
	unlink_open(inspection, object);
	slots_give(&inspection->pool->objects, object);
}

void object_end_within(void *context, void *object, bool is_whole)
{
	(void)context;
	object_end((struct object *)object, is_whole);
}
