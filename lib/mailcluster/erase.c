/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX   500 /* of one write: as many go and come */
#define ONE_BY_ONE 8   /* mails that are looked for by themselves, not by a walk */

static int compare_numbers(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one;
	uint64_t b = *(const uint64_t *)other;
	return (a > b) - (a < b);
}

/* ---- which of them the mailbox has ---- */

struct search {
	struct ref *refs;
	size_t count;
};

static void add_ref(struct search *search, const struct entryvalue *value)
{
	search->refs[search->count++] = (struct ref){ .number = value->entry.mail,
						      .id = value->entry.id,
						      .recipients = value->recipients };
}

static int find_each(struct mailcluster *cluster, struct mailname box, const uint64_t *mails,
		     size_t count, struct search *search)
{
	for (size_t i = 0; i < count; i++) {
		struct entryvalue value;
		int ret = i > 0 && mails[i] == mails[i - 1]
				  ? DNSBLV6_ENOTFOUND
				  : refs_entry(cluster, box, mails[i], &value);
		if (ret == 0)
			add_ref(search, &value);
		else if (ret != DNSBLV6_ENOTFOUND)
			return ret;
	}
	return 0;
}

/* Both in order: the mailbox's rows, and the numbers. */
static int walk_rows(struct cluster_rows *rows, const uint64_t *mails, size_t count,
		     struct search *search)
{
	const struct objects_found *row;
	size_t at = 0;
	int ret;
	while (at < count && (ret = cluster_rows_next(rows, &row)) != DNSBLV6_ENOTFOUND) {
		struct entryvalue value;
		uint64_t number;
		if (ret != 0)
			return ret;
		if (!names_parse_number('m', row->key, &number))
			continue;
		while (at < count && mails[at] < number)
			at++;
		if (at == count || mails[at] != number)
			continue;
		if (!entryvalue_decode(row->value, row->size, &value))
			return MAILSTORE_EDAMAGED;
		value.entry.mail = number;
		add_ref(search, &value);
	}
	return 0;
}

static int find_all(struct mailcluster *cluster, struct mailname box, const uint64_t *mails,
		    size_t count, struct search *search)
{
	char name[NAMES_OBJECT_SIZE];
	char behind[NAMES_NUMBER_SIZE] = "";
	struct cluster_rows rows;
	if (count <= ONE_BY_ONE)
		return find_each(cluster, box, mails, count, search);
	names_box(box, name);
	if (mails[0] > 0)
		names_number('m', mails[0] - 1, behind);
	int ret = cluster_rows_begin(cluster, name, behind, "m.", &rows);
	if (ret == 0)
		ret = walk_rows(&rows, mails, count, search);
	cluster_rows_end(&rows);
	return ret;
}

/* ---- the write that is the commit ---- */

struct erasure {
	struct objects_row set[ROWS_MAX];
	const char *unset[ROWS_MAX];
	char entry_keys[ROWS_MAX][NAMES_NUMBER_SIZE];
	char gone_keys[ROWS_MAX][NAMES_NUMBER_SIZE];
	uint8_t gone[GONEVALUE_SIZE];
};

static void make_erasure(uint64_t now_us, const struct ref *refs, size_t count,
			 struct erasure *erasure)
{
	const struct gonevalue gone = { .why = GONEVALUE_ERASED, .time_us = now_us };
	gonevalue_encode(&gone, erasure->gone);
	for (size_t i = 0; i < count; i++) {
		names_number('m', refs[i].number, erasure->entry_keys[i]);
		names_number('t', refs[i].number, erasure->gone_keys[i]);
		erasure->unset[i] = erasure->entry_keys[i];
		erasure->set[i] = (struct objects_row){ erasure->gone_keys[i], erasure->gone,
							sizeof(erasure->gone) };
	}
}

static int commit(struct mailcluster *cluster, const struct clusterlock *lock, struct mailname box,
		  const struct ref *refs, size_t count, struct patience *patience)
{
	char name[NAMES_OBJECT_SIZE];
	struct objects_row same = { "lock", NULL, LOCKVALUE_SIZE };
	struct erasure *erasure = malloc(sizeof(*erasure));
	if (erasure == NULL)
		return -ENOMEM;
	names_box(box, name);
	make_erasure(cluster_now(cluster), refs, count, erasure);
	struct objects_write write = { .name = name,
				       .guard = OBJECTS_OLD,
				       .set = erasure->set,
				       .set_count = count,
				       .unset = erasure->unset,
				       .unset_count = count };
	if (lock != NULL) {
		same.value = lock->value;
		write.same = &same;
		write.same_count = 1;
	}
	int ret = cluster_write(cluster, &write, 1, patience);
	free(erasure);
	return ret == -ECANCELED ? MAILSTORE_ELOST_LOCK : ret;
}

static void forget_counts(struct mailcluster *cluster, struct mailname box)
{
	uint8_t hash[NAMES_HASH_SIZE];
	if (names_hash(box, hash) != 0)
		return;
	cluster_lock(cluster);
	caches_forget_peek(&cluster->caches, hash);
	cluster_unlock(cluster);
}

static int erase_found(struct mailcluster *cluster, const struct clusterlock *lock,
		       struct mailname box, const struct search *search)
{
	struct patience patience = cluster_patience();
	int ret = 0;
	for (size_t at = 0; ret == 0 && at < search->count; at += ROWS_MAX) {
		size_t some = search->count - at < ROWS_MAX ? search->count - at : ROWS_MAX;
		ret = commit(cluster, lock, box, search->refs + at, some, &patience);
		/* They are erased; a mail that stays because this fails is found by a check. */
		if (ret == 0)
			(void)refs_drop(cluster, box, search->refs + at, some, &patience);
	}
	forget_counts(cluster, box);
	return ret;
}

int erase_mails(struct mailcluster *cluster, const struct clusterlock *lock, struct mailname box,
		const uint64_t *mails, size_t count)
{
	struct search search = { .count = 0 };
	int ret = mailname_is_valid(box) ? cluster_state(cluster) : MAILSTORE_EBOX;
	if (ret != 0 || count == 0)
		return ret;
	uint64_t *sorted = calloc(count, sizeof(*sorted));
	search.refs = calloc(count, sizeof(*search.refs));
	if (sorted != NULL && search.refs != NULL) {
		memcpy(sorted, mails, count * sizeof(*sorted));
		qsort(sorted, count, sizeof(*sorted), compare_numbers);
		ret = find_all(cluster, box, sorted, count, &search);
		/* That the lock is lost is said also by a session that erases nothing. */
		if (ret == 0 && search.count == 0 && lock != NULL)
			ret = locks_look(cluster, lock);
		if (ret == 0)
			ret = erase_found(cluster, lock, box, &search);
	} else {
		ret = -ENOMEM;
	}
	free(sorted);
	free(search.refs);
	return ret;
}
