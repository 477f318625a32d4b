/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/array.h"

#include "integration/mail/mail-stored/rados/rados_handle.h"

#define PAGE_ROWS_MAX 1024 /* an OSD gives no more at a time (osd_max_omap_entries_per_request) */
#define READ_MAX      (32U << 20) /* of one operation */

int rados_reads_bytes(struct objects *objects, const char *name, uint64_t at, void *bytes,
		      size_t size, size_t *ret_size)
{
	size_t done = 0;
	uint64_t unused = 0;
	if (size == 0) { /* librados refuses that */
		const int status = rados_reads_size(objects, name, &unused);
		if (status == 0)
			*ret_size = 0;
		return status;
	}
	for (;;) {
		const size_t wanted = size - done < READ_MAX ? size - done : READ_MAX;
		const int ret = rados_read(rados_of(objects)->pool, name, (char *)bytes + done,
					   wanted, at + done);
		if (ret < 0)
			return rados_status(ret);
		done += (size_t)ret;
		if ((size_t)ret < wanted || done == size)
			break;
	}
	*ret_size = done;
	return 0;
}

int rados_reads_size(struct objects *objects, const char *name, uint64_t *ret_size)
{
	uint64_t size = 0;
	time_t changed = 0;
	const int ret = rados_stat(rados_of(objects)->pool, name, &size, &changed);
	if (ret < 0)
		return rados_status(ret);
	*ret_size = size;
	return 0;
}

/* ---- rows ---- */

/* Texts of a page, which moves while it grows: places until all are there. */
struct texts {
	uint8_t *bytes;
	size_t size, room;
};

static bool add_text(struct texts *texts, const void *bytes, size_t size, size_t *ret_place)
{
	if (!array_reserve(texts->bytes, texts->size + size, &texts->room))
		return false;
	*ret_place = texts->size;
	if (size > 0)
		memcpy(texts->bytes + texts->size, bytes, size);
	texts->size += size;
	return true;
}

struct place {
	size_t key, key_size, value, size;
};

static bool take_row(rados_omap_iter_t iter, struct texts *texts, struct place *ret_place)
{
	char *key = NULL;
	char *value = NULL;
	size_t end = 0;
	if (rados_omap_get_next2(iter, &key, &value, &ret_place->key_size, &ret_place->size) < 0 ||
	    key == NULL)
		return false;
	return add_text(texts, key, ret_place->key_size, &ret_place->key) &&
	       add_text(texts, "", 1, &end) &&
	       add_text(texts, value, ret_place->size, &ret_place->value);
}

static int take_page(rados_omap_iter_t iter, struct objects_page *ret_page)
{
	const size_t count = rados_omap_iter_size(iter);
	struct texts texts = { .bytes = malloc(1), .room = 1 };
	struct place *places = calloc(count + 1, sizeof(*places));
	struct objects_found *rows = calloc(count + 1, sizeof(*rows));
	bool is_whole = texts.bytes != NULL && places != NULL && rows != NULL;
	for (size_t i = 0; i < count && is_whole; i++)
		is_whole = take_row(iter, &texts, &places[i]);
	for (size_t i = 0; i < count && is_whole; i++)
		rows[i] = (struct objects_found){
			.key = (const char *)texts.bytes + places[i].key,
			.key_size = places[i].key_size,
			.value = texts.bytes + places[i].value,
			.size = places[i].size,
		};
	free(places);
	if (!is_whole) {
		free(texts.bytes);
		free(rows);
		return -ENOMEM;
	}
	*ret_page = (struct objects_page){ .rows = rows, .count = count, .memory = texts.bytes };
	return 0;
}

int rados_reads_rows(struct objects *objects, const char *name, const char *behind,
		     const char *prefix, size_t most, struct objects_page *ret_page)
{
	*ret_page = (struct objects_page){ 0 };
	rados_read_op_t op = rados_create_read_op();
	if (op == NULL)
		return -ENOMEM;
	rados_omap_iter_t iter = NULL;
	unsigned char has_more = 0;
	int row_ret = 0;
	rados_read_op_omap_get_vals2(op, behind, prefix,
				     most < PAGE_ROWS_MAX ? most : PAGE_ROWS_MAX, &iter, &has_more,
				     &row_ret);
	int ret = rados_read_op_operate(op, rados_of(objects)->pool, name, 0);
	if (ret >= 0)
		ret = row_ret;
	int status = rados_status(ret);
	if (status == 0)
		status = take_page(iter, ret_page);
	ret_page->is_last = status == 0 && has_more == 0;
	/* A caller that goes on behind the last row would never end. */
	if (status == 0 && ret_page->count == 0 && !ret_page->is_last) {
		objects_page_free(ret_page);
		status = -EIO;
	}
	if (iter != NULL)
		rados_omap_get_end(iter);
	rados_release_read_op(op);
	return status;
}

int rados_reads_row(struct objects *objects, const char *name, const char *key, void *value,
		    size_t room, size_t *ret_size)
{
	rados_read_op_t op = rados_create_read_op();
	if (op == NULL)
		return -ENOMEM;
	rados_omap_iter_t iter = NULL;
	const size_t key_size = strlen(key);
	int row_ret = 0;
	rados_read_op_omap_get_vals_by_keys2(op, &key, 1, &key_size, &iter, &row_ret);
	int ret = rados_read_op_operate(op, rados_of(objects)->pool, name, 0);
	if (ret >= 0)
		ret = row_ret;
	int status = rados_status(ret);
	if (status == 0) {
		char *found_key = NULL;
		char *found = NULL;
		size_t found_key_size = 0;
		size_t size = 0;
		rados_omap_get_next2(iter, &found_key, &found, &found_key_size, &size);
		if (found_key == NULL) {
			status = -ENOENT;
		} else if (size > room) {
			status = -ERANGE;
		} else {
			*ret_size = size;
			memcpy(value, found, size);
		}
	}
	if (iter != NULL)
		rados_omap_get_end(iter);
	rados_release_read_op(op);
	return status;
}
