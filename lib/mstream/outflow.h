/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * outflow.h - bytes of a file, gathered to pieces, for decoders that make them one by one.
 *
 * Flow: yenc.c, binhex.c -> outflow_put() -> the data() of files.h.
 *
 *     struct outflow out = { .files = files, .context = context };
 *     outflow_put(&out, byte);
 *     outflow_flush(&out);
 *
 * It is on the stack of one push: flushed before that returns, and before a file ends. files and
 * context are borrowed.
 */

#include "lib/mstream/files.h"

#define OUTFLOW_SIZE 512

struct outflow {
	const struct mstream_files *files;
	void *context;
	size_t size;
	uint8_t bytes[OUTFLOW_SIZE];
};

static inline void outflow_flush(struct outflow *out)
{
	if (out->size > 0)
		out->files->data(out->context, out->bytes, out->size);
	out->size = 0;
}

static inline void outflow_put(struct outflow *out, uint8_t byte)
{
	if (out->size == OUTFLOW_SIZE)
		outflow_flush(out);
	out->bytes[out->size++] = byte;
}
