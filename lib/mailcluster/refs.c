/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/array.h"

#define PIECE	  128 /* writes at a time */
#define OWNER_KEY "owner"

/* ---- what decides about a mail ---- */

int refs_owner(struct mailcluster *cluster, uint64_t number, struct ownervalue *ret_owner)
{
	char name[NAMES_NUMBER_SIZE];
	uint8_t bytes[VALUES_MAX];
	size_t size = 0;
	names_number('b', number, name);
	int ret = cluster_row(cluster, name, OWNER_KEY, bytes, &size);
	if (ret == 0 && !ownervalue_decode(bytes, size, ret_owner))
		ret = MAILSTORE_EDAMAGED;
	return ret;
}

int refs_set_owner(struct mailcluster *cluster, uint64_t number, const struct ownervalue *from,
		   const struct ownervalue *to, struct patience *patience)
{
	char name[NAMES_NUMBER_SIZE];
	uint8_t before[OWNERVALUE_SIZE];
	uint8_t after[OWNERVALUE_SIZE];
	struct objects_row same = { OWNER_KEY, before, sizeof(before) };
	struct objects_row set = { OWNER_KEY, after, sizeof(after) };
	names_number('b', number, name);
	ownervalue_encode(from, before);
	ownervalue_encode(to, after);
	return cluster_put_row(cluster, name, OBJECTS_OLD, &same, &set, patience);
}

int refs_put_refusal(struct mailcluster *cluster, uint64_t number, const struct ownervalue *owner,
		     struct patience *patience)
{
	char name[NAMES_NUMBER_SIZE];
	uint8_t value[OWNERVALUE_SIZE];
	struct ownervalue refused = *owner;
	struct objects_row set = { OWNER_KEY, value, sizeof(value) };
	refused.state = OWNERVALUE_REFUSED;
	names_number('b', number, name);
	ownervalue_encode(&refused, value);
	return cluster_put_row(cluster, name, OBJECTS_NEW, NULL, &set, patience);
}

/* Is the id one of this cluster, made of the mail's number? */
static bool is_own_id(const struct mailid *id, uint64_t number)
{
	return bytes_get(id->bytes, 8) == number;
}

/* ---- rows of mailboxes ---- */

static int read_box_row(struct mailcluster *cluster, struct mailname box, char kind,
			uint64_t number, uint8_t *bytes, size_t *ret_size)
{
	char name[NAMES_OBJECT_SIZE];
	char key[NAMES_NUMBER_SIZE];
	names_box(box, name);
	names_number(kind, number, key);
	return cluster_row(cluster, name, key, bytes, ret_size);
}

int refs_gone(struct mailcluster *cluster, struct mailname box, uint64_t number,
	      struct gonevalue *ret_gone)
{
	uint8_t bytes[VALUES_MAX];
	size_t size = 0;
	int ret = read_box_row(cluster, box, 't', number, bytes, &size);
	if (ret == 0 && !gonevalue_decode(bytes, size, ret_gone))
		ret = MAILSTORE_EDAMAGED;
	return ret;
}

int refs_entry(struct mailcluster *cluster, struct mailname box, uint64_t number,
	       struct entryvalue *ret_entry)
{
	uint8_t bytes[VALUES_MAX];
	size_t size = 0;
	int ret = read_box_row(cluster, box, 'm', number, bytes, &size);
	if (ret == 0 && !entryvalue_decode(bytes, size, ret_entry))
		ret = MAILSTORE_EDAMAGED;
	if (ret == 0)
		ret_entry->entry.mail = number;
	return ret;
}

/* One write for each of a few mailboxes. */
struct piece {
	struct objects_write writes[PIECE];
	char names[PIECE][NAMES_OBJECT_SIZE];
	struct objects_row same;
	struct objects_row set;
	const char *unset;
};

static void name_boxes(struct piece *piece, const struct mailname *boxes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		names_box(boxes[i], piece->names[i]);
		piece->writes[i] =
			(struct objects_write){ .name = piece->names[i],
						.same = piece->same.key != NULL ? &piece->same
										: NULL,
						.same_count = piece->same.key != NULL,
						.set = &piece->set,
						.set_count = 1,
						.unset = &piece->unset,
						.unset_count = piece->unset != NULL };
	}
}

/* Why a row was not written: a "t" row is there, or was a moment ago. */
static int look_why(struct mailcluster *cluster, struct mailname box, uint64_t number,
		    bool *ret_is_gone)
{
	struct gonevalue gone;
	int ret = refs_gone(cluster, box, number, &gone);
	if (ret == DNSBLV6_ENOTFOUND)
		return -EAGAIN;
	if (ret == 0)
		*ret_is_gone = true;
	return ret == 0 && gone.why == GONEVALUE_REFUSED ? -ESTALE : ret;
}

static int add_piece(struct mailcluster *cluster, struct piece *piece, uint64_t number,
		     const struct mailname *boxes, size_t count, bool *is_gone,
		     struct patience *patience)
{
	name_boxes(piece, boxes, count);
	int ret = cluster_write(cluster, piece->writes, count, patience);
	if (ret == 0)
		return 0;
	ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		ret = piece->writes[i].status;
		if (ret == -ECANCELED)
			ret = look_why(cluster, boxes[i], number, &is_gone[i]);
	}
	return ret;
}

int refs_add(struct mailcluster *cluster, uint64_t number, const struct entryvalue *entry,
	     const struct mailname *boxes, size_t count, bool *is_gone, struct patience *patience)
{
	char entry_key[NAMES_NUMBER_SIZE];
	char gone_key[NAMES_NUMBER_SIZE];
	uint8_t value[ENTRYVALUE_SIZE];
	struct piece *piece = malloc(sizeof(*piece));
	if (piece == NULL)
		return -ENOMEM;
	names_number('m', number, entry_key);
	names_number('t', number, gone_key);
	entryvalue_encode(entry, value);
	piece->same = (struct objects_row){ gone_key, "", 0 };
	piece->set = (struct objects_row){ entry_key, value, sizeof(value) };
	piece->unset = NULL;
	int ret = 0;
	for (size_t at = 0; ret == 0 && at < count; at += PIECE) {
		size_t some = count - at < PIECE ? count - at : PIECE;
		ret = add_piece(cluster, piece, number, boxes + at, some, is_gone + at, patience);
	}
	free(piece);
	return ret;
}

int refs_refuse(struct mailcluster *cluster, uint64_t number, const struct mailname *boxes,
		size_t count, struct patience *patience)
{
	char entry_key[NAMES_NUMBER_SIZE];
	char gone_key[NAMES_NUMBER_SIZE];
	uint8_t value[GONEVALUE_SIZE];
	const struct gonevalue gone = { .why = GONEVALUE_REFUSED, .time_us = cluster_now(cluster) };
	struct piece *piece = malloc(sizeof(*piece));
	if (piece == NULL)
		return -ENOMEM;
	names_number('m', number, entry_key);
	names_number('t', number, gone_key);
	gonevalue_encode(&gone, value);
	piece->same = (struct objects_row){ NULL, NULL, 0 };
	piece->set = (struct objects_row){ gone_key, value, sizeof(value) };
	piece->unset = entry_key;
	int ret = 0;
	for (size_t at = 0; ret == 0 && at < count; at += PIECE) {
		size_t some = count - at < PIECE ? count - at : PIECE;
		name_boxes(piece, boxes + at, some);
		ret = cluster_write(cluster, piece->writes, some, patience);
	}
	free(piece);
	return ret;
}

/* ---- rows of a mail ---- */

/* Grows: names, and behind them their bytes, whose places are put in at the end. */
struct gathered {
	uint8_t *bytes;
	size_t size;
	size_t room;
	size_t count;
};

static int gather(struct gathered *gathered, const char *name, size_t size)
{
	const size_t needed = gathered->size + size + 1;
	/* That there are bytes now clang-tidy does not see. */
	if (!array_reserve(gathered->bytes, needed, &gathered->room) || gathered->bytes == NULL)
		return -ENOMEM;
	gathered->bytes[gathered->size++] = (uint8_t)size;
	memcpy(gathered->bytes + gathered->size, name, size);
	gathered->size += size;
	gathered->count++;
	return 0;
}

static int end_gathering(struct gathered *gathered, struct mailname **ret_names)
{
	struct mailname *names = malloc((gathered->count + 1) * sizeof(*names) + gathered->size);
	if (names == NULL)
		return -ENOMEM;
	uint8_t *bytes = (uint8_t *)(names + gathered->count + 1);
	if (gathered->size > 0)
		memcpy(bytes, gathered->bytes, gathered->size);
	for (size_t i = 0; i < gathered->count; i++) {
		names[i] = (struct mailname){ bytes + 1, bytes[0] };
		bytes += 1 + names[i].size;
	}
	*ret_names = names;
	return 0;
}

int refs_boxes(struct mailcluster *cluster, uint64_t number, struct mailname **ret_names,
	       size_t *ret_count)
{
	char name[NAMES_NUMBER_SIZE];
	struct gathered gathered = { 0 };
	const struct objects_found *row;
	struct cluster_rows rows;
	names_number('b', number, name);
	int ret = cluster_rows_begin(cluster, name, "", "x.", &rows);
	while (ret == 0 && (ret = cluster_rows_next(&rows, &row)) == 0) {
		struct mailname box = { (const uint8_t *)row->key + 2, row->key_size - 2 };
		if (mailname_is_valid(box))
			ret = gather(&gathered, row->key + 2, row->key_size - 2);
	}
	cluster_rows_end(&rows);
	if (ret == DNSBLV6_ENOTFOUND)
		ret = end_gathering(&gathered, ret_names);
	if (ret == 0)
		*ret_count = gathered.count;
	free(gathered.bytes);
	return ret;
}

/* ---- mails that a mailbox has no more ---- */

struct drop {
	struct objects_write writes[PIECE];
	char names[PIECE][NAMES_NUMBER_SIZE];
	char key[NAMES_KEY_SIZE];
	const char *unset;
	bool is_last[PIECE];
};

/* Is there any mailbox left that has it? */
static bool has_owners(struct mailcluster *cluster, const char *name)
{
	struct objects_page page = { 0 };
	int ret = objects_rows(cluster->objects, name, "", "x.", 1, &page);
	bool has = ret != 0 || page.count > 0;
	objects_page_free(&page);
	return has;
}

/* Its mailbox out of each; of those that had one alone, the mail itself. */
static int unset_owners(struct mailcluster *cluster, struct drop *drop, const struct ref *refs,
			size_t count, struct patience *patience)
{
	for (size_t i = 0; i < count; i++) {
		names_number('b', refs[i].number, drop->names[i]);
		drop->is_last[i] = refs[i].recipients == 1;
		drop->writes[i] = (struct objects_write){ .name = drop->names[i],
							  .guard = OBJECTS_OLD,
							  .is_removal = drop->is_last[i] };
		if (drop->is_last[i])
			continue;
		drop->writes[i].unset = &drop->unset;
		drop->writes[i].unset_count = 1;
	}
	return cluster_write(cluster, drop->writes, count, patience);
}

static int remove_empty(struct mailcluster *cluster, struct drop *drop, size_t count,
			struct patience *patience)
{
	size_t empty = 0;
	for (size_t i = 0; i < count; i++) {
		if (drop->is_last[i] || drop->writes[i].status != 0 ||
		    has_owners(cluster, drop->names[i]))
			continue;
		drop->is_last[i] = true;
		drop->writes[empty++] = (struct objects_write){ .name = drop->names[i],
								.guard = OBJECTS_OLD,
								.is_removal = true };
	}
	return cluster_write(cluster, drop->writes, empty, patience);
}

static void remove_moved(struct mailcluster *cluster, const struct ref *ref,
			 struct patience *patience)
{
	char name[NAMES_OBJECT_SIZE];
	uint8_t number[8];
	uint8_t *out = number;
	struct objects_row same = { "mail", number, sizeof(number) };
	bytes_put(&out, ref->number, 8);
	names_id(&ref->id, name);
	struct objects_write write = {
		.name = name, .is_removal = true, .same = &same, .same_count = 1
	};
	(void)cluster_write(cluster, &write, 1, patience);
}

int refs_drop(struct mailcluster *cluster, struct mailname box, const struct ref *refs,
	      size_t count, struct patience *patience)
{
	int ret = 0;
	struct drop *drop = malloc(sizeof(*drop));
	if (drop == NULL)
		return -ENOMEM;
	names_owner_key(box, drop->key);
	drop->unset = drop->key;
	for (size_t at = 0; at < count; at += PIECE) {
		size_t some = count - at < PIECE ? count - at : PIECE;
		/* What has gone already, by the first of two attempts or another machine, is well. */
		int unset = unset_owners(cluster, drop, refs + at, some, patience);
		int removed = remove_empty(cluster, drop, some, patience);
		if (ret == 0 && unset != -ENOENT)
			ret = unset;
		if (ret == 0 && removed != -ENOENT)
			ret = removed;
		for (size_t i = 0; i < some; i++)
			if (drop->is_last[i] && !is_own_id(&refs[at + i].id, refs[at + i].number))
				remove_moved(cluster, &refs[at + i], patience);
	}
	free(drop);
	return ret;
}

/* ---- ids of other stores ---- */

static int read_moved(struct mailcluster *cluster, const char *name, uint8_t *number)
{
	size_t size = 0;
	int ret = objects_row(cluster->objects, name, "mail", number, 8, &size);
	if (ret == -ENOENT)
		return DNSBLV6_ENOTFOUND;
	return ret == 0 && size != 8 ? MAILSTORE_EDAMAGED : ret;
}

int refs_find_moved(struct mailcluster *cluster, const struct mailid *id, uint64_t *ret_number)
{
	char name[NAMES_OBJECT_SIZE];
	uint8_t number[8];
	names_id(id, name);
	int ret = read_moved(cluster, name, number);
	if (ret == 0)
		*ret_number = bytes_get(number, 8);
	return ret;
}

static int write_moved(struct mailcluster *cluster, const char *name, const uint8_t *before,
		       const uint8_t *number, struct patience *patience)
{
	struct objects_row same = { "mail", before, before != NULL ? 8 : 0 };
	struct objects_row set = { "mail", number, 8 };
	return cluster_put_row(cluster, name, OBJECTS_ANY, &same, &set, patience);
}

/*
 * May an id that stands for another number stand for a new one? That mail has gone, or was refused, or
 * never came: then it may be under way, and is refused here before its id is taken from it.
 */
static int free_moved(struct mailcluster *cluster, uint64_t number, struct patience *patience)
{
	struct ownervalue owner;
	const struct ownervalue own = { .slot = cluster->slot };
	int ret = refs_owner(cluster, number, &owner);
	if (ret == 0)
		return owner.state == OWNERVALUE_REFUSED ? 0 : MAILSTORE_EID;
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	ret = refs_put_refusal(cluster, number, &own, patience);
	return ret == -EEXIST ? -EAGAIN : ret;
}

int refs_put_moved(struct mailcluster *cluster, const struct mailid *id, uint64_t number,
		   struct patience *patience)
{
	char name[NAMES_OBJECT_SIZE];
	uint8_t before[8];
	uint8_t after[8];
	uint8_t *out = after;
	bytes_put(&out, number, 8);
	names_id(id, name);
	int ret = write_moved(cluster, name, NULL, after, patience);
	if (ret != -ECANCELED)
		return ret;
	ret = read_moved(cluster, name, before);
	if (ret == DNSBLV6_ENOTFOUND)
		return -EAGAIN;
	if (ret != 0 || bytes_get(before, 8) == number)
		return ret;
	ret = free_moved(cluster, bytes_get(before, 8), patience);
	if (ret == 0)
		ret = write_moved(cluster, name, before, after, patience);
	return ret == -ECANCELED ? -EAGAIN : ret;
}
