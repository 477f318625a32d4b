/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * compress.h - names in a response, each written as short as can be (RFC 1035 section 4.1.4).
 *
 * Flow: answering.c begins a response -> compress_begin() -> reply.c puts owners, and names in
 *       RDATA that may be compressed -> compress_put().
 *
 * Every label that lies in the packet is known here, with the one behind it: a tree whose root
 * is the root of the DNS. A name is what leads to the deepest known label, and a pointer to it.
 * So nothing that could be a pointer is written out, whatever the order of the names: libknot
 * compares with one earlier name alone, and had answers cut that Knot's own tools and NSD find
 * room for.
 *
 * Labels are compared without case, so that a question in any case is pointed to. A label that no
 * pointer reaches, and those beyond COMPRESS_LABELS_MAX, which only TCP has room for, are not
 * pointed to.
 *
 * Plain memory of the caller; no function here allocates or fails but for want of room.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COMPRESS_LABELS_MAX 1024

struct compress_label {
	uint16_t offset; /* in the packet, of its length */
	uint16_t parent; /* index of the label behind it; 0: the root */
};

struct compress {
	size_t count; /* with the root, which has no offset */
	struct compress_label labels[COMPRESS_LABELS_MAX];
};

/* No name is in the packet yet. */
void compress_begin(struct compress *compress);

/* Forgets what was put since count was compress->count. */
static inline void compress_forget(struct compress *compress, size_t count)
{
	compress->count = count;
}

/* name, wire form and whole, lies in the packet at offset. */
void compress_add(struct compress *compress, const uint8_t *wire, size_t offset,
		  const uint8_t *name);

/*
 * Writes name, wire form and whole, at offset into the packet, which may have end bytes.
 * Returns the bytes that it took; 0 when there is no room, and then nothing was written.
 */
size_t compress_put(struct compress *compress, uint8_t *wire, size_t offset, size_t end,
		    const uint8_t *name);

#ifdef __cplusplus
}
#endif
