/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/mailparts.h"

#include <stdio.h>
#include <string.h>

#include "lib/inspect/inspection.h"
#include "lib/inspect/path.h"

/*
 * One that has had the bytes of from, for a reader that goes on in another way: the matcher sees all of
 * it. It is opened when what it is is not known yet; later it is a finding that it is not.
 */
static struct object *copy_object(struct object *parent, const struct object *from,
				  const char *name)
{
	struct object *object = object_begin(parent->inspection, parent, name);
	if (object == NULL)
		return NULL;
	if (object->match != NULL && from->match != NULL)
		match_copy(object->match, from->match, finding_take, object);
	object->kind = from->kind;
	object->head_kind = from->head_kind;
	object->offset = from->offset;
	/* When it is copied is a matter of pieces, too. */
	object->inspection->result.bytes += from->offset;
	object->head_size = from->head_size;
	memcpy(object->head, from->head, from->head_size);
	object->block_size = from->block_size;
	memcpy(object->block, from->block, from->block_size);
	if (from->route != OBJECT_HEAD) {
		const bool is_copied = from->route == OBJECT_PLAIN || within_copy(object, from);
		object->route =
			from->route == OBJECT_WITHIN && is_copied ? OBJECT_WITHIN : OBJECT_PLAIN;
		object->is_unopened = from->zip != NULL || from->pack_count > 0 || !is_copied;
		object->may_have_pack = from->may_have_pack;
		if (object->may_have_pack)
			object->more->selfpack = from->more->selfpack;
		object->may_have_zip = from->may_have_zip;
		object->zip_seen = from->zip_seen;
	}
	return object;
}

/* Is it one whose files lib/mstream has found, or finds while it goes on? */
static bool is_searched(const struct mstream_part *part)
{
	return part->coding == MSTREAM_IDENTITY ||
	       (part->coding <= MSTREAM_QUOTED_PRINTABLE &&
		(strncmp(part->type, "text/", 5) == 0 ||
		 strncmp(part->type, "application/mac-binhex", 22) == 0));
}

static void *begin_part(void *context, const struct mstream_part *part)
{
	struct object *mail = (struct object *)context;
	char name[INSPECT_PATH_SIZE];
	/* lib/mstream limits the parts of one mail; of those that are in it there may be many. */
	if (mail != mail->inspection->root && !object_count(mail))
		return NULL;
	snprintf(name, sizeof(name), "part %s%s%s", part->position,
		 part->name[0] != '\0' ? " / " : "", part->name);
	struct object *object =
		part->before != NULL ? copy_object(mail, (const struct object *)part->before, name)
				     : object_begin(mail->inspection, mail, name);
	if (object == NULL)
		return NULL;
	object->is_searched = part->before == NULL && is_searched(part);
	object->is_swollen = part->coding == MSTREAM_BINHEX;
	/* What is too deep would have as many levels again, in each of its readings. */
	object->is_bare_text = part->is_too_deep ||
			       (part->name[0] == '\0' && strncmp(part->type, "text/", 5) == 0);
	/* Any TNEF of a mail, but for one that is in another. */
	object->is_tnef_searched = part->coding <= MSTREAM_QUOTED_PRINTABLE;
	return object;
}

static void push_part(void *context, void *part, const uint8_t *bytes, size_t size)
{
	struct object *mail = (struct object *)context;
	struct object *object = (struct object *)part;
	if (!object->is_swollen || object_spend(mail, size))
		object_push(object, bytes, size);
}

/* What hides something is more than a mail that is odd. */
static enum inspect_class class_of_oddity(enum mstream_oddity oddity)
{
	switch (oddity) {
	case MSTREAM_TOO_DEEP:
	case MSTREAM_TOO_MANY:
	case MSTREAM_TOO_ODD: /* a reading is missing, and with it what is in it */
		return INSPECT_BOMB;
	case MSTREAM_PARTIAL:
		return INSPECT_SUSPICIOUS;
	default:
		return INSPECT_AMBIGUOUS;
	}
}

/* Limits are called as those of archives are. */
static const char *text_of_oddity(enum mstream_oddity oddity)
{
	switch (oddity) {
	case MSTREAM_TOO_DEEP:
		return "depth";
	case MSTREAM_TOO_MANY:
		return "members";
	case MSTREAM_TOO_ODD:
		return "readings";
	default:
		return mstream_oddity_text(oddity);
	}
}

static void take_oddity(void *context, enum mstream_oddity oddity, const char *position)
{
	struct object *mail = (struct object *)context;
	const enum inspect_class class_ = class_of_oddity(oddity);
	/* A text of fields that is no mail is odd as one. */
	if (class_ == INSPECT_AMBIGUOUS && mail->is_guess)
		return;
	char name[MATCH_NAME_MAX + 1];
	char step[64];
	char path[INSPECT_PATH_SIZE];
	snprintf(name, sizeof(name), "%s: %s", inspect_class_name(class_), text_of_oddity(oddity));
	snprintf(step, sizeof(step), "part %s", position);
	path_join(mail->path, position[0] != '\0' ? step : "", path);
	finding_add(mail->inspection, class_, name, path, 0);
}

static const struct mstream_events mail_events = { begin_part, push_part, object_end_within,
						   take_oddity };

void mailparts_begin(struct object *mail)
{
	mstream_begin((struct mstream *)mail->slot, &mail_events, mail);
}
