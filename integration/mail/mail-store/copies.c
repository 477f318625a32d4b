/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * copies.c - mail-store copies: mailboxes against the second copies that the next node has of them.
 *
 * The daemon is the module of some node (mail-stored, section "nodes"), which brings each question to the node
 * that it concerns. What only the mailbox has lacks its copy. What only the copies have was deleted while the
 * next node was down, if it came when the store of the mailbox was there; else it was lost with the store
 * before that, as when a disk has died. So "restore" takes what is older than the store, "forget" what is not.
 * The two times are of different machines: what came within the slack of a store's beginning counts as lost.
 *
 * Mails and copies are looked for at all nodes. A change of "peer" makes another node the next one, and leaves copies
 * where they are: they count where a mail is lost, and "make" has them at the right node, and there alone.
 */

#include "integration/mail/mail-store/tool.h"

#include "integration/mail/base/store/copyname.h"
#include "integration/mail/base/store/remote.h"
#include "lib/common/log.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum verb { CHECK, MAKE, RESTORE, FORGET };

/* A clock that was set by the wrong zone, or not put forward for summer, is wrong by an hour. */
#define SLACK_DEFAULT_S 3600
#define SLACK_MAX_S	(366ULL * 24 * 3600)

struct copies {
	const char *store;
	enum verb verb;
	bool takes_all;
	uint64_t slack_s;
	struct maillayer *layer;
	/* Against a gather, and others of these: what these move would be seen at no node, or brought twice. */
	struct maillayer *lock;
	uint64_t boxes;
	uint64_t mails;
	uint64_t lacking; /* mails without a copy */
	uint64_t alone;	  /* copies without a mail */
	uint64_t deleted; /* those of them whose mails were deleted */
	uint64_t astray;  /* copies at another node than the next, also where that has one, too */
	uint64_t made;
	uint64_t kept; /* ids that the other node has had before */
	uint64_t gone; /* copies that were deleted */
	uint64_t away; /* mailboxes of which a node is down */
	/* Mailboxes of copies whose node has no mail, in order; their bytes are freed with them. */
	struct tool_names lost;
	bool is_damaged;	 /* some mail was left out */
	bool began_without_lock; /* its node was down */
	bool has_lost_lock;
	/* Some node did not say which mailboxes it has, or whether it has a mail that would come back. */
	bool lacked_boxes;
};

static const struct options_bound rows[] = {
	{ { 's', "store", "SOCKET", "of mail-stored on any node" },
	  OPTIONS_AT(struct copies, store) },
	{ { 'a', "all", NULL, "forget, or restore: deleted and lost mails alike" },
	  OPTIONS_AT(struct copies, takes_all) },
	{ { 0, "slack", "SECONDS", "by which clocks may be wrong (3600)" },
	  OPTIONS_AT(struct copies, slack_s),
	  .max = SLACK_MAX_S },
};

static const struct options_table table = {
	.program = "mail-store copies",
	.usage = "--store SOCKET [--slack SECONDS] check | make | restore [--all] | forget [--all]",
	.summary =
		"Compares mailboxes with the second copies on other nodes; makes copies that are\n"
		"missing, restores mails that were lost with their store, under their ids, or\n"
		"deletes copies of mails that were deleted since then.",
	OPTIONS_ROWS(rows),
};

/* ---- lists ---- */

static int compare_places(const void *one, const void *other)
{
	const struct mailentry *a = one;
	const struct mailentry *b = other;
	return (a->mail > b->mail) - (a->mail < b->mail);
}

static void sort_by_places(const struct tool_list *list)
{
	if (list->count > 0)
		qsort(list->entries, list->count, sizeof(*list->entries), compare_places);
}

/* ---- one mail ---- */

/* What is delivered, and into which mailboxes. */
struct target {
	struct mailname box;	       /* the one in hand */
	struct mailname copy_box;      /* out of which it is restored; or empty: a copy is made */
	const struct tool_list *mails; /* of box; NULL: a copy is made */
	bool lacks_mails;	       /* some node did not list what it has of box */
	struct mailname *boxes;
	uint8_t *bytes; /* of these, when they are for copies: MAILBOX_NAME_MAX for each */
	size_t count;
};

/*
 * As gather does before each write. Without the node that keeps it none has it, as long as that is down: another that
 * ran when it was back has changed what lists of before say. 0, or -ECANCELED with a line of the log.
 */
static int check_lock(struct copies *copies)
{
	if (tool_lock_moves(copies->lock) == (copies->began_without_lock ? MAILSTORE_EAWAY : 0))
		return 0;
	log_error(NULL, "lock lost, store=%s (copies again)", copies->store);
	copies->has_lost_lock = true;
	return -ECANCELED;
}

static int deliver_one(struct copies *copies, const struct mailstore_mail *mail)
{
	struct mailid id;
	int ret = check_lock(copies);
	return ret == 0 ? maillayer_deliver(copies->layer, mail, &id) : ret;
}

static int forget(struct copies *copies, struct mailname copy_box, const struct mailentry *entry)
{
	int ret = check_lock(copies);
	if (ret == 0)
		ret = maillayer_erase(copies->layer, copy_box, &entry->mail, 1, clock_wall_us());
	copies->gone += ret == 0;
	return ret == MAILSTORE_EMAIL ? 0 : ret; /* with its mail, meanwhile */
}

static void add_box(struct target *target, unsigned number, struct mailname box)
{
	uint8_t *bytes = target->bytes + target->count * MAILBOX_NAME_MAX;
	if (target->copy_box.size == 0)
		box = (struct mailname){ bytes, copyname_make(number, box, bytes) };
	if (box.size > 0)
		target->boxes[target->count++] = box;
}

/* An id is in a store once: for all mailboxes of its node that have the mail, or its copy, it goes together. */
static int find_boxes(struct copies *copies, const struct mailentry *entry, struct mailmeta *meta,
		      struct target *target)
{
	const bool is_made = target->copy_box.size == 0;
	struct mailname name;
	struct mailname box;
	unsigned number = 0;
	unsigned other = 0;
	target->boxes = calloc(meta->recipient_count + 1U, sizeof(*target->boxes));
	target->bytes = malloc((meta->recipient_count + 1U) * (size_t)MAILBOX_NAME_MAX);
	if (target->boxes == NULL || target->bytes == NULL)
		return -ENOMEM;
	(void)copyname_parse(is_made ? target->box : target->copy_box, &number, &box);
	while (mailmeta_next(meta, &name)) {
		struct mailentry found;
		const bool is_copy = copyname_parse(name, &other, &box);
		if (is_copy == is_made || (is_copy ? other != number : copyname_is_own(name)))
			continue;
		int ret = maillayer_find(copies->layer, name, entry->mail, &found);
		if (ret == 0 && found.mail == entry->mail)
			add_box(target, number, is_copy ? box : name);
		else if (ret != 0 && ret != DNSBLV6_ENOTFOUND)
			return ret;
	}
	return target->count > 0 ? 0 : MAILSTORE_EMAIL;
}

/* Under its id and with its time. One that is restored is wanted in any case: under another id where it is taken. */
static int deliver(struct copies *copies, const struct target *target,
		   const struct mailentry *entry, struct mailstore_mail mail)
{
	mail.recipients = target->boxes;
	mail.recipient_count = target->count;
	mail.time_us = entry->time_us;
	mail.id = &entry->id;
	mail.is_moved = true;
	int ret = deliver_one(copies, &mail);
	copies->made += ret == 0 ? target->count : 0;
	if (ret != MAILSTORE_EID)
		return ret;
	if (target->copy_box.size == 0) {
		copies->kept++;
		return 0;
	}
	/* It has come back before, and that has not come to its end. */
	if (tool_find_same(copies->layer, target->mails, &mail) != NULL)
		return forget(copies, target->copy_box, entry);
	/* One that is down may have the mail, which has moved there, and would bring it again under its id. */
	if (target->lacks_mails) {
		copies->lacked_boxes = true;
		return 0;
	}
	mail.recipients = &target->box;
	mail.recipient_count = 1;
	mail.id = NULL;
	mail.is_moved = false;
	ret = deliver_one(copies, &mail);
	copies->made += ret == 0;
	/* It has a copy of its own now. */
	return ret == 0 ? forget(copies, target->copy_box, entry) : ret;
}

static int copy_mail(struct copies *copies, struct target target, const struct mailentry *entry)
{
	struct tool_mail mail;
	int ret = tool_read_mail(copies->layer, entry->mail, &mail);
	const struct mailname sender = mail.meta.sender;
	if (ret == 0)
		ret = find_boxes(copies, entry, &mail.meta, &target);
	if (ret == 0)
		ret = deliver(copies, &target, entry,
			      (struct mailstore_mail){ .sender = sender,
						       .text = (const uint8_t *)mail.text,
						       .size = mail.size });
	free(target.boxes);
	free(target.bytes);
	tool_free_mail(&mail);
	if (ret == MAILSTORE_EMAIL)
		return 0; /* it was deleted meanwhile */
	if (ret == 0 || ret == MAILSTORE_EAWAY || ret == -ECANCELED)
		return ret;
	return tool_leave_out(copies->store, "mail not copied", entry, ret, &copies->is_damaged);
}

/* ---- one mailbox of one node ---- */

/* Mails of a mailbox that are at one node, and where the copies of these are. */
struct unit {
	unsigned number; /* of that node */
	unsigned next;	 /* of the one that has copies by now */
	struct mailname box;
	struct mailname copy_box;
	uint64_t since_us;	 /* the store of that node is there, and that of the mailbox's */
	bool lacks_mails;	 /* some other node did not list what it has */
	struct tool_list mails;	 /* at all nodes */
	struct tool_list others; /* copies: one of each id, at the next node if it is there, too */
	struct tool_list spares; /* what others has already */
};

static unsigned node_of(const struct mailentry *entry)
{
	return remote_node_of(entry->mail);
}

/*
 * By a clock that was ahead a mail came later than it did, and by one that was behind the store is older than it is: a
 * copy too many is better than the last one deleted.
 */
static int take_alone(struct copies *copies, const struct unit *unit, const struct mailentry *entry)
{
	const struct target target = { .box = unit->box,
				       .copy_box = unit->copy_box,
				       .mails = &unit->mails,
				       .lacks_mails = unit->lacks_mails };
	const uint64_t lost_us = unit->since_us + copies->slack_s * 1000000;
	const bool is_deleted = entry->time_us >= lost_us && entry->time_us <= clock_wall_us();
	copies->alone++;
	copies->deleted += is_deleted;
	if (copies->verb == RESTORE && (!is_deleted || copies->takes_all))
		return copy_mail(copies, target, entry);
	if (copies->verb != FORGET || (!is_deleted && !copies->takes_all))
		return 0;
	/* A node that is down may have the mail, which has moved there, and this may be its only copy. */
	return unit->lacks_mails ? MAILSTORE_EAWAY : forget(copies, unit->copy_box, entry);
}

/* A copy that is at another node goes when the next one has it. */
static int make_copy(struct copies *copies, const struct unit *unit, const struct mailentry *entry,
		     const struct mailentry *copy)
{
	const uint64_t made = copies->made;
	int ret = copy_mail(copies, (struct target){ .box = unit->copy_box }, entry);
	if (ret == 0 && copy != NULL && copies->made > made)
		ret = forget(copies, unit->copy_box, copy);
	return ret;
}

/* Of one mail of the unit's node. */
static int take_mail(struct copies *copies, const struct unit *unit, const struct mailentry *entry)
{
	const struct mailentry *copy = tool_find_entry(&unit->others, entry);
	copies->mails++;
	if (copy != NULL && node_of(copy) == unit->next)
		return 0;
	copies->lacking++;
	return copies->verb == MAKE ? make_copy(copies, unit, entry, copy) : 0;
}

/* Another node is the next when "peer" has changed: then copies are where that was before, or at both. */
static int take_spares(struct copies *copies, const struct unit *unit)
{
	int ret = 0;
	copies->astray += unit->spares.count;
	for (size_t i = 0; ret == 0 && i < unit->spares.count; i++)
		if (copies->verb == MAKE || copies->verb == FORGET)
			ret = forget(copies, unit->copy_box, &unit->spares.entries[i]);
	return ret;
}

/* At its own node, has this mail a copy at the next one of that? */
static int find_copy(struct copies *copies, const struct unit *unit, const struct mailentry *entry)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	const struct mailname name = { bytes, copyname_make(node_of(entry), unit->box, bytes) };
	uint64_t copy;
	return name.size > 0 ? tool_find_in(copies->layer, name, &entry->id, &copy)
			     : MAILSTORE_EMAIL;
}

/* The unit's node has this mail no more, and another one has it: the copy goes when the mail has one by that node. */
static int take_moved(struct copies *copies, const struct unit *unit, const struct mailentry *copy,
		      const struct mailentry *entry)
{
	copies->astray += node_of(copy) == unit->next; /* else it has been counted */
	if (copies->verb != MAKE)
		return 0;
	int ret = find_copy(copies, unit, entry);
	if (ret == 0)
		return forget(copies, unit->copy_box, copy);
	return ret == MAILSTORE_EMAIL ? 0 : ret;
}

/* The mail of a copy: of several that have its id, as an interruption leaves them, the one at the unit's node. */
static const struct mailentry *find_mail(const struct unit *unit, const struct mailentry *copy)
{
	const struct tool_list *mails = &unit->mails;
	const struct mailentry *first = tool_find_entry(mails, copy);
	if (first == NULL)
		return NULL;
	for (const struct mailentry *entry = first;
	     entry < mails->entries + mails->count && tool_compare_ids(entry, copy) == 0; entry++)
		if (node_of(entry) == unit->number)
			return entry;
	return first;
}

static int take_copy(struct copies *copies, const struct unit *unit, const struct mailentry *copy)
{
	const struct mailentry *entry = find_mail(unit, copy);
	copies->astray += node_of(copy) != unit->next;
	if (entry == NULL)
		return take_alone(copies, unit, copy);
	return node_of(entry) == unit->number ? 0 : take_moved(copies, unit, copy, entry);
}

/*
 * Both lists are in the order of places, in which mails are copied, too: so a mailbox keeps its order, but for mails
 * that others have as well, which come with the first of these.
 */
static int compare(struct copies *copies, struct unit *unit)
{
	int ret = take_spares(copies, unit);
	tool_sort_by_ids(&unit->mails);
	sort_by_places(&unit->others);
	for (size_t i = 0; ret == 0 && i < unit->others.count; i++)
		ret = take_copy(copies, unit, &unit->others.entries[i]);
	sort_by_places(&unit->mails);
	tool_sort_by_ids(&unit->others);
	for (size_t i = 0; ret == 0 && i < unit->mails.count; i++)
		if (node_of(&unit->mails.entries[i]) == unit->number)
			ret = take_mail(copies, unit, &unit->mails.entries[i]);
	return ret;
}

/* In the order of ids, and of one id that of the next node first. */
static int compare_copies(const void *one, const void *other, void *next)
{
	const unsigned number = *(const unsigned *)next;
	const bool is_first = node_of(one) == number;
	const int order = tool_compare_ids(one, other);
	return order != 0 ? order : is_first ? -1 : node_of(other) == number;
}

static int part_spares(struct unit *unit)
{
	struct tool_list *others = &unit->others;
	size_t count = 0;
	int ret = 0;
	if (others->count > 0)
		qsort_r(others->entries, others->count, sizeof(*others->entries), compare_copies,
			&unit->next);
	for (size_t i = 0; ret == 0 && i < others->count; i++) {
		if (count > 0 &&
		    tool_compare_ids(&others->entries[i], &others->entries[count - 1]) == 0)
			ret = tool_keep_entries(&unit->spares, &others->entries[i], 1);
		else
			others->entries[count++] = others->entries[i];
	}
	others->count = count;
	return ret;
}

/*
 * Since when the store of a node is there, of the mailbox's node with number 0; 0: it is not known. All mails of a node
 * that is no peer any more are lost.
 */
static int ask_since(struct copies *copies, struct mailname box, unsigned of_number,
		     uint64_t *ret_since_us)
{
	uint64_t number = 0;
	char *text = NULL;
	int ret = remote_locate(copies->layer, box, of_number, &number, &text);
	const char *word = text != NULL ? strstr(text, " since=") : NULL;
	*ret_since_us = word != NULL ? strtoull(word + strlen(" since="), NULL, 10) : 0;
	free(text);
	if (ret != -ENOENT)
		return ret;
	*ret_since_us = clock_wall_us();
	return 0;
}

/* Of a mailbox that has moved, mails may have been lost with the store of its own node, where they were brought to. */
static int find_since(struct copies *copies, struct unit *unit)
{
	uint64_t home_us = 0;
	int ret = ask_since(copies, unit->box, unit->number, &unit->since_us);
	if (ret == 0)
		ret = ask_since(copies, unit->box, 0, &home_us);
	if (ret == 0 && (home_us == 0 || unit->since_us == 0))
		return MAILSTORE_EAWAY;
	if (home_us > unit->since_us)
		unit->since_us = home_us;
	return ret;
}

static int find_next(struct copies *copies, struct unit *unit)
{
	uint64_t number = 0;
	char *text = NULL;
	int ret = remote_locate(copies->layer, unit->copy_box, 0, &number, &text);
	unit->next = (unsigned)number;
	free(text);
	return ret;
}

/* Is the unit's node the one of the mailbox, which has answered when there is a list? */
static int check_lists(struct copies *copies, struct unit *unit)
{
	uint64_t number = 0;
	char *text = NULL;
	int ret = tool_end_lists(copies->store, copies->layer);
	if (ret == 0)
		return 0;
	unit->lacks_mails = true;
	if (remote_locate(copies->layer, unit->box, 0, &number, &text) == 0 &&
	    number == unit->number)
		ret = 0;
	free(text);
	return ret;
}

/*
 * Mails are listed behind the copies: a copy of one that comes meanwhile is not alone. The time of their store comes
 * last, as one that has begun anew lists what it has left. Without it, lost and deleted mails look the same.
 */
static int fill(struct copies *copies, struct unit *unit)
{
	int ret = find_next(copies, unit);
	(void)tool_end_lists(copies->store, copies->layer);
	if (ret == 0)
		ret = tool_walk(copies->layer, unit->copy_box, tool_keep_entries, &unit->others);
	if (ret == 0)
		ret = part_spares(unit);
	if (ret == 0)
		ret = tool_walk(copies->layer, unit->box, tool_keep_entries, &unit->mails);
	if (ret == 0)
		ret = check_lists(copies, unit);
	return ret == 0 ? find_since(copies, unit) : ret;
}

static int count_away(struct copies *copies, int ret)
{
	copies->away += ret == MAILSTORE_EAWAY;
	return ret == MAILSTORE_EAWAY ? 0 : ret;
}

static int look_at(struct copies *copies, unsigned number, struct mailname box)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	struct unit unit = { .number = number,
			     .box = box,
			     .copy_box = { bytes, copyname_make(number, box, bytes) } };
	if (unit.copy_box.size == 0)
		return 0;
	int ret = fill(copies, &unit);
	if (ret == 0)
		ret = compare(copies, &unit);
	copies->boxes++;
	free(unit.mails.entries);
	free(unit.others.entries);
	free(unit.spares.entries);
	return count_away(copies, ret);
}

/* ---- all of them ---- */

/* Copies of a mailbox of which their node has no mail are looked at behind the others. */
static int note_lost(struct copies *copies, struct mailname name)
{
	unsigned number;
	struct mailname box;
	struct mailentry entry;
	if (!copyname_parse(name, &number, &box))
		return 0;
	int ret = maillayer_find(copies->layer, box, (uint64_t)number << REMOTE_NODE_BITS, &entry);
	if (ret == DNSBLV6_ENOTFOUND || (ret == 0 && node_of(&entry) != number))
		return tool_keep_name(&copies->lost, name);
	return count_away(copies, ret);
}

/* One that was lost may have come meanwhile, with a mail that another one had, too. */
static int look_at_there(struct copies *copies, unsigned number, struct mailname box)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	const struct mailname name = { bytes, copyname_make(number, box, bytes) };
	const bool is_lost =
		copies->lost.count > 0 && bsearch(&name, copies->lost.items, copies->lost.count,
						  sizeof(name), mailname_compare) != NULL;
	return is_lost ? 0 : look_at(copies, number, box);
}

/* At each node that has mails of it. */
static int look_at_box(struct copies *copies, struct mailname box)
{
	struct mailentry entry;
	uint64_t from = 0;
	int ret = maillayer_find(copies->layer, box, from, &entry);
	while (ret == 0) {
		const unsigned number = node_of(&entry);
		ret = look_at_there(copies, number, box);
		from = ((uint64_t)number + 1) << REMOTE_NODE_BITS;
		if (ret == 0)
			ret = from > 0 ? maillayer_find(copies->layer, box, from, &entry)
				       : DNSBLV6_ENOTFOUND;
	}
	return ret == DNSBLV6_ENOTFOUND ? 0 : count_away(copies, ret);
}

static int look_at_lost(struct copies *copies)
{
	unsigned number;
	struct mailname box;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < copies->lost.count; i++)
		if (copyname_parse(copies->lost.items[i], &number, &box))
			ret = look_at(copies, number, box);
	return ret;
}

static int walk(struct copies *copies, struct mailname behind, bool of_copies)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	struct mailname name = { bytes, behind.size };
	struct mailcounts counts;
	int ret = 0;
	memcpy(bytes, behind.bytes, behind.size);
	while (ret == 0) {
		ret = maillayer_next_box(copies->layer, name, bytes, &name.size, &counts);
		if (ret == 0 && of_copies && bytes[0] != COPYNAME_MARK)
			return 0;
		if (ret == 0)
			ret = of_copies ? note_lost(copies, name) : look_at_box(copies, name);
	}
	/* What a node that is down would have said is counted by its copies, if there are any. */
	copies->lacked_boxes = copies->lacked_boxes || ret == MAILSTORE_EAWAY;
	return ret == DNSBLV6_ENOTFOUND || ret == MAILSTORE_EAWAY ? 0 : ret;
}

static int run(struct copies *copies)
{
	static const uint8_t mark[] = { COPYNAME_MARK };
	int ret = walk(copies, (struct mailname){ mark, 1 }, true);
	if (copies->lost.count > 0)
		qsort(copies->lost.items, copies->lost.count, sizeof(*copies->lost.items),
		      mailname_compare);
	if (ret == 0)
		ret = walk(copies, (struct mailname){ mark, 0 }, false);
	if (ret == 0)
		ret = look_at_lost(copies);
	tool_free_names(&copies->lost);
	if (copies->has_lost_lock)
		return EX_TEMPFAIL;
	if (ret != 0)
		return tool_fail_after(copies->store, "copies not compared", copies->boxes, ret);
	printf("%" PRIu64 " mailboxes, %" PRIu64 " mails, %" PRIu64 " without a copy, %" PRIu64
	       " copies without a mail, %" PRIu64 " made, %" PRIu64
	       " not made as the id was there, "
	       "%" PRIu64 " deleted, %" PRIu64 " mailboxes away, %" PRIu64
	       " of the copies without a mail are of mails that were deleted, %" PRIu64
	       " copies at another node than the next\n",
	       copies->boxes, copies->mails, copies->lacking, copies->alone, copies->made,
	       copies->kept, copies->gone, copies->away, copies->deleted, copies->astray);
	if (copies->lacked_boxes && copies->away == 0)
		(void)tool_fail(copies->store, "not all mailboxes compared", MAILSTORE_EAWAY);
	const bool is_well =
		copies->away == 0 && !copies->lacked_boxes && !copies->is_damaged &&
		copies->kept == 0 &&
		(copies->verb != CHECK || copies->lacking + copies->alone + copies->astray == 0);
	if (is_well)
		return EX_OK;
	return copies->is_damaged ? EX_DATAERR : 1;
}

int copies_command(int argc, char **argv)
{
	static const char *const verbs[] = { "check", "make", "restore", "forget" };
	struct copies copies = { .slack_s = SLACK_DEFAULT_S };
	unsigned verb = 0;
	options_parse(&table, argc, argv, &copies);
	if (argc - optind != 1)
		options_fail(&table, "one of check, make, restore and forget");
	while (verb < sizeof(verbs) / sizeof(verbs[0]) && strcmp(argv[optind], verbs[verb]) != 0)
		verb++;
	if (verb == sizeof(verbs) / sizeof(verbs[0]))
		options_fail(&table, "one of check, make, restore and forget");
	if (!tool_is_socket(copies.store))
		options_fail(&table, "--store is the socket of mail-stored");
	copies.verb = (enum verb)verb;
	int status = tool_open(copies.store, false, &copies.layer);
	if (status == EX_OK && copies.verb != CHECK)
		status = tool_open_lock(copies.store, &copies.lock, &copies.began_without_lock);
	if (status == EX_OK)
		status = run(&copies);
	maillayer_close(copies.layer);
	tool_let_go(copies.lock);
	return status;
}
