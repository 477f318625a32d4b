/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * inspect.h - a mail or a file and all that is in it, against the signatures, as it flows.
 *
 * Flow: inspect_begin() -> inspect_push() -> an object: match.h sees its bytes, kind.h its head;
 *       a mail goes on into mstream.h, an archive into unpack.h, and what comes out of these is an
 *       object again -> inspect_end() -> inspect_result().
 *
 *     inspect_begin(pool, INSPECT_MAIL, &rules, &inspection);
 *     inspect_push(inspection, bytes, size);
 *     inspect_end(inspection, true);
 *     result = inspect_result(inspection);
 *     inspect_free(inspection);
 *
 * All memory is a pool's: objects that are open at a time, mails within mails, arenas of decoders.
 * It is made once, or when a slot is first used, and stays. When none is left the object is not looked into,
 * and the result says so (busy): that mail is to be sent again, or waits.
 *
 * Archives whose decoders are for a process of their own (UNPACK_APART) go to rules.apart, which
 * sends them there, where an inspection goes on with them: inspect_begin_apart().
 *
 * An object that is INSPECT_DEPTH deep is matched, and not looked into: that is a finding. So is
 * each limit that is met, each flaw of an archive, and each oddity of a mail, as all of them are
 * where something could hide.
 *
 * The findings do not depend on how the bytes are cut. No I/O, no clock and no processes; for one
 * thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/match/match.h"
#include "lib/mstream/mstream.h"
#include "lib/unpack/unpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INSPECT_PATH_SIZE                                                                          \
	512 /* "part 2 / a.zip / b.exe", with its NUL; longer ones lose their middle */
#define INSPECT_DEPTH	 8  /* objects within one another; mails' own parts count once */
#define INSPECT_OPEN	 32 /* objects at a time, so that no mail has all that there are in a pool */
#define INSPECT_FINDINGS 8  /* that are kept of one mail; more are counted */

enum inspect_kind {
	INSPECT_MAIL, /* is a mail, whatever its head looks like */
	INSPECT_FILE, /* is what its head says */
};

/* What was found, or stands in the way of finding. */
enum inspect_class {
	INSPECT_SIGNATURE,
	/*
	 * There is more than was looked at: a limit (ratio, total, depth, objects, members, readings,
	 * time, memory), a decoder that broke, a directory that names other things than there are.
	 */
	INSPECT_BOMB,
	INSPECT_ENCRYPTED,
	INSPECT_SUSPICIOUS, /* damaged, cut */
	INSPECT_AMBIGUOUS,  /* oddities of MIME that hide nothing from us */
	INSPECT_BUSY,	    /* a pool was empty, or a decoder was killed from outside */
	INSPECT_CLASS_COUNT,
};

struct inspect_finding {
	enum inspect_class class_;
	char name[MATCH_NAME_MAX + 1]; /* the signature's, or "bomb: ratio" and the like */
	char path[INSPECT_PATH_SIZE];  /* "" is the mail or file itself */
	uint64_t offset;	       /* of a signature, in the object at path; else 0 */
};

struct inspect_result {
	unsigned counts[INSPECT_CLASS_COUNT];
	unsigned objects;
	uint64_t bytes; /* looked at, in all objects */
	unsigned finding_count;
	struct inspect_finding findings[INSPECT_FINDINGS]; /* signatures first */
};

/* What is known of an archive that goes to another process. */
struct inspect_origin {
	enum content_kind kind;
	unsigned depth;
	bool is_guess;	  /* found by a few bytes of it: when nothing comes out, it is none */
	bool is_beside;	  /* what is in it may be met in what it stands in, too */
	const char *path; /* stands before those of all findings; borrowed */
};

/* Where archives of UNPACK_APART go. All calls for one archive have its number. */
struct inspect_apart {
	void (*begin)(void *context, unsigned number, const struct inspect_origin *origin);
	void (*data)(void *context, unsigned number, const uint8_t *bytes, size_t size);
	void (*end)(void *context, unsigned number, bool is_whole);
};

struct inspect_rules {
	struct unpack_budget budget;
	struct unpack_budget *shared; /* in its place, borrowed: of several inspections; NULL */
	const struct inspect_apart *apart; /* NULL: they are opened here */
	void *apart_context;
	/* As soon as one is there and kept, besides the result; NULL. */
	void (*found)(void *context, const struct inspect_finding *finding);
	void *found_context;
};

struct inspect_pool;
struct inspection;

/*
 * How many may be open at a time, of all inspections of the pool. Pages, and what the matcher has of
 * an object, are taken when they are first used.
 */
struct inspect_sizes {
	unsigned inspections;
	unsigned objects;
	unsigned mails;	   /* mstream.h */
	unsigned decoders; /* of UNPACK_HERE */
};

/* worker is borrowed, NULL: no signatures. 0 or -errno. */
int inspect_pool_new(struct match_worker *worker, const struct inspect_sizes *sizes,
		     struct inspect_pool **ret_pool);
void inspect_pool_free(struct inspect_pool *pool);

/* rules are copied. 0, or -EAGAIN: no inspection is left. */
int inspect_begin(struct inspect_pool *pool, enum inspect_kind kind,
		  const struct inspect_rules *rules, struct inspection **ret_inspection);
/*
 * Of an archive that rules.apart has been given: what is in it is looked at. Its own bytes have been
 * matched where they came from.
 */
int inspect_begin_apart(struct inspect_pool *pool, const struct inspect_origin *origin,
			const struct inspect_rules *rules, struct inspection **ret_inspection);
void inspect_push(struct inspection *inspection, const uint8_t *bytes, size_t size);
/* is_whole: it has come to its end. Hashes and the like are decided only then. */
void inspect_end(struct inspection *inspection, bool is_whole);
/* A finding from elsewhere (rules.apart's process). Also behind inspect_end(). */
void inspect_add(struct inspection *inspection, const struct inspect_finding *finding);
/* What an inspection elsewhere has looked at. Findings that it has not told are in counts. */
void inspect_add_counts(struct inspection *inspection, const unsigned *counts, uint64_t bytes,
			unsigned objects);
/* What is left. */
struct unpack_budget *inspect_budget(struct inspection *inspection);
/* Borrowed until inspect_free(). */
const struct inspect_result *inspect_result(const struct inspection *inspection);
/* At any time. */
void inspect_free(struct inspection *inspection);

/* "signature" and the like. Never NULL. */
const char *inspect_class_name(enum inspect_class class_);

#ifdef __cplusplus
}
#endif
