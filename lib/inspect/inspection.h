/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * inspection.h - what inspect.c, object.c, mailparts.c and findings.c share: an inspection and its objects.
 *
 * Flow: inspect.c: pools, and the outermost object -> object.c: bytes into the matcher and into what
 *       opens the object, objects out of that -> findings.c: what is found, into the result.
 *
 *     struct object *object = object_begin(inspection, NULL, "part 1 / a.zip");
 *     object_push(object, bytes, size);
 *     object_end(object, true);
 *
 * Bytes go into an object in blocks that begin at multiples of OBJECT_BLOCK, wherever they are cut before: which
 * objects are open at a time, and so which of them is one too many, is not to depend on the network. And what comes
 * out of a decoder byte by byte, or line by line, would cost each of those that look at it a call.
 *
 * An object is a slot of the pool, with the matcher's object of the same number; what opens it is a
 * slot of another kind. Nothing else knows these structures.
 */

#include "lib/inspect/inspect.h"
#include "lib/inspect/selfpack.h"
#include "lib/inspect/slots.h"
#include "lib/inspect/within.h"

#define OBJECT_BLOCK 4096

/* What opens an object. */
enum object_route {
	OBJECT_HEAD,  /* not known yet: the head is not there */
	OBJECT_PLAIN, /* nothing */
	OBJECT_MAIL,
	OBJECT_HERE,	  /* lib/unpack in a slot */
	OBJECT_ALLOCATED, /* lib/unpack with malloc() */
	OBJECT_APART,	  /* another process */
	OBJECT_WITHIN,	  /* files in a text */
};

/* Apart, as most objects have no use for it, and then it takes no page. */
struct object_more {
	struct finder within; /* of OBJECT_WITHIN */
	struct selfpack selfpack;
};

struct object {
	struct inspection *inspection;
	struct object *before; /* of those that are open */
	struct object *next;
	struct match_object *match; /* NULL: it is not matched */
	enum content_kind kind;
	enum content_kind head_kind; /* before the mark of a disc */
	enum content_kind container;
	enum object_route route;
	unsigned depth;
	unsigned number;  /* of OBJECT_APART */
	bool has_given;	  /* something has come out of it */
	bool is_searched; /* lib/mstream finds what files are in it */
	bool is_tnef_searched;
	bool is_bare_text; /* of a mail: no client takes it for a mail, whatever its lines are like */
	bool has_lines;	   /* those before a mail's header are still to be left out */
	bool is_swollen;   /* its coding makes much of little: its bytes are counted */
	uint8_t disc_type;  /* the first byte of an ISO 9660's mark... */
	unsigned disc_seen; /* ...of which so many bytes were there */
	uint64_t offset;
	void *slot; /* of the mail or of the decoder */
	/* Archives that readers find in any file, each an object beside what opens this one. */
	struct object *zip;
	struct object *disc;
	struct object *packs[SELFPACK_FOUND + 2]; /* selfpack.h, and what it is besides */
	unsigned pack_count;
	uint8_t zip_seen; /* of its mark: mark.h */
	bool may_have_zip;
	bool may_have_pack;
	bool is_settled; /* its head was here, and said what it is */
	bool is_beside;	 /* of a zip that is looked for in an archive: its parts may be met twice */
	bool is_unopened; /* what opens it has a state that cannot be copied */
	bool is_guess;	  /* it was found by a few bytes of it */
	bool is_broken;	  /* what opens it has a flaw to tell, as of something behind its end */
	bool is_behind;	  /* of a zip that is beside: what is before it has not stored it */
	unsigned held; /* flaws of a zip that was found so, as bits, until it is seen to be one */
	enum content_kind
		forced_kind; /* whatever its head is like; CONTENT_OTHER: as the head says */
	struct unpack *unpack;
	struct object_more *more;
	uint8_t *block; /* as much of it as has come */
	size_t block_size;
	size_t head_size;
	uint8_t head[CONTENT_HEAD_SIZE];
	char path[INSPECT_PATH_SIZE];
};

struct inspect_pool {
	struct slots inspections;
	struct slots objects;
	struct slots more;   /* of the objects by their numbers */
	struct slots blocks; /* the same */
	struct slots mails;
	struct slots arenas;
	struct match_worker *worker;
	/* Of the objects by their numbers, made when first used; NULL without signatures. */
	struct match_object **matches;
};

struct inspection {
	struct inspect_pool *pool;
	struct inspect_rules rules;
	struct unpack_budget *budget;
	struct unpack_budget beside; /* of objects that are .is_beside */
	struct object *open;	     /* the newest first */
	struct object *root;
	unsigned open_count;
	unsigned next_number;
	bool is_cut;
	struct inspect_result result; /* last, as what is behind its counts is not cleared */
};

/* NULL: no slot is left, which is a finding. parent NULL: the outermost, and path is its own. */
struct object *object_begin(struct inspection *inspection, struct object *parent, const char *name);
/* Of an outermost object, before its bytes: what it is. */
void object_set_kind(struct object *object, enum content_kind kind);
void object_push(struct object *object, const uint8_t *bytes, size_t size);
/* Takes from the budget what comes out of the object. false: nothing is left, which is a finding. */
bool object_spend(struct object *object, size_t size);
/* The same for one member more. */
bool object_count(struct object *object);
/* Gives its slots back. */
void object_end(struct object *object, bool is_whole);
/* The same as an event of what it is in. */
void object_end_within(void *context, void *object, bool is_whole);

/* What stands there already is counted only. offset is a signature's, else 0. */
void finding_add(struct inspection *inspection, enum inspect_class class_, const char *name,
		 const char *path, uint64_t offset);

/* The same for a matcher, whose context is an object. */
void finding_take(void *context, const struct match_finding *found);
