/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_native.h - a file as Windows' packager puts it into documents.
 *
 * Flow: unpack_ole.c: a stream "\1Ole10Native" behind its size; unpack_rtf.c: an object of the class
 *       "Package" -> unpack_native() -> where the file is, and its name.
 *
 *     if (unpack_native(head, head_size, &native))
 *             ... native.size bytes from native.offset on ...
 *
 * The form: 2 of 2 or 3, a label, a file name, both with NUL, 4 kind, 4 size of a path, the path, 4 size,
 * the file. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNPACK_NATIVE_HEAD 2048 /* bytes that all before the file fits into */

struct unpack_native {
	const uint8_t *name; /* in the bytes */
	size_t name_size;
	size_t offset;
	uint32_t size; /* as it is said */
};

/* false: the bytes have not this form, or are too few. */
bool unpack_native(const uint8_t *bytes, size_t size, struct unpack_native *ret_native);
