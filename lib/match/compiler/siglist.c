/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/compiler/siglist.h"

#include <stdlib.h>
#include <string.h>

#include "lib/format/array.h"

struct siglist_signature *siglist_add(struct siglist *list)
{
	if (!array_reserve(list->signatures, list->signature_count + 1, &list->signature_room))
		return NULL;
	struct siglist_signature *added = &list->signatures[list->signature_count++];
	memset(added, 0, sizeof(*added));
	return added;
}

struct siglist_hash *siglist_add_hash(struct siglist *list)
{
	if (!array_reserve(list->hashes, list->hash_count + 1, &list->hash_room))
		return NULL;
	struct siglist_hash *added = &list->hashes[list->hash_count++];
	memset(added, 0, sizeof(*added));
	return added;
}

static void free_signature(struct siglist_signature *signature)
{
	for (unsigned i = 0; i < signature->sub_count; i++) {
		struct siglist_sub *sub = &signature->subs[i];
		sigbody_free(&sub->bodies[0]);
		sigbody_free(&sub->bodies[1]);
		free(sub->regex);
		sigwords_free(&sub->trigger);
	}
	free(signature->subs);
	free(signature->name);
	sigwords_free(&signature->logic);
}

void siglist_drop(struct siglist *list)
{
	free_signature(&list->signatures[--list->signature_count]);
}

void siglist_free(struct siglist *list)
{
	while (list->signature_count > 0)
		siglist_drop(list);
	for (size_t i = 0; i < list->hash_count; i++)
		free(list->hashes[i].name);
	free(list->signatures);
	free(list->hashes);
	memset(list, 0, sizeof(*list));
}
