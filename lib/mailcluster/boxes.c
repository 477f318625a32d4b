/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WALK_PAGE 64

/* ---- entering ---- */

struct entered {
	struct objects_row row;
	char key[NAMES_KEY_SIZE];
};

/* Those that are not known: their hashes, in the order of names in which they came. */
static int hash_unknown(struct mailcluster *cluster, const struct mailname *boxes, size_t count,
			struct boxes_entries *entries, size_t *places)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t *hash = entries->hashes[entries->hash_count];
		int ret = names_hash(boxes[i], hash);
		if (ret != 0)
			return ret;
		cluster_lock(cluster);
		bool is_known = caches_is_known(&cluster->caches, hash);
		cluster_unlock(cluster);
		if (!is_known)
			places[entries->hash_count++] = i;
	}
	return 0;
}

struct sorted {
	char names[NAMES_DIRECTORIES][4];
	struct objects_row *rows;
	char (*keys)[NAMES_KEY_SIZE];
};

/* A write for each directory that gets any. */
static void sort_rows(const struct mailname *boxes, const size_t *places, struct sorted *sorted,
		      struct boxes_entries *entries)
{
	size_t row_count = 0;
	for (unsigned directory = 0; directory < NAMES_DIRECTORIES; directory++) {
		size_t first = row_count;
		for (size_t i = 0; i < entries->hash_count; i++) {
			if (entries->hashes[i][0] >> 4 != directory)
				continue;
			names_directory(entries->hashes[i], sorted->names[directory]);
			names_box_key(boxes[places[i]], sorted->keys[row_count]);
			sorted->rows[row_count] =
				(struct objects_row){ sorted->keys[row_count], VALUES_MARK,
						      VALUES_MARK_SIZE };
			row_count++;
		}
		if (row_count > first)
			entries->writes[entries->count++] =
				(struct objects_write){ .name = sorted->names[directory],
							.set = sorted->rows + first,
							.set_count = row_count - first };
	}
}

int boxes_entries_make(struct mailcluster *cluster, const struct mailname *boxes, size_t count,
		       struct boxes_entries *ret_entries)
{
	*ret_entries = (struct boxes_entries){ .count = 0 };
	size_t *places = calloc(count + 1, sizeof(*places));
	ret_entries->hashes = calloc(count + 1, sizeof(*ret_entries->hashes));
	int ret = places != NULL && ret_entries->hashes != NULL ? 0 : -ENOMEM;
	if (ret == 0)
		ret = hash_unknown(cluster, boxes, count, ret_entries, places);
	size_t new_count = ret_entries->hash_count;
	struct sorted *sorted = NULL;
	if (ret == 0 && new_count > 0) {
		sorted = calloc(1, sizeof(*sorted) +
					   new_count * (sizeof(*sorted->rows) + NAMES_KEY_SIZE));
		ret = sorted != NULL ? 0 : -ENOMEM;
	}
	if (sorted != NULL) {
		ret_entries->memory = sorted;
		sorted->rows = (struct objects_row *)(sorted + 1);
		sorted->keys = (char(*)[NAMES_KEY_SIZE])(sorted->rows + new_count);
		sort_rows(boxes, places, sorted, ret_entries);
	}
	free(places);
	return ret;
}

void boxes_entries_know(struct mailcluster *cluster, const struct boxes_entries *entries)
{
	cluster_lock(cluster);
	for (size_t i = 0; i < entries->hash_count; i++)
		caches_know(&cluster->caches, entries->hashes[i]);
	cluster->boxes_made += entries->hash_count > 0;
	cluster_unlock(cluster);
}

void boxes_entries_free(struct boxes_entries *entries)
{
	free(entries->memory);
	free(entries->hashes);
	*entries = (struct boxes_entries){ .count = 0 };
}

int boxes_enter(struct mailcluster *cluster, const struct mailname *boxes, size_t count,
		struct patience *patience)
{
	struct boxes_entries entries;
	int ret = boxes_entries_make(cluster, boxes, count, &entries);
	if (ret == 0)
		ret = cluster_write(cluster, entries.writes, entries.count, patience);
	if (ret == 0)
		boxes_entries_know(cluster, &entries);
	boxes_entries_free(&entries);
	return ret;
}

/* ---- what a mailbox has ---- */

/* Calls take() with each mail from a number on, as long as that returns true. */
static int walk_box(struct mailcluster *cluster, struct mailname box, uint64_t from, size_t most,
		    bool (*take)(void *owner, const struct mailentry *entry), void *owner)
{
	char name[NAMES_OBJECT_SIZE];
	char behind[NAMES_NUMBER_SIZE] = "";
	const struct objects_found *row;
	struct cluster_rows rows;
	struct entryvalue value;
	if (!mailname_is_valid(box))
		return MAILSTORE_EBOX;
	names_box(box, name);
	if (from > 0)
		names_number('m', from - 1, behind);
	int ret = cluster_rows_begin(cluster, name, behind, "m.", &rows);
	if (most < rows.most)
		rows.most = most;
	while (ret == 0 && (ret = cluster_rows_next(&rows, &row)) == 0) {
		/* What is no entry keeps nothing from those behind it: check.c says so. */
		if (!entryvalue_decode(row->value, row->size, &value) ||
		    !names_parse_number('m', row->key, &value.entry.mail))
			continue;
		if (!take(owner, &value.entry))
			break;
	}
	cluster_rows_end(&rows);
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

struct listing {
	struct mailentry *entries;
	size_t count;
	size_t room;
};

static bool take_entry(void *owner, const struct mailentry *entry)
{
	struct listing *listing = owner;
	listing->entries[listing->count++] = *entry;
	return listing->count < listing->room;
}

int boxes_list(struct mailcluster *cluster, struct mailname box, uint64_t from, size_t room,
	       struct mailentry *ret_entries, size_t *ret_count)
{
	struct listing listing = { .entries = ret_entries, .room = room };
	if (room == 0) {
		*ret_count = 0;
		return mailname_is_valid(box) ? 0 : MAILSTORE_EBOX;
	}
	int ret = walk_box(cluster, box, from, room, take_entry, &listing);
	if (ret == 0)
		*ret_count = listing.count;
	return ret;
}

static bool count_entry(void *owner, const struct mailentry *entry)
{
	struct mailcounts *counts = owner;
	counts->mails++;
	counts->octets += entry->octets;
	return true;
}

int boxes_counts(struct mailcluster *cluster, struct mailname box, struct mailcounts *ret_counts)
{
	struct mailcounts counts = { 0 };
	int ret = walk_box(cluster, box, 0, CLUSTER_PAGE, count_entry, &counts);
	if (ret == 0)
		*ret_counts = counts;
	return ret;
}

int boxes_peek(struct mailcluster *cluster, struct mailname box, struct mailcounts *ret_counts)
{
	uint8_t hash[NAMES_HASH_SIZE];
	if (!mailname_is_valid(box))
		return MAILSTORE_EBOX;
	int ret = names_hash(box, hash);
	if (ret != 0)
		return ret;
	cluster_lock(cluster);
	uint64_t beat = cluster->beats;
	bool is_there = caches_peek(&cluster->caches, hash, beat, ret_counts);
	cluster_unlock(cluster);
	if (is_there)
		return 0;
	ret = boxes_counts(cluster, box, ret_counts);
	if (ret != 0)
		return ret;
	cluster_lock(cluster);
	caches_put_peek(&cluster->caches, hash, beat, ret_counts);
	cluster_unlock(cluster);
	return 0;
}

/* ---- all mailboxes ---- */

void boxes_walk_end(struct boxes_walk *walk)
{
	for (unsigned i = 0; i < NAMES_DIRECTORIES; i++)
		objects_page_free(&walk->pages[i]);
	*walk = (struct boxes_walk){ .is_valid = false };
}

static int read_page(struct mailcluster *cluster, struct boxes_walk *walk, unsigned directory,
		     const char *behind)
{
	const uint8_t hash = (uint8_t)(directory << 4);
	char name[4];
	names_directory(&hash, name);
	objects_page_free(&walk->pages[directory]);
	walk->at[directory] = 0;
	int ret = objects_rows(cluster->objects, name, behind, "", WALK_PAGE,
			       &walk->pages[directory]);
	if (ret == -ENOENT) {
		walk->pages[directory].is_last = true;
		ret = 0;
	}
	if (ret == 0 && walk->pages[directory].count == 0)
		walk->pages[directory].is_last = true;
	return ret;
}

/* Pages of a moment ago do, when nothing has been entered here since. */
static int begin_walk(struct mailcluster *cluster, struct boxes_walk *walk, struct mailname behind)
{
	char key[NAMES_KEY_SIZE];
	cluster_lock(cluster);
	uint64_t beat = cluster->beats;
	uint64_t boxes_made = cluster->boxes_made;
	cluster_unlock(cluster);
	if (walk->is_valid && walk->beat == beat && walk->boxes_made == boxes_made &&
	    walk->last_size == behind.size &&
	    (behind.size == 0 || memcmp(walk->last, behind.bytes, behind.size) == 0))
		return 0;
	boxes_walk_end(walk);
	names_box_key(behind, key);
	int ret = 0;
	for (unsigned i = 0; ret == 0 && i < NAMES_DIRECTORIES; i++)
		ret = read_page(cluster, walk, i, key);
	walk->is_valid = ret == 0;
	walk->beat = beat;
	walk->boxes_made = boxes_made;
	return ret;
}

/* The row that a directory has next, or NULL. */
static int peek_row(struct mailcluster *cluster, struct boxes_walk *walk, unsigned directory,
		    const struct objects_found **ret_row)
{
	struct objects_page *page = &walk->pages[directory];
	*ret_row = NULL;
	if (walk->at[directory] == page->count && !page->is_last) {
		char behind[OBJECTS_NAME_MAX + 1];
		const struct objects_found *last = &page->rows[page->count - 1];
		if (last->key_size >= sizeof(behind))
			return MAILSTORE_EDAMAGED;
		memcpy(behind, last->key, last->key_size + 1);
		int ret = read_page(cluster, walk, directory, behind);
		if (ret != 0)
			return ret;
	}
	if (walk->at[directory] < page->count)
		*ret_row = &page->rows[walk->at[directory]];
	return 0;
}

/* The lowest name of all directories, taken out of its page. */
static int take_lowest(struct mailcluster *cluster, struct boxes_walk *walk,
		       struct mailname *ret_name)
{
	const struct objects_found *lowest = NULL;
	unsigned from = 0;
	for (unsigned i = 0; i < NAMES_DIRECTORIES; i++) {
		const struct objects_found *row;
		int ret = peek_row(cluster, walk, i, &row);
		if (ret != 0)
			return ret;
		/* strcmp() compares bytes without a sign, and no name has a NUL. */
		if (row == NULL || (lowest != NULL && strcmp(lowest->key, row->key) <= 0))
			continue;
		lowest = row;
		from = i;
	}
	if (lowest == NULL)
		return DNSBLV6_ENOTFOUND;
	walk->at[from]++;
	*ret_name = (struct mailname){ (const uint8_t *)lowest->key, lowest->key_size };
	return 0;
}

int boxes_next(struct mailcluster *cluster, struct boxes_walk *walk, struct mailname behind,
	       uint8_t *ret_name, size_t *ret_size, struct mailcounts *ret_counts)
{
	struct mailcounts counts = { 0 };
	struct mailname name;
	if (behind.size > MAILBOX_NAME_MAX)
		return MAILSTORE_EBOX;
	int ret = begin_walk(cluster, walk, behind);
	while (ret == 0 && (ret = take_lowest(cluster, walk, &name)) == 0) {
		if (!mailname_is_valid(name))
			continue;
		ret = boxes_counts(cluster, name, &counts);
		if (ret != 0 || counts.mails > 0)
			break;
	}
	if (ret != 0) {
		walk->is_valid = false;
		return ret;
	}
	memcpy(walk->last, name.bytes, name.size);
	walk->last_size = name.size;
	memcpy(ret_name, name.bytes, name.size);
	*ret_size = name.size;
	*ret_counts = counts;
	return 0;
}
