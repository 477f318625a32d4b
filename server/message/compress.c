/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/message/compress.h"

#include "lib/format/ascii.h"

#include <string.h>

#define LABELS_MAX   128 /* RFC 1035: 255 octets hold no more, the root included */
#define POINTER	     0xc0
#define POINTER_SIZE 2
#define OFFSET_MAX   0x3fff /* that a pointer can say */
#define ROOT	     0

/* A name taken apart. */
struct name {
	const uint8_t *wire;
	unsigned label_count; /* without the root */
	uint8_t starts[LABELS_MAX];
};

static struct name take_apart(const uint8_t *wire)
{
	struct name name = { .wire = wire };
	unsigned at = 0;
	while (wire[at] != 0 && name.label_count < LABELS_MAX - 1) {
		name.starts[name.label_count++] = (uint8_t)at;
		at += 1U + wire[at];
	}
	name.starts[name.label_count] = (uint8_t)at;
	return name;
}

static bool is_same_label(const uint8_t *a, const uint8_t *b)
{
	/* The length byte is below 64, so no letter. */
	for (unsigned i = 0; i <= a[0]; i++) {
		if (ascii_lower(a[i]) != ascii_lower(b[i]))
			return false;
	}
	return true;
}

/* The known label that stands before parent; ROOT when there is none. */
static uint16_t find(const struct compress *compress, const uint8_t *wire, uint16_t parent,
		     const uint8_t *label)
{
	for (size_t i = 1; i < compress->count; i++) {
		const struct compress_label *known = &compress->labels[i];
		if (known->parent == parent && is_same_label(wire + known->offset, label))
			return (uint16_t)i;
	}
	return ROOT;
}

/* The deepest known label of name; *ret_own is how many labels stand before it. */
static uint16_t find_deepest(const struct compress *compress, const uint8_t *wire,
			     const struct name *name, unsigned *ret_own)
{
	uint16_t deepest = ROOT;
	unsigned own = name->label_count;
	for (; own > 0; own--) {
		uint16_t next = find(compress, wire, deepest, name->wire + name->starts[own - 1]);
		if (next == ROOT)
			break;
		deepest = next;
	}
	*ret_own = own;
	return deepest;
}

/* The first own labels of name, which lies at offset, stand before the label parent. */
static void learn(struct compress *compress, size_t offset, const struct name *name, unsigned own,
		  uint16_t parent)
{
	for (; own > 0; own--) {
		size_t at = offset + name->starts[own - 1];
		if (at > OFFSET_MAX || compress->count == COMPRESS_LABELS_MAX)
			return;
		compress->labels[compress->count] = (struct compress_label){ (uint16_t)at, parent };
		parent = (uint16_t)compress->count++;
	}
}

void compress_begin(struct compress *compress)
{
	compress->count = 1;
}

void compress_add(struct compress *compress, const uint8_t *wire, size_t offset,
		  const uint8_t *name)
{
	struct name parts = take_apart(name);
	unsigned own = 0;
	uint16_t parent = find_deepest(compress, wire, &parts, &own);
	learn(compress, offset, &parts, own, parent);
}

size_t compress_put(struct compress *compress, uint8_t *wire, size_t offset, size_t end,
		    const uint8_t *name)
{
	struct name parts = take_apart(name);
	unsigned own = 0;
	uint16_t parent = find_deepest(compress, wire, &parts, &own);
	size_t own_size = parts.starts[own];
	size_t size = own_size + (parent == ROOT ? 1 : POINTER_SIZE);
	if (offset > end || size > end - offset)
		return 0;
	memcpy(wire + offset, name, own_size);
	uint8_t *at = wire + offset + own_size;
	unsigned target = compress->labels[parent].offset;
	if (parent == ROOT) {
		at[0] = 0;
	} else {
		at[0] = (uint8_t)(POINTER | target >> 8);
		at[1] = (uint8_t)target;
	}
	learn(compress, offset, &parts, own, parent);
	return size;
}
