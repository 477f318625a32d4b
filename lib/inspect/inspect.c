/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inspect/inspection.h"

/* ---- pools ---- */

static int make_matches(struct inspect_pool *pool, struct match_worker *worker)
{
	pool->worker = worker;
	if (worker == NULL)
		return 0;
	pool->matches =
		(struct match_object **)calloc(pool->objects.count, sizeof(struct match_object *));
	return pool->matches != NULL ? 0 : -ENOMEM;
}

int inspect_pool_new(struct match_worker *worker, const struct inspect_sizes *sizes,
		     struct inspect_pool **ret_pool)
{
	struct inspect_pool *pool = (struct inspect_pool *)calloc(1, sizeof(*pool));
	if (pool == NULL)
		return -ENOMEM;
	int ret = slots_init(&pool->inspections, sizeof(struct inspection), sizes->inspections);
	if (ret == 0)
		ret = slots_init(&pool->objects, sizeof(struct object), sizes->objects);
	if (ret == 0)
		ret = slots_init(&pool->more, sizeof(struct object_more), sizes->objects);
	if (ret == 0)
		ret = slots_init(&pool->blocks, OBJECT_BLOCK, sizes->objects);
	if (ret == 0)
		ret = slots_init(&pool->mails, mstream_size(), sizes->mails);
	if (ret == 0)
		ret = slots_init(&pool->arenas, UNPACK_HERE_MEMORY, sizes->decoders);
	if (ret == 0)
		ret = make_matches(pool, worker);
	if (ret != 0) {
		inspect_pool_free(pool);
		return ret;
	}
	*ret_pool = pool;
	return 0;
}

void inspect_pool_free(struct inspect_pool *pool)
{
	if (pool == NULL)
		return;
	for (unsigned i = 0; pool->matches != NULL && i < pool->objects.count; i++)
		match_object_free(pool->matches[i]);
	free(pool->matches);
	slots_deinit(&pool->inspections);
	slots_deinit(&pool->objects);
	slots_deinit(&pool->more);
	slots_deinit(&pool->blocks);
	slots_deinit(&pool->mails);
	slots_deinit(&pool->arenas);
	free(pool);
}

/* ---- inspections ---- */

static int begin(struct inspect_pool *pool, const char *path, const struct inspect_rules *rules,
		 struct inspection **ret_inspection)
{
	struct inspection *inspection = (struct inspection *)slots_take(&pool->inspections);
	if (inspection == NULL)
		return -EAGAIN;
	/* But for the findings, which are counted. */
	memset(inspection, 0, offsetof(struct inspection, result.findings));
	inspection->pool = pool;
	inspection->rules = *rules;
	inspection->budget = rules->shared != NULL ? rules->shared : &inspection->rules.budget;
	inspection->beside = *inspection->budget;
	inspection->root = object_begin(inspection, NULL, path);
	if (inspection->root == NULL) {
		slots_give(&pool->inspections, inspection);
		return -EAGAIN;
	}
	*ret_inspection = inspection;
	return 0;
}

int inspect_begin(struct inspect_pool *pool, enum inspect_kind kind,
		  const struct inspect_rules *rules, struct inspection **ret_inspection)
{
	int ret = begin(pool, "", rules, ret_inspection);
	if (ret == 0 && kind == INSPECT_MAIL)
		object_set_kind((*ret_inspection)->root, CONTENT_MAIL);
	return ret;
}

int inspect_begin_apart(struct inspect_pool *pool, const struct inspect_origin *origin,
			const struct inspect_rules *rules, struct inspection **ret_inspection)
{
	int ret = begin(pool, origin->path, rules, ret_inspection);
	if (ret != 0)
		return ret;
	struct inspection *inspection = *ret_inspection;
	inspection->root->depth = origin->depth;
	inspection->root->is_guess = origin->is_guess;
	inspection->root->is_beside = origin->is_beside;
	inspection->root->match = NULL;
	/* It was one where it came from. */
	inspection->result.objects = 0;
	object_set_kind(inspection->root, origin->kind);
	return 0;
}

void inspect_push(struct inspection *inspection, const uint8_t *bytes, size_t size)
{
	if (inspection->root != NULL && size > 0)
		object_push(inspection->root, bytes, size);
}

void inspect_end(struct inspection *inspection, bool is_whole)
{
	if (inspection->root == NULL)
		return;
	inspection->is_cut = !is_whole;
	object_end(inspection->root, is_whole);
	inspection->root = NULL;
	/* What a decoder has not ended. */
	while (inspection->open != NULL)
		object_end(inspection->open, false);
}

struct unpack_budget *inspect_budget(struct inspection *inspection)
{
	return inspection->budget;
}

const struct inspect_result *inspect_result(const struct inspection *inspection)
{
	return &inspection->result;
}

void inspect_free(struct inspection *inspection)
{
	inspect_end(inspection, false);
	slots_give(&inspection->pool->inspections, inspection);
}
