/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/unpack_native.h"

#include "lib/content/little.h"

#include <string.h>

/* Behind the NUL that ends a string; size when there is none. */
static size_t skip_string(const uint8_t *bytes, size_t size, size_t at)
{
	const uint8_t *end = at < size ? memchr(bytes + at, '\0', size - at) : NULL;
	return end != NULL ? (size_t)(end - bytes) + 1 : size;
}

bool unpack_native(const uint8_t *bytes, size_t size, struct unpack_native *ret_native)
{
	if (size < 2 || (bytes[0] != 2 && bytes[0] != 3) || bytes[1] != 0)
		return false;
	const size_t name_end = skip_string(bytes, size, 2);
	const size_t path_at = skip_string(bytes, size, name_end) + 4;
	if (path_at >= size || size - path_at < 4)
		return false;
	const uint64_t file_at = (uint64_t)path_at + 4 + little_get32(bytes + path_at);
	if (file_at + 4 > size)
		return false;
	ret_native->name = bytes + 2;
	ret_native->name_size = name_end - 2;
	ret_native->offset = (size_t)file_at + 4;
	ret_native->size = little_get32(bytes + file_at);
	return true;
}
