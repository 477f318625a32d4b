/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/objects.h"

#include <stdlib.h>

int objects_write(struct objects *objects, struct objects_write *writes, size_t count)
{
	return count > 0 ? objects->ops->write(objects, writes, count) : 0;
}

int objects_read(struct objects *objects, const char *name, uint64_t at, void *bytes, size_t size,
		 size_t *ret_size)
{
	return objects->ops->read(objects, name, at, bytes, size, ret_size);
}

int objects_size(struct objects *objects, const char *name, uint64_t *ret_size)
{
	return objects->ops->size(objects, name, ret_size);
}

int objects_rows(struct objects *objects, const char *name, const char *behind, const char *prefix,
		 size_t most, struct objects_page *ret_page)
{
	return objects->ops->rows(objects, name, behind, prefix, most, ret_page);
}

void objects_page_free(struct objects_page *page)
{
	free(page->rows);
	free(page->memory);
	*page = (struct objects_page){ 0 };
}

int objects_row(struct objects *objects, const char *name, const char *key, void *value,
		size_t room, size_t *ret_size)
{
	return objects->ops->row(objects, name, key, value, room, ret_size);
}

int objects_list(struct objects *objects,
		 bool (*take)(void *owner, const char *name, unsigned copies), void *owner)
{
	return objects->ops->list(objects, take, owner);
}

int objects_describe(struct objects *objects, struct objects_state *ret_state)
{
	return objects->ops->describe(objects, ret_state);
}

void objects_close(struct objects *objects)
{
	if (objects != NULL)
		objects->ops->close(objects);
}
