/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdlib.h>

#define TRIES 4

/* ---- refusing ---- */

static bool is_owner(const struct ownervalue *one, const struct ownervalue *other)
{
	return one->state == other->state && one->slot == other->slot &&
	       one->attempt == other->attempt;
}

int mend_refuse(struct mailcluster *cluster, uint64_t number, const struct ownervalue *owner)
{
	struct patience patience = cluster_patience();
	struct ownervalue refused = *owner;
	struct ownervalue found;
	refused.state = OWNERVALUE_REFUSED;
	for (unsigned i = 0; i < TRIES; i++) {
		int ret = refs_owner(cluster, number, &found);
		if (ret == DNSBLV6_ENOTFOUND)
			ret = refs_put_refusal(cluster, number, &refused, &patience);
		else if (ret == 0 && found.state == OWNERVALUE_REFUSED)
			return mend_refused(cluster, number);
		else if (ret == 0 && !is_owner(&found, owner))
			return -EEXIST; /* another delivery has taken it over */
		else if (ret == 0)
			ret = refs_set_owner(cluster, number, owner, &refused, &patience);
		if (ret != 0 && ret != -EEXIST && ret != -ECANCELED && ret != -ENOENT)
			return ret;
		/* What is there now says what has come of it. */
	}
	return -EAGAIN;
}

/* Bytes and mailboxes go; the refusal stays until no late write is to be expected. */
static int empty(struct mailcluster *cluster, uint64_t number, const struct mailname *boxes,
		 size_t count)
{
	char name[NAMES_NUMBER_SIZE];
	struct patience patience = cluster_patience();
	char(*keys)[NAMES_KEY_SIZE] = calloc(count + 1, sizeof(*keys));
	const char **unset = calloc(count + 1, sizeof(*unset));
	int ret = keys != NULL && unset != NULL ? 0 : -ENOMEM;
	names_number('b', number, name);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		names_owner_key(boxes[i], keys[i]);
		unset[i] = keys[i];
	}
	struct objects_write write = { .name = name,
				       .guard = OBJECTS_OLD,
				       .unset = unset,
				       .unset_count = count,
				       .bytes = "",
				       .size = 0 };
	if (ret == 0)
		ret = cluster_write(cluster, &write, 1, &patience);
	free(keys);
	free(unset);
	return ret == -ENOENT ? 0 : ret;
}

int mend_refused(struct mailcluster *cluster, uint64_t number)
{
	struct patience patience = cluster_patience();
	struct mailname *boxes = NULL;
	size_t count = 0;
	int ret = refs_boxes(cluster, number, &boxes, &count);
	if (ret == 0)
		ret = refs_refuse(cluster, number, boxes, count, &patience);
	if (ret == 0 && count > 0)
		ret = empty(cluster, number, boxes, count);
	free(boxes);
	return ret;
}

/* ---- finishing ---- */

static int keep(struct mailcluster *cluster, uint64_t number, struct ownervalue *ret_owner)
{
	struct patience patience = cluster_patience();
	int ret = -ECANCELED;
	for (unsigned i = 0; ret == -ECANCELED && i < TRIES; i++) {
		ret = refs_owner(cluster, number, ret_owner);
		if (ret != 0 || ret_owner->state != OWNERVALUE_NEW)
			return ret;
		struct ownervalue kept = *ret_owner;
		kept.state = OWNERVALUE_KEPT;
		ret = refs_set_owner(cluster, number, ret_owner, &kept, &patience);
		if (ret == 0)
			*ret_owner = kept;
	}
	return ret == -ENOENT ? DNSBLV6_ENOTFOUND : ret;
}

static int add_to_boxes(struct mailcluster *cluster, const struct mailrecord *record,
			uint32_t recipients, const struct mailname *boxes, size_t count)
{
	struct patience patience = cluster_patience();
	struct entryvalue entry;
	const struct ref ref = { .number = record->mail, .id = record->id };
	bool *is_gone = calloc(count, sizeof(*is_gone));
	if (is_gone == NULL)
		return -ENOMEM;
	body_entry(record, recipients, &entry);
	int ret = boxes_enter(cluster, boxes, count, &patience);
	if (ret == 0)
		ret = refs_add(cluster, record->mail, &entry, boxes, count, is_gone, &patience);
	for (size_t i = 0; ret == 0 && i < count; i++)
		if (is_gone[i])
			(void)refs_drop(cluster, boxes[i], &ref, 1, &patience);
	free(is_gone);
	return ret;
}

/* One that is kept, and a mailbox refuses it: it came late, when it had been refused before. */
static int refuse_late(struct mailcluster *cluster, uint64_t number, const struct ownervalue *owner,
		       bool *ret_is_refused)
{
	struct patience patience = cluster_patience();
	struct ownervalue refused = *owner;
	refused.state = OWNERVALUE_REFUSED;
	*ret_is_refused = true;
	int ret = refs_set_owner(cluster, number, owner, &refused, &patience);
	return ret == 0 ? mend_refused(cluster, number) : ret;
}

int mend_forward(struct mailcluster *cluster, uint64_t number, bool *ret_is_refused)
{
	struct ownervalue owner;
	struct mailrecord record;
	uint8_t *meta = NULL;
	struct mailname *boxes = NULL;
	size_t count = 0;
	*ret_is_refused = false;
	int ret = keep(cluster, number, &owner);
	if (ret == 0 && owner.state == OWNERVALUE_REFUSED) {
		*ret_is_refused = true;
		return mend_refused(cluster, number);
	}
	if (ret == 0)
		ret = refs_boxes(cluster, number, &boxes, &count);
	/* Without one the erasure of the last has been interrupted, which a check finds. */
	if (ret == 0 && count > 0)
		ret = body_read(cluster, number, &record, &meta);
	if (ret == 0 && count > 0)
		ret = add_to_boxes(cluster, &record, body_recipients(&record, meta), boxes, count);
	free(meta);
	free(boxes);
	return ret == -ESTALE ? refuse_late(cluster, number, &owner, ret_is_refused) : ret;
}

/* ---- what failed here ---- */

int mend_has_room(struct mailcluster *cluster)
{
	cluster_lock(cluster);
	bool has_room = cluster->undo_count < CLUSTER_UNDO_MAX / 2;
	cluster_unlock(cluster);
	return has_room ? 0 : -EAGAIN;
}

/* Deliveries that are under way when half of the list is full find room in the other half. */
void mend_undo_later(struct mailcluster *cluster, uint64_t number, uint64_t attempt)
{
	cluster_lock(cluster);
	if (cluster->undo_count < CLUSTER_UNDO_MAX)
		cluster->undos[cluster->undo_count++] =
			(struct undo){ .number = number, .attempt = attempt };
	cluster_unlock(cluster);
}

/* Behind the work, so that a mail is never neither in the list nor undone. */
static void forget_undo(struct mailcluster *cluster, const struct undo *undo)
{
	cluster_lock(cluster);
	for (size_t i = 0; i < cluster->undo_count; i++) {
		if (cluster->undos[i].number != undo->number ||
		    cluster->undos[i].attempt != undo->attempt)
			continue;
		cluster->undos[i] = cluster->undos[--cluster->undo_count];
		break;
	}
	cluster_unlock(cluster);
}

/* The one at a place, from the end: those before it stay where they are. */
static bool take_undo(struct mailcluster *cluster, size_t at, struct undo *ret_undo)
{
	cluster_lock(cluster);
	bool is_there = at < cluster->undo_count;
	if (is_there)
		*ret_undo = cluster->undos[at];
	cluster_unlock(cluster);
	return is_there;
}

static int undo_all(struct mailcluster *cluster, struct mailcluster_swept *swept)
{
	int first = 0;
	cluster_lock(cluster);
	size_t left = cluster->undo_count;
	cluster_unlock(cluster);
	while (left-- > 0) {
		struct undo undo;
		if (!take_undo(cluster, left, &undo))
			continue;
		const struct ownervalue owner = { .state = OWNERVALUE_NEW,
						  .slot = cluster->slot,
						  .attempt = undo.attempt };
		int ret = mend_refuse(cluster, undo.number, &owner);
		if (ret == 0) {
			journal_finish(cluster, undo.number);
			forget_undo(cluster, &undo);
			swept->undone++;
		} else if (ret == -EEXIST) {
			/* The row may be that of the other one: it is swept as any. */
			forget_undo(cluster, &undo);
		} else if (first == 0) {
			first = ret;
		}
		if (ret == -ETIMEDOUT)
			break;
	}
	return first;
}

/* ---- journals ---- */

/* Is the row one that this process has in hand? */
static bool is_in_hand(struct mailcluster *cluster, uint64_t number)
{
	bool is_so = false;
	cluster_lock(cluster);
	for (const struct flight *flight = cluster->flights; !is_so && flight != NULL;
	     flight = flight->next)
		is_so = flight->number == number;
	for (size_t i = 0; !is_so && i < cluster->undo_count; i++)
		is_so = cluster->undos[i].number == number;
	cluster_unlock(cluster);
	return is_so || journal_is_done(cluster, number);
}

static int unset_row(struct mailcluster *cluster, const char *journal, const char *key)
{
	struct patience patience = cluster_patience();
	struct objects_write write = {
		.name = journal, .guard = OBJECTS_OLD, .unset = &key, .unset_count = 1
	};
	int ret = cluster_write(cluster, &write, 1, &patience);
	return ret == -ENOENT ? 0 : ret;
}

static int sweep_row(struct mailcluster *cluster, const char *journal, const char *key, bool is_own,
		     struct mailcluster_swept *swept)
{
	uint64_t number;
	bool is_refused = false;
	if (!names_parse_digits(key, &number))
		return unset_row(cluster, journal, key);
	if (is_own && is_in_hand(cluster, number))
		return 0;
	int ret = mend_forward(cluster, number, &is_refused);
	swept->completed += ret == 0 && !is_refused;
	swept->undone += ret == 0 && is_refused;
	/* Without a mail nothing was ever acknowledged. */
	return ret == 0 || ret == DNSBLV6_ENOTFOUND ? unset_row(cluster, journal, key) : ret;
}

/* One that does not answer is waited for alone: the next sweep begins behind it. */
static int sweep_node(struct mailcluster *cluster, const char *node, bool is_own,
		      struct mailcluster_swept *swept)
{
	const unsigned begin = cluster->sweep_begin;
	int first = 0;
	for (unsigned i = 0; first != -ETIMEDOUT && i < NAMES_JOURNALS; i++) {
		const unsigned at = (begin + i) % NAMES_JOURNALS;
		char name[NAMES_OBJECT_SIZE];
		const struct objects_found *row;
		struct cluster_rows rows;
		names_journal(node, at, name);
		int ret = cluster_rows_begin(cluster, name, "", "", &rows);
		while (ret == 0 && (ret = cluster_rows_next(&rows, &row)) == 0) {
			ret = sweep_row(cluster, name, row->key, is_own, swept);
			if (first == 0)
				first = ret;
			/* A mail that cannot be read keeps its row; those behind it are swept. */
			if (ret != -ETIMEDOUT)
				ret = 0;
		}
		cluster_rows_end(&rows);
		if (ret == -ETIMEDOUT)
			cluster->sweep_begin = at + 1;
		if (ret == -ETIMEDOUT || (first == 0 && ret != DNSBLV6_ENOTFOUND))
			first = ret;
	}
	return first;
}

/* Machines that have been quiet for long, when this one is the first of those that live. */
static size_t list_dead(struct mailcluster *cluster, uint16_t *ret_slots)
{
	size_t count = 0;
	bool is_first = true;
	cluster_lock(cluster);
	for (uint16_t slot = 0; slot < MAILCLUSTER_NODES_MAX; slot++) {
		const struct nodeview *view = &cluster->nodes[slot];
		if (!view->is_there || slot == cluster->slot)
			continue;
		if (view->quiet_beats > CLUSTER_SWEEP_BEATS)
			ret_slots[count++] = slot;
		else if (view->quiet_beats <= MAILCLUSTER_DEAD_BEATS && slot < cluster->slot)
			is_first = false;
	}
	cluster_unlock(cluster);
	return is_first ? count : 0;
}

/* What cannot be mended of one keeps nothing from the next. */
static int sweep_dead(struct mailcluster *cluster, struct mailcluster_swept *swept)
{
	uint16_t dead[MAILCLUSTER_NODES_MAX];
	size_t count = list_dead(cluster, dead);
	int first = 0;
	for (size_t i = 0; first != -ETIMEDOUT && i < count; i++) {
		char name[MAILCLUSTER_NODE_MAX + 1];
		int ret = nodes_name(cluster, dead[i], name)
				  ? sweep_node(cluster, name, false, swept)
				  : 0;
		if (first == 0 || ret == -ETIMEDOUT)
			first = ret;
	}
	return first;
}

int mailcluster_sweep(struct mailcluster *cluster, struct mailcluster_swept *ret_swept)
{
	struct mailcluster_swept swept = { 0 };
	int ret = cluster_state(cluster);
	if (ret != 0)
		return ret;
	locks_sweep(cluster);
	ret = undo_all(cluster, &swept);
	int own = sweep_node(cluster, cluster->node, true, &swept);
	int flushed = journal_flush(cluster);
	int others = sweep_dead(cluster, &swept);
	*ret_swept = swept;
	if (ret == 0)
		ret = own;
	if (ret == 0)
		ret = flushed;
	return ret == 0 ? others : ret;
}
