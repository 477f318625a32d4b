/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/rados/objects_rados.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/mail/mail-stored/rados/rados_handle.h"

int rados_status(int ret)
{
	switch (ret) {
	case -EPERM:
		return -EACCES; /* what an OSD says of a key without the right */
	case -EDQUOT:
		return -ENOSPC;
	default:
		return ret < 0 ? ret : 0;
	}
}

static void close_rados(struct objects *objects)
{
	struct objects_rados *rados = rados_of(objects);
	if (rados->pool != NULL)
		rados_ioctx_destroy(rados->pool);
	if (rados->cluster != NULL)
		rados_shutdown(rados->cluster);
	free(rados);
}

static const struct objects_ops rados_ops = {
	.write = rados_writes,
	.read = rados_reads_bytes,
	.size = rados_reads_size,
	.rows = rados_reads_rows,
	.row = rados_reads_row,
	.list = rados_looks_list,
	.describe = rados_looks_describe,
	.close = close_rados,
};

/* What the file says and what is ours to say: no files, no sockets but those of the cluster. */
static int configure(rados_t cluster, const struct objects_rados_setup *setup)
{
	char seconds[32];
	snprintf(seconds, sizeof(seconds), "%u", setup->timeout_s);
	const struct {
		const char *name, *value;
	} ours[] = {
		{ "rados_osd_op_timeout", seconds },
		{ "rados_mon_op_timeout", seconds },
		{ "client_mount_timeout", seconds },
		/*
		 * What waits for a second asks the monitors where its OSD is now. By default it is
		 * after ten to fifteen, which no operation with a shorter time lives to see: after a restart of
		 * all OSDs it would time out for ever.
		 */
		{ "objecter_timeout", "1" },
		{ "objecter_tick_interval", "1" },
		{ "log_file", "" },
		{ "log_to_stderr", "false" },
		{ "err_to_stderr", "false" },
		{ "admin_socket", "" },
	};
	int ret = rados_conf_read_file(cluster, setup->conf_path);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]) && ret >= 0; i++)
		ret = rados_conf_set(cluster, ours[i].name, ours[i].value);
	return ret;
}

int objects_rados_open(const struct objects_rados_setup *setup, struct objects **ret_objects)
{
	struct objects_rados *rados = calloc(1, sizeof(*rados));
	if (rados == NULL)
		return -ENOMEM;
	rados->objects.ops = &rados_ops;
	int ret = -EINVAL;
	if (setup->timeout_s == 0 || strlen(setup->pool) > OBJECTS_NAME_MAX)
		goto fail;
	stpcpy(rados->pool_name, setup->pool);
	ret = rados_create(&rados->cluster, setup->user);
	if (ret < 0)
		goto fail;
	ret = configure(rados->cluster, setup);
	if (ret < 0)
		goto fail;
	ret = rados_connect(rados->cluster);
	if (ret < 0)
		goto fail;
	ret = rados_ioctx_create(rados->cluster, setup->pool, &rados->pool);
	if (ret < 0)
		goto fail;
	*ret_objects = &rados->objects;
	return 0;
fail:
	close_rados(&rados->objects);
	return rados_status(ret);
}
