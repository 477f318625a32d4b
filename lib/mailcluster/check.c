/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GONES_MAX 500 /* of one write, as of an erasure */

struct run {
	struct mailcluster *cluster;
	const struct mailcluster_check *check;
	struct mailcluster_found found;
	unsigned copies_wanted;
	const char *object; /* that is being looked at */
	int status;	    /* the first failure: what was found before it counts */
};

/* ---- what is said ---- */

static void tell(struct run *run, const char *what, const char *object, const char *more)
{
	char line[2 * NAMES_OBJECT_SIZE + 128];
	if (run->check->tell == NULL)
		return;
	(void)snprintf(line, sizeof(line), "finding=%s object=%s%s%s", what, object,
		       more[0] != '\0' ? " of=" : "", more);
	run->check->tell(run->check->owner, line);
}

/* A value that is none, or what no copy gives: it ends the look at one object, not that at all. */
static bool is_damage(int status)
{
	return status == MAILSTORE_EDAMAGED || status == -ERANGE || status == -EIO;
}

static void count_damage(struct run *run, const char *more)
{
	run->found.damaged++;
	tell(run, "damaged", run->object, more);
}

static void count_failure(struct run *run, int status)
{
	if (is_damage(status))
		count_damage(run, "");
	else if (run->status == 0)
		run->status = status;
}

static void count_repair(struct run *run, int status)
{
	run->found.repaired += status == 0;
	if (status != 0)
		count_failure(run, status);
}

static bool is_old(const struct run *run, uint64_t time_us)
{
	return time_us + MAILCLUSTER_OLD_US < run->check->time_us;
}

static bool is_old_number(const struct run *run, uint64_t number)
{
	return is_old(run, number >> 10);
}

/* ---- a mail ---- */

struct mailstate {
	char name[NAMES_NUMBER_SIZE];
	uint64_t number;
	struct ownervalue owner;
	struct mailname *boxes;
	size_t box_count;
	bool is_settled; /* some mailbox has it, or had it */
	size_t lonely;	 /* mailboxes that it names, and that know nothing of it */
};

/* same is a row that it has to have, or NULL. */
static int remove_object(struct mailcluster *cluster, const char *name,
			 const struct objects_row *same)
{
	struct patience patience = cluster_patience();
	struct objects_write write = {
		.name = name, .is_removal = true, .same = same, .same_count = same != NULL
	};
	int ret = cluster_write(cluster, &write, 1, &patience);
	return ret == -ENOENT || ret == -ECANCELED ? 0 : ret;
}

/* The mail is there and does not name the mailbox, which would lose it with the last one that it does. */
static int name_box(struct run *run, struct mailname box, uint64_t number,
		    const struct ownervalue *owner)
{
	char name[NAMES_NUMBER_SIZE];
	char key[NAMES_KEY_SIZE];
	uint8_t bytes[OWNERVALUE_SIZE];
	struct patience patience = cluster_patience();
	struct objects_row same = { "owner", bytes, sizeof(bytes) };
	struct objects_row set = { key, VALUES_MARK, VALUES_MARK_SIZE };
	names_number('b', number, name);
	names_owner_key(box, key);
	ownervalue_encode(owner, bytes);
	return cluster_put_row(run->cluster, name, OBJECTS_OLD, &same, &set, &patience);
}

/* What says that a mail was refused goes when nothing of it can come any more. */
static void check_refused(struct run *run, const struct mailstate *mail)
{
	if (mail->box_count > 0) {
		run->found.orphans++;
		tell(run, "refused", mail->name, "");
		int ret = run->check->is_repair ? mend_refused(run->cluster, mail->number) : 0;
		if (run->check->is_repair)
			count_repair(run, ret);
		/* Mailboxes may have it still: they would have a mail that is not there. */
		if (ret != 0 || !run->check->is_repair)
			return;
	}
	if (!is_old_number(run, mail->number))
		return;
	run->found.old++;
	if (run->check->is_repair)
		count_repair(run, remove_object(run->cluster, mail->name, NULL));
}

/* One that has been refused, or has gone, since its owner was read is not damaged. */
static bool has_changed(struct run *run, const struct mailstate *mail)
{
	struct ownervalue owner;
	return refs_owner(run->cluster, mail->number, &owner) != 0 ||
	       owner.state == OWNERVALUE_REFUSED;
}

static int check_bytes(struct run *run, const struct mailstate *mail)
{
	struct mailrecord record;
	uint8_t *meta = NULL;
	uint64_t size = 0;
	int ret = body_read(run->cluster, mail->number, &record, &meta);
	free(meta);
	if (ret == 0)
		ret = objects_size(run->cluster->objects, mail->name, &size);
	if (ret == 0)
		ret = size == record.size ? body_check(run->cluster, mail->number, &record)
					  : MAILSTORE_EDAMAGED;
	if (ret == MAILSTORE_EDAMAGED && !has_changed(run, mail))
		count_damage(run, "");
	return ret == MAILSTORE_EDAMAGED || ret == DNSBLV6_ENOTFOUND || ret == -ENOENT ? 0 : ret;
}

/* Does the mail name the mailbox? */
static int find_owner_row(struct run *run, struct mailname box, uint64_t number)
{
	char name[NAMES_NUMBER_SIZE];
	char key[NAMES_KEY_SIZE];
	uint8_t bytes[VALUES_MAX];
	size_t size = 0;
	names_number('b', number, name);
	names_owner_key(box, key);
	return cluster_row(run->cluster, name, key, bytes, &size);
}

static int name_box_again(struct run *run, const struct mailstate *mail, struct mailname box)
{
	int ret = find_owner_row(run, box, mail->number);
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	ret = name_box(run, box, mail->number, &mail->owner);
	count_repair(run, ret);
	return ret;
}

/* Those that it was delivered to, and that have it: they are named again. */
static int name_boxes_again(struct run *run, const struct mailstate *mail,
			    const struct mailrecord *record, const uint8_t *meta, bool *ret_has)
{
	struct mailmeta decoded;
	struct mailname box;
	struct entryvalue entry;
	int ret = mailmeta_decode(meta, record->meta_size, &decoded);
	while (ret == 0 && mailmeta_next(&decoded, &box)) {
		ret = refs_entry(run->cluster, box, mail->number, &entry);
		if (ret == DNSBLV6_ENOTFOUND) {
			ret = 0;
			continue;
		}
		*ret_has = true;
		if (ret == 0 && run->check->is_repair)
			ret = name_box_again(run, mail, box);
	}
	return ret;
}

/* A mailbox had it, and the mail names it still: its erasure was interrupted. */
static int check_gone(struct run *run, const struct mailstate *mail, struct mailname box)
{
	char name[NAMES_OBJECT_SIZE];
	struct patience patience = cluster_patience();
	struct mailrecord record;
	uint8_t *meta = NULL;
	struct ref ref = { .number = mail->number };
	bool has_boxes = false;
	/* The erasure may have been under way, and have ended. */
	int ret = find_owner_row(run, box, mail->number);
	if (ret != 0)
		return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
	run->found.orphans++;
	names_box(box, name);
	tell(run, "erased", mail->name, name);
	if (!run->check->is_repair)
		return 0;
	/* An id of another store goes with the mail; one that cannot be read has its own. */
	bytes_put(&(uint8_t *){ ref.id.bytes }, mail->number, 8);
	ret = body_read(run->cluster, mail->number, &record, &meta);
	if (ret == 0) {
		ref.id = record.id;
		/* The mail goes with the last that it names. */
		ret = name_boxes_again(run, mail, &record, meta, &has_boxes);
	}
	free(meta);
	if (ret != 0 && ret != MAILSTORE_EDAMAGED)
		return ret;
	count_repair(run, refs_drop(run->cluster, box, &ref, 1, &patience));
	return 0;
}

static int check_box_of(struct run *run, struct mailstate *mail, struct mailname box)
{
	struct entryvalue entry;
	struct gonevalue gone;
	int ret = refs_entry(run->cluster, box, mail->number, &entry);
	if (ret == 0) {
		mail->is_settled = true;
		return 0;
	}
	if (ret == DNSBLV6_ENOTFOUND)
		ret = refs_gone(run->cluster, box, mail->number, &gone);
	if (ret == 0) {
		mail->is_settled = true;
		return check_gone(run, mail, box);
	}
	/* A damaged row is counted with its mailbox. */
	mail->lonely += ret == DNSBLV6_ENOTFOUND;
	return ret == DNSBLV6_ENOTFOUND || is_damage(ret) ? 0 : ret;
}

/* A delivery that is under way will settle it. */
static int is_in_journal(struct run *run, const struct mailstate *mail)
{
	char node[MAILCLUSTER_NODE_MAX + 1];
	if (!nodes_name(run->cluster, mail->owner.slot, node))
		return DNSBLV6_ENOTFOUND;
	return journal_find(run->cluster, node, mail->number);
}

/* Which mailboxes know nothing of it now? What they have erased is found the next time. */
static int look_again(struct run *run, struct mailstate *mail)
{
	mail->lonely = 0;
	for (size_t i = 0; i < mail->box_count; i++) {
		struct entryvalue entry;
		struct gonevalue gone;
		int ret = refs_entry(run->cluster, mail->boxes[i], mail->number, &entry);
		if (ret == DNSBLV6_ENOTFOUND)
			ret = refs_gone(run->cluster, mail->boxes[i], mail->number, &gone);
		if (ret != 0 && ret != DNSBLV6_ENOTFOUND && !is_damage(ret))
			return ret;
		mail->lonely += ret == DNSBLV6_ENOTFOUND;
		mail->is_settled = mail->is_settled || ret == 0;
	}
	return 0;
}

/*
 * One that some mailbox knows was acknowledged, or may have been: it is rolled forward. One that none
 * knows never was, since its journal is finished.
 */
static int check_lonely(struct run *run, struct mailstate *mail)
{
	struct ownervalue owner;
	bool is_refused;
	int ret = is_in_journal(run, mail);
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	/* It may have been finished between the look at the mailboxes and that at the journal. */
	ret = look_again(run, mail);
	if (ret == 0 && mail->lonely > 0)
		ret = refs_owner(run->cluster, mail->number, &owner);
	if (ret != 0 || mail->lonely == 0)
		return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
	run->found.orphans += mail->lonely;
	tell(run, "orphan", mail->name, "");
	if (!run->check->is_repair || !is_old_number(run, mail->number))
		return 0;
	if (mail->is_settled || owner.state == OWNERVALUE_KEPT)
		count_repair(run, mend_forward(run->cluster, mail->number, &is_refused));
	else {
		ret = mend_refuse(run->cluster, mail->number, &owner);
		count_repair(run, ret == -EEXIST ? 0 : ret);
	}
	return 0;
}

/* It names no mailbox: as a rule the erasure in the last one was interrupted. */
static int check_empty(struct run *run, const struct mailstate *mail)
{
	struct mailrecord record;
	uint8_t *meta = NULL;
	bool has_boxes = false;
	/* A delivery that takes it up meanwhile makes it its own. */
	uint8_t bytes[OWNERVALUE_SIZE];
	const struct objects_row same = { "owner", bytes, sizeof(bytes) };
	ownervalue_encode(&mail->owner, bytes);
	int ret = body_read(run->cluster, mail->number, &record, &meta);
	if (ret == 0)
		ret = name_boxes_again(run, mail, &record, meta, &has_boxes);
	free(meta);
	if (ret != 0)
		return ret == MAILSTORE_EDAMAGED ? 0 : ret;
	run->found.orphans++;
	tell(run, has_boxes ? "unnamed" : "orphan", mail->name, "");
	if (run->check->is_repair && !has_boxes)
		count_repair(run, remove_object(run->cluster, mail->name, &same));
	return 0;
}

static int check_owned(struct run *run, struct mailstate *mail)
{
	int ret = 0;
	run->found.mails++;
	if (run->check->is_deep)
		ret = check_bytes(run, mail);
	for (size_t i = 0; ret == 0 && i < mail->box_count; i++)
		ret = check_box_of(run, mail, mail->boxes[i]);
	if (ret == 0 && mail->box_count == 0)
		ret = check_empty(run, mail);
	if (ret == 0 && mail->lonely > 0)
		ret = check_lonely(run, mail);
	return ret;
}

static int check_mail(struct run *run, const char *name, uint64_t number)
{
	struct mailstate mail = { .number = number };
	uint64_t size;
	(void)snprintf(mail.name, sizeof(mail.name), "%s", name);
	int ret = refs_owner(run->cluster, number, &mail.owner);
	if (ret == DNSBLV6_ENOTFOUND && objects_size(run->cluster->objects, name, &size) == 0) {
		/* It may just have come. */
		ret = refs_owner(run->cluster, number, &mail.owner);
		ret = ret == DNSBLV6_ENOTFOUND ? MAILSTORE_EDAMAGED : ret;
	}
	if (ret == 0)
		ret = refs_boxes(run->cluster, number, &mail.boxes, &mail.box_count);
	if (ret == 0 && mail.owner.state == OWNERVALUE_REFUSED)
		check_refused(run, &mail);
	else if (ret == 0)
		ret = check_owned(run, &mail);
	free(mail.boxes);
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

/* ---- a mailbox ---- */

static int check_unnamed(struct run *run, const char *name, struct mailname box, uint64_t number)
{
	char mail[NAMES_NUMBER_SIZE];
	struct patience patience = cluster_patience();
	struct ownervalue owner;
	struct entryvalue entry;
	int ret = refs_owner(run->cluster, number, &owner);
	bool is_lost = ret == DNSBLV6_ENOTFOUND;
	if (ret != 0 && !is_lost)
		return ret;
	/* It may have been erased since its row was read. */
	ret = refs_entry(run->cluster, box, number, &entry);
	if (ret != 0)
		return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
	names_number('b', number, mail);
	tell(run, is_lost ? "missing" : "unnamed", mail, name);
	if (is_lost) {
		run->found.missing++;
		return 0;
	}
	run->found.orphans++;
	if (!run->check->is_repair)
		return 0;
	if (owner.state == OWNERVALUE_REFUSED)
		count_repair(run, refs_refuse(run->cluster, number, &box, 1, &patience));
	else
		count_repair(run, name_box(run, box, number, &owner));
	return 0;
}

static int check_entry(struct run *run, const char *name, struct mailname box,
		       const struct objects_found *row)
{
	struct entryvalue value;
	uint64_t number;
	if (!entryvalue_decode(row->value, row->size, &value) ||
	    !names_parse_number('m', row->key, &number)) {
		count_damage(run, row->key);
		return 0;
	}
	run->found.entries++;
	run->found.octets += value.entry.octets;
	int ret = find_owner_row(run, box, number);
	if (ret == DNSBLV6_ENOTFOUND)
		ret = check_unnamed(run, name, box, number);
	/* A damaged mail is counted by itself. */
	return is_damage(ret) ? 0 : ret;
}

/* Rows that go in one write, as that of each takes as long; with copies, as their page goes before. */
struct gones {
	size_t count;
	char keys[GONES_MAX][NAMES_NUMBER_SIZE];
	uint8_t values[GONES_MAX][GONEVALUE_SIZE];
	struct objects_row same[GONES_MAX];
	const char *unset[GONES_MAX];
};

static void add_gone(struct gones *gones, const struct objects_found *row)
{
	const size_t at = gones->count++;
	memcpy(gones->keys[at], row->key, NAMES_NUMBER_SIZE);
	memcpy(gones->values[at], row->value, GONEVALUE_SIZE);
	gones->unset[at] = gones->keys[at];
	gones->same[at] =
		(struct objects_row){ gones->keys[at], gones->values[at], GONEVALUE_SIZE };
}

static int remove_some(struct run *run, const char *name, const struct gones *gones, size_t at,
		       size_t count)
{
	struct patience patience = cluster_patience();
	struct objects_write write = { .name = name,
				       .guard = OBJECTS_OLD,
				       .same = gones->same + at,
				       .same_count = count,
				       .unset = gones->unset + at,
				       .unset_count = count };
	return cluster_write(run->cluster, &write, 1, &patience);
}

/* Where one has changed since it was read none has gone: each is tried alone, and that one stays. */
static void remove_gones(struct run *run, const char *name, struct gones *gones)
{
	const size_t count = gones->count;
	gones->count = 0;
	int ret = count > 0 ? remove_some(run, name, gones, 0, count) : 0;
	const bool is_together = ret != -ECANCELED;
	for (size_t i = 0; i < count; i++) {
		if (!is_together && ret != -ETIMEDOUT)
			ret = remove_some(run, name, gones, i, 1);
		count_repair(run, ret == -ECANCELED || ret == -ENOENT ? 0 : ret);
	}
}

static int check_gone_row(struct run *run, const char *name, struct mailname box,
			  const struct objects_found *row, struct gones *gones)
{
	struct gonevalue value;
	uint64_t number;
	if (!gonevalue_decode(row->value, row->size, &value) ||
	    !names_parse_number('t', row->key, &number)) {
		count_damage(run, row->key);
		return 0;
	}
	if (!is_old(run, value.time_us))
		return 0;
	int ret = find_owner_row(run, box, number);
	if (ret != DNSBLV6_ENOTFOUND)
		return is_damage(ret) ? 0 : ret;
	run->found.old++;
	if (run->check->is_repair)
		add_gone(gones, row);
	if (gones->count == GONES_MAX)
		remove_gones(run, name, gones);
	return 0;
}

static int check_entries(struct run *run, const char *name, struct mailname box)
{
	const struct objects_found *row;
	struct cluster_rows rows;
	int ret = cluster_rows_begin(run->cluster, name, "", "m.", &rows);
	while (ret == 0 && (ret = cluster_rows_next(&rows, &row)) == 0)
		ret = check_entry(run, name, box, row);
	cluster_rows_end(&rows);
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

static int check_gone_rows(struct run *run, const char *name, struct mailname box)
{
	const struct objects_found *row;
	struct cluster_rows rows;
	struct gones *gones = malloc(sizeof(*gones));
	if (gones == NULL)
		return -ENOMEM;
	gones->count = 0;
	int ret = cluster_rows_begin(run->cluster, name, "", "t.", &rows);
	while (ret == 0 && (ret = cluster_rows_next(&rows, &row)) == 0)
		ret = check_gone_row(run, name, box, row, gones);
	cluster_rows_end(&rows);
	if (ret != -ETIMEDOUT)
		remove_gones(run, name, gones);
	free(gones);
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

static int check_box(struct run *run, const char *name, struct mailname box)
{
	run->found.boxes++;
	int ret = check_entries(run, name, box);
	return ret == 0 ? check_gone_rows(run, name, box) : ret;
}

/* ---- the others ---- */

static void check_orphan(struct run *run, const char *name, uint64_t number,
			 const struct objects_row *same)
{
	if (!is_old_number(run, number))
		return;
	run->found.orphans++;
	tell(run, "orphan", name, "");
	if (run->check->is_repair)
		count_repair(run, remove_object(run->cluster, name, same));
}

static int check_id(struct run *run, const char *name, const struct mailid *id)
{
	struct ownervalue owner;
	uint64_t number;
	uint8_t bytes[8];
	const struct objects_row same = { "mail", bytes, sizeof(bytes) };
	int ret = refs_find_moved(run->cluster, id, &number);
	if (ret != 0)
		return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
	ret = refs_owner(run->cluster, number, &owner);
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	/* A new mail may come with the id. */
	bytes_put(&(uint8_t *){ bytes }, number, 8);
	check_orphan(run, name, number, &same);
	return 0;
}

static int check_users_row(struct run *run)
{
	struct usersvalue users;
	int ret = userdb_current(run->cluster, &users);
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

static int check_users(struct run *run, const char *name, uint64_t number)
{
	struct usersvalue users = { .number = 0 };
	int ret = userdb_current(run->cluster, &users);
	if (ret != 0 && ret != DNSBLV6_ENOTFOUND)
		return is_damage(ret) ? 0 : ret;
	if (users.number != number)
		check_orphan(run, name, number, NULL);
	return 0;
}

static int check_object(struct run *run, const char *name)
{
	struct names_parsed parsed;
	names_parse(name, &parsed);
	switch (parsed.kind) {
	case NAMES_MAIL:
		return check_mail(run, name, parsed.number);
	case NAMES_BOX:
		return check_box(run, name, (struct mailname){ parsed.box, parsed.box_size });
	case NAMES_ID:
		return check_id(run, name, &parsed.id);
	case NAMES_USERS:
		return check_users_row(run);
	case NAMES_USERS_BYTES:
		return check_users(run, name, parsed.number);
	case NAMES_OTHER:
	case NAMES_STORE:
	case NAMES_NODES:
	case NAMES_DIRECTORY:
	case NAMES_JOURNAL:
		break;
	}
	return 0;
}

static bool take_object(void *owner, const char *name, unsigned copies)
{
	struct run *run = owner;
	run->object = name;
	if (copies > 0 && copies < run->copies_wanted) {
		run->found.few_copies++;
		tell(run, "few-copies", name, "");
	}
	int ret = check_object(run, name);
	if (ret != 0)
		count_failure(run, ret);
	/* What cannot be reached now is not asked for object by object. */
	return ret != -ETIMEDOUT;
}

int mailcluster_check(struct mailcluster *cluster, const struct mailcluster_check *check,
		      struct mailcluster_found *ret_found)
{
	struct run run = { .cluster = cluster, .check = check };
	struct objects_state state;
	int ret = cluster_state(cluster);
	if (ret == 0 && objects_describe(cluster->objects, &state) == 0)
		run.copies_wanted = state.copies_wanted;
	if (ret == 0)
		ret = objects_list(cluster->objects, take_object, &run);
	if (ret == 0)
		ret = run.status;
	if (ret == 0)
		*ret_found = run.found;
	return ret;
}
