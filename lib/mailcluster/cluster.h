/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cluster.h - what the files of this directory have of one another.
 *
 * Flow: layer.c -> deliver.c, erase.c, boxes.c, locks.c; nodes.c, mend.c and check.c in their threads
 *       -> here -> objects.h.
 *
 * Nothing holds the mutex while it waits for the network. Functions whose names begin with cluster_ are
 * of cluster.c, and so on. Statuses are those of mailcluster.h.
 */

#include "lib/mailcluster/mailcluster.h"
#include "lib/mailcluster/names.h"
#include "lib/mailcluster/values.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A node takes over the journals of one that was quiet for so many beats. */
#define CLUSTER_SWEEP_BEATS 60
#define CLUSTER_UNDO_MAX    4096
/* How much a call repeats of what timed out: with the objects' limit of ten seconds, two make twenty. */
#define CLUSTER_REPEATS	  1
#define CLUSTER_PAGE	  1000 /* rows that are asked for at a time: RADOS gives 1024 at most */
#define CLUSTER_HEAD_SIZE (64U << 10)

/* ---- caches (caches.c): bounded, and wrong in the safe direction ---- */

#define CACHES_KNOWN_COUNT 65536
#define CACHES_PEEK_COUNT  4096
#define CACHES_PEEK_BEATS  5

struct peek {
	uint8_t hash[NAMES_HASH_SIZE];
	struct mailcounts counts;
	uint64_t beat; /* 0: none */
};
struct caches {
	uint8_t (*known)[NAMES_HASH_SIZE]; /* mailboxes that are in their directory */
	struct peek *peeks;
};
/* 0 or -ENOMEM; caches_deinit() in any case. All others are called with the cluster's mutex. */
int caches_init(struct caches *ret_caches);
void caches_deinit(struct caches *caches);
bool caches_is_known(const struct caches *caches, const uint8_t *hash);
void caches_know(struct caches *caches, const uint8_t *hash);
bool caches_peek(const struct caches *caches, const uint8_t *hash, uint64_t beat,
		 struct mailcounts *ret_counts);
void caches_put_peek(struct caches *caches, const uint8_t *hash, uint64_t beat,
		     const struct mailcounts *counts);
void caches_add_peek(struct caches *caches, const uint8_t *hash, uint64_t octets);
void caches_forget_peek(struct caches *caches, const uint8_t *hash);

/* ---- the store ---- */

/* Another machine, as the last beat saw it. */
struct nodeview {
	char name[MAILCLUSTER_NODE_MAX + 1];
	struct nodevalue value;
	unsigned quiet_beats;
	bool has_beaten; /* it was seen to */
	bool is_there;	 /* in the last reading */
};

/* Numbers whose rows in a journal may go: with its next write. */
#define JOURNAL_DONE_MAX 1024
struct journal_done {
	uint64_t numbers[JOURNAL_DONE_MAX];
	size_t count;
};

/* A delivery that was refused, and what may be left of it. */
struct undo {
	uint64_t number;
	uint64_t attempt;
};

/* A delivery that is under way. */
struct flight {
	struct flight *next;
	uint64_t number;
};

struct mailcluster {
	struct objects *objects;
	char node[MAILCLUSTER_NODE_MAX + 1];
	uint64_t memory_max;
	uint8_t incarnation[8];
	uint16_t slot;
	struct mailidentity identity;

	pthread_mutex_t mutex; /* of all that follows */
	pthread_cond_t room;
	bool has_failed;
	uint64_t memory_used;
	/* Deliveries that have asked for memory, and that have got it: each in its turn. */
	uint64_t room_asked;
	uint64_t room_given;
	uint64_t now_us;  /* of the last beat */
	uint64_t last_us; /* of the last number */
	uint64_t attempt;
	uint64_t beats;		/* that were written */
	struct nodevalue self;	/* as it was written last */
	struct nodeview *nodes; /* MAILCLUSTER_NODES_MAX, by slot */
	uint64_t next_lock;
	uint64_t *locks; /* numbers of those that are held, or may be */
	size_t lock_count;
	size_t lock_room;
	struct leftlock *left_locks; /* whose rows may have stayed */
	size_t left_count;
	struct flight *flights;
	struct journal_done done[NAMES_JOURNALS];
	struct undo undos[CLUSTER_UNDO_MAX];
	size_t undo_count;
	unsigned sweep_begin; /* the journal that is swept first; of the thread that sweeps */
	struct caches caches;
	uint64_t boxes_made; /* counts entries into directories */
	uint64_t mails;	     /* delivered since it was opened, as the next */
	uint64_t entries;
	uint64_t bytes;
};

static inline void cluster_lock(struct mailcluster *cluster)
{
	(void)pthread_mutex_lock(&cluster->mutex);
}
static inline void cluster_unlock(struct mailcluster *cluster)
{
	(void)pthread_mutex_unlock(&cluster->mutex);
}

/* How many repetitions a call has left. */
struct patience {
	unsigned repeats;
	bool has_repeated; /* so -EEXIST and -ECANCELED may be due to the first attempt */
};
static inline struct patience cluster_patience(void)
{
	const struct patience patience = { CLUSTER_REPEATS, false };
	return patience;
}
/* objects_write(), with what timed out repeated while there is patience. */
int cluster_write(struct mailcluster *cluster, struct objects_write *writes, size_t count,
		  struct patience *patience);
/* One row of an object from one value to another: from is what it has to be before, or NULL. -ECANCELED. */
int cluster_put_row(struct mailcluster *cluster, const char *name, enum objects_guard guard,
		    const struct objects_row *from, const struct objects_row *to,
		    struct patience *patience);
/* Exactly so many bytes. DNSBLV6_ENOTFOUND; MAILSTORE_EDAMAGED where the object ends before. */
int cluster_read(struct mailcluster *cluster, const char *name, uint64_t at, void *bytes,
		 size_t size);
/* objects_row() of VALUES_MAX bytes, with DNSBLV6_ENOTFOUND. */
int cluster_row(struct mailcluster *cluster, const char *name, const char *key, uint8_t *bytes,
		size_t *ret_size);
/* MAILSTORE_EFAILED when another incarnation of this node has been seen. */
int cluster_state(struct mailcluster *cluster);
uint64_t cluster_now(struct mailcluster *cluster);

/* Rows of an object, one after another, whatever pages they come in. */
struct cluster_rows {
	struct mailcluster *cluster;
	const char *name;
	const char *prefix;
	char *behind; /* the last key; OBJECTS_NAME_MAX + 1 bytes */
	struct objects_page page;
	size_t at;
	size_t most;
};
/* behind is copied. 0 or -ENOMEM; cluster_rows_end() in any case. */
int cluster_rows_begin(struct mailcluster *cluster, const char *name, const char *behind,
		       const char *prefix, struct cluster_rows *ret_rows);
/* DNSBLV6_ENOTFOUND behind the last, also when there is no such object. The row is borrowed. */
int cluster_rows_next(struct cluster_rows *rows, const struct objects_found **ret_row);
void cluster_rows_end(struct cluster_rows *rows);

/*
 * One row, of any size: the only one of *ret_page, which is to be freed. DNSBLV6_ENOTFOUND. A value that
 * cannot be understood is replaced only as long as it is the one that was read here.
 */
int cluster_find_row(struct mailcluster *cluster, const char *name, const char *key,
		     struct objects_page *ret_page);

/* ---- nodes and numbers (nodes.c) ---- */

/* Takes the slot; the cluster has all but that. */
int nodes_join(struct mailcluster *cluster, uint64_t time_us);
/* -EAGAIN when the last beat is too old. */
int nodes_make_number(struct mailcluster *cluster, uint64_t *ret_number);
/* Is the lock one that its owner cannot have any more? *ret_is_void is written when it is 0. */
int nodes_is_void(struct mailcluster *cluster, const struct lockvalue *lock, bool *ret_is_void);
/* The name of the machine with the slot; false when it is not known. ret_name has its size. */
bool nodes_name(struct mailcluster *cluster, unsigned slot, char *ret_name);

/* ---- a mail's object (body.c) ---- */

struct body {
	uint8_t *bytes; /* the record, freed by body_free() */
	size_t size;
	struct mailrecord record;
	struct mailname *boxes; /* sorted, each once; the names themselves are borrowed */
	size_t box_count;
};
/* Without number and id, which body_seal() puts in. body_free() in any case. */
int body_make(const struct mailstore_mail *mail, struct body *ret_body);
void body_seal(struct mailcluster *cluster, uint64_t number, const struct mailid *id,
	       struct body *body);
void body_free(struct body *body);
/* Head and meta of a mail that is there. DNSBLV6_ENOTFOUND, MAILSTORE_EDAMAGED; *ret_meta is the
 * caller's. */
int body_read(struct mailcluster *cluster, uint64_t number, struct mailrecord *ret_record,
	      uint8_t **ret_meta);
/* The same of bytes that were read: all of head and meta, or MAILSTORE_EDAMAGED. */
int body_decode(const struct mailcluster *cluster, uint64_t number, const uint8_t *bytes,
		size_t size, struct mailrecord *ret_record);
/* Is it the very mail, with its recipients? */
bool body_is_same(const struct body *body, const struct mailrecord *record, const uint8_t *meta);
/* MAILSTORE_EDAMAGED when what is behind the head is not what it says. */
int body_check(struct mailcluster *cluster, uint64_t number, const struct mailrecord *record);
void body_entry(const struct mailrecord *record, uint32_t recipients, struct entryvalue *ret_entry);
uint32_t body_recipients(const struct mailrecord *record, const uint8_t *meta);

/* ---- a mail's owner and references (refs.c) ---- */

/* DNSBLV6_ENOTFOUND when there is no such mail. */
int refs_owner(struct mailcluster *cluster, uint64_t number, struct ownervalue *ret_owner);
/* 0; -ECANCELED when it was another one before. */
int refs_set_owner(struct mailcluster *cluster, uint64_t number, const struct ownervalue *from,
		   const struct ownervalue *to, struct patience *patience);

/* A mail that a mailbox has no more. */
struct ref {
	uint64_t number;
	struct mailid id;
	uint32_t recipients; /* 0: not known */
};
/* Takes the mailbox out of the mails, and those away that none has. As far as it goes: 0, or what
 * failed first. */
int refs_drop(struct mailcluster *cluster, struct mailname box, const struct ref *refs,
	      size_t count, struct patience *patience);
/* Puts a mail into mailboxes, where it has not been before. -ESTALE: its delivery was refused. In
 * is_gone[i] is whether a mailbox had it, and has erased it. */
int refs_add(struct mailcluster *cluster, uint64_t number, const struct entryvalue *entry,
	     const struct mailname *boxes, size_t count, bool *is_gone, struct patience *patience);
/* Takes a refused mail out of mailboxes for good. */
int refs_refuse(struct mailcluster *cluster, uint64_t number, const struct mailname *boxes,
		size_t count, struct patience *patience);
/* The mailboxes that a mail names: *ret_names, with all that it points to, is one malloc(). */
int refs_boxes(struct mailcluster *cluster, uint64_t number, struct mailname **ret_names,
	       size_t *ret_count);
/* Why the mail is not in the mailbox: DNSBLV6_ENOTFOUND when nothing is known. */
int refs_gone(struct mailcluster *cluster, struct mailname box, uint64_t number,
	      struct gonevalue *ret_gone);
/* 0 with the entry, or DNSBLV6_ENOTFOUND. */
int refs_entry(struct mailcluster *cluster, struct mailname box, uint64_t number,
	       struct entryvalue *ret_entry);
/* The mail with an id that another store has made: "i.ID". */
int refs_find_moved(struct mailcluster *cluster, const struct mailid *id, uint64_t *ret_number);
/*
 * Where the mail is not: what is written late finds that it is there already, and refused. -EEXIST when it
 * is there.
 */
int refs_put_refusal(struct mailcluster *cluster, uint64_t number, const struct ownervalue *owner,
		     struct patience *patience);
/* MAILSTORE_EID when a mail has it; -EAGAIN when another delivery of it is under way. */
int refs_put_moved(struct mailcluster *cluster, const struct mailid *id, uint64_t number,
		   struct patience *patience);

/* ---- directories (boxes.c) ---- */

/* Enters mailboxes that are not known to be there. */
int boxes_enter(struct mailcluster *cluster, const struct mailname *boxes, size_t count,
		struct patience *patience);
/* The same in two halves, for writes that go with others. boxes_entries_free() in any case. */
struct boxes_entries {
	struct objects_write writes[NAMES_DIRECTORIES];
	size_t count;
	void *memory;
	uint8_t (*hashes)[NAMES_HASH_SIZE];
	size_t hash_count;
};
int boxes_entries_make(struct mailcluster *cluster, const struct mailname *boxes, size_t count,
		       struct boxes_entries *ret_entries);
/* They have been written. */
void boxes_entries_know(struct mailcluster *cluster, const struct boxes_entries *entries);
void boxes_entries_free(struct boxes_entries *entries);

int boxes_list(struct mailcluster *cluster, struct mailname box, uint64_t from, size_t room,
	       struct mailentry *ret_entries, size_t *ret_count);
int boxes_counts(struct mailcluster *cluster, struct mailname box, struct mailcounts *ret_counts);
int boxes_peek(struct mailcluster *cluster, struct mailname box, struct mailcounts *ret_counts);

/* A walk over all directories at a time, in order of names; all zero to begin with. */
struct boxes_walk {
	struct objects_page pages[NAMES_DIRECTORIES];
	size_t at[NAMES_DIRECTORIES];
	uint8_t last[MAILBOX_NAME_MAX];
	size_t last_size;
	bool is_valid;
	uint64_t beat; /* pages are as they were then */
	uint64_t boxes_made;
};
int boxes_next(struct mailcluster *cluster, struct boxes_walk *walk, struct mailname behind,
	       uint8_t *ret_name, size_t *ret_size, struct mailcounts *ret_counts);
void boxes_walk_end(struct boxes_walk *walk);

/* ---- locks (locks.c) ---- */

struct clusterlock {
	bool is_held;
	uint8_t name[MAILBOX_NAME_MAX];
	size_t name_size;
	uint64_t number;
	uint8_t value[LOCKVALUE_SIZE];
};
/* One that is held no more. */
struct leftlock {
	struct leftlock *next;
	struct clusterlock lock;
};
int locks_take(struct mailcluster *cluster, struct mailname box, struct clusterlock *lock);
int locks_free(struct mailcluster *cluster, struct clusterlock *lock);
/* 0 when the row is still the lock's, else MAILSTORE_ELOST_LOCK. */
int locks_look(struct mailcluster *cluster, const struct clusterlock *lock);
/* Takes out rows that have stayed when a lock was given back, or could not be taken. */
void locks_sweep(struct mailcluster *cluster);
void locks_end(struct mailcluster *cluster);

/* ---- the ways of a mail ---- */

int deliver_mail(struct mailcluster *cluster, const struct mailstore_mail *mail,
		 struct mailid *ret_id);
/* lock may be NULL. */
int erase_mails(struct mailcluster *cluster, const struct clusterlock *lock, struct mailname box,
		const uint64_t *mails, size_t count);

/* ---- journals (journal.c) ---- */

/* Up to JOURNAL_UNSET_MAX rows that go with a write: they are taken from those that are done. */
#define JOURNAL_UNSET_MAX 32
struct journal_write {
	char name[NAMES_OBJECT_SIZE];
	char key[17];
	uint8_t value[JOURNALVALUE_SIZE];
	struct objects_row row;
	uint64_t done[JOURNAL_UNSET_MAX];
	char keys[JOURNAL_UNSET_MAX][17];
	const char *unset[JOURNAL_UNSET_MAX];
	size_t done_count;
	unsigned at;
};
/* The write of a delivery's row; journal_end() when it has its status. */
void journal_begin(struct mailcluster *cluster, uint64_t number, uint64_t attempt,
		   struct journal_write *ret_journal, struct objects_write *ret_write);
void journal_end(struct mailcluster *cluster, const struct journal_write *journal, int status);
/* The row of a delivery may go. */
void journal_finish(struct mailcluster *cluster, uint64_t number);
bool journal_is_done(struct mailcluster *cluster, uint64_t number);
/* Takes out all rows that may go. */
int journal_flush(struct mailcluster *cluster);
/* Is there a row of the number in the journal of a node? 0 or DNSBLV6_ENOTFOUND. */
int journal_find(struct mailcluster *cluster, const char *node, uint64_t number);

/* ---- what is to be mended (mend.c) ---- */

/* -EAGAIN when too many wait. */
int mend_has_room(struct mailcluster *cluster);
void mend_undo_later(struct mailcluster *cluster, uint64_t number, uint64_t attempt);
/* A mail whose fate nothing else decides any more: it goes to its mailboxes, unless it was refused. */
int mend_forward(struct mailcluster *cluster, uint64_t number, bool *ret_is_refused);
/* Of one that is refused: out of all mailboxes. What says that it is refused stays for a day. */
int mend_refused(struct mailcluster *cluster, uint64_t number);
/* Refuses a mail, also one that is not there yet, and may come. -EEXIST: its owner is another one. */
int mend_refuse(struct mailcluster *cluster, uint64_t number, const struct ownervalue *owner);

/* ---- users (userdb.c) ---- */

/* The object that has them now; DNSBLV6_ENOTFOUND without any. */
int userdb_current(struct mailcluster *cluster, struct usersvalue *ret_users);

#ifdef __cplusplus
}
#endif
