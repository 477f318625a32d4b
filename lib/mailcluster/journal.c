/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <string.h>

/* One of the objects of a journal, by the number without its slot. */
static unsigned journal_of(uint64_t number)
{
	return (unsigned)(number >> 10) % NAMES_JOURNALS;
}

/* ---- rows that may go ---- */

/* One that finds no room stays in the journal: the sweep finds it. */
static void put_done(struct mailcluster *cluster, unsigned at, uint64_t number)
{
	struct journal_done *done = &cluster->done[at];
	if (done->count < JOURNAL_DONE_MAX)
		done->numbers[done->count++] = number;
}

static void take_done(struct mailcluster *cluster, struct journal_write *journal)
{
	struct journal_done *done = &cluster->done[journal->at];
	cluster_lock(cluster);
	while (journal->done_count < JOURNAL_UNSET_MAX && done->count > 0) {
		size_t i = journal->done_count++;
		journal->done[i] = done->numbers[--done->count];
		names_digits(journal->done[i], journal->keys[i]);
		journal->unset[i] = journal->keys[i];
	}
	cluster_unlock(cluster);
}

void journal_finish(struct mailcluster *cluster, uint64_t number)
{
	cluster_lock(cluster);
	put_done(cluster, journal_of(number), number);
	cluster_unlock(cluster);
}

bool journal_is_done(struct mailcluster *cluster, uint64_t number)
{
	const struct journal_done *done = &cluster->done[journal_of(number)];
	bool is_done = false;
	cluster_lock(cluster);
	for (size_t i = 0; !is_done && i < done->count; i++)
		is_done = done->numbers[i] == number;
	cluster_unlock(cluster);
	return is_done;
}

/* ---- writing ---- */

static void begin(struct mailcluster *cluster, unsigned at, struct journal_write *journal,
		  struct objects_write *write)
{
	journal->done_count = 0;
	journal->at = at;
	names_journal(cluster->node, at, journal->name);
	take_done(cluster, journal);
	*write = (struct objects_write){ .name = journal->name,
					 .unset = journal->unset,
					 .unset_count = journal->done_count };
}

void journal_begin(struct mailcluster *cluster, uint64_t number, uint64_t attempt,
		   struct journal_write *ret_journal, struct objects_write *ret_write)
{
	struct journalvalue value = { .attempt = attempt };
	memcpy(value.incarnation, cluster->incarnation, sizeof(value.incarnation));
	begin(cluster, journal_of(number), ret_journal, ret_write);
	names_digits(number, ret_journal->key);
	journalvalue_encode(&value, ret_journal->value);
	ret_journal->row = (struct objects_row){ ret_journal->key, ret_journal->value,
						 sizeof(ret_journal->value) };
	ret_write->set = &ret_journal->row;
	ret_write->set_count = 1;
}

void journal_end(struct mailcluster *cluster, const struct journal_write *journal, int status)
{
	if (status == 0)
		return;
	cluster_lock(cluster);
	for (size_t i = 0; i < journal->done_count; i++)
		put_done(cluster, journal->at, journal->done[i]);
	cluster_unlock(cluster);
}

static int flush_one(struct mailcluster *cluster, unsigned at, size_t *ret_count)
{
	struct journal_write journal;
	struct objects_write write;
	struct patience patience = { 0 };
	begin(cluster, at, &journal, &write);
	*ret_count = journal.done_count;
	if (journal.done_count == 0)
		return 0;
	int ret = cluster_write(cluster, &write, 1, &patience);
	journal_end(cluster, &journal, ret);
	return ret;
}

int journal_flush(struct mailcluster *cluster)
{
	int ret = 0;
	for (unsigned at = 0; ret == 0 && at < NAMES_JOURNALS; at++) {
		size_t count = JOURNAL_UNSET_MAX;
		/* What deliveries finish meanwhile is for the next time. */
		for (unsigned i = 0; ret == 0 && count == JOURNAL_UNSET_MAX &&
				     i < JOURNAL_DONE_MAX / JOURNAL_UNSET_MAX;
		     i++)
			ret = flush_one(cluster, at, &count);
	}
	return ret;
}

int journal_find(struct mailcluster *cluster, const char *node, uint64_t number)
{
	char name[NAMES_OBJECT_SIZE];
	char key[17];
	uint8_t bytes[VALUES_MAX];
	size_t size = 0;
	names_journal(node, journal_of(number), name);
	names_digits(number, key);
	return cluster_row(cluster, name, key, bytes, &size);
}
