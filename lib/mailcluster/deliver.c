/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 4 /* of a mail that comes and goes while it is looked at */

struct delivery {
	struct mailcluster *cluster;
	struct flight flight;
	struct body body;
	struct mailid id;
	struct ownervalue owner;
	struct entryvalue entry;
	struct patience patience;
	bool *is_gone;
	uint64_t memory; /* that it has asked for */
	bool is_kept;	 /* another delivery had made the mail: this one takes nothing back */
	bool is_open;	 /* there may be a mail, or one may come */
	bool is_given;	 /* the client chose the id, and so the number */
};

/* ---- what is under way ---- */

/*
 * Before the mail is copied. Each has its turn, so that a large one is not passed by small ones for ever;
 * one that is larger than all memory goes alone.
 */
static void take_memory(struct delivery *delivery, const struct mailstore_mail *mail)
{
	struct mailcluster *cluster = delivery->cluster;
	uint64_t size = mail->size + MAILRECORD_HEAD_SIZE;
	for (size_t i = 0; i < mail->recipient_count; i++)
		size += mail->recipients[i].size + sizeof(struct mailname);
	cluster_lock(cluster);
	const uint64_t turn = cluster->room_asked++;
	while (cluster->room_given != turn ||
	       (cluster->memory_used > 0 && cluster->memory_used + size > cluster->memory_max))
		(void)pthread_cond_wait(&cluster->room, &cluster->mutex);
	cluster->room_given++;
	cluster->memory_used += size;
	delivery->memory = size;
	(void)pthread_cond_broadcast(&cluster->room);
	cluster_unlock(cluster);
}

static void give_memory(struct delivery *delivery)
{
	struct mailcluster *cluster = delivery->cluster;
	cluster_lock(cluster);
	cluster->memory_used -= delivery->memory;
	(void)pthread_cond_broadcast(&cluster->room);
	cluster_unlock(cluster);
}

static void take_off(struct delivery *delivery)
{
	struct mailcluster *cluster = delivery->cluster;
	cluster_lock(cluster);
	delivery->owner = (struct ownervalue){ .state = OWNERVALUE_NEW,
					       .slot = cluster->slot,
					       .attempt = ++cluster->attempt };
	delivery->flight.next = cluster->flights;
	cluster->flights = &delivery->flight;
	cluster_unlock(cluster);
}

static void land(struct delivery *delivery)
{
	struct mailcluster *cluster = delivery->cluster;
	struct flight **place = &cluster->flights;
	cluster_lock(cluster);
	while (*place != &delivery->flight)
		place = &(*place)->next;
	*place = delivery->flight.next;
	cluster_unlock(cluster);
}

/* ---- the number ---- */

static int choose_number(struct mailcluster *cluster, const struct mailstore_mail *mail,
			 struct delivery *delivery)
{
	uint64_t *number = &delivery->flight.number;
	if (mail->id == NULL || mail->is_moved) {
		int ret = nodes_make_number(cluster, number);
		uint8_t bytes[8];
		uint8_t *out = bytes;
		bytes_put(&out, *number, 8);
		if (ret == 0 && mail->id == NULL)
			return mailid_make(cluster->identity.key, bytes, &delivery->id);
		if (ret == 0)
			delivery->id = *mail->id;
		return ret;
	}
	if (!mailid_is_of(cluster->identity.key, mail->id))
		return MAILSTORE_EFOREIGN;
	delivery->id = *mail->id;
	delivery->is_given = true;
	*number = bytes_get(mail->id->bytes, 8);
	return 0;
}

/* ---- the first step: journal, mail and names ---- */

struct rows {
	struct objects_row *rows;
	uint8_t owner[OWNERVALUE_SIZE];
	char (*keys)[NAMES_KEY_SIZE];
	size_t count;
};

static int make_rows(const struct delivery *delivery, struct rows *ret_rows)
{
	const struct body *body = &delivery->body;
	ret_rows->count = body->box_count + 1;
	ret_rows->rows = calloc(ret_rows->count, sizeof(*ret_rows->rows));
	ret_rows->keys = calloc(ret_rows->count, sizeof(*ret_rows->keys));
	if (ret_rows->rows == NULL || ret_rows->keys == NULL)
		return -ENOMEM;
	ownervalue_encode(&delivery->owner, ret_rows->owner);
	ret_rows->rows[0] =
		(struct objects_row){ "owner", ret_rows->owner, sizeof(ret_rows->owner) };
	for (size_t i = 0; i < body->box_count; i++) {
		names_owner_key(body->boxes[i], ret_rows->keys[i]);
		ret_rows->rows[i + 1] =
			(struct objects_row){ ret_rows->keys[i], VALUES_MARK, VALUES_MARK_SIZE };
	}
	return 0;
}

/*
 * The mail is there: is it this one, and may it be finished? Its owner is another one then in any case, so that
 * a check which takes it for one that no mailbox has does not remove it.
 */
static int join(struct delivery *delivery, const struct ownervalue *found)
{
	struct mailcluster *cluster = delivery->cluster;
	uint64_t number = delivery->flight.number;
	struct ownervalue kept = delivery->owner;
	struct mailrecord record;
	uint8_t *meta = NULL;
	if (found->state == OWNERVALUE_REFUSED)
		return -ESTALE;
	int ret = body_read(cluster, number, &record, &meta);
	if (ret == 0 && !body_is_same(&delivery->body, &record, meta))
		ret = MAILSTORE_EID;
	/* It may have been refused meanwhile, and its bytes be gone. */
	if (ret == MAILSTORE_EDAMAGED)
		ret = -ECANCELED;
	free(meta);
	kept.state = OWNERVALUE_KEPT;
	if (ret == 0)
		ret = refs_set_owner(cluster, number, found, &kept, &delivery->patience);
	if (ret == 0) {
		delivery->is_kept = true;
		body_entry(&record, (uint32_t)delivery->body.box_count, &delivery->entry);
	}
	return ret;
}

/* What is there may be of this delivery, whose first attempt was not heard of. */
static int look_at_mail(struct delivery *delivery)
{
	struct ownervalue found;
	int ret = -ECANCELED;
	for (unsigned i = 0; ret == -ECANCELED && i < TRIES; i++) {
		ret = refs_owner(delivery->cluster, delivery->flight.number, &found);
		if (ret != 0)
			break;
		if (found.state == OWNERVALUE_NEW && found.attempt == delivery->owner.attempt)
			return 0;
		ret = join(delivery, &found);
	}
	/* It was there a moment ago: the client may come again. */
	bool is_away = ret == DNSBLV6_ENOTFOUND || ret == -ENOENT || ret == -ECANCELED;
	return is_away ? -EAGAIN : ret;
}

static int judge_mail(struct delivery *delivery, int status)
{
	/* With one attempt and an answer it is known that nothing was made. */
	delivery->is_open = status == 0 || status == -ETIMEDOUT || delivery->patience.has_repeated;
	return status == -EEXIST ? look_at_mail(delivery) : status;
}

static int write_first(struct delivery *delivery, const struct rows *rows,
		       const struct boxes_entries *entries)
{
	struct mailcluster *cluster = delivery->cluster;
	struct objects_write writes[2 + NAMES_DIRECTORIES];
	struct journal_write journal;
	char name[NAMES_NUMBER_SIZE];
	names_number('b', delivery->flight.number, name);
	writes[0] = (struct objects_write){ .name = name,
					    .guard = OBJECTS_NEW,
					    .set = rows->rows,
					    .set_count = rows->count,
					    .bytes = delivery->body.bytes,
					    .size = delivery->body.size };
	journal_begin(cluster, delivery->flight.number, delivery->owner.attempt, &journal,
		      &writes[1]);
	memcpy(writes + 2, entries->writes, entries->count * sizeof(*writes));
	(void)cluster_write(cluster, writes, 2 + entries->count, &delivery->patience);
	journal_end(cluster, &journal, writes[1].status);
	int ret = judge_mail(delivery, writes[0].status);
	for (size_t i = 1; ret == 0 && i < 2 + entries->count; i++)
		ret = writes[i].status;
	if (ret == 0)
		boxes_entries_know(cluster, entries);
	return ret;
}

static int begin(struct delivery *delivery)
{
	struct rows rows = { 0 };
	struct boxes_entries entries;
	int ret = boxes_entries_make(delivery->cluster, delivery->body.boxes,
				     delivery->body.box_count, &entries);
	if (ret == 0)
		ret = make_rows(delivery, &rows);
	if (ret == 0)
		ret = write_first(delivery, &rows, &entries);
	free(rows.rows);
	free(rows.keys);
	boxes_entries_free(&entries);
	return ret;
}

/* ---- the second: mailboxes ---- */

/* Mailboxes that had the mail before and have erased it: it does not name them again. */
static void drop_gone(struct delivery *delivery)
{
	struct ref ref = { .number = delivery->flight.number, .id = delivery->id };
	for (size_t i = 0; i < delivery->body.box_count; i++)
		if (delivery->is_gone[i])
			(void)refs_drop(delivery->cluster, delivery->body.boxes[i], &ref, 1,
					&delivery->patience);
}

static void count(struct delivery *delivery)
{
	struct mailcluster *cluster = delivery->cluster;
	const struct body *body = &delivery->body;
	uint8_t hash[NAMES_HASH_SIZE];
	for (size_t i = 0; i < body->box_count; i++) {
		if (names_hash(body->boxes[i], hash) != 0)
			continue;
		cluster_lock(cluster);
		caches_add_peek(&cluster->caches, hash, body->record.octets);
		cluster_unlock(cluster);
	}
	cluster_lock(cluster);
	cluster->mails++;
	cluster->entries += body->box_count;
	cluster->bytes += body->size;
	cluster_unlock(cluster);
}

/*
 * What has failed is the sweep's. The row of a number that a client has given may be one of an attempt
 * before, which is not finished by this one's failure.
 */
static void end(struct delivery *delivery, int status)
{
	struct mailcluster *cluster = delivery->cluster;
	uint64_t number = delivery->flight.number;
	if (status == 0)
		count(delivery);
	if (status == 0 || (!delivery->is_open && !delivery->is_given))
		journal_finish(cluster, number);
	else if (delivery->is_open && !delivery->is_kept)
		mend_undo_later(cluster, number, delivery->owner.attempt);
}

static int run(struct delivery *delivery, const struct mailstore_mail *mail)
{
	struct mailcluster *cluster = delivery->cluster;
	struct body *body = &delivery->body;
	uint64_t number = delivery->flight.number;
	int ret = 0;
	body_seal(cluster, number, &delivery->id, body);
	body_entry(&body->record, (uint32_t)body->box_count, &delivery->entry);
	if (mail->id != NULL && mail->is_moved)
		ret = refs_put_moved(cluster, mail->id, number, &delivery->patience);
	if (ret != 0)
		return ret;
	ret = begin(delivery);
	if (ret == 0)
		ret = refs_add(cluster, number, &delivery->entry, body->boxes, body->box_count,
			       delivery->is_gone, &delivery->patience);
	if (ret == 0)
		drop_gone(delivery);
	end(delivery, ret);
	return ret;
}

static int try_delivery(struct delivery *delivery, const struct mailstore_mail *mail)
{
	struct mailcluster *cluster = delivery->cluster;
	int ret = body_make(mail, &delivery->body);
	if (ret == 0)
		ret = choose_number(cluster, mail, delivery);
	if (ret != 0)
		return ret;
	delivery->is_gone = calloc(delivery->body.box_count, sizeof(*delivery->is_gone));
	if (delivery->is_gone == NULL)
		return -ENOMEM;
	take_off(delivery);
	ret = run(delivery, mail);
	land(delivery);
	return ret;
}

int deliver_mail(struct mailcluster *cluster, const struct mailstore_mail *mail,
		 struct mailid *ret_id)
{
	struct delivery delivery = { .cluster = cluster, .patience = cluster_patience() };
	int ret = cluster_state(cluster);
	if (ret == 0)
		ret = mend_has_room(cluster);
	if (ret != 0)
		return ret;
	take_memory(&delivery, mail);
	ret = try_delivery(&delivery, mail);
	if (ret == 0)
		*ret_id = delivery.id;
	free(delivery.is_gone);
	body_free(&delivery.body);
	give_memory(&delivery);
	return ret;
}
