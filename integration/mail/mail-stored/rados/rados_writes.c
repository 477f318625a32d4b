/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "integration/mail/mail-stored/rados/objects_rados.h"
#include "integration/mail/mail-stored/rados/rados_handle.h"

/* ---- one operation ---- */

/* Lists as librados takes them; it copies what they name. */
struct rows {
	const char **keys;
	const char **values;
	size_t *key_sizes;
	size_t *sizes;
};

static bool make_rows(size_t count, struct rows *ret_rows)
{
	const size_t each = 2 * sizeof(char *) + 2 * sizeof(size_t);
	if (count > SIZE_MAX / each)
		return false;
	const char **memory = malloc(count * each);
	if (memory == NULL)
		return false;
	*ret_rows = (struct rows){ .keys = memory, .values = memory + count };
	ret_rows->key_sizes = (size_t *)(void *)(memory + 2 * count);
	ret_rows->sizes = ret_rows->key_sizes + count;
	return true;
}

static int add_set(rados_write_op_t op, const struct objects_write *write)
{
	struct rows rows;
	if (!make_rows(write->set_count, &rows))
		return -ENOMEM;
	for (size_t i = 0; i < write->set_count; i++) {
		rows.keys[i] = write->set[i].key;
		rows.key_sizes[i] = strlen(write->set[i].key);
		rows.values[i] = write->set[i].value;
		rows.sizes[i] = write->set[i].size;
	}
	rados_write_op_omap_set2(op, rows.keys, rows.values, rows.key_sizes, rows.sizes,
				 write->set_count);
	free((void *)rows.keys);
	return 0;
}

static int add_unset(rados_write_op_t op, const struct objects_write *write)
{
	struct rows rows;
	if (!make_rows(write->unset_count, &rows))
		return -ENOMEM;
	for (size_t i = 0; i < write->unset_count; i++) {
		rows.keys[i] = write->unset[i];
		rows.key_sizes[i] = strlen(write->unset[i]);
	}
	rados_write_op_omap_rm_keys2(op, rows.keys, rows.key_sizes, write->unset_count);
	free((void *)rows.keys);
	return 0;
}

/* A row that is not there compares as one without bytes does, and no row is without bytes. */
static void add_same(rados_write_op_t op, const struct objects_write *write)
{
	for (size_t i = 0; i < write->same_count; i++) {
		const struct objects_row *row = &write->same[i];
		rados_write_op_omap_cmp2(op, row->key, LIBRADOS_CMPXATTR_OP_EQ,
					 row->size > 0 ? row->value : "", strlen(row->key),
					 row->size, NULL);
	}
}

/*
 * Whether the object is there comes first: rows of one that is not there cannot be compared, nor
 * removed, but those of one that this operation has made can.
 */
static int add_all(rados_write_op_t op, const struct objects_write *write)
{
	if (write->is_removal) {
		rados_write_op_assert_exists(op);
		add_same(op, write);
		rados_write_op_remove(op);
		return 0;
	}
	if (write->guard == OBJECTS_OLD)
		rados_write_op_assert_exists(op);
	else
		rados_write_op_create(op,
				      write->guard == OBJECTS_NEW ? LIBRADOS_CREATE_EXCLUSIVE
								  : LIBRADOS_CREATE_IDEMPOTENT,
				      NULL);
	add_same(op, write);
	int status = write->unset_count > 0 ? add_unset(op, write) : 0;
	if (status == 0 && write->set_count > 0)
		status = add_set(op, write);
	if (status == 0 && write->bytes != NULL)
		rados_write_op_write_full(op, write->bytes, write->size);
	return status;
}

static int check(const struct objects_write *write)
{
	if (write->bytes != NULL && write->size > OBJECTS_RADOS_BYTES_MAX)
		return -EFBIG;
	for (size_t i = 0; i < write->set_count; i++) {
		if (write->set[i].size == 0)
			return -EINVAL;
	}
	return 0;
}

/* ---- many at a time ---- */

/* *ret_completion is written on success only, and is the caller's. */
static int begin(struct objects_rados *rados, const struct objects_write *write,
		 rados_completion_t *ret_completion)
{
	int status = check(write);
	if (status != 0)
		return status;
	rados_completion_t completion = NULL;
	if (rados_aio_create_completion2(NULL, NULL, &completion) < 0)
		return -ENOMEM;
	rados_write_op_t op = rados_create_write_op();
	status = op != NULL ? add_all(op, write) : -ENOMEM;
	/* Else it would wait for room, and a removal, too, when the cluster is full. */
	if (status == 0)
		status = rados_status(rados_aio_write_op_operate(op, rados->pool, completion,
								 write->name, NULL,
								 LIBRADOS_OPERATION_FULL_TRY));
	if (op != NULL)
		rados_release_write_op(op);
	if (status != 0) {
		rados_aio_release(completion);
		return status;
	}
	*ret_completion = completion;
	return 0;
}

int rados_writes(struct objects *objects, struct objects_write *writes, size_t count)
{
	rados_completion_t *completions = calloc(count, sizeof(rados_completion_t));
	for (size_t i = 0; i < count; i++)
		writes[i].status = completions != NULL
					   ? begin(rados_of(objects), &writes[i], &completions[i])
					   : -ENOMEM;
	int first = 0;
	for (size_t i = 0; i < count; i++) {
		if (writes[i].status == 0) {
			rados_aio_wait_for_complete(completions[i]);
			writes[i].status = rados_status(rados_aio_get_return_value(completions[i]));
			rados_aio_release(completions[i]);
		}
		if (first == 0)
			first = writes[i].status;
	}
	free(completions);
	return first;
}
